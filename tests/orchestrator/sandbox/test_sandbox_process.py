"""The process sandbox against code that misbehaves: everything ends, in time, and says why."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.messages import (
    MAX_LINE,
    Act,
    FromSandbox,
    MemoryReply,
    MemoryRequest,
    Observe,
    Ready,
    ScaffoldFault,
    TurnReply,
    TurnRequest,
)
from orchestrator.errors import UsageError
from orchestrator.files import DiskFull
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import (
    Guarantee,
    SandboxFailure,
    SandboxLimits,
    ScaffoldFailure,
    cannot,
)
from orchestrator.sandbox.line import LineSession
from orchestrator.sandbox.process import ProcessSandbox
from tests.support.episode_parts import write_scaffold
from tests.support.sandbox_parts import (
    LONG,
    START,
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

SHORT = 0.5
"""Seconds after which a step that hangs is ended."""


@pytest.fixture
def begin(tmp_path: Path, bundles: Path) -> Iterator[Begin]:
    """Starts a sandbox with some hooks; all are closed at the end."""
    with beginning(tmp_path, lambda: ProcessSandbox(bundles, bubblewrap=None)) as start:
        yield start


# --- what is inside ---------------------------------------------------------------------------


def test_a_whole_step(begin: Begin) -> None:
    session = begin()
    observe(session)
    turn = session.receive(LONG)
    assert isinstance(turn, TurnRequest)
    assert (turn.phase, turn.kept) == ("PLAN", 0)
    assert [message["role"] for message in turn.messages] == ["system", "user"]
    session.send(TurnReply("<|ACTION|>right<|END|>", [], "ACTION", "right"))
    assert session.receive(LONG) == Act("right")


def test_no_variable_of_the_host_is_visible(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD_NOT", "HOME"):
        monkeypatch.setenv(name, "/s3cret")
    seen = says(begin(tell("dict(os.environ)")))
    assert set(seen) <= {"PYTHONHASHSEED", "LANG", "PYTHONUTF8", "LC_CTYPE"}
    assert seen["PYTHONHASHSEED"] == "0"


def test_nothing_but_the_bundle_can_be_imported(begin: Begin, bundles: Path) -> None:
    probe = (
        "{name: __import__('importlib.util').util.find_spec(name) is not None for name in "
        "['agents', 'jinja2', 'json', 'orchestrator', 'envs', 'pydantic', 'numpy', 'crafter']}"
    )
    found = says(begin(tell(probe)))
    assert [name for name, there in found.items() if there] == ["agents", "jinja2", "json"]
    where = says(begin(tell("[__import__('agents').__file__, os.getcwd(), sys.path]")))
    assert where[0].startswith(str(bundles))
    assert where[1] == "/"
    assert not any("site-packages" in path for path in where[2])


def test_no_descriptor_of_the_host_is_passed_on(begin: Begin, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        names = says(begin(tell("[os.readlink(f'/proc/self/fd/{n}') for n in range(64) "
                                "if os.path.exists(f'/proc/self/fd/{n}')]")))  # fmt: skip
    assert all(name.startswith("pipe:") for name in names)


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


def test_a_limit_that_is_lower_already_stays(tmp_path: Path, bundles: Path) -> None:
    """On a host that allows less than we would set, the sandbox still starts."""
    folder = write_scaffold(tmp_path / "scaffold")
    script = (
        "import resource, sys; from pathlib import Path\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "from orchestrator.sandbox.process import ProcessSandbox\n"
        "from orchestrator.sandbox.base import SandboxLimits\n"
        "bundles, folder = map(Path, sys.argv[1:])\n"
        "ProcessSandbox(bundles, bubblewrap=None).start(folder, SandboxLimits()).close()\n"
        "print('started')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, bundles, folder], capture_output=True, text=True, check=False
    )
    assert done.stdout == "started\n", done.stderr


def test_no_file_can_be_written(begin: Begin, tmp_path: Path) -> None:
    target = tmp_path / "written"
    probe = on_observation(
        "said = []",
        f"for path in [{str(target)!r}, '/tmp/slowwave-test-{os.getpid()}']:",
        "    try:",
        "        with open(path, 'w') as file:",
        "            file.write('x' * 10)",
        "    except OSError as error:",
        "        said.append(error.errno)",
        "    finally:",
        "        if os.path.exists(path): os.unlink(path)",
        "context.memory.write('out', json.dumps(said))",
    )
    hooks = probe.replace(
        "import json", "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nimport json"
    )
    assert says(begin(hooks)) == [27, 27]  # EFBIG


def test_printing_does_not_reach_the_channel(begin: Begin) -> None:
    hooks = on_observation(
        "print('a line', flush=True)",
        "print(json.dumps({'type': 'act', 'action': 'cheat'}), flush=True)",
        "sys.stdout.write('no end')",
        "os.write(1, b'raw')",
        "sys.stderr.write('x' * 200_000)",
        "context.memory.write('out', '[1]')",
    )
    assert says(begin(hooks)) == [1]


def test_texts_come_through_whole(begin: Begin) -> None:
    session = begin(on_observation("context.memory.write('out', context.observation * 2)"))
    assert isinstance(session.receive(LONG), Ready)
    text = "Öl — 水 \u2028 \U0001f600\n\t\"'\\ " * 10_000
    session.send(Observe(0, text, None, ""))
    assert session.receive(LONG) == MemoryRequest("PUT", ["out", text * 2])


def test_a_refused_access_is_an_exception_that_hooks_may_catch(begin: Begin) -> None:
    hooks = (
        "from agents.scaffold import MemoryFault\n\n\n"
        "def on_observation(context):\n"
        "    try:\n        context.memory.read('diary')\n"
        "    except MemoryFault as fault:\n        context.memory.append('notes', str(fault))\n"
    )
    session = begin(hooks)
    observe(session)
    assert session.receive(LONG) == MemoryRequest("TEXT", ["diary"])
    session.send(MemoryReply(False, "no such file"))
    assert session.receive(LONG) == MemoryRequest("ADD", ["notes", "no such file"])


# --- code that does not end -------------------------------------------------------------------


@pytest.mark.parametrize(
    "loop",
    [
        on_observation("while True: pass"),
        on_observation("time.sleep(1000)"),
        on_observation("sys.stdin.buffer.read()"),
        # it prints without end, so that there is always something to read
        on_observation("os.fork(), os.fork()", "while True: os.write(2, b'x' * 65536)"),
        on_observation("while True: os.write(1, b'x' * 4096)"),
        # it answers without ever finishing the line
        on_observation("while True: os.write(3, b'x'); time.sleep(0.01)"),
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        + on_observation("while True: pass"),
    ],
)
def test_what_does_not_end_is_killed_at_its_deadline(begin: Begin, loop: str) -> None:
    session = begin(loop)
    observe(session)
    began = time.monotonic()
    with pytest.raises(ScaffoldFailure, match=r"did not answer within 0.5 s") as failure:
        session.receive(SHORT)
    assert failure.value.kind == "timeout"
    assert SHORT <= time.monotonic() - began < SHORT + 5
    assert not is_running(session._wire.child.pid)


def test_a_scaffold_that_hangs_while_loading_is_killed(begin: Begin) -> None:
    session = begin("while True: pass\n")
    with pytest.raises(ScaffoldFailure) as failure:
        session.receive(SHORT)
    assert failure.value.kind == "timeout"


def test_a_scaffold_that_stops_reading_does_not_block_the_host(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.sandbox.line.SEND_SECONDS", SHORT)
    session = begin(on_observation("time.sleep(1000)"))
    observe(session)
    with pytest.raises(ScaffoldFailure, match="stopped reading") as failure:
        session.send(Observe(1, "x" * (4 << 20), "wait", ""))
    assert failure.value.kind == "timeout"
    assert not is_running(session._wire.child.pid)


def test_processor_time_is_limited(begin: Begin) -> None:
    limits = SandboxLimits(cpu_seconds=1)
    failure = fails(begin(on_observation("while True: pass"), limits=limits))
    assert failure.kind == "exit"
    assert f"exit status {-signal.SIGKILL}" in str(failure) or "-24" in str(failure)


# --- code that takes too much, or says what it may not ----------------------------------------


def test_memory_is_limited(begin: Begin) -> None:
    limits = SandboxLimits(memory_bytes=200 << 20)
    session = begin(on_observation("x = 'y' * (1 << 30)"), limits=limits)
    observe(session)
    fault = session.receive(LONG)
    assert isinstance(fault, ScaffoldFault)
    assert (fault.where, fault.message) == ("hooks.py:5", "MemoryError: ")


def test_a_memory_bomb_in_small_pieces_is_ended(begin: Begin) -> None:
    limits = SandboxLimits(memory_bytes=200 << 20)
    hooks = on_observation("kept = []", "while True: kept.append('x' * 100_000 + str(len(kept)))")
    session = begin(hooks, limits=limits)
    observe(session)
    try:
        assert isinstance(session.receive(LONG), ScaffoldFault)
    except ScaffoldFailure as failure:
        assert failure.kind == "exit"  # noqa: PT017


def test_a_giant_line_is_refused_before_it_is_whole(begin: Begin) -> None:
    session = begin(
        on_observation(f"os.write(3, b'x' * {MAX_LINE + (1 << 20)})", "time.sleep(1000)")
    )
    failure = fails(session)
    assert failure.kind == "protocol"
    assert f"over {MAX_LINE} bytes" in str(failure)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"garbage\n", "not one line of UTF-8 JSON"),
        (b"\xff\xfe\x00\n", "not one line of UTF-8 JSON"),
        (b"\n", "not one line of UTF-8 JSON"),
        (b"[]\n", "not a JSON object"),
        (b'{"type":"score","progression":1.0}\n', "unknown message type 'score'"),
        (b'{"type":"observe","step":0,"observation":"","action":null,"note":""}\n', "unknown"),
        (b'{"type":"act","action":"wait","score":1}\n', "unexpected fields in 'act'"),
        (b'{"type":"turn","phase":"EVAL","kept":0,"messages":[]}\n', "malformed 'phase'"),
        (b"[" * 100_000 + b"\n", "not one line of UTF-8 JSON (RecursionError)"),
        (b'{"type":"act","action":"\\ud800"}\n', "not one line of UTF-8 JSON"),
    ],
)
def test_what_is_no_message_ends_the_sandbox(begin: Begin, said: bytes, why: str) -> None:
    session = begin(on_observation(f"os.write(3, {said!r})", "time.sleep(1000)"))
    failure = fails(session)
    assert failure.kind == "protocol"
    assert why in str(failure)
    assert not is_running(session._wire.child.pid)


def test_a_forged_message_of_the_right_form_is_only_what_a_scaffold_may_say(begin: Begin) -> None:
    """Code inside can write to the channel; that gains it nothing it could not ask for anyway."""
    session = begin(on_observation('os.write(3, b\'{"type":"act","action":"right"}\\n\')'))
    observe(session)
    assert session.receive(LONG) == Act("right")


# --- code that ends ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hooks", "status", "said"),
    [
        (on_observation("os._exit(3)"), 3, ""),
        (on_observation("print('last words', flush=True)", "os._exit(0)"), 0, "last words"),
        (on_observation("sys.exit('I quit')"), 1, "I quit"),
        (on_observation("os.kill(os.getpid(), 11)"), -signal.SIGSEGV, ""),
        (on_observation("os.close(3)", "time.sleep(0.1)", "os._exit(5)"), 5, ""),
        (on_observation("os.close(3)", "time.sleep(1000)"), -signal.SIGKILL, ""),
    ],
)
def test_an_exit_in_mid_step_says_its_status_and_last_words(
    begin: Begin, hooks: str, status: int, said: str
) -> None:
    failure = fails(begin(hooks))
    assert failure.kind == "exit"
    assert f"(exit status {status})" in str(failure)
    assert said in str(failure)


def test_the_last_words_are_kept_and_no_more(begin: Begin) -> None:
    hooks = on_observation(
        "sys.stderr.write('x' * 60_000 + 'the end')", "sys.stderr.flush()", "os._exit(1)"
    )
    text = str(fails(begin(hooks)))
    assert text.endswith("the end")
    assert len(text) < 2_200


def test_sending_to_a_dead_sandbox_is_the_scaffolds_failure(begin: Begin) -> None:
    session = begin(on_observation("os._exit(3)"))
    fails(session)
    with pytest.raises(ScaffoldFailure) as failure:
        session.send(Observe(1, "x", "wait", ""))
    assert failure.value.kind == "exit"


# --- faults, with their place -----------------------------------------------------------------


def fault_of(session: LineSession) -> ScaffoldFault:
    message: FromSandbox = session.receive(LONG)
    if isinstance(message, Ready):
        session.send(Observe(0, "You are in room 0.", None, ""))
        message = session.receive(LONG)
    assert isinstance(message, ScaffoldFault), message
    return message


@pytest.mark.parametrize(
    ("files", "where", "message"),
    [
        ({"hooks": "\n\nx = 1 / 0\n"}, "hooks.py:3", "ZeroDivisionError: division by zero"),
        ({"hooks": "def on_start(context):\n    return\n  x\n"}, "hooks.py:3", "IndentationError"),
        ({"hooks": "import nothing_of_the_kind\n"}, "hooks.py:1", "ModuleNotFoundError"),
        ({"hooks": on_observation("pass", "{}['key']")}, "hooks.py:6", "KeyError: 'key'"),
        ({"hooks": "def on_start(context):\n    context.nope = 1\n"}, "hooks.py:2", "Attribute"),
        ({"hooks": "def on_start():\n    pass\n"}, "scaffold", "TypeError: on_start() takes 0"),
        ({"plan": "one\ntwo {{ nope }}\n"}, "prompts/plan.j2:2", "'nope' is undefined"),
        ({"plan": "one\n{% if %}\n"}, "prompts/plan.j2:2", "TemplateSyntaxError"),
        ({"system": "{{ actions.__class__.x }}"}, "prompts/system.j2:1", "is unsafe"),
        ({"system": "a\n{{ 1 / 0 }}"}, "prompts/system.j2:2", "ZeroDivisionError"),
    ],
)
def test_a_fault_names_file_and_line(
    begin: Begin, files: dict[str, str], where: str, message: str
) -> None:
    fault = fault_of(begin(**files))
    assert fault.where == where
    assert message in fault.message


def test_a_fault_in_a_sibling_module_names_that_module(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "scaffold0").mkdir()
    (tmp_path / "scaffold0" / "part.py").write_text("def f():\n\n    raise ValueError('odd')\n")
    fault = fault_of(begin("import part\n\n\ndef on_observation(context):\n    part.f()\n"))
    assert (fault.where, fault.message) == ("part.py:3", "ValueError: odd")


def test_a_missing_prompt_is_named(begin: Begin, tmp_path: Path) -> None:
    session = begin()
    observe(session)
    (tmp_path / "scaffold0" / "prompts" / "log.j2").unlink()
    folder = tmp_path / "scaffold0"
    other = ProcessSandbox(folder.parent / "b", bubblewrap=None).start(folder, SandboxLimits())
    with contextlib.closing(other):
        other.send(START)
        fault = other.receive(LONG)
    assert isinstance(fault, ScaffoldFault)
    assert "log.j2" in fault.message


# --- nothing is left --------------------------------------------------------------------------


def test_closing_ends_the_whole_group(begin: Begin) -> None:
    hooks = "import subprocess, sys\n" + on_observation(
        "children = [subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])"
        " for _ in range(3)]",
        "context.memory.write('out', json.dumps([child.pid for child in children]))",
    )
    session = begin(hooks)
    pids = says(session)
    assert all(is_running(pid) for pid in pids)
    session.close()
    assert not is_running(session._wire.child.pid)
    assert all(ends(pid) for pid in pids)


HOST = """
import sys
from pathlib import Path
from orchestrator.sandbox.base import SandboxLimits
from orchestrator.sandbox.process import ProcessSandbox

