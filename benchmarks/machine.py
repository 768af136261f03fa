"""The machine and the versions that a figure belongs to."""

from __future__ import annotations

import os
import platform
from importlib import metadata


def describe() -> dict[str, str | float]:
    """Facts to print above every figure."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "crafter": metadata.version("crafter"),
        "numpy": metadata.version("numpy"),
    }
