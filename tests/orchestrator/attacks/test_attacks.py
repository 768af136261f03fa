"""Every attack against every sandbox of ours, and against sandboxes that promise too much."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.attacks.catalog import ATTACKS, HOOKS
from orchestrator.attacks.suite import LIMITS, SLACK_SECONDS, Finding, check_sandbox
from orchestrator.sandbox import bundle, namespaces
from orchestrator.sandbox.base import Guarantee, SandboxFailure, SandboxLimits
from orchestrator.sandbox.line import LineSession
from orchestrator.sandbox.process import ProcessSandbox
from tests.support.docker_parts import docker_sandbox

NAMES = [one.name for one in ATTACKS]
LIMIT_S = LIMITS.step_seconds + SLACK_SECONDS

NEEDS_CGROUPS = {"fork_bomb", "memory_bomb_of_many"}
"""What holds only where processes are counted together."""
NEEDS_NAMESPACES = {
    "million_files",
    "outlive",
    "signals",
    "processes",
    "host_files",
    "host_changes",
    "links",
    "import_host",
    "network",
    "privileges",
}
"""What holds only where the host cannot be seen."""
NEEDS_ANOTHER_USER = {"clock"}
"""What gets through only for a user with privileges."""

Findings = dict[str, Finding]


def by_name(found: list[Finding]) -> Findings:
    return {one.attack: one for one in found}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    bundle.build(folder)
    return folder


@pytest.fixture(scope="module")
def in_docker() -> Findings:
    return by_name(check_sandbox(docker_sandbox()))


@pytest.fixture(scope="module")
def in_process(bundles: Path) -> Findings:
    return by_name(check_sandbox(ProcessSandbox(bundles, bubblewrap=None)))


@pytest.fixture(scope="module")
def in_namespaces(bundles: Path) -> Findings:
    if namespaces.usable() is None:
        assert not os.environ.get("CI"), "CI has bubblewrap"
        pytest.skip("bubblewrap is not installed or may not make namespaces here")
    return by_name(check_sandbox(ProcessSandbox(bundles)))


def test_there_are_attacks_enough_and_a_file_for_each() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 20
    files = {path.stem for path in HOOKS.glob("*.py")}
    assert files == {*NAMES, "control", "lib"}


@pytest.mark.slow
@pytest.mark.xdist_group("attacks-docker")
@pytest.mark.parametrize("name", NAMES)
def test_docker_holds_every_attack(in_docker: Findings, name: str) -> None:
    finding = in_docker[name]
    assert finding.promised
    assert finding.result == "held", finding.reasons
    (attack,) = [one for one in ATTACKS if one.name == name]
    assert finding.outcome in attack.ends
    assert finding.seconds <= LIMIT_S


@pytest.mark.slow
@pytest.mark.xdist_group("attacks-process")
@pytest.mark.parametrize("name", NAMES)
def test_a_plain_process_breaks_no_promise_and_makes_few(in_process: Findings, name: str) -> None:
    finding = in_process[name]
    assert finding.seconds <= LIMIT_S
    if name in NEEDS_CGROUPS | NEEDS_NAMESPACES:
        assert (finding.result, finding.promised) == ("open", False)
    elif name in NEEDS_ANOTHER_USER:  # it depends on who runs the tests
        assert finding.result == ("open" if os.geteuid() == 0 else "held")
        assert not finding.promised
    else:
        assert finding.result == "held", finding.reasons


@pytest.mark.slow
@pytest.mark.xdist_group("attacks-namespaces")
@pytest.mark.parametrize("name", NAMES)
def test_namespaces_leave_open_only_what_is_counted_together(
    in_namespaces: Findings, name: str
) -> None:
    finding = in_namespaces[name]
    assert finding.seconds <= LIMIT_S
    expected = "open" if name in NEEDS_CGROUPS else "held"
    assert finding.result == expected, finding.reasons


# --- the suite itself: a check that cannot fail would be none -----------------------------------


class Boaster(ProcessSandbox):
    """A plain child process that promises what it cannot hold."""

    name = "boaster"
    guarantees = frozenset(Guarantee)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("host_files", "secret.txt: '"),
        ("host_changes", "a file of the host was changed"),
        ("links", "slowwave-attack"),
        ("processes", "/cmdline"),
        ("network", "the tcp socket of the host was reached"),
        ("import_host", "orchestrator.models.config"),
        ("outlive", "processes live on after the episode"),
    ],
)
def test_a_promise_that_is_not_kept_is_found(bundles: Path, name: str, reason: str) -> None:
    wanted = [one for one in ATTACKS if one.name == name]
    (finding,) = check_sandbox(Boaster(bundles, bubblewrap=None), wanted)
    assert (finding.result, finding.promised) == ("broken", True)
    assert reason in "; ".join(finding.reasons)


class Leaky(ProcessSandbox):
    """Hands the host's environment to the child."""

    def _spawn(self, scaffold: Path, limits: SandboxLimits):  # type: ignore[no-untyped-def]
        import subprocess

        spawn = subprocess.Popen

        def with_environment(command, **options):  # type: ignore[no-untyped-def]
            return spawn(command, **{**options, "env": {**os.environ, **options["env"]}})

        subprocess.Popen = with_environment  # type: ignore[misc, assignment]
        try:
            return super()._spawn(scaffold, limits)
        finally:
            subprocess.Popen = spawn  # type: ignore[misc]


def test_a_leaked_environment_is_found(bundles: Path) -> None:
    wanted = [one for one in ATTACKS if one.name == "environment"]
    (finding,) = check_sandbox(Leaky(bundles, bubblewrap=None), wanted)
    assert finding.result == "broken"
    assert "os.environ" in "; ".join(finding.reasons)


class Fragile(ProcessSandbox):
    """Takes a scaffold's exit for a failure of its own, which would not be scored."""

    def start(self, scaffold: Path, limits: SandboxLimits) -> LineSession:
        session = super().start(scaffold, limits)
        wire = session._wire
        wire.why = lambda: SandboxFailure("lost")  # type: ignore[method-assign]
        receive = session.receive

        def losing(seconds: float) -> object:
            message = receive(seconds)
            if type(message).__name__ == "ScaffoldFault":
                raise SandboxFailure("lost")
            return message

        session.receive = losing  # type: ignore[method-assign, assignment]
        return session


@pytest.mark.parametrize("name", ["exit_in_step", "host_files"])
def test_a_scaffold_that_can_make_its_episode_missing_is_found(bundles: Path, name: str) -> None:
    """Whether or not the sandbox promises to hold the attack itself."""
    wanted = [one for one in ATTACKS if one.name == name]
    (finding,) = check_sandbox(Fragile(bundles, bubblewrap=None), wanted)
    assert (finding.result, finding.outcome) == ("broken", "missing")


def test_what_is_laid_is_taken_up_again(bundles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(os.environ)
    wanted = [one for one in ATTACKS if one.name in ("garbage", "host_changes")]
    heard: list[str] = []
    found = check_sandbox(
        ProcessSandbox(bundles, bubblewrap=None),
        wanted,
        listen=lambda one: heard.append(one.attack),
    )
    assert heard == [one.attack for one in found] == ["host_changes", "garbage"]
    assert dict(os.environ) == before
    # An attack does not suffer from the one before it.
    assert [one.result for one in found] == ["open", "held"]