sandbox = ProcessSandbox(Path(sys.argv[1]), bubblewrap=None)
session = sandbox.start(Path(sys.argv[2]), SandboxLimits())
print(session._wire.child.pid, flush=True)
sys.stdin.read()
"""


def test_a_sandbox_ends_with_its_host(tmp_path: Path, bundles: Path) -> None:
    folder = write_scaffold(tmp_path / "scaffold")
    command = [sys.executable, "-c", HOST, bundles, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        assert is_running(pid)
        host.kill()
        host.wait()
        assert ends(pid)


def test_no_descriptor_and_no_file_is_left(begin: Begin, bundles: Path, tmp_path: Path) -> None:
    begin().close()
    before = len(os.listdir("/proc/self/fd"))
    files = {path for folder in (bundles, tmp_path) for path in folder.rglob("*")}
    for hooks in (None, on_observation("os._exit(1)"), "x = 1 / 0\n"):
        session = begin(hooks)
        with contextlib.suppress(ScaffoldFailure):
            session.receive(LONG)
        session.close()
    assert len(os.listdir("/proc/self/fd")) == before
    after = {path for folder in (bundles, tmp_path) for path in folder.rglob("*")}
    new = {path.name for path in after - files if path.is_file()}
    assert new <= {"hooks.py", "scaffold.toml", "system.j2", "log.j2", "plan.j2", "notes.md"}


# --- the sandbox itself -----------------------------------------------------------------------


def test_a_sandbox_that_cannot_start_is_no_fault_of_the_scaffold(
    tmp_path: Path, bundles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_scaffold(tmp_path / "scaffold")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SandboxFailure, match="could not be started"):
        ProcessSandbox(bundles, bubblewrap=None).start(folder, SandboxLimits())


def test_agent_code_that_does_not_come_up_is_no_fault_of_the_scaffold(
    tmp_path: Path, bundles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_scaffold(tmp_path / "scaffold")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(SandboxFailure, match="did not come up: The scaffold did not answer"):
        ProcessSandbox(bundles, bubblewrap=None).start(folder, SandboxLimits(start_seconds=0.001))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(SandboxFailure, match=r"did not come up: .*exit status 1"):
        ProcessSandbox(bundles, bubblewrap=None).start(folder, SandboxLimits())
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("writes", ["pathlib.Path.write_bytes", "shutil.copyfile"])
def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: str) -> None:
    folder = write_scaffold(tmp_path / "scaffold")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writes, full)
    with pytest.raises(DiskFull, match="The disk is full"):
        ProcessSandbox(tmp_path / "bundles", bubblewrap=None).start(folder, SandboxLimits())


def test_it_says_what_it_cannot_enforce(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(tmp_path, bubblewrap=None)
    assert sandbox.guarantees == {
        Guarantee.CLEAN_ENVIRONMENT,
        Guarantee.DEADLINE,
        Guarantee.MEMORY,
        Guarantee.CPU_TIME,
        Guarantee.FILE_WRITES,
        Guarantee.OPEN_FILES,
    }
    assert cannot(sandbox) == (
        "The process sandbox does not enforce: total memory, file count, process count,"
        " no network, no host files, no host processes, no privileges, ends whole."
    )


def test_an_unknown_kind_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"no sandbox 'dokcer'. Did you mean docker\? Use one of: auto, docker, process; or",
    ):
        make_sandbox("dokcer", tmp_path)
