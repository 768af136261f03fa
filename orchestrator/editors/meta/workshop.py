"""Tools that change the scaffold: files, patches, a trial, and the submission."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from orchestrator.editors.base import Bench, Changes, Draft, Failed, Trial
from orchestrator.editors.meta.toolbox import Arguments, NoArguments, Tool, ToolRefusal
from orchestrator.episodes.planner import manifest_faults
from orchestrator.episodes.spec import EpisodeResult
from orchestrator.errors import SlowwaveError
from orchestrator.scaffolds.check import check_scaffold
from orchestrator.scaffolds.names import MAX_FILE_BYTES, file_path
from orchestrator.scaffolds.revision import ChangeKind, Proposal
from orchestrator.scaffolds.trees import read_folder

FAULTS_SHOWN = 10
PATCH_SECONDS = 30.0

InScaffold = Field(description="Path inside the scaffold, such as prompts/plan.j2.")


class OneFile(Arguments):
    """Arguments of `read_file` and `delete_file`."""

    path: str = InScaffold


class WriteFile(Arguments):
    """Arguments of `write_file`."""

    path: str = InScaffold
    text: str = Field(description="The whole new content.")


class ApplyPatch(Arguments):
    """Arguments of `apply_patch`."""

    patch: str = Field(
        description="A unified difference with paths inside the scaffold (--- a/hooks.py, +++"
        " b/hooks.py) and some lines around each change. Line counts in the @@ lines need not be"
        " right."
    )


class Submit(Arguments):
    """Arguments of `submit`."""

    subject: str = Field(
        min_length=5, max_length=72, description="One line, imperative: Keep one line per place."
    )
    summary: str = Field(min_length=20, description="What was changed.")
    rationale: str = Field(
        min_length=20, description="Why: what was seen, in which episodes, at which steps."
    )
    expected_effect: str = Field(
        min_length=10, description="What should become better, and how one would notice."
    )
    kind: ChangeKind = Field(
        description="memory: what is written, kept, looked up. perception: how the game is shown."
        " play: advice on what to do."
    )


class GiveUp(Arguments):
    """Arguments of `give_up`."""

    reason: str = Field(min_length=10, description="Why nothing is left that is worth a try.")


class Workshop:
    """The draft of one candidate.

    Args:
        files: The champion's files.
        bench: Checks a draft and plays a short episode with it.
        editor: The editor's name, for the commit.
        show: Told of every episode that was played with the draft, with the draft's files, so that
            it can be read; returns its name.
        failed: A rejected candidate that may be gone on from.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        bench: Bench,
        editor: str,
        show: Callable[[EpisodeResult, Mapping[str, bytes]], str],
        failed: Failed | None = None,
    ) -> None:
        self._champion = dict(files)
        self._files = dict(files)
        self._bench = bench
        self._editor = editor
        self._show = show
        self._failed = failed
        self._continues = ""
        self._tried: dict[tuple[tuple[str, bytes], ...], tuple[Trial, str]] = {}
        self.draft: Draft | None = None
        self.given_up = ""

    @property
    def over(self) -> bool:
        """Whether the model has submitted or given up."""
        return self.draft is not None or bool(self.given_up)

    def tools(self) -> list[Tool[Any]]:
        """The tools."""
        take_up = Tool(
            "take_up",
            "Put the rejected candidate's files into the draft, in the place of what is there.",
            NoArguments,
            self._take_up,
        )
        return [
            *([take_up] if self._failed else []),
            Tool("files", "The scaffold's files, with their sizes.", NoArguments, self._list),
            Tool("read_file", "A file of the scaffold as it now stands.", OneFile, self._read),
            Tool("write_file", "Write a file of the scaffold, whole.", WriteFile, self._write),
            Tool(
                "apply_patch",
                "Change files of the scaffold by a difference.",
                ApplyPatch,
                self._patch,
            ),
            Tool("delete_file", "Delete a file of the scaffold.", OneFile, self._delete),
            Tool(
                "try_it",
                "Check the scaffold as it now stands and play a short episode with it. What would"
                " be refused is said; the episode can then be read like the others.",
                NoArguments,
                self._try,
            ),
            Tool(
                "submit",
                "Hand the scaffold in as it now stands. It is checked and tried first, and comes"
                " back if it would be refused.",
                Submit,
                self._submit,
            ),
            Tool("give_up", "End without a candidate.", GiveUp, self._give_up),
        ]

    # --- the tools --------------------------------------------------------------------------

    def _list(self, _: NoArguments) -> str:
        changed = self._changes()
        lines = [
            f"{path}: {len(data):,} bytes{' (changed)' if path in changed else ''}"
            for path, data in sorted(self._files.items())
        ]
        gone = [f"{path}: deleted" for path, data in sorted(changed.items()) if data is None]
        return "\n".join([*lines, *gone])

    def _read(self, asked: OneFile) -> str:
        return self._existing(asked.path).decode("utf-8", "replace")

    def _write(self, asked: WriteFile) -> str:
        path, data = _inside(asked.path), asked.text.encode("utf-8", "replace")
        if len(data) > MAX_FILE_BYTES:
            raise ToolRefusal(f"{path} would have {len(data):,} bytes; {MAX_FILE_BYTES:,} may be.")
        self._files[path] = data
        return self._standing(f"{path} is written.")

    def _delete(self, asked: OneFile) -> str:
        self._existing(asked.path)
        del self._files[_inside(asked.path)]
        return self._standing(f"{asked.path} is deleted.")

    def _take_up(self, _: NoArguments) -> str:
        assert self._failed is not None
        self._files = dict(self._failed.files)
        self._continues = self._failed.view.name
        return self._standing("Its files are in the draft. As they are, they were judged already.")

    def _patch(self, asked: ApplyPatch) -> str:
        changed = _patched(self._files, asked.patch)
        if changed == self._files:
            raise ToolRefusal("The patch changes nothing.")
        self._files = changed
        return self._standing("The patch is applied.")

    def _try(self, _: NoArguments) -> str:
        trial, name = self._trial()
        read = f" The short episode can be read as {name}." if name else ""
        if trial.refusal:
            raise ToolRefusal(f"It would be refused. {trial.refusal}{read}")
        return f"It would not be refused.{read}"

    def _submit(self, asked: Submit) -> str:
        trial, _ = self._trial()
        if trial.refusal:
            raise ToolRefusal(f"Not taken. {trial.refusal}")
        proposal = Proposal(
            subject=asked.subject,
            summary=asked.summary,
            rationale=asked.rationale,
            expected_effect=asked.expected_effect,
            kind=asked.kind,
            editor=self._editor,
            continues=self._continues,
        )
        self.draft = Draft(self._changes(), proposal)
        return "Taken. It goes to the gate."

    def _give_up(self, asked: GiveUp) -> str:
        self.given_up = asked.reason
        return "So be it."

    # --- the draft --------------------------------------------------------------------------

    def _trial(self) -> tuple[Trial, str]:
        """Check and play; what was tried in the same state is not played again."""
        changes = self._changes()
        if not changes:
            raise ToolRefusal("Nothing is changed yet.")
        faults = check_scaffold(self._files, validate_manifest=manifest_faults)
        if faults:
            raise ToolRefusal("\n".join(["It would be refused.", *map(str, faults[:FAULTS_SHOWN])]))
        state = tuple(sorted(self._files.items()))
        if state not in self._tried:
            trial = self._bench.try_it(changes)
            name = self._show(trial.episode, self._files) if trial.episode else ""
            self._tried[state] = trial, name
        return self._tried[state]

    def _changes(self) -> Changes:
        old, new = self._champion, self._files
        paths = sorted({*old, *new})
        return {path: new.get(path) for path in paths if old.get(path) != new.get(path)}

    def _existing(self, path: str) -> bytes:
        data = self._files.get(path)
        if data is None:
            raise ToolRefusal(f"There is no {path[:80]!r}. There are: {', '.join(self._files)}.")
        return data

    def _standing(self, done: str) -> str:
        """What was done, and what the static checks say now."""
        faults = check_scaffold(self._files, validate_manifest=manifest_faults)
        return "\n".join([done, *(f"Still wrong: {fault}" for fault in faults[:FAULTS_SHOWN])])


