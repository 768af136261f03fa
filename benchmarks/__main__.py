"""Run every benchmark, one after the other."""

from __future__ import annotations

import subprocess
import sys

MODULES = (
    "benchmarks.crafter_speed",
    "benchmarks.environments",
    "benchmarks.gate_frontier",
    "benchmarks.host_cost",
    "benchmarks.long_episode",
)

for module in MODULES:
    print(f"== {module}", flush=True)
    subprocess.run([sys.executable, "-m", module], check=True)
