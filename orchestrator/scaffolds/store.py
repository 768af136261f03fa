"""The scaffold repository: lineages, candidates, verdicts, reverts.

One ordinary git repository, `scaffolds/` in a workspace, that a person can read and edit with
git. A lineage is a branch whose root is the scaffold's folder; its head is the champion. What a
night proposes lives under `refs/candidates/<night>/<number>`, out of `git branch`, and moves
onto the lineage as it is, commit and all, when it is accepted. Tags `<lineage>/v<k>` number the
seed (v0) and every revision after it.

Objects are written with plumbing, so that nothing here depends on what is checked out. Every
change of refs is written to a journal first (`journal`); a process that is killed anywhere is
finished by the next one that takes the lock. The working tree follows its lineage only if it is
clean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from orchestrator.scaffolds import objects
from orchestrator.scaffolds.catalog import CANDIDATES, HEADS, TAGS, Catalog, read_catalog
from orchestrator.scaffolds.errors import (
    CandidateExists,
    GitMissing,
    LineageExists,
    LineageMoved,
    NoStore,
    NotAccepted,
    NothingChanged,
    RevertConflict,
    StoreBusy,
    UnknownRevision,
)
from orchestrator.scaffolds.export import export_files
from orchestrator.scaffolds.journal import Intent, Journal, drop_stale_locks, move_refs
from orchestrator.scaffolds.merge import inverse_change
from orchestrator.scaffolds.message import compose, proposal_message, with_verdict
from orchestrator.scaffolds.names import lineage_name, night_id
from orchestrator.scaffolds.plumbing import Plumbing
from orchestrator.scaffolds.revision import Proposal, Revision, Verdict
from orchestrator.scaffolds.trees import read_folder, tree_of_folder
from orchestrator.scaffolds.worktree import WorkingTree

Clock = Callable[[], datetime]

_OLDEST_GIT = (2, 32)
_EXCLUDE = "__pycache__/\n*.pyc\n.DS_Store\n"
