"""The command line as people and scripts use it: results, and a sentence for every wrong input."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from envs import registry
from orchestrator.cli import gate
from orchestrator.cli.app import main
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.trajectory import Trajectory
from orchestrator.sandbox.containers import daemon
from orchestrator.scaffolds.revision import Proposal, Revision
from orchestrator.workspace import Workspace, seed_scaffolds
from tests.support import small_suite
from tests.support.openai_server import closed_port
from tests.support.serial import play_serially
from tests.support.workspaces import small_workspace


class Shell:
    """Runs ``slowwave`` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Exit status, standard output, and standard error with its line breaks taken out."""
        self._monkeypatch.setattr(sys, "argv", ["slowwave", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, said.out, " ".join(said.err.split())

    def json(self, *words: str) -> Any:
        """The one JSON object of a command that succeeds."""
        status, out, err = self(*words, "--json")
        assert status == 0, err
        (line,) = out.splitlines()
        return json.loads(line)

    def sentence(self, *words: str, status: int = 2) -> str:
        """What a command that fails says; never a traceback."""
        code, _, err = self(*words)
        assert code == status, err
        assert "Traceback" not in err
        assert err.startswith("Error: ")
        return err


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLOWWAVE_WORKSPACE", raising=False)
    return Shell(monkeypatch, capsys)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return small_workspace(tmp_path_factory.mktemp("lab"))


PROCESS = ("--sandbox", "process")
"""So that nothing depends on whether Docker is there."""
PLAY = ("play", "crafter", *PROCESS, "--seed", "7", "--steps", "20", "--model", "heuristic")


class TestPlay:
    def test_gives_the_promised_object_and_the_same_digest_again(self, shell: Shell) -> None:
        words = (*PLAY, "--scaffold", str(seed_scaffolds() / "crafter"))
        first = shell.json(*words)
        promised = [
            "environment", "seed", "steps", "progression", "digest", "metrics", "trajectory",
            "outcome",
        ]  # fmt: skip
        assert list(first)[: len(promised)] == promised
        assert first["environment"] == "crafter-v1"
        assert (first["seed"], first["steps"]) == (7, 20)
        assert len(first["digest"]) == 64
        assert Path(first["trajectory"]).is_file()
        assert first["progression"] * 22 == pytest.approx(round(first["progression"] * 22))
        again = shell.json(*words, "--again")
        assert again == first
        assert len(list(Path("artifacts/episodes").glob("??/*"))) == 2, "result and trajectory"

    def test_another_game_than_before_is_said_and_why(self, shell: Shell) -> None:
        words = (*PLAY, "--scaffold", str(seed_scaffolds() / "crafter"))
        first = shell.json(*words)
        (stored,) = Path("artifacts/episodes").glob("??/*.json")
        digest = "0" * 64
        stored.write_text(stored.read_text().replace(first["digest"], digest))
        kept = {path: path.read_bytes() for path in stored.parent.iterdir()}
        said = shell.sentence(*words, "--again", status=1)
        assert (
            f"gave another game than before ({first['digest'][:12]} against 000000000000)" in said
        )
        assert "slowwave doctor" in said
        assert {path: path.read_bytes() for path in kept} == kept
        (other,) = set(stored.parent.iterdir()) - kept.keys()
        assert other.name in said
        assert len(list(Trajectory(other).steps())) == 20

    def test_who_stops_a_replay_keeps_what_was_stored(
        self, shell: Shell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        words = (*PLAY, "--scaffold", str(seed_scaffolds() / "crafter"))
        first = shell.json(*words)

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("orchestrator.episodes.job.play", stop)
            status, _, _ = shell(*words, "--again")
            assert status == 130
        assert shell.json(*words) == first

    def test_plays_a_revision_of_a_workspace(self, shell: Shell, lab: Workspace) -> None:
        found = shell.json(*PLAY, "-w", str(lab.root), "--scaffold", "crafter/v0")
        assert found["tree"] == lab.scaffolds.champion("crafter").tree

    def test_prints_a_table_for_people(self, shell: Shell, lab: Workspace) -> None:
        status, out, _ = shell(*PLAY, "-w", str(lab.root))
        assert status == 0
        assert "crafter-v1 seed 7" in out
        assert "override_rate" in out


def propose(workspace: Workspace, number: int, editor: str) -> Revision:
    """A candidate that an editor proposes on the champion."""
    champion = workspace.scaffolds.champion("crafter")
    tree = workspace.scaffolds.write_tree(champion, {"README.md": f"By {editor}.\n".encode()})
    words = Proposal(
        subject="Change a word",
        summary="A word.",
        rationale="To see.",
        expected_effect="None.",
        kind="memory",
        editor=editor,
    )
    return workspace.scaffolds.propose(
        "crafter", night="n1", number=number, tree=tree, parent=champion, proposal=words
    )


class TestUnreadCode:
    """What a model wrote runs only where it is locked in, or by the user's word."""

    def test_a_candidate_of_a_model_is_refused_with_the_mend(
        self, shell: Shell, tmp_path: Path
    ) -> None:
        workspace = small_workspace(tmp_path / "lab")
        words = (*PLAY, "-w", str(workspace.root), "--scaffold")
        candidate = propose(workspace, 1, "anthropic:x")
        for name in ("n1/1", candidate.tree):
            said = shell.sentence(*words, name, status=2)
            assert "anthropic:x wrote this scaffold's code, and nobody has read it." in said
            assert "slowwave sandbox build" in said
            assert "--allow-unsandboxed" in said
        assert shell.json(*words, "n1/1", "--allow-unsandboxed")["tree"] == candidate.tree

    def test_a_copy_of_it_is_known_by_its_tree(self, shell: Shell, tmp_path: Path) -> None:
        workspace = small_workspace(tmp_path / "lab")
        candidate = propose(workspace, 1, "anthropic:x")
        folder = workspace.scaffolds.export(candidate.tree, tmp_path / "copies")
        words = (*PLAY, "-w", str(workspace.root), "--scaffold", str(folder))
        assert "nobody has read it" in shell.sentence(*words, status=2)

    def test_what_the_shipped_editor_wrote_is_played(self, shell: Shell, tmp_path: Path) -> None:
        workspace = small_workspace(tmp_path / "lab")
        candidate = propose(workspace, 1, "rules")
        words = (*PLAY, "-w", str(workspace.root), "--scaffold", "n1/1")
        assert shell.json(*words)["tree"] == candidate.tree


