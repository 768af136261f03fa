"""What several commands ask about the sandbox, and what they do with the answer."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.output import aside
from orchestrator.config import Config
from orchestrator.sandbox import AUTO, KINDS, check_kind
from orchestrator.sandbox.choice import choose

SandboxOption = Annotated[
    str | None,
    typer.Option(help=f"Where scaffold code runs: {', '.join((*KINDS, AUTO))}, or module:factory."),
]
AllowUnsandboxedOption = Annotated[
    bool,
    typer.Option(
        "--allow-unsandboxed",
        help="Run code that a model wrote although the sandbox cannot lock it in.",
    ),
]


def choose_sandbox(config: Config, given: str | None = None) -> Config:
    """The configuration with its sandbox decided; says what a person should know about it.

    Args:
        config: The workspace's.
        given: What the command line says.

    Raises:
        UsageError: There is no such sandbox.
        SandboxFailure: The sandbox asked for is not set up, or does not answer.
    """
    kind = config.sandbox if given is None else check_kind(given)
    choice = choose(kind, config.docker)
    if choice.notice:
        aside.print(choice.notice, highlight=False, markup=False, soft_wrap=True)
    return config.model_copy(update={"sandbox": choice.kind, "docker": choice.docker})
