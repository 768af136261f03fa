"""The room in which a scaffold's code runs, and the one channel into it.

`base` says what a sandbox is and what it may promise; `process` is a resource-limited child
process; `bundle` is the little code that a sandbox needs. A container-based sandbox is a further
implementation of the same protocol and reuses the bundle.
"""

from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.sandbox.base import Sandbox
from orchestrator.sandbox.process import ProcessSandbox

KINDS = ("process",)


def make_sandbox(kind: str, artifacts: Path) -> Sandbox:
    """A sandbox by name.

    Raises:
        UsageError: There is no such kind.
    """
    if kind != "process":
        raise UsageError(f"There is no sandbox '{kind}'.", mend=f"Use one of: {', '.join(KINDS)}.")
    return ProcessSandbox(artifacts / "bundles")