class TestWrongInput:
    def test_unknown_environment(self, shell: Shell) -> None:
        assert "Did you mean 'crafter'?" in shell.sentence("play", "craftr", *PROCESS)

    def test_no_scaffold_of_that_name(self, shell: Shell) -> None:
        said = shell.sentence("play", "crafter", *PROCESS, "--scaffold", "nowhere")
        assert "no scaffold folder and no revision 'nowhere'" in said

    def test_missing_workspace(self, shell: Shell) -> None:
        for command in (["night"], ["log"], ["report"], ["gate", "calibrate"]):
            assert "slowwave init" in shell.sentence(*command)

    def test_bad_toml_names_file_and_line(self, shell: Shell, tmp_path: Path) -> None:
        config = tmp_path / "slowwave.toml"
        config.write_text("root_seed = 1\n\n[night]\nsteps = = 3\n")
        said = shell.sentence("log", "-w", str(tmp_path))
        assert f"{config}:4:" in said.replace(" ", "") or "slowwave.toml:4:" in said

    def test_unknown_key_names_line_and_the_right_one(self, shell: Shell, tmp_path: Path) -> None:
        (tmp_path / "slowwave.toml").write_text("[night]\ncandidate = 3\n")
        said = shell.sentence("log", "-w", str(tmp_path))
        assert "slowwave.toml:2:" in said
        assert "Did you mean 'candidates'?" in said

    def test_steps_as_they_were_written_before_there_were_families(
        self, shell: Shell, tmp_path: Path
    ) -> None:
        (tmp_path / "slowwave.toml").write_text("[night]\nsteps = 600\n")
        said = shell.sentence("night", "crafter", "-w", str(tmp_path))
        assert "slowwave.toml:2: 'night.steps': steps are set for each family" in said
        assert "write a table [night.steps] and in it crafter = 600" in said

    def test_a_suite_where_one_game_is_played(self, shell: Shell) -> None:
        said = shell.sentence("play", "minihack", *PROCESS)
        assert "'minihack' is a suite, and one environment is asked for here." in said
        assert "minihack/quest-easy-v1" in said

    def test_broken_scaffold_names_file_line_and_mend(self, shell: Shell, tmp_path: Path) -> None:
        folder = tmp_path / "mine"
        shutil.copytree(seed_scaffolds() / "crafter", folder)
        (folder / "hooks.py").write_text("import math\n\ndef on_start(context)\n    pass\n")
        said = shell.sentence("play", "crafter", *PROCESS, "--scaffold", str(folder), status=1)
        assert "hooks.py:3" in said

    def test_forbidden_import_is_named(self, shell: Shell, tmp_path: Path) -> None:
        folder = tmp_path / "mine"
        shutil.copytree(seed_scaffolds() / "crafter", folder)
        (folder / "hooks.py").write_text("import socket\n")
        said = shell.sentence("play", "crafter", *PROCESS, "--scaffold", str(folder), status=1)
        assert "hooks.py:1" in said
        assert "socket" in said

    def test_dirty_repository_keeps_everything(self, shell: Shell, tmp_path: Path) -> None:
        workspace = small_workspace(tmp_path / "lab")
        mine = workspace.root / "scaffolds" / "hooks.py"
        mine.write_text("# my own work\n")
        said = shell.sentence("night", "crafter", "-w", str(workspace.root), status=1)
        assert "hooks.py" in said
        assert mine.read_text() == "# my own work\n"

    def test_no_key(self, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        said = shell.sentence("play", "crafter", *PROCESS, "--model", "openai:some-model", status=1)
        assert "OPENAI_API_KEY is not set" in said

    def test_unreachable_model(self, shell: Shell, tmp_path: Path) -> None:
        with closed_port() as url:
            config = tmp_path / "slowwave.toml"
            config.write_text(
                '[models.action]\nprovider = "openai"\nmodel = "m"\nmax_retries = 0\n'
                f'base_url = "{url}"\n'
            )
            said = shell.sentence(
                "play", "crafter", *PROCESS, "--steps", "2", "-w", str(tmp_path), status=1
            )
        assert url.removesuffix("/v1") in said

    def test_not_a_model(self, shell: Shell) -> None:
        assert "'gpt' is no model" in shell.sentence("play", "crafter", *PROCESS, "--model", "gpt")

    def test_docker_where_no_daemon_answers(
        self, shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        daemon.forget()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nowhere.sock")
        said = shell.sentence(*PLAY, "--sandbox", "docker", status=1)
        assert "Docker's daemon does not answer" in said
        assert "use --sandbox process" in said
        # Without a word about it, a process does.
        assert shell.json(*PLAY, "--sandbox", "auto")["steps"] == 20
        daemon.forget()

    def test_no_sandbox_that_can_be_imported(self, shell: Shell) -> None:
        said = shell.sentence(*PLAY, "--sandbox", "nowhere:factory")
        assert (
            "The sandbox nowhere:factory cannot be made:"
            " ModuleNotFoundError: No module named 'nowhere'" in said
        )

    def test_no_sandbox_of_that_kind(self, shell: Shell) -> None:
        said = shell.sentence("play", "crafter", "--sandbox", "dokcer")
        assert (
            "There is no sandbox 'dokcer'. Did you mean docker?"
            " Use one of: auto, docker, process; or" in said
        )

    @pytest.mark.parametrize("url", ["foo", "ftp://x/v1", "http://[x"])
    def test_no_address(self, shell: Shell, url: str) -> None:
        said = shell.sentence("play", "crafter", *PROCESS, "--model", "openai:x", "--base-url", url)
        assert "--base-url is not a" in said
        assert "Write it as http://127.0.0.1:8000/v1." in said

    @pytest.mark.parametrize("model", [[], ["--model", "heuristic"]])
    @pytest.mark.parametrize("option", ["--base-url", "--api-key-env"])
    def test_an_address_without_a_model(self, shell: Shell, option: str, model: list[str]) -> None:
        said = shell.sentence("eval", "crafter", *PROCESS, option, "http://127.0.0.1:1/v1", *model)
        assert f"{option} says nothing without a model" in said
        assert "Add --model openai:NAME" in said

    def test_a_key_in_place_of_its_name_is_not_shown(self, shell: Shell) -> None:
        key = "sk-" + "a1" * 12
        said = shell.sentence(
            "play", "crafter", *PROCESS, "--model", "openai:x", "--api-key-env", key
        )
        assert "--api-key-env is the NAME of an environment variable" in said
        assert key not in said

    def test_a_scaffold_for_another_environment(self, shell: Shell, tmp_path: Path) -> None:
        folder = tmp_path / "mine"
        shutil.copytree(seed_scaffolds() / "crafter", folder)
        manifest = folder / "scaffold.toml"
        text = manifest.read_text()
        manifest.write_text(text.replace('environment = "crafter"', 'environment = "maze"'))
        said = shell.sentence("play", "crafter", *PROCESS, "--scaffold", str(folder))
        assert "is for the environment 'maze', not for crafter-v1." in said

    @pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
    def test_no_finite_effect(self, shell: Shell, value: str) -> None:
        said = shell.sentence("gate", "simulate", f"--effect={value}", "--nights", "1")
        assert f"'--effect': {value} is no finite number" in said

    @pytest.mark.parametrize("option", ["--noise", "--shared"])
    def test_no_finite_spread(self, shell: Shell, option: str) -> None:
        for value in ("nan", "inf"):
            said = shell.sentence("gate", "simulate", option, value, "--nights", "1")
            assert f"Invalid value for '{option}'" in said
        assert "no finite number" in shell.sentence("gate", "power", "--sd", "inf")

    def test_more_seeds_than_a_bank_holds(self, shell: Shell, lab: Workspace) -> None:
        said = shell.sentence("gate", "calibrate", "--seeds", "5000", "-w", str(lab.root))
        assert "'--seeds'" in said
        assert "4096" in said

    def test_a_root_seed_out_of_range_writes_nothing(self, shell: Shell, tmp_path: Path) -> None:
        said = shell.sentence("init", "big", "--root-seed", "99999999999999999999")
        assert "99999999999999999999 is no root seed." in said
        assert "9223372036854775807" in said
        assert not (tmp_path / "big").exists()

    @pytest.mark.parametrize("seeds", ["", "a", "5-1", "1-", "-3", "1,,2", "99999999999"])
    def test_no_list_of_seeds(self, shell: Shell, seeds: str) -> None:
        assert "no list of seeds" in shell.sentence("eval", "crafter", *PROCESS, f"--seeds={seeds}")

    def test_unknown_rule(self, shell: Shell) -> None:
        said = shell.sentence("gate", "simulate", "--rule", "two-stag", "--nights", "1")
        assert "Did you mean two-stage?" in said

    def test_unknown_option(self, shell: Shell) -> None:
        assert "--sead" in shell.sentence("play", "crafter", *PROCESS, "--sead", "3")

    def test_nothing_asked_for_shows_the_help_and_no_error(self, shell: Shell) -> None:
        status, out, err = shell()
        assert status == 2
        assert "slowwave [OPTIONS] COMMAND" in " ".join(out.split())
        assert "Error" not in err

    def test_unknown_lineage_and_revision(self, shell: Shell, lab: Workspace) -> None:
        where = ("-w", str(lab.root))
        assert "crafter" in shell.sentence("log", "craftr", *where, status=1)
        assert "crafter/v9" in shell.sentence("show", "crafter/v9", *where, status=1)

    def test_unknown_night(self, shell: Shell, lab: Workspace) -> None:
        said = shell.sentence("report", "crafter-19990101-000000", "-w", str(lab.root))
        assert "no night crafter-19990101-000000" in said

    def test_a_night_already_running(self, shell: Shell, lab: Workspace) -> None:
        with FileLock(lab.artifacts / "night.lock"):
            said = shell.sentence("night", "crafter", "-w", str(lab.root))
        assert "already running" in said

    def test_a_prefect_server_that_is_not_there(
        self, shell: Shell, lab: Workspace, tmp_path: Path
    ) -> None:
        # Prefect reads its settings when it is imported, so this needs a process of its own.
        import os
        import subprocess

        with closed_port() as url:
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "orchestrator.cli",
                    "eval",
                    "crafter",
                    *PROCESS,
                    "--seeds",
                    "1",
                ],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env={**os.environ, "PREFECT_API_URL": url, "PYTHONPATH": os.getcwd()},
                timeout=120,
            )
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "does not answer" in " ".join(done.stderr.split())

    def test_json_errors_are_json(self, shell: Shell) -> None:
        status, out, _ = shell("play", "craftr", *PROCESS, "--json")
        assert status == 2
        assert "craftr" in json.loads(out)["error"]