def _inside(path: str) -> str:
    try:
        return file_path(path)
    except SlowwaveError as error:
        raise ToolRefusal(str(error)) from None


def _patched(files: Mapping[str, bytes], patch: str) -> dict[str, bytes]:
    """Files after a patch, by git itself, in a folder of their own.

    Raises:
        ToolRefusal: It does not apply, or makes something other than plain files in the scaffold.
    """
    text = patch if patch.endswith("\n") else f"{patch}\n"
    with tempfile.TemporaryDirectory(prefix="slowwave-patch-") as name:
        folder = Path(name)
        for path, data in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        said = _git_apply(folder, text, strip=1)
        if said and _git_apply(folder, text, strip=0):
            raise ToolRefusal(f"The patch does not apply: {said}")
        try:
            return read_folder(folder)
        except SlowwaveError as error:
            raise ToolRefusal(f"The patch was not taken. {error}") from None


def _git_apply(folder: Path, patch: str, *, strip: int) -> str:
    """Apply in a folder that is no repository; returns what git complains of, empty if nothing."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "LC_ALL": "C",
    }
    done = subprocess.run(
        ["git", "apply", "--recount", "--whitespace=nowarn", f"-p{strip}", "-"],
        input=patch.encode("utf-8", "replace"),
        capture_output=True,
        cwd=folder,
        env=environment,
        timeout=PATCH_SECONDS,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace").strip()[:2000]
    return (said or f"git apply ended with {done.returncode}") if done.returncode else ""
