"""All that is taken from MiniHack, in one place."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

with warnings.catch_warnings():
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
