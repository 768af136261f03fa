"""Everything the repository knows, read in two git calls: refs, then their commits.

Trailers are parsed by git itself (`%(trailers)` of `git log`, the parser that is behind
`git interpret-trailers --parse`), so what is read here is what any other git tool reads.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from orchestrator.scaffolds.errors import BadName, UnknownLineage, UnknownRevision
from orchestrator.scaffolds.message import read_verdict
from orchestrator.scaffolds.names import lineage_name
from orchestrator.scaffolds.plumbing import Plumbing
from orchestrator.scaffolds.revision import READ_EDITORS, Revision

HEADS = "refs/heads/"
TAGS = "refs/tags/"
CANDIDATES = "refs/candidates/"

_FIELDS = (
    "%H",
    "%T",
    "%P",
    "%ct",
    "%s",
    "%b",
    "%(trailers)",
    "%(trailers:only=true)",
    "%(trailers:only=true,unfold=true)",
)
_HEX = re.compile(r"[0-9a-f]{4,40}")
_VERSION = re.compile(r"v(\d+)")


@dataclass(frozen=True, slots=True)
class Catalog:
    """The repository's revisions at one moment.

    Args:
        lineages: Head commit by lineage.
        tags: Commit by tag.
        candidates: Commit by `<night>/<number>`.
        chains: Commits of each lineage, newest first.
        commits: Revision by commit, seen from the lineage it belongs to.
    """

    lineages: dict[str, str]
    tags: dict[str, str]
    candidates: dict[str, str]
    chains: dict[str, list[str]] = field(default_factory=dict)
    commits: dict[str, Revision] = field(default_factory=dict)

    def head(self, lineage: str) -> Revision:
        """The lineage's champion.

        Raises:
            UnknownLineage: There is no such lineage.
        """
        return self.seen_from(self.lineages[self.known(lineage)], lineage)

    def known(self, lineage: str) -> str:
        """Return `lineage` if there is one; raises UnknownLineage otherwise."""
        if lineage in self.lineages:
            return lineage
        close = difflib.get_close_matches(lineage, self.lineages, 1)
        hint = f"Did you mean {close[0]}?" if close else f"There are: {_list(self.lineages)}."
        raise UnknownLineage(f"There is no lineage {lineage!r}.", mend=hint)

    def seen_from(self, commit: str, lineage: str) -> Revision:
        """A revision as part of one lineage (two can share their first commits)."""
        accepted = commit in self.chains.get(lineage, ())
        return replace(self.commits[commit], lineage=lineage, accepted=accepted)

    def next_version(self, lineage: str) -> int:
        """Number of the next accepted revision's tag; 0 for the seed."""
        prefix = f"{lineage}/"
        names = (tag.removeprefix(prefix) for tag in self.tags if tag.startswith(prefix))
        return max((int(m[1]) + 1 for m in map(_VERSION.fullmatch, names) if m), default=0)

    def find(self, name: str) -> Revision:
        """The revision that `name` means.

        Args:
            name: A lineage (its head), a tag, `<night>/<number>`, or the first four or more
                digits of a tree's or commit's hash. Where several commits carry one tree, the
                accepted one counts, then the newest.

        Raises:
            UnknownRevision: Nothing, or several different revisions, answer to it.
        """
        short = name.removeprefix("refs/").removeprefix("candidates/")
        short = short.removeprefix("heads/").removeprefix("tags/")
        if short in self.lineages:
            return self.head(short)
        commit = self.tags.get(short) or self.candidates.get(short)
        if commit in self.commits:
            return self.commits[commit]
        found = self._by_hash(short.lower())
        if len({revision.tree for revision in found}) == 1:
            return max(found, key=lambda r: (r.accepted, r.date))
        if found:
            many = ", ".join(f"{r.name} (tree {r.tree[:12]})" for r in found[:5])
            raise UnknownRevision(f"{name!r} could be {many}.", mend="Give more digits.")
        close = difflib.get_close_matches(short, [*self.lineages, *self.tags, *self.candidates], 1)
        raise UnknownRevision(
            f"There is no revision {name!r}.",
            mend=f"Did you mean {close[0]}?" if close else "See `slowwave log --all`.",
        )

    def with_tree(self, lineage: str, tree: str) -> list[Revision]:
        """Every revision and candidate of a lineage that has this tree."""
        own = set(self.chains.get(lineage, ()))
        return [
            self.seen_from(commit, lineage)
            for commit, revision in self.commits.items()
            if revision.tree == tree and (commit in own or revision.lineage == lineage)
        ]

    def author(self, tree: str) -> str:
        """The editor whose unread code a tree carries; see `ScaffoldReader.author`."""
        found = [self._unread(one) for one in self.commits.values() if one.tree == tree]
        return min(found, default="")

    def _unread(self, revision: Revision | None) -> str:
        """The newest editor up to a revision that is none of those whose code people have read."""
        while revision is not None:
            if revision.editor is not None and revision.editor not in READ_EDITORS:
                return revision.editor
            revision = self.commits.get(revision.parent_commit or "")
        return ""

    def history(self, lineage: str, *, include_candidates: bool) -> list[Revision]:
        """Revisions of a lineage, newest first, each candidate just above what it started from.

        Candidates whose starting point is no longer in the lineage come last.
        """
        chain = self.chains[self.known(lineage)]
        candidates = self.open_candidates(lineage) if include_candidates else []
        rows: list[Revision] = []
        for commit in chain:
            rows.extend(c for c in candidates if c.parent_commit == commit)
            rows.append(self.seen_from(commit, lineage))
        known = set(chain)
        return rows + [c for c in candidates if c.parent_commit not in known]

    def open_candidates(self, lineage: str) -> list[Revision]:
        """Candidates of a lineage that are not part of it, newest night and number first."""
        chain = set(self.chains[lineage])
        found = [self.commits[c] for c in self.candidates.values() if c not in chain]
        own = [revision for revision in found if revision.lineage == lineage]
        return sorted(own, key=_candidate_order, reverse=True)

    def _by_hash(self, text: str) -> list[Revision]:
        if not _HEX.fullmatch(text):
            return []
        return [
            revision
            for commit, revision in self.commits.items()
            if commit.startswith(text) or revision.tree.startswith(text)
        ]


