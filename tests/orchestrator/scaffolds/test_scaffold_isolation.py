"""The user's git settings, hooks and environment change nothing of what the store writes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.scaffolds.trees import hash_tree
from tests.support.scaffold_samples import ACCEPT, PROPOSAL, SEED, TickingClock, write_folder

MIXED = {**SEED, "memory/dos.md": b"a\r\nb\r\n", "memory/latin.md": "é $Id$\n".encode()}

HOSTILE = """
[user]
    useConfigOnly = true
[core]
    autocrlf = true
    eol = crlf
    hooksPath = {hooks}
    attributesFile = {attributes}
    excludesFile = {exclude}
    quotePath = true
    commentChar = K
    sharedRepository = 0777
    logAllRefUpdates = false
[commit]
    gpgSign = true
[tag]
    gpgSign = true
    forceSignAnnotated = true
[gpg]
    program = /bin/false
[init]
    templateDir = {template}
    defaultBranch = trunk
    defaultObjectFormat = sha256
[i18n]
    commitEncoding = latin1
    logOutputEncoding = latin1
[log]
    showSignature = true
    date = relative
[color]
    ui = always
[diff]
    noprefix = true
    mnemonicPrefix = true
    renames = false
    context = 0
    external = /bin/false
[trailer]
    separators = "=%"
[status]
    showUntrackedFiles = no
[filter "break"]
    clean = tr a-z A-Z
    required = true
[merge]
    conflictStyle = diff3
"""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = "#!/bin/sh\nexit 1\n"
    hooks = write_folder(
        tmp_path / "hooks",
        {name: hook.encode() for name in ("pre-commit", "reference-transaction", "post-checkout")},
    )
    for path in hooks.iterdir():
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    template = write_folder(
        tmp_path / "template",
        {"hooks/reference-transaction": hook.encode(), "info/attributes": b"* filter=break\n"},
    )
    (template / "hooks" / "reference-transaction").chmod(0o755)
    (tmp_path / "attributes").write_text("* text ident filter=break working-tree-encoding=UTF-16\n")
    (tmp_path / "exclude").write_text("*\n")
    config = HOSTILE.format(
        hooks=hooks,
        template=template,
        attributes=tmp_path / "attributes",
        exclude=tmp_path / "exclude",
    )
    home = write_folder(tmp_path / "home", {".gitconfig": config.encode()})
    write_folder(
        home, {".config/git/attributes": b"* filter=break\n", ".config/git/ignore": b"*\n"}
    )
    settings = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
        "GIT_NAMESPACE": "other",
        "GIT_AUTHOR_DATE": "yesterday",
        "GIT_COMMITTER_NAME": "Somebody",
        "GIT_TEMPLATE_DIR": str(template),
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_DIFF_OPTS": "--unified=0",
        "GIT_EXTERNAL_DIFF": "/bin/false",
        "GIT_CONFIG_PARAMETERS": "'core.autocrlf=true'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.autocrlf",
        "GIT_CONFIG_VALUE_0": "true",
        "LC_ALL": "de_DE.UTF-8",
        "TZ": "Pacific/Kiritimati",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


def story(folder: Path) -> list[str]:
    """Import, propose, record, accept, revert; the commits of all of it."""
    store = ScaffoldStore.init(folder / "scaffolds", now=TickingClock())
    seed = store.import_lineage("crafter", write_folder(folder / "seed", MIXED))
    tree = store.write_tree(seed, {"memory/dos.md": b"a\r\nc\r\n", "README.md": b"# K\n"})
    candidate = store.propose(
        "crafter", night="n1", number=1, tree=tree, parent=seed, proposal=PROPOSAL
    )
    accepted = store.accept(store.record(candidate, ACCEPT))
    assert accepted.verdict == ACCEPT
    store.ensure_clean()
    diff = store.diff(seed, accepted)
    assert " a\r\n-b\r\n+c\r\n" in diff
    assert "\x1b" not in diff
    reverted = store.revert("crafter", accepted)
    return [seed.commit, candidate.commit, accepted.commit, reverted.commit, diff]


def test_the_same_commits_on_every_machine(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    plain = story(tmp_path / "plain")
    request.getfixturevalue("hostile")
    assert story(tmp_path / "strange") == plain


@pytest.mark.usefixtures("hostile")
def test_bytes_are_kept_as_they_are(tmp_path: Path) -> None:
    store = ScaffoldStore.init(tmp_path / "scaffolds")
    seed = store.import_lineage("crafter", write_folder(tmp_path / "seed", MIXED))
    assert seed.tree == hash_tree(MIXED)
    assert (store.path / "memory" / "dos.md").read_bytes() == b"a\r\nb\r\n"
    assert store.read_files(seed) == MIXED
