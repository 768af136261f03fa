"""The process sandbox in namespaces: what the code inside sees, and what it can reach."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agents.messages import Act, MemoryReply, TurnReply, TurnRequest
from orchestrator.sandbox import bundle, namespaces
from orchestrator.sandbox.base import Guarantee, SandboxLimits, ScaffoldFailure, missing
from orchestrator.sandbox.line import LineSession
from orchestrator.sandbox.process import BY_RLIMITS, ProcessSandbox
from tests.support.episode_parts import Stage, write_scaffold
from tests.support.sandbox_parts import (
    LONG,
    Begin,
    beginning,
    ends,
    fails,
    is_running,
    observe,
    on_observation,
    says,
    tell,
)

needs_bubblewrap = pytest.mark.skipif(
    namespaces.usable() is None, reason="bubblewrap is not installed, or cannot make namespaces"
)


@pytest.fixture
def begin(tmp_path: Path, bundles: Path) -> Iterator[Begin]:
    """Starts a sandbox with some hooks; all are closed at the end."""
    with beginning(tmp_path, lambda: ProcessSandbox(bundles)) as start:
        yield start


@pytest.fixture
def stage(tmp_path: Path, bundles: Path) -> Stage:
    return Stage(tmp_path, bundles)


def wrapper_of(session: LineSession) -> int:
    return session._wire.child.pid  # type: ignore[attr-defined,no-any-return]


def family_of(session: LineSession) -> list[int]:
    """The host's numbers of all processes of a sandbox."""
    wrapper = psutil.Process(wrapper_of(session))
    return [wrapper.pid, *(child.pid for child in wrapper.children(recursive=True))]


# --- what the code inside can reach -----------------------------------------------------------


@needs_bubblewrap
def test_a_whole_step(begin: Begin) -> None:
    session = begin(None)
    observe(session)
    assert isinstance(session.receive(LONG), TurnRequest)
    session.send(TurnReply("<|ACTION|>right<|END|>", [], "ACTION", "right"))
    assert session.receive(LONG) == Act("right")


@needs_bubblewrap
def test_no_network_can_be_reached(begin: Begin) -> None:
    name = f"\0slowwave-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as door, socket.socket(socket.AF_UNIX) as local:
        local.bind(name)
        local.listen()
        probe = on_observation(
            "import socket",
            f"doors = [(socket.AF_INET, ('127.0.0.1', {door.getsockname()[1]})),",
            f"    (socket.AF_UNIX, {name!r}), (socket.AF_INET, ('192.0.2.1', 80))]",
            "said = []",
            "for family, address in doors:",
            "    with socket.socket(family) as one:",
            "        one.settimeout(5)",
            "        said.append(one.connect_ex(address) != 0)",
            "said.append(sorted(name for _, name in socket.if_nameindex()))",
            "context.memory.write('out', json.dumps(said))",
        )
        assert says(begin(probe)) == [True, True, True, ["lo"]]
        door.settimeout(0)
        with pytest.raises(BlockingIOError):
            door.accept()


