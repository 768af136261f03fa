"""All that is taken from MiniHack, in one place."""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def _without(name: str) -> Iterator[None]:
    """Let an import of this module fail for a while, as if it were not installed."""
    absent = name not in sys.modules
    if absent:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if absent:
            del sys.modules[name]


# Its reader of wiki pages, which nothing here asks for, would load inflect: three seconds in every
# process. It does without where that is missing.
with warnings.catch_warnings(), _without("inflect"):
    # It looks its own files up through setuptools, which says that this will end one day.
    warnings.simplefilter("ignore")
    minihack: Any = importlib.import_module("minihack")
    base: Any = importlib.import_module("minihack.base")


def task_class(module: str, name: str) -> type[Any]:
    """A task's class.

    Args:
        module: Its module in ``minihack.envs``.
        name: Its name there.
    """
    found: type[Any] = getattr(importlib.import_module(f"minihack.envs.{module}"), name)
    return found
