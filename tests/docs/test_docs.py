"""The documents are true: commands run, links and paths lead somewhere, tables match the code."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
import shutil
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel
from typer.testing import CliRunner

from agents.grammar import BUILT_IN
from agents.manifest import Budgets
from agents.scaffold import HOOKS
from envs.registry import SPECS, family, make
from orchestrator.attacks.catalog import ATTACKS
from orchestrator.cli.app import app
from orchestrator.config import (
    FIRST_CONFIG,
    BudgetConfig,
    Ceilings,
    Config,
    GateConfig,
    NightConfig,
    TrackingConfig,
    read_config,
)
from orchestrator.episodes import metrics
from orchestrator.gate.banks_file import BankSizes
from orchestrator.models.config import ModelConfig
from orchestrator.night_record import save_record
from orchestrator.sandbox import namespaces
from orchestrator.sandbox.base import Guarantee
from orchestrator.sandbox.containers.config import DockerConfig
from orchestrator.sandbox.process import BY_RLIMITS
from tests.support.markdown import ROOT, Document, block_named, document, documents
from tests.support.sample_night import TRIES, SampleNight
from tests.support.workspaces import small_workspace

MORE: dict[str, list[str]] = {
    "init": [],
    "doctor": [],
    "play": ["--steps", "6"],
    "log": [],
    "show": [],
    "diff": [],
    "revert": [],
    "report": [],
    "gate simulate": ["--nights", "3", "--candidates", "2"],
}
"""What is run for real, with what makes it short; of a repeated option the last one counts."""

PIECES = ("agents", "envs", "flows", "orchestrator")
FOLDERS = (*PIECES, ".ci", "benchmarks", "docs", "scaffolds", "tests")
each_document = pytest.mark.parametrize("doc", documents(), ids=lambda doc: doc.path)


# --- commands ---------------------------------------------------------------------------------


def shell_lines() -> list[str]:
    """Every line of a `sh` block, without comments."""
    blocks = [block for doc in documents() for block in doc.blocks if block.language == "sh"]
    lines = [line for block in blocks for line in block.text.splitlines()]
    return [
        line for line in (shlex.join(shlex.split(line, comments=True)) for line in lines) if line
    ]


COMMANDS = sorted({line for line in shell_lines() if line.startswith("slowwave ")})


def subcommand(words: list[str]) -> tuple[Any, str, list[str]]:
    """The command that a line means, its name, and what is left of the line."""
    command: Any = typer.main.get_command(app)
    names: list[str] = []
    while hasattr(command, "commands") and words and words[0] in command.commands:
        names.append(words[0])
        command, words = command.commands[words[0]], words[1:]
    return command, " ".join(names), words


def shortened(line: str) -> list[str] | None:
    """The arguments with which a shown command is run; `None` if it takes too long or a server."""
    words = shlex.split(line)[1:]
    name = subcommand(words)[1]
    if name not in MORE or "openai:" in line or "<" in line:
        return None
    # A language model takes most of a minute over a step: of that, what is shown is short enough.
    return words if name == "play" and "local" in words else [*words, *MORE[name]]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_that_is_shown_parses(line: str) -> None:
    command, name, rest = subcommand(shlex.split(line)[1:])
    assert not hasattr(command, "commands"), f"{line} names no command"
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("-")} <= options
    command.make_context(name, list(rest))
    shown = CliRunner().invoke(app, [*name.split(), "--help"])
    assert shown.exit_code == 0
    assert command.help.splitlines()[0][:40] in shown.output


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place as a reader has it: a checkout's scaffolds, a workspace with a night behind it."""
    place = tmp_path_factory.mktemp("docs")
    small_workspace(place / "lab")
    night = SampleNight(place / "lab")
    night.attempt(1, TRIES[1])
    save_record(night.workspace.night_folder(night.record.id), night.finish())
    shutil.copytree(ROOT / "scaffolds", place / "scaffolds")
    for block in document("docs/scaffolds.md").blocks:
        if block.names and block.language != "sh":
            file = place / "pinned" / block.names
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
    (place / "pinned" / "memory").mkdir()
    (place / "pinned" / "memory" / "log.md").write_text("")
    return place


@pytest.fixture
def reader(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's folder, fresh, and the place where commands are run."""
    place = tmp_path / "reader"
    shutil.copytree(template, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("SLOWWAVE_WORKSPACE", str(place / "lab"))
    return place


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in COMMANDS if shortened(line)])
def test_a_command_that_is_shown_runs(reader: Path, line: str) -> None:
    ran = CliRunner().invoke(app, shortened(line))
    assert ran.exception is None, ran.exception
    assert ran.exit_code == 0, ran.output
    assert ran.output.strip()


def test_what_is_run_for_real_covers_the_commands() -> None:
    run = {subcommand(line.split()[1:])[1] for line in COMMANDS if shortened(line)}
    assert run == set(MORE)


