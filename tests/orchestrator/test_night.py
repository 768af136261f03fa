"""A night on real games, without Prefect: what it decides, records, and does after a crash."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator import outage
from orchestrator.config import BudgetConfig
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.store import EpisodeStore
from orchestrator.gate.errors import CannotReach
from orchestrator.models.config import ModelConfig
from orchestrator.night_record import NightRecord, read_record, unfinished
from orchestrator.outage import Outage
from orchestrator.report import write_report
from orchestrator.sandbox.choice import Unsandboxed
from orchestrator.scaffolds.errors import DirtyRepository
from orchestrator.workspace import Workspace, seed_scaffolds
from tests.support.nights import (
    ListEditor,
    Losing,
    Quiet,
    Runner,
    Stopped,
    begin,
    blind_night,
    kill_at,
    run,
    untimed,
)
from tests.support.openai_server import answer, closed_port, serve
from tests.support.sandbox_parts import AWAY
from tests.support.serial import lost_episode
from tests.support.workspaces import small_workspace


class Leaving(Losing):
    """Loses some of a batch, once, because the sandbox is away; then plays what it is given.

    Args:
        at: Number of the batch, from 1.
        looks: At how many looks the sandbox is still away afterwards.
    """

    def __init__(self, at: int, looks: int) -> None:
        super().__init__()
        self._at, self._looks, self.batches = at, looks, 0

    def __call__(
        self, jobs: Sequence[EpisodeJob], label: str
    ) -> list[EpisodeResult | MissingEpisode]:
        self.batches += 1
        if self.batches != self._at:
            return super().__call__(jobs, label)
        half = len(jobs) // 2
        (jobs[0].artifacts / AWAY).write_text(str(self._looks))
        lost = [
            lost_episode(job, error="SandboxAway", message="It is dark.") for job in jobs[half:]
        ]
        return [*super().__call__(jobs[:half], label), *lost]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, NightRecord, Runner]:
    """A night that nothing interrupts."""
    workspace, editor = blind_night(tmp_path_factory.mktemp("whole"))
    runner = Runner()
    return workspace, run(workspace, begin(workspace, "blind"), runner, editor), runner


@pytest.mark.slow
def test_a_night_keeps_what_is_better_and_rejects_what_is_worse(
    whole: tuple[Workspace, NightRecord, Runner],
) -> None:
    workspace, record, runner = whole
    assert [(one.number, one.decision) for one in record.rounds] == [(1, "accept"), (2, "reject")]
    assert record.rounds[0].name == "blind/v1"
    assert record.stop_reason == "2 candidates were tried"
    assert record.ended_at is not None
    assert record.report is not None
    effect = record.report.summary()["report.effect"]
    assert effect is not None
    assert effect > 0
    assert len(runner.played) == len(set(runner.played))
    assert read_record(workspace.night_folder(record.id)) == record
    nights = workspace.artifacts / "nights"
    assert unfinished(nights, "blind") == record, "its page is still missing"
    write_report(workspace, record)
    assert unfinished(nights, "blind") is None


@pytest.mark.slow
def test_history_holds_every_candidate_with_its_verdict(
    whole: tuple[Workspace, NightRecord, Runner],
) -> None:
    workspace, record, _ = whole
    history = workspace.scaffolds.history("blind", include_candidates=True)
    words = {one.tree: one.verdict.word for one in history if one.verdict is not None}
    assert words == {one.tree: one.decision for one in record.rounds}
    lineage = workspace.scaffolds.history("blind")
    assert [one.name for one in lineage] == ["blind/v1", "blind/v0"]
    assert lineage[0].tree == record.rounds[0].tree
    slices = lineage[0].verdict.bank_slices if lineage[0].verdict else ()
    assert slices == ("screen", "confirm[0]")


@pytest.mark.slow
def test_banks_do_not_meet(whole: tuple[Workspace, NightRecord, Runner]) -> None:
    workspace = whole[0]
    banks, _ = workspace.banks("crafter-v1")
    by_bank: dict[str, set[int]] = {}
    for result in EpisodeStore(workspace.artifacts).results():
        by_bank.setdefault(str(banks.bank_of(result.seed)), set()).add(result.seed)
    counts = {bank: len(seeds) for bank, seeds in by_bank.items()}
    assert counts == {"propose": 2, "screen": 4, "confirm": 5, "report": 2}


@pytest.mark.slow
@pytest.mark.parametrize("stop_after", [0, 4, 11, 20, 24])
def test_an_interrupted_night_decides_the_same_and_plays_nothing_twice(
    whole: tuple[Workspace, NightRecord, Runner], tmp_path: Path, stop_after: int
) -> None:
    played, expected, runner = whole
    workspace, editor = blind_night(tmp_path)
    shutil.copytree(played.artifacts / "worlds", workspace.artifacts / "worlds")
    record = begin(workspace, "blind").model_copy(update={"id": expected.id})
    first = Runner(stop_after)
    with pytest.raises(Stopped):
        run(workspace, record, first, editor)
    resumed = unfinished(workspace.artifacts / "nights", "blind")
    assert resumed is not None
    second = Runner()
    finished = run(workspace, resumed, second, editor)
    assert not set(first.played) & set(second.played)
    assert sorted(first.played + second.played) == sorted(runner.played)
    assert finished.report == expected.report
    assert untimed(finished) == untimed(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment",
    ["track 1 -", "track 1 +", "track 2 +", "track 0 -", "track 0 +", "record", "accept"],
)
def test_a_night_killed_between_its_writes_decides_the_same(
    whole: tuple[Workspace, NightRecord, Runner], tmp_path: Path, moment: str
) -> None:
    played, expected, _ = whole
    workspace, editor = blind_night(tmp_path)
    for folder in ("worlds", "episodes"):
        shutil.copytree(played.artifacts / folder, workspace.artifacts / folder)
    record = begin(workspace, "blind").model_copy(update={"id": expected.id})
    kill_at(moment, workspace, record, editor)
    again = Workspace(workspace.root, workspace.config)
    resumed = unfinished(again.artifacts / "nights", "blind")
    assert resumed is not None
    rerun = Runner()
    finished = run(again, resumed, rerun, editor)
    assert rerun.played == []
    assert untimed(finished) == untimed(expected)
    assert finished.report == expected.report
    assert [one.name for one in again.scaffolds.history("blind")] == ["blind/v1", "blind/v0"]
    assert len(again.scaffolds.history("blind", include_candidates=True)) == 3


@pytest.mark.slow
def test_a_lineage_that_moves_meanwhile_keeps_its_new_head(tmp_path: Path) -> None:
    workspace, editor = blind_night(tmp_path)

    class Mover(Runner):
        """Gives the lineage another head while the first candidate is judged."""

        def __call__(
            self, jobs: Sequence[EpisodeJob], label: str
        ) -> list[EpisodeResult | MissingEpisode]:
            if label.startswith("confirm") and not self.moved:
                self.moved = True
                folder = workspace.root / "scaffolds"
                subprocess.run(["git", "checkout", "-q", "blind"], cwd=folder, check=True)
                (folder / "README.md").write_text("Changed by hand.\n")
                subprocess.run(
                    ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "Mine"],
                    cwd=folder,
                    check=True,
                )
            return super().__call__(jobs, label)

        moved = False

    record = run(workspace, begin(workspace, "blind"), Mover(), editor)
    assert record.rounds[0].decision == "indecisive"
    assert "another champion" in record.rounds[0].reason
    assert record.ended_at is not None


def waiting_night(
    folder: Path, expected: NightRecord, worlds: Path, *, wait_hours: float
) -> tuple[Workspace, NightRecord, ListEditor]:
    """The whole night again, on a sandbox that can be away."""
    workspace, editor = blind_night(folder)
    shutil.copytree(worlds, workspace.artifacts / "worlds")
    record = begin(workspace, "blind")
    night = record.config.night.model_copy(update={"wait_hours": wait_hours})
    changed = {"sandbox": "tests.support.sandbox_parts:passing_away", "night": night}
    config = record.config.model_copy(update=changed)
    return workspace, record.model_copy(update={"id": expected.id, "config": config}), editor


# Batches: 1 propose, 2 smoke, 3 and 4 screen, 5 confirm.
@pytest.mark.slow
@pytest.mark.parametrize("at", [1, 2, 4, 5])
def test_a_night_waits_for_its_sandbox_and_decides_the_same(
    whole: tuple[Workspace, NightRecord, Runner],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at: int,
) -> None:
    monkeypatch.setattr(outage, "LOOK_SECONDS", 0.0)
    played, expected, _ = whole
    workspace, record, editor = waiting_night(
        tmp_path, expected, played.artifacts / "worlds", wait_hours=2.0
    )
    listener = Quiet()
    finished = run(workspace, record, Leaving(at, looks=3), editor, listener=listener)
    waits = [line for line in listener.lines if "Waiting" in line or "going on" in line]
    assert waits == [
        "The machine room is dark. Switch the light on. Waiting for it, 2.0 hours at most.",
        "The sandbox is back: going on.",
    ]
    assert untimed(finished) == untimed(expected)
    assert finished.report == expected.report


@pytest.mark.slow
def test_a_night_that_has_waited_enough_ends_and_can_be_gone_on_with(
    whole: tuple[Workspace, NightRecord, Runner], tmp_path: Path
) -> None:
    played, expected, _ = whole
    workspace, record, editor = waiting_night(
        tmp_path, expected, played.artifacts / "worlds", wait_hours=0.0
    )
    with pytest.raises(Outage, match=r"The machine room is dark\. The night has waited for 0 min"):
        run(workspace, record, Leaving(5, looks=1), editor)
    resumed = unfinished(workspace.artifacts / "nights", "blind")
    assert resumed is not None
    assert resumed.rounds == ()
    finished = run(workspace, resumed, Runner(), editor)
    assert untimed(finished) == untimed(expected)
    assert finished.report == expected.report


def test_a_sandbox_that_is_back_and_loses_the_same_again_is_not_worth_the_night(
    tmp_path: Path,
) -> None:
    workspace, _ = blind_night(tmp_path)
    asked: list[str] = []

    def lose(jobs: Sequence[EpisodeJob], label: str) -> list[EpisodeResult | MissingEpisode]:
        asked.append(label)
        lost = {"error": "SandboxAway", "message": "It hung up."}
        return [lost_episode(one, **lost) for one in jobs]

    with pytest.raises(Outage, match="episodes could not be played: It hung up"):
        run(workspace, begin(workspace, "blind"), lose, ListEditor())
    # Once, and then three times in vain, although each time the sandbox is there.
    assert len(asked) == 4


def test_an_editor_whose_code_nobody_read_is_refused_before_anything_is_played(
    tmp_path: Path,
) -> None:
    workspace, runner = small_workspace(tmp_path), Runner()
    editor = ListEditor({"README.md": b"Other words.\n"})
    record = begin(workspace, allow_unsandboxed=False)
    with pytest.raises(Unsandboxed, match="list wrote this scaffold's code") as refusal:
        run(workspace, record, runner, editor)
    assert "--allow-unsandboxed" in str(refusal.value.mend)
    assert (runner.played, editor.briefs) == ([], [])
    assert len(workspace.scaffolds.history("crafter", include_candidates=True)) == 1


def test_with_leave_its_night_runs(tmp_path: Path) -> None:
    workspace, runner = small_workspace(tmp_path, candidates=1), Runner()
    editor = ListEditor({"hooks.py": b"def on_start(context):\n    raise ValueError('broken')\n"})
    record = run(workspace, begin(workspace), runner, editor)
    # Its code was played, and broke.
    assert [one.decision for one in record.rounds] == ["refused"]
    assert "hooks.py:2" in record.rounds[0].reason
    assert workspace.scaffolds.author(record.rounds[0].tree) == "list"
    assert read_record(workspace.night_folder(record.id)).allow_unsandboxed


def test_an_outage_stops_the_night_and_blames_nobody(tmp_path: Path) -> None:
    workspace = small_workspace(tmp_path)
    with closed_port() as url:
        model = ModelConfig(provider="openai", model="m", base_url=url, max_retries=0)
        config = workspace.config.model_copy(update={"models": {"action": model}})
        record = begin(workspace).model_copy(update={"config": config})
        with pytest.raises(Outage, match="could not be played"):
            run(workspace, record, Losing())
    left = unfinished(workspace.artifacts / "nights", "crafter")
    assert left is not None
    assert left.rounds == ()


@pytest.mark.slow
def test_code_that_takes_over_after_the_smoke_episode_is_refused(tmp_path: Path) -> None:
    workspace, _ = blind_night(tmp_path)
    late = b"def before_act(context, action):\n    return action if context.step < 20 else 'noop'\n"
    seeing = (seed_scaffolds() / "crafter" / "prompts" / "plan.j2").read_bytes()
    editor = ListEditor({"hooks.py": late, "prompts/plan.j2": seeing})
    record = run(workspace, begin(workspace, "blind"), Runner(), editor)
    assert record.rounds[0].decision == "refused"
    assert "overrode the model" in record.rounds[0].reason
    assert workspace.scaffolds.champion("blind").name == "blind/v0"


@pytest.mark.slow
def test_illegal_and_broken_candidates_are_refused_before_the_gate(tmp_path: Path) -> None:
    workspace = small_workspace(tmp_path, candidates=3)
    editor = ListEditor(
        {"hooks.py": b"import os\n"},
        {"hooks.py": b"def on_observation(context):\n    raise ValueError('broken')\n"},
        {
            "prompts/log.j2": b"Say <|DONE|>\n",
            "prompts/plan.j2": b"{{ observation }}\nSay <|ACTION|>noop<|END|>\n",
        },
    )
    runner = Runner()
    record = run(workspace, begin(workspace), runner, editor)
    assert [one.decision for one in record.rounds] == ["refused"] * 3
    reasons = [one.reason for one in record.rounds]
    assert "hooks.py:1" in reasons[0]
    assert "os" in reasons[0]
    assert "hooks.py:2" in reasons[1]
    assert "broken" in reasons[1]
    assert "no memory command" in reasons[2]
    # Two propose episodes, two smoke episodes, two of the report bank; none for the gate.
    assert len(runner.played) == 6
    assert {view.verdict for view in editor.briefs[-1].history} == {"refused"}


def test_a_dirty_repository_stops_the_night_and_loses_nothing(tmp_path: Path) -> None:
    workspace = small_workspace(tmp_path)
    edited = workspace.root / "scaffolds" / "README.md"
    edited.write_text("my own words\n")
    with pytest.raises(DirtyRepository, match=r"README\.md"):
        run(workspace, begin(workspace), Runner())
    assert edited.read_text() == "my own words\n"


def test_a_gate_that_could_never_accept_is_refused_before_anything_is_played(
    tmp_path: Path,
) -> None:
    workspace = small_workspace(tmp_path)
    gate = workspace.config.gate.model_copy(update={"confirm_alpha": 0.001})
    config = workspace.config.model_copy(update={"gate": gate})
    runner = Runner()
    with pytest.raises(CannotReach):
        run(workspace, begin(workspace).model_copy(update={"config": config}), runner)
    assert runner.played == []


def test_a_language_model_plays_and_a_spent_budget_ends_the_night(tmp_path: Path) -> None:
    """The real client talks to a real server; when the tokens are gone, everything is kept."""
    workspace = small_workspace(tmp_path)
    with serve() as server:
        # LOG and PLAN alternate but for the first step, which has no LOG.
        words = "<|ACTION|>do<|END|> <|DONE|>"
        server.play(*(answer(words, usage=(5000, 20, 0)) for _ in range(400)))
        model = ModelConfig(provider="openai", model="tiny-1", base_url=server.url, max_tokens=50)
        config = workspace.config.model_copy(
            update={
                "models": {"action": model},
                "budget": BudgetConfig(tokens=200_000),
            }
        )
        record = begin(workspace).model_copy(update={"config": config})
        runner = Runner()
        finished = run(workspace, record, runner)
    assert "token" in finished.stop_reason
    assert finished.ended_at is not None
    assert finished.report is None
    assert finished.rounds == ()
    assert len(server.bodies) > 3
    assert read_record(workspace.night_folder(record.id)) == finished


def test_a_tree_already_judged_is_refused_before_it_is_played(tmp_path: Path) -> None:
    workspace = small_workspace(tmp_path, candidates=2)
    change: dict[str, bytes | None] = {"hooks.py": b"import os\n"}
    record = run(workspace, begin(workspace), Runner(), ListEditor(change, change))
    assert [one.decision for one in record.rounds] == ["refused", "refused"]
    assert "the same, byte for byte" in record.rounds[1].reason
