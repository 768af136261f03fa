"""What a revision is: one committed state of a scaffold, with what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

ChangeKind: TypeAlias = Literal["memory", "perception", "play"]
"""What a proposal changes: how the agent remembers, what it sees, or how it plays."""

VerdictWord: TypeAlias = Literal["accept", "reject", "indecisive", "refused"]
"""The gate's three words, and `refused` for what never reached it (static checks, smoke)."""

READ_EDITORS = frozenset({"rules"})
"""Editors whose code people have read before it was shipped; any other wrote it in the night."""

KINDS: tuple[ChangeKind, ...] = ("memory", "perception", "play")
WORDS: tuple[VerdictWord, ...] = ("accept", "reject", "indecisive", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What an editor says about its candidate; the prose of the commit.

    Args:
        subject: One line in the imperative, "Keep one line per landmark".
        summary: What was changed.
        rationale: Why: what was seen in the trajectories.
        expected_effect: What should become better, and how one would notice.
        kind: Which part of the agent the change concerns.
        editor: Who proposed it, `rules` or `anthropic:<model>`.
        continues: Name of the rejected candidate that it goes on from; empty for none.
        tokens: Tokens that making it took.
        cost: Money that making it took, in USD.
    """

    subject: str
    summary: str
    rationale: str
    expected_effect: str
    kind: ChangeKind
    editor: str
    continues: str = ""
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate found, as it is written under the commit.

    The trailers are for reading: numbers are rounded there (points and hours to 2 decimals,
    money to 4, p to 4 digits), and so is what is read back. The exact ones are in the night's
    files and in MLflow.

    Args:
        word: accept, reject, indecisive; refused when no episode was counted.
        effect: Mean paired difference, in points of progression (0 to 100).
        interval: Lower and upper bound of the effect's 95% interval, in points.
        p: One-sided p-value of the confirmation (of the screen if it ended there).
        pairs: Pairs of episodes used.
        bank_slices: Names such as `screen` and `confirm[3]`; never seeds.
        episodes: Episodes played for this verdict.
        tokens: Tokens used by them.
        cost: Money spent, in USD.
        hours: Hours of play, added up over episodes.
        models: Model fingerprint by role.
        trajectories: Keys of the episodes played.
        mlflow_run: Id of the nested run that holds the artifacts.
        notes: Sentences a reviewer should see ("plays with 2.1 times the model calls"); an editor
            sees them only when the word is refused.
    """

    word: VerdictWord
    effect: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    pairs: int | None = None
    bank_slices: tuple[str, ...] = ()
    episodes: int | None = None
    tokens: int | None = None
    cost: float | None = None
    hours: float | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    trajectories: tuple[str, ...] = ()
    mlflow_run: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorView:
    """What an editor may know of a revision: everything but the numbers of its verdict."""

    name: str
    tree: str
    parent: str | None = None
    subject: str
    body: str
    kind: str | None
    verdict: VerdictWord | None
    refusal: tuple[str, ...]

    def text(self) -> str:
        """The view as it is shown to a language model."""
        head = [f"{self.name} (tree {self.tree[:12]}): {self.subject}"]
        if self.kind:
            head.append(f"Kind: {self.kind}")
        head.append(f"Verdict: {self.verdict or 'none'}")
        head.extend(f"Refused: {reason}" for reason in self.refusal)
        return "\n".join([*head, *(["", self.body] if self.body else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One committed state of a scaffold.

    Args:
        tree: The revision's identity: the hash of the folder's content (a git tree).
        commit: The commit that carries it in this repository.
        parent: The tree it was made from; None for a seed.
        parent_commit: The commit it was made from; None for a seed.
        lineage: The lineage it belongs to.
        subject: First line of the message.
        body: The message without its first line and without trailers.
        trailers: The trailers in the order they were written.
        verdict: The verdict they spell, or None before the gate has spoken.
        tags: Names such as `crafter/v1`, without `refs/tags/`, oldest version first.
        candidate: `<night>/<number>` if it was proposed by a night.
        accepted: Whether it is part of its lineage.
        date: When it was committed.
    """

    tree: str
    commit: str
    parent: str | None
    parent_commit: str | None
    lineage: str
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]
    verdict: Verdict | None
    tags: tuple[str, ...]
    candidate: str | None
    accepted: bool
    date: datetime

    def trailer(self, key: str) -> str | None:
        """Value of the last trailer of that name (letter case aside), or None."""
        found = [value for name, value in self.trailers if name.lower() == key.lower()]
        return found[-1] if found else None

    @property
    def name(self) -> str:
        """What a person would call it: `crafter/v3`, else `<night>/<number>`, else a short hash."""
        own = [tag for tag in self.tags if tag.startswith(f"{self.lineage}/")]
        return (own or [self.candidate or self.tree[:12]])[-1]

    @property
    def kind(self) -> str | None:
        """memory, perception, play, or None for what no editor made."""
        return self.trailer("Kind")

    @property
    def editor(self) -> str | None:
        """Who proposed it, or None for what no editor made."""
        return self.trailer("Editor")

    @property
    def night(self) -> str | None:
        """The night that proposed it, or None."""
        return self.trailer("Night")

    def editor_view(self) -> EditorView:
        """The revision with its trailers stripped to the bare word of the verdict."""
        refused = self.verdict is not None and self.verdict.word == "refused"
        return EditorView(
            name=self.name,
            tree=self.tree,
            parent=self.parent,
            subject=self.subject,
            body=self.body,
            kind=self.kind,
            verdict=self.verdict.word if self.verdict else None,
            refusal=self.verdict.notes if refused and self.verdict else (),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for `--json`."""
        return {
            "name": self.name,
            "lineage": self.lineage,
            "tree": self.tree,
            "parent": self.parent,
            "commit": self.commit,
            "parent_commit": self.parent_commit,
            "subject": self.subject,
            "body": self.body,
            "kind": self.kind,
            "editor": self.editor,
            "night": self.night,
            "candidate": self.candidate,
            "accepted": self.accepted,
            "tags": list(self.tags),
            "reverts": self.trailer("Reverts"),
            "date": self.date.isoformat(),
            "verdict": _verdict_dict(self.verdict) if self.verdict else None,
        }


def _verdict_dict(verdict: Verdict) -> dict[str, Any]:
    plain = asdict(verdict)
    for key in ("interval", "bank_slices", "trajectories", "notes"):
        plain[key] = list(plain[key]) if plain[key] is not None else None
    return plain
