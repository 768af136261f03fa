"""The morning page: what a night changed, how sure that is, and what it cost.

`gather` reads the night's record, the scaffold repository, the stored episodes and the ledgers
into `data`, the facts; `page` turns facts into one self-contained HTML file, with the charts of
`charts`, the highlighted differences of `diffs` and the sentences of `words`. Everything a model
wrote is escaped, and the page runs no script.
"""

from orchestrator.report.page import write_report

__all__ = ["write_report"]