def read_catalog(git: Plumbing) -> Catalog:
    """Read refs and commits."""
    heads, tags, candidates = _read_refs(git)
    catalog = Catalog(lineages=heads, tags=tags, candidates=candidates)
    raw = _read_commits(git, {*heads.values(), *tags.values(), *candidates.values()})
    for lineage, head in heads.items():
        catalog.chains[lineage] = list(_chain(raw, head))
    owner = {c: lineage for lineage in sorted(heads, reverse=True) for c in catalog.chains[lineage]}
    names: dict[str, list[str]] = {}
    for tag, commit in sorted(tags.items(), key=_tag_order):
        names.setdefault(commit, []).append(tag)
    proposed = {commit: name for name, commit in candidates.items()}
    for commit, row in raw.items():
        revision = _revision(row, raw)
        stated = revision.trailer("Lineage") or ""
        lineage = stated if commit in catalog.chains.get(stated, ()) else owner.get(commit, stated)
        catalog.commits[commit] = replace(
            revision,
            lineage=lineage,
            tags=tuple(names.get(commit, ())),
            candidate=proposed.get(commit),
            accepted=commit in owner,
        )
    return catalog


def _read_refs(git: Plumbing) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    heads: dict[str, str] = {}
    tags: dict[str, str] = {}
    candidates: dict[str, str] = {}
    form = "%(refname)%00%(objectname)%00%(*objectname)%00%(objecttype)%00%(*objecttype)"
    out = git.run("for-each-ref", f"--format={form}", HEADS, TAGS, CANDIDATES).decode()
    for line in out.splitlines():
        ref, direct, peeled, kind, peeled_kind = line.split("\0")
        if "commit" not in (kind, peeled_kind):
            continue
        commit = peeled or direct
        if ref.startswith(TAGS):
            tags[ref.removeprefix(TAGS)] = commit
        elif ref.startswith(CANDIDATES):
            candidates[ref.removeprefix(CANDIDATES)] = commit
        elif _is_lineage(ref.removeprefix(HEADS)):
            heads[ref.removeprefix(HEADS)] = commit
    return heads, tags, candidates


def _is_lineage(name: str) -> bool:
    # A person's own branches ("wip/idea") share the repository and are none of ours.
    try:
        return lineage_name(name) == name
    except BadName:
        return False


def _read_commits(git: Plumbing, tips: Iterable[str]) -> dict[str, list[str]]:
    wanted = "".join(f"{tip}\n" for tip in sorted(tips))
    if not wanted:
        return {}
    form = "%x00".join(_FIELDS)
    out = git.run(
        "log",
        "--stdin",
        "--first-parent",
        "--topo-order",
        "--no-show-signature",
        "-z",
        f"--format=tformat:{form}",
        data=wanted.encode(),
    )
    cells = out.decode(errors="replace").split("\0")
    rows = [cells[i : i + len(_FIELDS)] for i in range(0, len(cells) - 1, len(_FIELDS))]
    return {row[0]: row for row in rows}


def _chain(raw: dict[str, list[str]], commit: str) -> Iterable[str]:
    while commit in raw:
        yield commit
        commit = (raw[commit][2].split() or [""])[0]


def _revision(row: list[str], raw: dict[str, list[str]]) -> Revision:
    commit, tree, parents, when, subject, body, block, plain, unfolded = row
    parent = parents.split()[0] if parents else None
    pairs = [line.partition(":") for line in unfolded.splitlines()]
    trailers = tuple((key, value.strip()) for key, _, value in pairs)
    return Revision(
        tree=tree,
        commit=commit,
        parent=raw[parent][1] if parent in raw else None,
        parent_commit=parent,
        lineage="",
        subject=subject,
        body=_without_trailers(body, block, plain),
        trailers=trailers,
        verdict=read_verdict(trailers),
        tags=(),
        candidate=None,
        accepted=False,
        date=datetime.fromtimestamp(int(when), UTC),
    )


def _without_trailers(body: str, block: str, plain: str) -> str:
    text = body.rstrip("\n")
    if block.strip() and text.endswith(block.strip("\n")):
        text = text[: len(text) - len(block.strip("\n"))].rstrip("\n")
        # A person may end a paragraph with a Signed-off-by; the rest of it is still prose.
        known = set(plain.splitlines())
        rest = "\n".join(line for line in block.strip("\n").splitlines() if line not in known)
        text = "\n\n".join(filter(None, [text, rest]))
    return text.strip("\n")


def _candidate_order(revision: Revision) -> tuple[str, int]:
    night, _, number = (revision.candidate or "").rpartition("/")
    return night, int(number) if number.isdecimal() else -1


def _tag_order(item: tuple[str, str]) -> tuple[str, int]:
    lineage, _, version = item[0].rpartition("/")
    match = _VERSION.fullmatch(version)
    return lineage, int(match[1]) if match else -1


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none yet"
