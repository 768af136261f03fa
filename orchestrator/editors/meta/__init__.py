"""The editor that is a language model: it reads trajectories with tools and writes a revision.

Read `editor` first (the conversation), then `evidence`, `past` and `workshop` (its tools).
"""

from orchestrator.editors.meta.editor import MetaEditor

__all__ = ["MetaEditor"]
