"""One container: what is inside, how it is locked, and what its end is taken for."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import docker.errors
import pytest
from docker.constants import DEFAULT_NUM_POOLS

from agents.messages import Act, MemoryRequest, Observe, Ready, TurnReply, TurnRequest
from orchestrator.sandbox.base import (
    Guarantee,
    SandboxFailure,
    SandboxLimits,
    cannot,
)
from orchestrator.sandbox.containers import reaper
from orchestrator.sandbox.containers.daemon import connect
from orchestrator.sandbox.line import LineSession
from tests.support.docker_parts import (
    containers_of,
    docker_or_skip,
    docker_sandbox,
    over_tcp,
)
from tests.support.episode_parts import write_scaffold
from tests.support.sandbox_parts import LONG, Begin, fails, observe, on_observation, says, tell

SHORT = 1.0
SCRATCH = 8 << 20


def id_of(session: LineSession) -> str:
    return str(session._wire._number)  # type: ignore[attr-defined]


# --- what is inside ---------------------------------------------------------------------------


def test_a_whole_step(begin: Begin) -> None:
    session = begin()
    observe(session)
    turn = session.receive(LONG)
    assert isinstance(turn, TurnRequest)
    session.send(TurnReply("<|ACTION|>right<|END|>", [], "ACTION", "right"))
    assert session.receive(LONG) == Act("right")


def test_texts_come_through_whole(begin: Begin) -> None:
    session = begin(on_observation("context.memory.write('out', context.observation * 2)"))
    assert isinstance(session.receive(LONG), Ready)
    text = "Öl — 水 \u2028 \U0001f600\n\t\"'\\ " * 10_000
    session.send(Observe(0, text, None, ""))
    assert session.receive(LONG) == MemoryRequest("PUT", ["out", text * 2])


def test_printing_does_not_reach_the_channel(begin: Begin) -> None:
    hooks = on_observation(
        "print('a line', flush=True)",
        "os.write(1, b'raw')",
        "sys.stderr.write('x' * 200_000)",
        "context.memory.write('out', '[1]')",
    )
    assert says(begin(hooks)) == [1]


def test_no_variable_of_the_host_is_visible(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    seen = says(begin(tell("dict(os.environ)")))
    assert seen["PYTHONHASHSEED"] == "0"
    assert "s3cret" not in str(seen)
    ours = {"PYTHONHASHSEED", "LANG", "PYTHONUTF8", "LC_CTYPE"}
    assert set(seen) <= ours | {"PATH", "HOSTNAME", "HOME"}  # the last three are the engine's


def test_the_users_proxies_and_their_passwords_stay_outside(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Docker's own tools would put them into every container's environment."""
    proxies = {"default": {"httpProxy": "http://user:s3cret@proxy:3128"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    connect.cache_clear()
    try:
        seen = says(begin(tell("dict(os.environ)")))
    finally:
        connect.cache_clear()
    assert "s3cret" not in str(seen)
    assert not [name for name in seen if "proxy" in name.lower()]


def test_nothing_but_the_agent_code_can_be_imported(begin: Begin) -> None:
    probe = (
        "{name: __import__('importlib.util').util.find_spec(name) is not None for name in "
        "['agents', 'jinja2', 'json', 'orchestrator', 'envs', 'pydantic', 'numpy', 'pip']}"
    )
    found = says(begin(tell(probe)))
    assert [name for name, there in found.items() if there] == ["agents", "jinja2", "json"]


def test_the_limits_are_really_there(begin: Begin) -> None:
    kinds = ["AS", "CPU", "FSIZE", "NOFILE", "CORE"]
    probe = on_observation(
        "import resource",
        f"kinds = [getattr(resource, 'RLIMIT_' + kind) for kind in {kinds}]",
        "context.memory.write('out', json.dumps([resource.getrlimit(kind) for kind in kinds]))",
    )
    limits = SandboxLimits(memory_bytes=300 << 20, cpu_seconds=77)
    found = says(begin(probe, limits=limits))
    assert found == [[value, value] for value in (300 << 20, 77, 0, 64, 0)]


def test_who_and_where_the_code_is(begin: Begin) -> None:
    probe = (
        "[os.getuid(), os.getgid(), os.getgroups(), os.getcwd(), os.uname().nodename,"
        " sorted(os.listdir('/sys/class/net'))]"
    )
    assert says(begin(tell(probe))) == [65534, 65534, [65534], "/", "sandbox", ["lo"]]


def test_every_lock_is_asked_of_the_daemon(begin: Begin, tmp_path: Path) -> None:
    limits = SandboxLimits(memory_bytes=300 << 20, processes=17, cpus=0.5)
    session = begin(limits=limits)
    found = docker_or_skip().client.inspect_container(id_of(session))
    host = found["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] is None
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Privileged"] is False
    assert host["IpcMode"] == "none"
    assert host["PidsLimit"] == 17
    assert host["Memory"] == host["MemorySwap"] == 300 << 20
    assert host["NanoCpus"] == 500_000_000
    assert host["LogConfig"]["Type"] == "none"
    assert host["AutoRemove"] is False
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert host["Binds"] is None
    assert host["Devices"] in (None, [])
    assert list(host["Tmpfs"]) == ["/tmp"]
    assert f"size={SCRATCH}" in host["Tmpfs"]["/tmp"]
    (mount,) = found["Mounts"]
    assert (mount["Destination"], mount["RW"]) == ("/scaffold", False)
    assert mount["Source"] == str(tmp_path / "scaffold0")
    assert found["Config"]["User"] == "65534:65534"
    assert found["Config"]["Labels"][reaper.LABEL_OWNER].startswith(f"{os.getpid()}@")


def test_it_promises_everything_there_is_to_promise() -> None:
    sandbox = docker_sandbox()
    assert sandbox.guarantees == frozenset(Guarantee)
    assert cannot(sandbox) == ""


@pytest.mark.parametrize(
    ("field", "gap"),
    [
        ("MemoryLimit", "total memory"),
        ("SwapLimit", "total memory"),
        ("PidsLimit", "process count"),
    ],
)
def test_it_does_not_promise_what_the_daemon_drops(
    monkeypatch: pytest.MonkeyPatch, field: str, gap: str
) -> None:
    """A rootless daemon takes such limits with no more than a warning."""
    client = docker_or_skip().client
    info = {**client.info(), field: False}
    monkeypatch.setattr(client, "info", lambda: info)
    assert cannot(docker_sandbox()) == f"The docker sandbox does not enforce: {gap}."


# --- a daemon elsewhere -----------------------------------------------------------------------


def test_a_copied_scaffold_plays_and_cannot_be_written(begin: Begin) -> None:
    probe = (
        "[sorted(os.listdir('/scaffold')), os.access('/scaffold', os.W_OK),"
        " os.access('/scaffold/hooks.py', os.W_OK), oct(os.stat('/scaffold/hooks.py').st_mode),"
        " os.stat('/scaffold').st_uid]"
    )
    client = docker_or_skip().client
    session = begin(tell(probe), sandbox=docker_sandbox(scaffold="copy"))
    (volume,) = client.inspect_container(id_of(session))["Mounts"]
    names = ["hooks.py", "memory", "prompts", "scaffold.toml"]
    assert says(session) == [names, False, False, "0o100444", 0]
    session.close()
    with pytest.raises(docker.errors.NotFound):
        client.inspect_volume(volume["Name"])


def test_a_daemon_behind_an_address_gets_a_copy(begin: Begin) -> None:
    docker_or_skip()
    with over_tcp() as address:
        session = begin(tell("os.getuid()"), sandbox=docker_sandbox(host=address))
        assert says(session) == 65534
        mounts = docker_or_skip().client.inspect_container(id_of(session))["Mounts"]
        assert [one["Type"] for one in mounts] == ["volume"]
        session.close()


# --- what its end is taken for ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("hooks", "status", "said"),
    [
        (on_observation("os._exit(3)"), 1, ""),
        (on_observation("print('last words', flush=True)", "os._exit(0)"), 0, "last words"),
        (on_observation("sys.exit('I quit')"), 1, "I quit"),
        (on_observation("os.kill(os.getpid(), 11)"), 2, "ended by signal 11"),
        # What would look like a kill from outside, or like the warden's own words, is neither.
        (on_observation("os._exit(137)"), 1, ""),
        (on_observation("os.kill(os.getpid(), 9)"), 2, "ended by signal 9"),
        (on_observation("os.kill(1, 14)", "time.sleep(1000)"), 3, ""),
    ],
)
def test_an_exit_in_mid_step_is_the_scaffolds(
    begin: Begin, hooks: str, status: int, said: str
) -> None:
    failure = fails(begin(hooks))
    assert failure.kind == "exit"
    assert f"(exit status {status})" in str(failure)
    assert said in str(failure)


def test_too_much_memory_of_many_processes_is_named(begin: Begin) -> None:
    """None of them passes its own limit; the kernel ends the largest, which is the first."""
    hooks = on_observation(
        "ready, go = os.pipe()",
        "for _ in range(8):",
        "    if os.fork() == 0:",
        "        os.close(go)",
        "        os.read(ready, 1)",
        "        kept = b'x' * (20 << 20)",
        "        time.sleep(1000)",
        "kept = b'x' * (150 << 20)",
        "os.close(go)",
        "time.sleep(1000)",
    )
    failure = fails(begin(hooks, limits=SandboxLimits(memory_bytes=256 << 20)))
    assert failure.kind == "memory"
    assert "took more memory than it may" in str(failure)


def test_a_container_killed_from_outside_is_no_fault_of_the_scaffold(begin: Begin) -> None:
    session = begin(on_observation("time.sleep(1000)"))
    observe(session)
    docker_or_skip().client.kill(id_of(session))
    with pytest.raises(SandboxFailure, match="killed from outside"):
        session.receive(LONG)


def test_a_container_paused_from_outside_is_no_fault_of_the_scaffold(begin: Begin) -> None:
    session = begin(on_observation("time.sleep(1000)"))
    observe(session)
    docker_or_skip().client.pause(id_of(session))
    with pytest.raises(SandboxFailure, match="paused from outside"):
        session.receive(SHORT)
    session.close()
    assert containers_of(docker_or_skip(), os.getpid()) == []


def test_a_container_taken_away_is_no_fault_of_the_scaffold(begin: Begin) -> None:
    session = begin(on_observation("time.sleep(1000)"))
    observe(session)
    docker_or_skip().client.remove_container(id_of(session), force=True)
    with pytest.raises(SandboxFailure, match="asking how a container ended"):
        session.receive(LONG)


def test_what_does_not_end_is_ended_at_its_deadline(begin: Begin) -> None:
    failure = fails(begin(on_observation("while True: os.write(2, b'x' * 65536)")), SHORT)
    assert failure.kind == "timeout"


def test_a_lifetime_ends_a_container_by_itself(begin: Begin) -> None:
    session = begin(on_observation("time.sleep(1000)"), limits=SandboxLimits(lifetime_seconds=2))
    failure = fails(session)
    assert (failure.kind, "(exit status 3)" in str(failure)) == ("exit", True)


# --- nothing is left --------------------------------------------------------------------------

KEEP_OPEN = on_observation("kept = os.open('/proc/self/fd/0', os.O_WRONLY)", "time.sleep(1000)")
HOST = """
import sys
from pathlib import Path
from orchestrator.sandbox.base import SandboxLimits
from agents.messages import Observe
from orchestrator.sandbox.containers.config import DockerConfig
from orchestrator.sandbox.containers.sandbox import DockerSandbox
from tests.support.sandbox_parts import START

session = DockerSandbox(DockerConfig()).start(Path(sys.argv[1]), SandboxLimits())
session.send(START)
session.receive(30)
session.send(Observe(0, "You are in room 0.", None, ""))
print(session._wire._number, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("hooks", [None, KEEP_OPEN], ids=["honest", "keeps its channel open"])
def test_a_container_ends_with_its_host_and_the_next_start_removes_it(
    begin: Begin, tmp_path: Path, hooks: str | None
) -> None:
    daemon = docker_or_skip()
    folder = write_scaffold(tmp_path / "scaffold", hooks=hooks)
    command = [sys.executable, "-c", HOST, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        number = host.stdout.readline().decode().strip()
        assert daemon.client.inspect_container(number)["State"]["Running"]
        host.kill()
        host.wait()
    assert daemon.client.wait(number, timeout=30)["StatusCode"] == 4
    reaper._seen.clear()  # as a new process would
    begin()
    with pytest.raises(docker.errors.NotFound):
        daemon.client.inspect_container(number)


def test_no_container_and_no_descriptor_is_left(begin: Begin) -> None:
    begin().close()
    daemon = docker_or_skip()
    # The SDK keeps an idle connection for each of the last addresses asked, whoever asks: as many
    # as there will ever be are there before anything is counted.
    for client in (daemon.client, daemon.quick):
        for n in range(2 * DEFAULT_NUM_POOLS):
            with suppress(docker.errors.NotFound):
                client.inspect_container(f"none-{n}")
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for hooks in (None, on_observation("os._exit(1)"), "x = 1 / 0\n"):
        session = begin(hooks)
        session.receive(LONG)
        session.close()
    assert containers_of(daemon, os.getpid()) == []
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_one_that_can_never_be_removed_does_not_stop_the_next(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = docker_or_skip()
    session = begin()
    remove = daemon.client.remove_container

    def busy(number: str, **options: object) -> None:
        if number == id_of(session):
            raise docker.errors.APIError("device or resource busy")
        remove(number, **options)

    with monkeypatch.context() as patch:
        patch.setattr(daemon.client, "remove_container", busy)
        session.close()
        assert begin(tell("1")) is not None
    assert id_of(session) in containers_of(daemon, os.getpid())


def test_a_container_that_could_not_be_removed_is_removed_before_the_next(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = docker_or_skip()
    session = begin()
    with monkeypatch.context() as patch:

        def gone(*_: object, **__: object) -> None:
            raise ConnectionRefusedError("the daemon is away")

        patch.setattr(daemon.client, "remove_container", gone)
        session.close()
    assert id_of(session) in containers_of(daemon, os.getpid())
    begin()
    assert id_of(session) not in containers_of(daemon, os.getpid())


# --- the sandbox itself -----------------------------------------------------------------------


def test_a_runtime_that_is_not_there_is_the_machinerys_fault(tmp_path: Path) -> None:
    folder = write_scaffold(tmp_path / "scaffold")
    with pytest.raises(SandboxFailure, match=r"nosuchruntime.* Install that runtime"):
        docker_sandbox(runtime="nosuchruntime").start(folder, SandboxLimits())
    assert containers_of(docker_or_skip(), os.getpid()) == []


def test_agent_code_that_does_not_come_up_is_the_machinerys_fault(tmp_path: Path) -> None:
    folder = write_scaffold(tmp_path / "scaffold")
    with pytest.raises(SandboxFailure, match="did not come up: The scaffold did not answer"):
        docker_sandbox().start(folder, SandboxLimits(start_seconds=0.0001))
    assert containers_of(docker_or_skip(), os.getpid()) == []


def test_the_image_is_part_of_the_fingerprint_and_so_is_the_runtime() -> None:
    plain, other = docker_sandbox(), docker_sandbox(runtime="runsc")
    assert plain.fingerprint == plain.image.content
    assert other.fingerprint == f"{plain.image.content}-runsc"
