"""`slowwave.toml`: models by role, budgets, ceilings, root seed, sandbox, gate, tracking."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

import envs.registry
from agents.manifest import Budgets
from agents.tables import Table, TableError, read_table
from orchestrator.errors import UsageError
from orchestrator.gate.banks_file import BankSizes
from orchestrator.models.config import ModelConfig, Role
from orchestrator.sandbox import AUTO, check_kind
from orchestrator.sandbox.containers.config import DockerConfig

FILE = "slowwave.toml"


class ConfigError(UsageError):
    """`slowwave.toml` cannot be used."""


def _known_family(name: str) -> str:
    known = {envs.registry.family(one) for one in (*envs.registry.SPECS, *envs.registry.SUITES)}
    if name not in known:
        raise ValueError(f"no family of environments; known are {', '.join(sorted(known))}")
    return name


Family = Annotated[str, AfterValidator(_known_family)]


class NightConfig(Table):
    """What a night does.

    Attributes:
        steps: Steps an episode has at most, by family of environments (``crafter``); families left
            out have their environment's own default.
        candidates: Candidates a night proposes at most.
        proposals: Candidates that are made from one champion before any is judged; they are
            screened together, and the best survivor is confirmed.
        patience: The night ends when so many candidates of one champion were tried and none was
            accepted.
        wait_hours: Hours that a night waits for machinery that does not answer, such as Docker's
            daemon.
        smoke_steps: Steps of the episode that a candidate has to survive before the gate.
        editor: Who proposes revisions: ``rules``, or ``meta``, the language model of the role
            ``meta``.
        editor_turns: Answers of that model for one candidate at most.
        editor_characters: Characters of its conversation that are kept; what tools returned
            earliest is taken out first.
    """

    steps: dict[Family, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    candidates: int = Field(default=6, ge=1)
    proposals: int = Field(default=1, ge=1)
    patience: int = Field(default=6, ge=1)
    smoke_steps: int = Field(default=60, ge=2)
    wait_hours: float = Field(default=2.0, ge=0)
    editor: Literal["rules", "meta"] = "rules"
    editor_turns: int = Field(default=80, ge=2)
    editor_characters: int = Field(default=400_000, ge=20_000)

    @field_validator("steps", mode="before")
    @classmethod
    def _by_family(cls, steps: object) -> object:
        if isinstance(steps, int | float) and not isinstance(
            steps, bool
        ):  # as it was when there was one family
            raise ValueError(
                "steps are set for each family of environments; write a table [night.steps] and in"
                f" it crafter = {steps}"
            )
        return steps


class GateConfig(Table):
    """How candidates are judged; see `orchestrator.gate.rules`.

    Attributes:
        rule: Name of the acceptance rule.
        night_alpha: Chance of a false acceptance that a night may run.
        screen_alpha: Level of the screen.
        confirm_alpha: Level of the confirmation, charged to `night_alpha`.
    """

    rule: Literal["two-stage", "strict-mean"] = "two-stage"
    night_alpha: float = Field(default=0.05, gt=0, lt=1)
    screen_alpha: float = Field(default=0.10, gt=0, lt=1)
    confirm_alpha: float = Field(default=0.01, gt=0, lt=1)


class Ceilings(Budgets):
    """What no scaffold may exceed, whatever its `scaffold.toml` says.

    Attributes:
        log_turns: Model turns a LOG phase may take.
        plan_turns: Model turns a PLAN phase may take.
        search_limit: Matches a SEARCH returns at most.
        read_limit: Characters a READ returns at most.
        memory_characters: Characters of all memory files together.
        override_rate: Share of steps in which code may play another action than the model chose.
        prompt_characters: Characters of one model conversation.
        step_seconds: Seconds a scaffold's own code and its memory requests may take over one step.
        episode_seconds: Seconds they may take over a whole episode.
        memory_mb: Megabytes of memory a sandbox may use.
    """

    log_turns: int = Field(default=5, ge=1)
    plan_turns: int = Field(default=5, ge=1)
    search_limit: int = Field(default=1000, ge=1)
    read_limit: int = Field(default=32_000, ge=100)
    override_rate: float = Field(default=0.1, ge=0, le=1)
    step_seconds: float = Field(default=10.0, gt=0)
    episode_seconds: float = Field(default=1800.0, gt=0)
    memory_mb: int = Field(default=1024, ge=64)


class BudgetConfig(Table):
    """What a night may spend; leave a line out for no limit.

    Attributes:
        money_usd: US dollars on models.
        tokens: Model tokens.
        hours: Hours from the night's start.
    """

    money_usd: Decimal | None = Field(default=None, gt=0, strict=False)  # TOML has no decimals
    tokens: int | None = Field(default=None, gt=0)
    hours: float | None = Field(default=None, gt=0)


class TrackingConfig(Table):
    """Where results are tracked.

    Attributes:
        uri: An MLflow tracking URI; by default a SQLite file in the artifacts folder.
    """

    uri: str | None = None


def _heuristic() -> dict[Role, ModelConfig]:
    return {"action": ModelConfig(provider="heuristic")}


class Config(Table):
    """The whole file.

    Attributes:
        root_seed: Everything random follows from it.
        sandbox: Where scaffold code runs: ``docker``, ``process``, ``auto``, or ``module:factory``.
        docker: How containers are made.
        workers: Episodes played at once; ``None`` for one per processor.
        artifacts: Folder for what runs produce, relative to the workspace.
        models: The model of each role.
    """

    root_seed: int = Field(default=0, ge=0, lt=1 << 63)
    sandbox: str = AUTO
    workers: int | None = Field(default=None, ge=1)
    artifacts: str = "artifacts"
    models: dict[Role, ModelConfig] = Field(default_factory=_heuristic)
    night: NightConfig = Field(default_factory=NightConfig)
    banks: BankSizes = Field(default_factory=BankSizes)
    gate: GateConfig = Field(default_factory=GateConfig)
    ceilings: Ceilings = Field(default_factory=Ceilings)
    budget: BudgetConfig = Field(default_factory=BudgetConfig)
    tracking: TrackingConfig = Field(default_factory=TrackingConfig)
    docker: DockerConfig = Field(default_factory=DockerConfig)

    @field_validator("sandbox")
    @classmethod
    def _known(cls, kind: str) -> str:
        try:
            return check_kind(kind)
        except UsageError as error:
            mend = (error.mend or "").rstrip(".")
            raise ValueError(f"{error.message.rstrip('.')}; {mend[:1].lower()}{mend[1:]}") from None


def read_config(path: Path) -> Config:
    """Read and validate a `slowwave.toml`.

    Raises:
        ConfigError: Names the file, the line and the mend of the first fault, and counts the rest.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None
    try:
        config = read_table(text, Config)
    except TableError as error:
        first, *others = error.faults
        more = f" ({len(others)} more)" if others else ""
        message, mend = first.message, first.mend
        if ".[key]'" in message:  # a name, where the names are data
            message, mend = message.replace(".[key]'", "'"), "Correct the name."
        raise ConfigError(f"{path}:{first.line}: {message}{more}.", mend=mend) from None
    if "action" not in config.models:
        raise ConfigError(
            f"{path}: no model for the role 'action'.", mend="Add a table [models.action]."
        )
    if config.night.editor == "meta" and "meta" not in config.models:
        raise ConfigError(
            f"{path}: the editor is 'meta', and no model has the role 'meta'.",
            mend='Add a table [models.meta], or set editor = "rules" under [night].',
        )
    return config