@needs_bubblewrap
def test_no_file_of_the_host_is_there(begin: Begin, tmp_path: Path, bundles: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    hidden = [
        secret, tmp_path, bundles, tmp_path / "scaffold0", Path.cwd(), Path.home() / ".ssh",
        "/etc/passwd", "/etc/shadow", "/var", "/run", "/tmp", "/home", "/sys", "/boot",
    ]  # fmt: skip
    paths = [str(path) for path in hidden]
    assert says(begin(tell(f"[path for path in {paths} if os.path.lexists(path)]"))) == []
    there = says(begin(tell("[sorted(os.listdir(p)) for p in ('/scaffold', '/code')]")))
    assert there[0] == ["hooks.py", "memory", "prompts", "scaffold.toml"]
    assert there[1] == ["agents", "jinja2", "markupsafe"]
    modules = "['orchestrator', 'envs', 'pydantic', 'numpy']"
    probe = f"[__import__('importlib.util').util.find_spec(name) is None for name in {modules}]"
    assert says(begin(tell(probe))) == [True] * 4


@needs_bubblewrap
def test_no_variable_of_the_host_is_visible(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    probe = on_observation(
        "seen = [open(f'/proc/{n}/environ').read() for n in ('self', 1)"
        " if os.access(f'/proc/{n}/environ', os.R_OK)]",
        "context.memory.write('out', json.dumps([dict(os.environ), seen]))",
    )
    variables, read = says(begin(probe))
    assert set(variables) <= {"PYTHONHASHSEED", "LANG", "PYTHONUTF8", "LC_CTYPE", "PWD"}
    assert "s3cret" not in "".join(read)


@needs_bubblewrap
def test_no_process_of_the_host_is_seen_or_signalled(begin: Begin) -> None:
    probe = on_observation(
        "numbers = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())",
        "kinds = [open(f'/proc/{n}/comm').read().strip() for n in numbers]",
        "said = []",
        f"for number in {[os.getpid(), os.getppid(), 2**22 - 1]}:",
        "    try: os.kill(number, 0)",
        "    except ProcessLookupError: said.append(number not in numbers)",
        "context.memory.write('out', json.dumps([kinds, os.getpid() in numbers, said]))",
    )
    # A low number of this test's own would be one inside as well.
    assert os.getpid() > 10
    kinds, own, unknown = says(begin(probe))
    assert len(kinds) == 2
    assert kinds[0] == "bwrap"
    assert own
    assert unknown.count(True) >= 2


@needs_bubblewrap
def test_signals_to_everything_reach_nobody_outside(begin: Begin) -> None:
    probe = on_observation(
        "for number in (1, -1):",
        "    try: os.kill(number, 9)",
        "    except OSError: pass",
        "context.memory.write('out', '[1]')",
    )
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        assert says(begin(probe)) == [1]
        assert bystander.poll() is None
        bystander.kill()


@needs_bubblewrap
def test_the_code_runs_as_nobody_without_a_privilege(begin: Begin) -> None:
    probe = "[open('/proc/self/status').read(), os.getresuid(), os.getresgid(), os.getgroups()]"
    status, users, groups, others = says(begin(tell(probe)))
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(found[kind], 16) == 0
    assert found["NoNewPrivs"] == "1"
    assert users == groups == [65534] * 3
    assert set(others) <= {65534}


TRY_TO_MAKE = """
import json, os


def attempts(folder):
    path = os.path.join(folder, "slowwave-test")
    yield lambda: os.mkdir(path)
    yield lambda: os.open(path, os.O_CREAT | os.O_WRONLY)
    yield lambda: os.symlink("x", path)
    yield lambda: os.mkfifo(path)


def on_observation(context):
    made, tried = [], 0
    for folder, inner, _ in os.walk("/"):
        if folder == "/proc":  # what is in it comes and goes with processes; /proc itself is tried
            inner[:] = []
        tried += 1
        for attempt in attempts(folder):
            try:
                attempt()
                made.append(folder)
            except OSError:
                pass
    context.memory.write("out", json.dumps([tried, made]))
"""


@needs_bubblewrap
def test_nothing_can_be_made_in_any_folder(begin: Begin) -> None:
    tried, made = says(begin(TRY_TO_MAKE))
    assert tried > 20
    assert made == []


@needs_bubblewrap
def test_neither_the_scaffold_nor_the_agent_code_can_be_changed(
    begin: Begin, bundles: Path
) -> None:
    probe = on_observation(
        "said = []",
        "for path in ('/scaffold/hooks.py', '/code/agents/loop.py', '/usr/bin/env'):",
        "    for change in (os.unlink, lambda p: os.truncate(p, 0), lambda p: os.chmod(p, 0o777),",
        "                   lambda p: os.open(p, os.O_WRONLY)):",
        "        try: change(path)",
        "        except OSError: said.append(1)",
        "context.memory.write('out', json.dumps(len(said)))",
    )
    assert says(begin(probe)) == 12
    code = (bundle.build(bundles) / "agents" / "loop.py").read_bytes()
    assert code == bundle.agent_sources(["loop"])["loop.py"]


OPEN_SETTINGS = """
import json, os


def on_observation(context):
    opened = []
    for folder, inner, names in os.walk("/proc"):
        if folder == "/proc":  # a process may write what is its own
            inner[:] = [name for name in inner if not name.isdigit()]
        for name in names:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
                opened.append(os.path.join(folder, name))
            except OSError:
                pass
    context.memory.write("out", json.dumps(opened[:20]))
"""


@needs_bubblewrap
def test_no_setting_of_the_kernel_can_be_opened_for_writing(begin: Begin) -> None:
    """Nothing is written: core_pattern and its like would be the whole machine's."""
    assert says(begin(OPEN_SETTINGS)) == []


# --- how it ends ------------------------------------------------------------------------------


@needs_bubblewrap
@pytest.mark.parametrize(
    ("hooks", "status", "said"),
    [
        (on_observation("os._exit(3)"), 3, ""),
        (on_observation("print('last words', flush=True)", "os._exit(0)"), 0, "last words"),
        (on_observation("sys.exit('I quit')"), 1, "I quit"),
        # A shell's way to say it: 128 and the signal's number.
        (on_observation("os.kill(os.getpid(), 11)"), 128 + signal.SIGSEGV, ""),
        (on_observation("os.close(3)", "time.sleep(0.1)", "os._exit(5)"), 5, ""),
    ],
)
def test_an_exit_in_mid_step_says_its_status_and_last_words(
    begin: Begin, hooks: str, status: int, said: str
) -> None:
    failure = fails(begin(hooks))
    assert failure.kind == "exit"
    assert f"(exit status {status})" in str(failure)
    assert said in str(failure)


@needs_bubblewrap
def test_what_does_not_end_is_killed_at_its_deadline(begin: Begin) -> None:
    session = begin(on_observation("while True: pass"))
    family = family_of(session)
    failure = fails(session, 0.5)
    assert failure.kind == "timeout"
    assert all(ends(pid) for pid in family)


@needs_bubblewrap
@pytest.mark.parametrize("how", ["closed", "exits"])
def test_everything_inside_ends_with_it(begin: Begin, how: str) -> None:
    """Also what has left the process group, which nothing could find without namespaces."""
    hooks = on_observation(
        "import subprocess",
        "words = [sys.executable, '-c', 'import time; time.sleep(1000)']",
        "for new in (False, True): subprocess.Popen(words, start_new_session=new)",
        "if os.fork() == 0:",
        "    os.setsid()",
        "    if os.fork(): os._exit(0)",
        "    time.sleep(1000)",
        "os.wait()",
        "context.memory.write('out', '[1]')",
        "os._exit(0)",
    )
    session = begin(hooks)
    assert says(session) == [1]
    family = family_of(session)
    assert len(family) == 6  # bubblewrap twice, the runner, and three that it left
    if how == "closed":
        session.close()
    else:
        session.send(MemoryReply(True, ""))
        with pytest.raises(ScaffoldFailure):
            session.receive(LONG)
    assert all(ends(pid) for pid in family)


HOST = """
import sys
from pathlib import Path
from orchestrator.sandbox.base import SandboxLimits
from orchestrator.sandbox.process import ProcessSandbox

session = ProcessSandbox(Path(sys.argv[1])).start(Path(sys.argv[2]), SandboxLimits())
print(session._wire.child.pid, flush=True)
sys.stdin.read()
"""


@needs_bubblewrap
def test_a_sandbox_ends_with_its_host(tmp_path: Path, bundles: Path) -> None:
    folder = write_scaffold(tmp_path / "scaffold")
    command = [sys.executable, "-c", HOST, bundles, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        wrapper = psutil.Process(int(host.stdout.readline()))
        family = [wrapper.pid, *(child.pid for child in wrapper.children(recursive=True))]
        assert len(family) == 3
        assert all(is_running(pid) for pid in family)
        host.kill()
        host.wait()
        assert all(ends(pid) for pid in family)


@needs_bubblewrap
def test_no_descriptor_is_left(begin: Begin) -> None:
    begin(None).close()
    before = len(os.listdir("/proc/self/fd"))
    for hooks in (None, on_observation("os._exit(1)")):
        begin(hooks).close()
    assert len(os.listdir("/proc/self/fd")) == before


# --- what it says of itself -------------------------------------------------------------------


@needs_bubblewrap
def test_it_declares_what_namespaces_enforce(bundles: Path) -> None:
    inside, outside = ProcessSandbox(bundles), ProcessSandbox(bundles, bubblewrap=None)
    assert missing(inside) == [Guarantee.TOTAL_MEMORY, Guarantee.PROCESS_COUNT]
    assert outside.guarantees == BY_RLIMITS
    # Code that can see the host might play otherwise: a result of one is none of the other.
    assert inside.fingerprint == f"{outside.fingerprint}-namespaces"


@needs_bubblewrap
def test_the_same_episode_is_played_with_and_without(stage: Stage) -> None:
    hooks = (
        "def on_observation(context):\n"
        "    context.memory.append('notes', context.observation + str({'b', 'a', 'c'}))\n"
    )
    inside = stage.play(steps=5, hooks=hooks, sandbox=ProcessSandbox(stage.bundles))
    outside = stage.play(
        steps=5, hooks=hooks, sandbox=ProcessSandbox(stage.bundles, bubblewrap=None)
    )
    assert inside.played.outcome == outside.played.outcome
    assert inside.played.digest == outside.played.digest
    assert inside.memory.snapshot() == outside.memory.snapshot()


# --- where there are none ---------------------------------------------------------------------


@pytest.fixture
def probe_again() -> Iterator[None]:
    """Has bubblewrap looked for anew, in the test and after it."""
    namespaces.usable.cache_clear()
    yield
    namespaces.usable.cache_clear()


def program(folder: Path, text: str) -> Path:
    path = folder / "bwrap"
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.usefixtures("probe_again")
@pytest.mark.parametrize(
    "text",
    [
        None,
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2\nexit 1\n",
        "#!/nowhere/sh\n",
        "no program at all",
    ],
)
def test_without_a_working_bubblewrap_the_child_is_a_plain_one(
    tmp_path: Path, bundles: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    if text is not None:
        program(programs, text)
    monkeypatch.setenv("PATH", str(programs))
    assert namespaces.usable() is None
    sandbox = ProcessSandbox(bundles)
    assert sandbox.guarantees == BY_RLIMITS
    assert sandbox.fingerprint == bundle.fingerprint()
    monkeypatch.undo()
    sandbox.start(write_scaffold(tmp_path / "scaffold"), SandboxLimits()).close()


@pytest.mark.usefixtures("probe_again")
def test_a_bubblewrap_that_hangs_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces, "_PROBE_SECONDS", 0.2)
    program(tmp_path, f"#!{sys.executable} -S\nimport signal\nsignal.pause()\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert namespaces.usable() is None


@pytest.mark.usefixtures("probe_again")
def test_the_probe_starts_this_python_behind_the_walls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that runs what it is given would do; what it is given names every wall."""
    shell = shutil.which("sh")
    fake = program(tmp_path, f'#!{shell}\nprintf "%s\\n" "$@" > {tmp_path}/words\n')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert namespaces.usable() == fake
    words = (tmp_path / "words").read_text().splitlines()
    for wall in ("--unshare-user", "--unshare-net", "--unshare-pid", "--die-with-parent"):
        assert wall in words
    assert words[words.index("--cap-drop") + 1] == "ALL"
    assert os.path.realpath(sys.executable) in words


def test_the_way_to_the_interpreter_shows_only_code_and_scaffold(tmp_path: Path) -> None:
    scaffold = tmp_path / "scaffold"
    words = namespaces.command(Path("/usr/bin/bwrap"), tmp_path, scaffold)
    binds = [words[n + 1 : n + 3] for n, word in enumerate(words) if word.startswith("--ro-bind")]
    shown = {inside: outside for outside, inside in binds}
    assert shown["/code"] == str(tmp_path)
    assert shown["/scaffold"] == str(scaffold)
    system = ("/usr", "/bin", "/lib", "/etc/ld.so.cache", sys.base_prefix)
    assert all(inside.startswith((*system, "/code", "/scaffold")) for inside in shown)
    assert not any(word in words for word in ("--bind", "--dev-bind", "--share-net", "--tmpfs"))