@each_document
def test_a_command_named_in_the_text_exists(doc: Document) -> None:
    for code in doc.inline:
        if not code.startswith("slowwave "):
            continue
        command, name, rest = subcommand(shlex.split(code)[1:])
        assert name, f"{doc.path}: {code}"
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("-")} <= options, f"{doc.path}: {code}"


def test_other_commands_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    inline = [code for doc in documents() for code in doc.inline]
    lines = [*shell_lines(), *inline]
    made = {line.split()[1] for line in lines if line.startswith("make ")}
    assert made <= targets
    modules = {found[1] for line in lines if (found := re.search(r"python -m ([\w.]+)", line))}
    for module in sorted(modules):
        assert find_spec(module) is not None, module


# --- links, paths, names ----------------------------------------------------------------------


@each_document
def test_links_lead_somewhere(doc: Document) -> None:
    for link in doc.links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / doc.path).parent / path if path else ROOT / doc.path
        assert target.exists(), f"{doc.path}: {link}"
        if anchor:
            there = Document(target.resolve().relative_to(ROOT).as_posix())
            assert anchor in there.anchors, f"{doc.path}: {link}"


@each_document
def test_paths_exist(doc: Document) -> None:
    roots = {path.name for path in ROOT.iterdir() if path.is_file()}
    for code in doc.inline:
        first = code.partition("/")[0]
        if not re.fullmatch(r"[\w./-]+", code):
            continue
        if "/" in code and first in FOLDERS:
            assert (ROOT / code).exists(), f"{doc.path}: {code}"
        elif re.fullmatch(r"[A-Z]{4,}\.md|[a-z]+\.(?:toml|txt)", code):
            known = {*roots, "slowwave.toml", "scaffold.toml", "edit.toml"}
            assert code in known, f"{doc.path}: {code}"


@each_document
def test_names_in_the_code_exist(doc: Document) -> None:
    for code in doc.inline:
        if not re.fullmatch(rf"(?:{'|'.join(PIECES)})(?:\.\w+)+", code):
            continue
        module, _, name = code.rpartition(".")
        try:
            importlib.import_module(code)
        except ImportError:
            assert hasattr(importlib.import_module(module), name), f"{doc.path}: {code}"


# --- tables that repeat the code --------------------------------------------------------------

TABLES: dict[str, type[BaseModel]] = {
    "Top level": Config,
    "`[models.<role>]`": ModelConfig,
    "`[night]`": NightConfig,
    "`[banks]`": BankSizes,
    "`[gate]`": GateConfig,
    "`[ceilings]`": Ceilings,
    "`[docker]`": DockerConfig,
    "`[budget]`": BudgetConfig,
    "`[tracking]`": TrackingConfig,
}


@pytest.mark.parametrize("heading", TABLES)
def test_the_configuration_is_described_field_by_field(heading: str) -> None:
    model = TABLES[heading]
    headings = {*TABLES, "`[steps]`", "`[models]`"}  # `[night.steps]` and `[models.<role>]`
    inner = {name for name in model.model_fields if f"`[{name}]`" in headings}
    described: dict[str, str] = {}
    for cells in document("docs/configuration.md").rows(heading):
        names = re.findall(r"`(\w+)`", cells[0])
        defaults = cells[1].split(", ") if cells[1].count(", ") == len(names) - 1 else [cells[1]]
        described.update(zip(names, defaults * len(names), strict=False))
    assert set(described) == set(model.model_fields) - inner
    for name, default in described.items():
        try:
            shown = tomllib.loads(f"value = {default.split(' (')[0].strip('`')}")["value"]
        except tomllib.TOMLDecodeError:
            continue  # words: "none", "one per processor"
        actual = model.model_fields[name].get_default(call_default_factory=True)
        assert shown == pytest.approx(float(actual) if isinstance(shown, float) else actual), name


def test_the_steps_of_a_night_are_described_for_every_family() -> None:
    rows = list(document("docs/configuration.md").rows("`[night.steps]`"))[1:]
    assert {family(name) for name in SPECS} == {cells[0].strip("`") for cells in rows}
    first = tomllib.loads(FIRST_CONFIG.format(root_seed=1))["night"]["steps"]
    for name, left_out, words in rows:
        own = {
            environment.default_steps
            for one in SPECS
            if family(one) == name.strip("`") and "boxoban" not in one  # levels may be missing
            for environment in [make(one)]
        }
        assert own == {int(left_out)}
        assert words.endswith(f"`init` writes {first[name.strip('`')]}")


def test_variables_that_are_named_are_those_of_the_code() -> None:
    named = {
        code for doc in documents() for code in doc.inline if re.fullmatch(r"SLOWWAVE_\w+", code)
    }
    assert {"SLOWWAVE_WORKSPACE", "SLOWWAVE_DATA"} <= named
    for name in named:
        assert name in sentences().splitlines(), name