FIRST_CONFIG = """\
# A Slowwave workspace. Every line shows what can be changed; what is left out has a default.

root_seed = {root_seed}      # all seed banks follow from it
sandbox = "auto"             # where a scaffold's code runs: docker if it is set up, else process
# workers = 2                # episodes played at once; default: one per processor

# Models by role. "heuristic" plays from the prompt alone: no key, no GPU. "local" is a small
# language model on this machine, with an extra to install. For any other:
#   provider = "openai"                          any OpenAI-compatible server
#   model = "Qwen2.5-32B-Instruct"
#   base_url = "http://127.0.0.1:8000/v1"
#   api_key_env = "OPENAI_API_KEY"               the variable's name, never the key
#   price_input = 0.5                            USD per million tokens
#   price_output = 1.5
[models.action]
provider = "heuristic"

[night]
candidates = 6
editor = "rules"             # or "meta": a language model, with a table [models.meta]

[night.steps]                # per episode, by family; left out: the environment's own default
crafter = 600                # its own default is 2000
minihack = 100
nethack = 2000               # its own default is 100000

[banks]
propose = 10
screen = 10
confirm = 20
report = 20

[gate]
rule = "two-stage"
night_alpha = 0.05           # chance of a false acceptance a night may run

[ceilings]
log_turns = 5
plan_turns = 5
override_rate = 0.1

[budget]                     # a night ends when one of them is spent
# money_usd = 20
# tokens = 5000000
hours = 8

[docker]                     # how containers are made; `slowwave sandbox build` makes their image
# host = "unix:///var/run/docker.sock"
# runtime = "runsc"          # gVisor, where it is installed
"""