class TestHistory:
    def test_log_show_and_diff(self, shell: Shell, lab: Workspace) -> None:
        where = ("-w", str(lab.root))
        (seed,) = shell.json("log", "crafter", "--all", *where)["revisions"]
        assert seed["name"] == "crafter/v0"
        assert seed["parent"] is None
        assert seed["verdict"] is None
        assert shell.json("show", "crafter/v0", *where)["tree"] == seed["tree"]
        assert shell.json("diff", "crafter/v0", "crafter/v0", *where)["diff"] == ""


class TestGate:
    def test_simulate_gives_the_promised_fields(self, shell: Shell) -> None:
        found = shell.json("gate", "simulate", "--nights", "40", "--candidates", "5")
        assert set(found["false_accept_rate"]) >= {"estimate", "low", "high"}
        assert found["power"] is None
        assert found["episodes_per_candidate"] > 0

    def test_power_needs_a_spread(self, shell: Shell, lab: Workspace) -> None:
        said = shell.sentence("gate", "power", "-w", str(lab.root))
        assert "--sd" in said


class TestCalibrate:
    """The champion against itself; played in this process, two seeds of a small suite."""

    WORDS = ("gate", "calibrate", "minihack", *PROCESS, "--seeds", "2", "--candidates", "2")

    @pytest.fixture(autouse=True)
    def played(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> list[EpisodeResult | MissingEpisode]:
        """What was played for it."""
        outcomes: list[EpisodeResult | MissingEpisode] = []

        def play(place: Workspace, jobs: list[EpisodeJob], label: str) -> Any:
            assert label == "calibrate minihack/v0"
            outcomes.extend(play_serially(jobs))
            return outcomes

        monkeypatch.setattr(gate, "play_jobs", play)
        monkeypatch.setattr(registry, "SPECS", small_suite.SPECS)
        monkeypatch.setattr(registry, "SUITES", small_suite.SUITES)
        monkeypatch.setenv("SLOWWAVE_DATA", str(tmp_path / "data"))
        return outcomes

    def test_a_suite_is_measured_by_its_means(
        self, shell: Shell, tmp_path: Path, played: list[EpisodeResult | MissingEpisode]
    ) -> None:
        workspace = small_workspace(tmp_path / "lab", steps=30)
        found = shell.json(*self.WORDS, "-w", str(workspace.root))
        seeds = workspace.banks("minihack")[0].seeds("propose", 2)
        games = {
            (one.replicate, one.seed, one.environment): 100 * one.progression
            for one in played
            if isinstance(one, EpisodeResult)
        }
        names = (small_suite.SOUND, small_suite.BREAKS)
        assert list(games) == [
            (run, seed, name) for run in (0, 1) for seed in seeds for name in names
        ]
        assert {one.steps for one in played if isinstance(one, EpisodeResult)} <= set(range(31))
        assert (found["seeds"], found["missing"]) == (2, 0)
        # The heuristic player plays a seed alike each time, so that seeds alone differ.
        assert (found["run_noise"], found["run_sd"]) == (False, 0.0)
        one, other = ((games[0, s, names[0]] + games[0, s, names[1]]) / 2 for s in seeds)
        assert found["seed_sd"] == pytest.approx(abs(one - other) / 2**0.5)
        assert found["candidates"] == 2
        assert found["sentences"]

    def test_a_seed_whose_game_breaks_is_missing_and_the_rest_is_measured(
        self, shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        workspace = small_workspace(tmp_path / "lab", steps=5)
        seeds = workspace.banks("minihack")[0].seeds("propose", 3)
        monkeypatch.setattr(small_suite, "BROKEN_SEED", seeds[1])
        found = shell.json(*self.WORDS, "--seeds", "3", "-w", str(workspace.root))
        assert found["seeds"] == 2
        assert found["missing"] == 2

    def test_for_people(self, shell: Shell, tmp_path: Path) -> None:
        workspace = small_workspace(tmp_path / "lab", steps=5)
        status, out, _ = shell(*self.WORDS, "-w", str(workspace.root))
        assert status == 0
        assert "2 seeds" in " ".join(out.split())


def test_init_overwrites_nothing(shell: Shell, tmp_path: Path) -> None:
    shell.json("init", "lab", "--root-seed", "5")
    config = tmp_path / "lab" / "slowwave.toml"
    config.write_text("root_seed = 9\n")
    assert shell.json("init", "lab", "--root-seed", "5")["lineages"] == [
        "crafter",
        "minihack",
        "nethack",
    ]
    assert config.read_text() == "root_seed = 9\n"


@pytest.mark.slow
def test_doctor_finds_this_machine_healthy(shell: Shell, lab: Workspace) -> None:
    found = shell.json("doctor", "-w", str(lab.root))
    assert found["ok"] is True
    names = [one["name"] for one in found["checks"]]
    assert "seeds of crafter-v1" in names
    assert "sandbox" in names


@pytest.mark.slow
@pytest.mark.xdist_group("night")
def test_eval_averages_what_play_gives(tmp_path: Path) -> None:
    """In a process of its own: Prefect starts its server there."""
    import os
    import subprocess

    done = subprocess.run(
        [
            sys.executable, "-m", "orchestrator.cli", "eval", "crafter", *PROCESS, "--seeds", "1-3",
            "--steps", "25", "--json",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    scores = [episode["progression"] for episode in found["episodes"]]
    assert [episode["seed"] for episode in found["episodes"]] == [1, 2, 3]
    assert found["missing"] == []
    assert found["mean"] == pytest.approx(sum(scores) / 3)
    spread = sum((score - found["mean"]) ** 2 for score in scores) / 2
    assert found["stderr"] == pytest.approx((spread / 3) ** 0.5)
