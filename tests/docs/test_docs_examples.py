"""The worked examples in CONTRIBUTING.md do what the text around them says."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.loop import Agent
from agents.messages import Observe, Start, TurnReply
from agents.scaffold import Memory
from envs.conformance import faults_of
from envs.determinism import digest_of
from orchestrator.attacks.catalog import ATTACKS
from orchestrator.attacks.suite import check_sandbox
from orchestrator.editors.base import Brief
from orchestrator.editors.rules.catalogue import read_catalogue
from orchestrator.episodes.planner import manifest_faults
from orchestrator.gate.evidence import Evidence, PairedScores
from orchestrator.gate.protocol import Need, Ruling
from orchestrator.gate.simulate import simulate
from orchestrator.sandbox.base import Guarantee, missing
from orchestrator.scaffolds.check import check_scaffold
from orchestrator.scaffolds.revision import EditorView
from orchestrator.scaffolds.trees import read_folder
from tests.support.markdown import ROOT, block_named, document

GUIDE = "CONTRIBUTING.md"


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """Imports a block of the guide by the file that it says it is."""

    def load_block(file: str) -> Any:
        path = tmp_path / "example.py"
        path.write_text(block_named(GUIDE, file).text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("example", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load_block


def seed_files() -> dict[str, bytes]:
    return read_folder(ROOT / "scaffolds" / "crafter")


def test_the_environment_conforms_and_its_seeds_hold(load: Any) -> None:
    ladder = load("envs/ladder/__init__.py").LadderEnvironment
    assert faults_of(ladder()) == ()
    assert digest_of(ladder(), 3, 60) == digest_of(ladder(), 3, 60)
    assert digest_of(ladder(), 3, 60) != digest_of(ladder(), 4, 60)


def test_the_backend_answers_with_the_newest_line_first(load: Any) -> None:
    backend = load("agents/memory/newest_first.py").NewestFirstBackend()
    backend.begin_episode({"log": "saw water\nwalked\nsaw iron\n"})
    found = backend.run("SEARCH", ("log", "saw"))
    assert (found.text, found.matches) == ("saw iron\nsaw water", 2)
    assert backend.run("SEARCH", ("log", "coal")).text == "(no match)"
    assert backend.run("TAIL", ("log", "2")).text == "walked\nsaw iron"


def test_the_sandbox_holds_what_it_says_and_no_more(load: Any, tmp_path: Path) -> None:
    room = load("my_rooms.py").patient(tmp_path)
    assert Guarantee.CPU_TIME in missing(room)
    assert room.fingerprint.endswith("-patient")
    room.check()
    tried = [one for one in ATTACKS if one.name in ("environment", "exit_in_step", "disk_bomb")]
    assert [one.result for one in check_sandbox(room, tried)] == ["held"] * 3


def test_the_editor_doubles_and_then_has_nothing_left(load: Any) -> None:
    editor = load("orchestrator/editors/tail.py").TailEditor()
    files, lengths = seed_files(), []
    history: list[EditorView] = []
    while True:
        draft = editor.propose(brief(files, history), None)
        if draft is None:
            break
        changed = {**files, **draft.changes}
        assert check_scaffold(changed, validate_manifest=manifest_faults) == []
        before, _, after = changed["prompts/plan.j2"].decode().partition("<|TAIL|>actions_log|")
        assert before in files["prompts/plan.j2"].decode()
        lengths.append(after.partition("<")[0])
        history.append(viewed(draft.proposal.subject))
    assert lengths == ["6", "12", "24", "48"]


def brief(files: dict[str, bytes], history: list[EditorView]) -> Brief:
    return Brief(
        night="n",
        number=1,
        environment="crafter",
        files=files,
        episodes=[],
        history=history,
        lineage=[],
        others={},
    )


def viewed(subject: str) -> EditorView:
    return EditorView(
        name="n/1", tree="", subject=subject, body="", kind=None, verdict="reject", refusal=()
    )


def test_the_edit_applies_to_the_seed_scaffold(load: Any, tmp_path: Path) -> None:
    folder = tmp_path / "edits" / "crafter" / "recent"
    folder.mkdir(parents=True)
    for name in ("edit.toml", "recent.py"):
        block = block_named(GUIDE, f"scaffolds/edits/crafter/recent/{name}")
        (folder / name).write_text(block.text, encoding="utf-8")
    (edit,) = read_catalogue(folder.parents[1], "crafter")
    changed = {**seed_files(), **edit.apply(seed_files())}
    assert check_scaffold(changed, validate_manifest=manifest_faults) == []
    assert b"import recent" in changed["hooks.py"]
    assert b"    recent,\n" in changed["hooks.py"]
    assert edit.text.rationale.format(stuck_rate=0.153).startswith("15% of the actions")

    part = load("scaffolds/edits/crafter/recent/recent.py")
    context = SimpleNamespace(previous_action="", state={}, notes={})
    for action in ("", "noop", "do", "sleep", "move_up", "move_down", "do"):
        context.previous_action = action
        part.on_observation(context)
    assert context.notes == {"Recent actions": "do, sleep, move_up, move_down, do"}
    shutil.rmtree(folder)


def scores(*gains: float | None) -> Evidence:
    return Evidence(
        screen=PairedScores(
            seeds=tuple(range(len(gains))),
            champion=(50.0,) * len(gains),
            candidate=tuple(None if gain is None else 50.0 + gain for gain in gains),
        )
    )


def test_the_rule_rules_and_can_be_simulated(load: Any) -> None:
    rule = load("orchestrator/gate/rules.py").SignFlipRule()
    assert rule.next(Evidence()) == Need("screen", 10, False)
    accepted = rule.next(scores(*[1.0] * 10))
    assert (accepted.decision, accepted.p) == ("accept", 1 / 1024)
    # Of the sums of signs of ten ones, those of at least 2: (1024 - C(10, 5)) / 2 = 386.
    rejected = rule.next(scores(*[1.0] * 6, *[-1.0] * 4))
    assert (rejected.decision, rejected.p) == ("reject", 386 / 1024)
    lost = rule.next(scores(*[1.0] * 8, None, None))
    assert isinstance(lost, Ruling)
    assert lost.decision == "indecisive"
    # 42.5% in 2,000 nights; the first hundred of them lie within three standard errors, 0.15.
    assert 0.28 < simulate(rule, nights=100, candidates=30).false_accept_rate.estimate < 0.58


def test_prompts_are_given_what_the_page_lists() -> None:
    given: dict[str, set[str]] = {}

    class Prompts:
        def render(self, name: str, **values: object) -> str:
            given[name] = set(values)
            return ""

    def turn(phase: str, messages: object) -> TurnReply:
        return TurnReply("", [], "DONE" if phase == "LOG" else "ACTION", "noop")

    start = Start("crafter-v1", "", ["noop"], 9, 1, 1, False, [], [], {})
    agent = Agent(start, Prompts(), None, [], Memory(lambda *_: ""), turn)
    agent.step(Observe(1, "now", "noop", ""))
    listed = [row for row in document("docs/scaffolds.md").rows("Prompts") if "`" in row[0]]
    names = [(name, row[1]) for row in listed for name in row[0].replace("`", "").split(", ")]
    assert {name for name, _ in names} == given["log"] == given["plan"]
    everywhere = {name for name, where in names if where == "all"}
    assert everywhere <= given["system"]
