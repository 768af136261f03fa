"""The Prefect flows, thin: order, retries, concurrency.

`settings` prepares Prefect, `reporting` says who is told, `episodes` plays jobs in parallel
processes; `evaluate`, `optimize` and `night` are the flows, with plain data as parameters. What
they do is in `orchestrator`, where tests reach it without Prefect.
"""
