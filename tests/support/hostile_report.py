"""A report in which every text tries to become markup."""

from __future__ import annotations

from typing import Any

from orchestrator.report.data import ReportData

PAYLOAD = "\"'><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>{{7*7}}"

# Words of ours with a fixed set of values, and times.
_OURS = {"decision", "stage", "provider", "started_at", "ended_at"}

DIFF = f"""\
diff --git a/x{PAYLOAD}.py b/x{PAYLOAD}.py
--- a/x{PAYLOAD}.py
+++ b/x{PAYLOAD}.py
@@ -1,3 +1,3 @@ def f():  # {PAYLOAD}
 context {PAYLOAD}
-removed = "{PAYLOAD}"
+added = '{PAYLOAD}'  # {PAYLOAD} \u202e
 </pre></details></body>{PAYLOAD}
"""


def hostile(facts: ReportData) -> ReportData:
    """The same report with the payload at the end of every text that is not a word of ours."""
    made = _poisoned(facts.model_dump(), "")
    for one in made["candidates"]:
        one["diff"] = DIFF
        one["metrics_before"][f"metric {PAYLOAD}"] = 1.0
        one["metrics_after"][f"metric {PAYLOAD}"] = 2.0
    return ReportData.model_validate(made)


def _poisoned(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _poisoned(one, key) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_poisoned(one, name) for one in value]
    if isinstance(value, str) and name not in _OURS and value:
        return value + PAYLOAD
    return value
