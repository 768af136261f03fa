"""The static check names file, line and mend, and never runs what it reads."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from orchestrator.scaffolds.check import (
    BrokenScaffold,
    Fault,
    check_folder,
    check_scaffold,
    check_tree,
    raise_for_faults,
)
from orchestrator.scaffolds.errors import NoStore
from orchestrator.scaffolds.names import MAX_FILE_BYTES
from orchestrator.scaffolds.store import ScaffoldStore
from tests.support.scaffold_samples import SEED, git, write_folder

SOUND = {**SEED, "prompts/plan.j2": b"Plan.\n", "prompts/system.j2": b"Rules.\n"}


def faults_of(**files: bytes | str) -> list[str]:
    """Faults of the sample scaffold with files replaced; `__` is a slash, `_dot_` a dot."""
    changed = {
        name.replace("__", "/").replace("_dot_", "."): text.encode()
        if isinstance(text, str)
        else text
        for name, text in files.items()
    }
    return [str(fault) for fault in check_scaffold({**SOUND, **changed})]


def python(source: str) -> list[str]:
    return faults_of(hooks_dot_py=textwrap.dedent(source))


def test_the_sample_and_the_shipped_scaffolds_are_sound() -> None:
    assert check_scaffold(SOUND) == []
    shipped = Path(__file__).parents[3] / "scaffolds"
    for folder in sorted(shipped.glob("*/scaffold.toml")):
        assert check_folder(folder.parent) == []


@pytest.mark.parametrize(
    "path",
    [
        "setup.cfg",
        "prompts/deep/log.j2",
        "prompts/log.py",
        "memory/tools.py",
        "memory/index.json",
        "lib/tools.py",
        "hooks.pyx",
        "scaffold.toml.orig",
        "2nd.py",
        "memory/" + "n" * 62 + ".md",
    ],
)
def test_only_the_files_of_a_scaffold_are_allowed(path: str) -> None:
    (fault,) = check_scaffold({**SOUND, path: b""})
    assert (fault.file, fault.line) == (path, None)
    assert fault.message == "has no place in a scaffold"
    assert "prompts/*.j2" in fault.mend


def test_paths_that_climb_are_faults() -> None:
    (fault,) = check_scaffold({**SOUND, "../x.py": b""})
    assert fault.message.startswith("'../x.py' is not a file path")


def test_a_manifest_is_needed() -> None:
    files = {path: data for path, data in SOUND.items() if path != "scaffold.toml"}
    faults = check_scaffold(files)
    assert [(f.file, f.message) for f in faults] == [("scaffold.toml", "is missing")]


@pytest.mark.parametrize("prompt", ["system", "log", "plan"])
def test_every_prompt_is_needed(prompt: str) -> None:
    path = f"prompts/{prompt}.j2"
    files = {name: data for name, data in SOUND.items() if name != path}
    (fault,) = check_scaffold(files)
    assert str(fault) == f"{path}: is missing. Add it: the agent cannot play without this prompt."


def test_a_prompt_that_cannot_be_read_is_not_called_missing(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a", SOUND)
    (folder / "prompts" / "plan.j2").unlink()
    (folder / "prompts" / "plan.j2").symlink_to("/etc/hostname")
    assert [(f.file, f.message) for f in check_folder(folder)] == [
        ("prompts/plan.j2", "is a symbolic link")
    ]


def test_sizes() -> None:
    (fault,) = check_scaffold({**SOUND, "README.md": b"x" * (MAX_FILE_BYTES + 1)})
    assert str(fault) == "README.md: is 262,145 bytes long. Keep each file under 262,144 bytes."
    many = {f"memory/m{n}.md": b"" for n in range(200)}
    assert check_scaffold({**SOUND, **many})[0].message == "The scaffold has 207 files"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"one\ntwo \xff\n", "README.md:2: is not UTF-8 text (byte 0xff). Save it as UTF-8."),
        (b"one\n\x00two", "README.md:2: holds a zero byte. Save it as plain text."),
        (b"\xef\xbb\xbfone", "README.md:1: holds a byte-order mark. Save it as plain text."),
    ],
)
def test_text_is_text(data: bytes, expected: str) -> None:
    assert faults_of(README_dot_md=data) == [expected]


def test_bad_toml_names_the_line() -> None:
    (fault,) = faults_of(scaffold_dot_toml='[scaffold]\nname = "x"\nturns = = 3\n')
    assert fault.startswith("scaffold.toml:3: is not valid TOML: Invalid value.")
    (fault,) = faults_of(scaffold_dot_toml="a = 1\nb = [")
    assert fault.startswith("scaffold.toml:2: is not valid TOML")


def test_the_manifests_schema_is_checked_by_whoever_knows_it() -> None:
    seen = []

    def validate(text: str) -> list[Fault]:
        seen.append(text)
        return [Fault("scaffold.toml", 2, "has no budgets", "Add [budgets].")]

    (fault,) = check_scaffold(SOUND, validate_manifest=validate)
    assert str(fault) == "scaffold.toml:2: has no budgets. Add [budgets]."
    check_scaffold({**SOUND, "scaffold.toml": b"="}, validate_manifest=validate)
    assert seen == [SOUND["scaffold.toml"].decode()]


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("x = 1\ndef f(:\n    pass\n", "hooks.py:2: cannot be read as Python: invalid syntax"),
        ("return 3\n", "hooks.py:1: cannot be read as Python: 'return' outside function"),
        ("def f():\npass\n", "hooks.py:2: cannot be read as Python: expected an indented block"),
        ("x = " + "-" * 100_000 + "1", "hooks.py: cannot be read as Python"),
        ("x = " + "a." * 100_000 + "a", "hooks.py: cannot be read as Python"),
        ("x = " + "(" * 100_000, "hooks.py:1: cannot be read as Python: too many nested"),
        ("x = " + "9" * 5000, "hooks.py:1: cannot be read as Python"),
    ],
)
def test_python_that_cannot_be_read(source: str, place: str) -> None:
    (fault,) = faults_of(hooks_dot_py=source)
    assert fault.startswith(place)


@pytest.mark.parametrize(
    "module",
    [
        "os",
        "os.path",
        "sys",
        "subprocess",
        "socket",
        "importlib",
        "ctypes",
        "random",
        "time",
        "datetime",
        "pathlib",
        "io",
        "threading",
        "pickle",
        "inspect",
        "builtins",
        "gc",
        "numpy",
        "orchestrator.gate",
        "agents",
        "agents.runner",
        "agents.scaffold.inner",
        "envs",
    ],
)
def test_imports_outside_the_list_are_refused(module: str) -> None:
    for source in (f"import math\nimport {module}", f"import math\nfrom {module} import x"):
        (fault,) = python(source)
        assert fault.startswith(f"hooks.py:2: imports {module}, which a scaffold may not use")
        assert "Use agents.scaffold, the scaffold's own modules, or abc, bisect," in fault


def test_randomness_and_clocks_get_their_reason() -> None:
    assert "an episode must play the same way each time" in python("import random")[0]
    assert "must not depend on the clock" in python("from datetime import date")[0]


def test_imports_on_the_list_are_welcome() -> None:
    source = """
        from __future__ import annotations
        import math, re, json, heapq, bisect, string, textwrap, statistics
        import collections.abc
        from collections import deque
        from dataclasses import dataclass
        from typing import Any
        from json import decoder
        from agents import scaffold
        from agents.scaffold import Context, command
        import positions
        from positions import track

        @dataclass
        class Place:
            x: int
            sys: collections.abc.Sequence[json.decoder.JSONDecodeError]

            def __post_init__(self):
                super().__init__()
    """
    assert faults_of(hooks_dot_py=textwrap.dedent(source), positions_dot_py="track = 1\n") == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("from .positions import x", "imports .positions relative to a package"),
        ("from . import positions", "imports . relative to a package"),
        ("from agents.scaffold import *", "imports everything from agents.scaffold"),
        ("from agents.scaffold import _port", "imports the private name _port"),
        ("from agents import runner", "imports agents, which"),
        ("import missing", "imports missing, which"),
        ("open('x')", "uses open, which a scaffold may not"),
        ("e = eval\ne('1')", "uses eval, which"),
        ("__import__('os')", "uses __import__, which"),
        ("__builtins__['open']", "uses __builtins__, which"),
        ("().__class__.__base__", "reaches for __base__"),
        ("def f(): pass\nf.__globals__", "reaches for __globals__"),
        ("def f():\n    import os", "imports os"),
        ("import collections\ncollections._sys.modules", "reaches for the module sys, which"),
        (
            "import json\njson.decoder.scanner.c_make_scanner\njson.codecs",
            "the module codecs",
        ),
        ("import typing as t\nt.sys.modules", "reaches for the module sys"),
        ("from dataclasses import sys as s", "reaches for the module sys"),
        ("from json import decoder\ndecoder.re.enum.sys", "reaches for the module sys"),
        ("import re\nre.enum.sys", "reaches for the module sys"),
    ],
)
def test_ways_around_the_list(source: str, message: str) -> None:
    faults = python(source)
    assert any(message in fault for fault in faults), faults
    assert all(fault.startswith("hooks.py:") for fault in faults)


@pytest.mark.parametrize("name", ["json", "os", "agents", "jinja2"])
def test_a_module_may_not_hide_another(name: str) -> None:
    (fault,) = check_scaffold({**SOUND, f"{name}.py": b""})
    assert str(fault) == f"{name}.py: hides the module {name}. Give the file another name."


def test_a_chain_of_attributes_may_be_long() -> None:
    assert python("import math\ndef f(x):\n    return x" + ".a" * 1200) == []
    assert len(python("import typing\ntyping.sys" + ".a" * 1200)) == 1


def test_a_name_that_is_something_else_in_places_is_no_module() -> None:
    assert python("import statistics\ndef f(statistics):\n    return statistics.numbers") == []
    assert python("import statistics\ndef f(c):\n    statistics = c\n    statistics.sys") == []


def test_nothing_is_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    source = f"from pathlib import Path\nPath({str(trace)!r}).touch()\n"
    prompt = "{{ ''.__class__.__mro__ }}{{ 'a' * 10**12 }}{% for i in range(10**12) %}{% endfor %}"
    assert len(faults_of(hooks_dot_py=source, prompts__plan_dot_j2=prompt)) == 1
    assert not trace.exists()


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("a\n{% if x %}\n", "prompts/log.j2:2: is not a valid template: Unexpected end"),
        ("a\nb\n{{ x", "prompts/log.j2:3: is not a valid template: unexpected end"),
        ("a\n{% nonsense %}", "prompts/log.j2:2: is not a valid template: Encountered unknown tag"),
        ("\n\n{{ x|shout }}", "prompts/log.j2:3: uses an unknown filter, shout"),
        ("{{" + "-" * 100_000 + "1}}", "prompts/log.j2: is nested too deeply"),
        ("{{ a" + ".b" * 100_000 + "}}", "prompts/log.j2: is nested too deeply"),
    ],
)
def test_prompts(prompt: str, expected: str) -> None:
    (fault,) = faults_of(prompts__log_dot_j2=prompt)
    assert fault.startswith(expected)


def test_filters_of_the_host_can_be_declared() -> None:
    files = {**SOUND, "prompts/log.j2": b"{{ x|shout|upper }}"}
    assert check_scaffold(files, filters=["shout"]) == []


def test_a_folder_with_links_and_executables(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a", {**SOUND, "__pycache__/hooks.pyc": b"\xff"})
    assert check_folder(folder) == []
    (folder / "hooks.py").chmod(0o755)
    (folder / "memory" / "secret.md").symlink_to("/etc/hostname")
    assert [(f.file, f.message) for f in check_folder(folder)] == [
        ("hooks.py", "is executable"),
        ("memory/secret.md", "is a symbolic link"),
    ]
    with pytest.raises(NoStore):
        check_folder(tmp_path / "nowhere")


def test_a_revision_that_a_person_committed(store: ScaffoldStore) -> None:
    assert [fault.file for fault in check_tree(store, "crafter")] == [
        "prompts/plan.j2",
        "prompts/system.j2",
    ]
    write_folder(store.path, SOUND)
    (store.path / "memory" / "secret.md").symlink_to("/etc/hostname")
    (store.path / "hooks.py").chmod(0o755)
    write_folder(store.path, {"README.md": b"x" * 300_000, "logo.png": b"\x89PNG"})
    git(store.path, "add", "-A")
    git(store.path, "commit", "-m", "By hand")
    assert [(f.file, f.message) for f in check_tree(store, "crafter")] == [
        ("README.md", "is 300,000 bytes long"),
        ("hooks.py", "is executable"),
        ("logo.png", "has no place in a scaffold"),
        ("logo.png", "is not UTF-8 text (byte 0x89)"),
        ("memory/secret.md", "is a symbolic link"),
    ]


def test_faults_become_one_sentence() -> None:
    raise_for_faults([], "crafter/v1")
    faults = [Fault("hooks.py", n, "imports os", "Do not.") for n in range(1, 11)]
    with pytest.raises(BrokenScaffold) as caught:
        raise_for_faults(faults, "crafter/v1")
    lines = str(caught.value).splitlines()
    assert lines[0] == "The scaffold crafter/v1 has 10 faults:"
    assert lines[1] == "  hooks.py:1: imports os. Do not."
    assert lines[-1] == "  and 2 more"
    assert caught.value.faults == tuple(faults)