def test_budgets_are_those_of_the_code() -> None:
    rows = [row for row in document("docs/memory-protocol.md").rows("Budgets") if "`" in row[0]]
    shown = {
        name.strip("`"): tuple(int(re.sub(r"\D", "", cell)) for cell in cells)
        for name, *cells in rows
    }
    asked, ceilings = Budgets(), Ceilings()
    assert shown == {
        name: (getattr(asked, name), getattr(ceilings, name)) for name in Budgets.model_fields
    }


def test_metrics_commands_and_hooks_are_those_of_the_code() -> None:
    protocol, scaffolds = document("docs/memory-protocol.md"), document("docs/scaffolds.md")
    named = [cells[0].strip("`") for cells in protocol.rows("Behavior metrics")][1:]
    listed = [name for cell in named for name in cell.split("`, `")]
    assert listed == list(metrics.NAMES)
    forms = [cells[0].strip("`") for cells in protocol.rows("Commands")][1:]
    assert forms == [spec.form for spec in BUILT_IN]
    hooks = [cells[0].strip("`").partition("(")[0] for cells in scaffolds.rows("Hooks")][1:]
    assert tuple(hooks) == HOOKS


def test_the_guarantees_and_who_holds_them_are_those_of_the_code() -> None:
    rows = list(document("docs/security.md").rows("What is enforced where"))[1:]
    assert [row[0] for row in rows] == [one.value for one in Guarantee]
    held = [{one for one, row in zip(Guarantee, rows, strict=True) if "**no**" not in row[column]}
            for column in (1, 2, 3)]  # fmt: skip
    with_namespaces = BY_RLIMITS | namespaces.GUARANTEES
    assert held == [frozenset(Guarantee), with_namespaces, BY_RLIMITS]


def test_the_attacks_and_what_gets_through_are_those_of_the_code() -> None:
    rows = list(document("docs/security.md").rows("What was measured"))[1:]
    assert [(row[0].strip("`"), row[1]) for row in rows] == [
        (one.name, one.tries) for one in ATTACKS
    ]
    columns = (frozenset(Guarantee), BY_RLIMITS | namespaces.GUARANTEES, BY_RLIMITS)
    for attack, row in zip(ATTACKS, rows, strict=True):
        got_through = ["**got through**" in cell for cell in row[2:]]
        assert got_through == [not attack.held_by <= held for held in columns], attack.name


PLAYER = '[models.action]\nprovider = "heuristic"\n'


def test_configurations_that_are_shown_can_be_read(tmp_path: Path) -> None:
    shown = [
        block.text
        for doc in documents()
        for block in doc.blocks
        if block.language == "toml" and "[models." in block.text
    ]
    assert len(shown) >= 2
    for text in shown:
        whole = text if "[models.action]" in text else f"{text}\n{PLAYER}"
        (tmp_path / "slowwave.toml").write_text(whole, encoding="utf-8")
        models = read_config(tmp_path / "slowwave.toml").models
        shown_ones = {role: model.provider for role, model in models.items() if role in text}
        assert set(shown_ones.values()) <= {"anthropic", "local", "openai"}
        assert shown_ones


# --- the sentences of the troubleshooting page --------------------------------------------------


@cache
def sentences() -> str:
    """Every text in the code, what is filled in left out, one a line."""
    texts = []
    for package in PIECES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    parts = [
                        one.value if isinstance(one, ast.Constant) else "\0" for one in node.values
                    ]
                    texts.append("".join(map(str, parts)))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.append(node.value)
    return "\n".join([*texts, (ROOT / "Makefile").read_text(encoding="utf-8")])


HEADINGS = ("Starting", "A night", "The sandbox", "Scaffolds and candidates", "Models", "Files")
TROUBLES = [
    code[1:-1]
    for heading in HEADINGS
    for code, *_ in list(document("docs/troubleshooting.md").rows(heading))[1:]
]


@pytest.mark.parametrize("sentence", TROUBLES)
def test_a_sentence_to_look_up_stands_in_the_code(sentence: str) -> None:
    fragments = [part.strip(" .") for part in sentence.split("…")]
    assert any(len(part) > 8 for part in fragments)
    for part in fragments:
        assert part in sentences(), part


# --- examples -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_scaffold_that_is_shown_plays_and_uses_its_memory(reader: Path) -> None:
    arguments = [
        "play",
        "crafter",
        "--seed",
        "7",
        "--steps",
        "30",
        "--scaffold",
        "pinned",
        "--json",
    ]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    played = json.loads(ran.output.splitlines()[-1])
    assert played["outcome"] == "step_limit"
    assert played["metrics"]["empty_search_rate"] is not None
    assert played["metrics"]["memory_growth"] > 0


def test_the_known_edit_table_names_every_key() -> None:
    text = block_named("CONTRIBUTING.md", "scaffolds/edits/crafter/recent/edit.toml").text
    keys = {
        key
        for cells in document("scaffolds/edits/README.md").rows("Known edits")
        for key in re.findall(r"`(\w+)`", cells[0])
    }
    assert set(tomllib.loads(text)) <= keys
