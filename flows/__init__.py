"""The Prefect flows, thin: order, retries, concurrency.

`settings` prepares Prefect, `episodes` plays jobs in parallel processes; `evaluate`, `optimize`
and `night` are the flows. What they do is in `orchestrator`, where tests reach it without Prefect.
"""
