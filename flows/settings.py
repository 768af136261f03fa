"""How Prefect is set up here: a server of its own where none is configured, no calls home."""

from __future__ import annotations

import os
from pathlib import Path


def prepare(artifacts: Path) -> None:
    """Set Prefect's environment before it is imported; what the user has set stays."""
    defaults = {
        "PREFECT_HOME": str(artifacts / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "DO_NOT_TRACK": "1",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
