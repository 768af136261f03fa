"""What can go wrong between a person, an editor and the scaffold repository."""

from __future__ import annotations

from orchestrator.errors import SlowwaveError


class StoreError(SlowwaveError):
    """The scaffold repository could not do what was asked; nothing in it was changed."""


class GitMissing(StoreError):
    """git itself cannot be run on this machine."""


class NoStore(StoreError):
    """There is no scaffold repository where one was expected."""


class StoreBusy(StoreError):
    """Another process holds the repository."""


class DirtyRepository(StoreError):
    """The working tree holds changes that nobody committed; they are left as they are."""


class BadName(StoreError):
    """A lineage, a night or a file has a name that the store does not take."""


class RefusedFile(StoreError):
    """A file that cannot be part of a scaffold: a link, an executable, too large."""


class UnknownLineage(StoreError):
    """No branch of that name."""


class UnknownRevision(StoreError):
    """Nothing in the repository answers to that name, or several things do."""


class LineageExists(StoreError):
    """The lineage is already there, with another seed."""


class LineageMoved(StoreError):
    """The lineage has advanced since the candidate was proposed."""


class NotAccepted(StoreError):
    """The revision carries no verdict that would allow what was asked."""


class NothingChanged(StoreError):
    """The proposed tree is the tree it starts from."""


class CandidateExists(StoreError):
    """Another candidate already has this number."""


class RevertConflict(StoreError):
    """Later revisions touched the same lines."""
