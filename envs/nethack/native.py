"""All that is taken from NLE, in one place."""

from __future__ import annotations

from nle import nethack
from nle.env.base import NLE

__all__ = ["NLE", "nethack"]
