"""What ``play`` and ``eval`` share: their options, and what they make of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from agents.manifest import FILE as MANIFEST
from agents.manifest import read_manifest
from envs.registry import Selection
from flows.reporting import report_to
from flows.server import prefect_server
from orchestrator.cli.options import choose_sandbox
from orchestrator.cli.output import progress_bars
from orchestrator.config import Config
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.planner import check_scaffold_folder
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.errors import UsageError
from orchestrator.models.config import ModelConfig
from orchestrator.scaffolds.errors import NoStore, StoreError
from orchestrator.scaffolds.export import export_files
from orchestrator.scaffolds.trees import hash_tree, read_folder
from orchestrator.workspace import Workspace, seed_scaffolds

Outcome = EpisodeResult | MissingEpisode
EnvironmentArgument = Annotated[str, typer.Argument(help="The game, e.g. crafter.")]
StepsOption = Annotated[
    int | None, typer.Option(help="Step limit; default: the environment's own.", min=1)
]
ScaffoldOption = Annotated[
    str | None,
    typer.Option(
        help="A scaffold's folder or a revision such as crafter/v1; default: the champion."
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="'heuristic', 'local' or 'local:NAME' (a model on this machine), or 'openai:NAME' with"
        " --base-url; default: the workspace's."
    ),
]
BaseUrlOption = Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")]
ApiKeyOption = Annotated[
    str | None,
    typer.Option(
        help="Environment variable with the key; default: none with --base-url, else"
        " OPENAI_API_KEY."
    ),
]


def play_jobs(
    place: Workspace, jobs: list[EpisodeJob], label: str, workers: int | None = None
) -> list[Outcome]:
    """Play jobs in parallel processes, with progress bars."""
    with prefect_server(place.artifacts), progress_bars() as watcher, report_to(watcher):
        from flows.episodes import processes
        from flows.evaluate import evaluate as evaluate_flow

        flow = evaluate_flow.with_options(task_runner=processes(workers or place.workers))
        return flow(jobs, label)


def parse_seeds(text: str) -> list[int]:
    """Seeds from a text such as ``1-10`` or ``1,5,8-9``, each once.

    Raises:
        UsageError: The text is no list of seeds.
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last - first >= 100_000 or last >= 1 << 31:
            raise UsageError(f"'{text}' is no list of seeds.", mend="Write 1-10 or 1,5,8-9.")
        found.update(dict.fromkeys(range(first, last + 1)))
    return list(found)


def configured(
    place: Workspace,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    sandbox: str | None,
) -> Config:
    """The workspace's configuration with what the command line overrides.

    Raises:
        UsageError: An option cannot be used, or not without another.
    """
    changed: dict[str, Any] = {}
    provider, _, name = (model or "").partition(":")
    named = {"heuristic": not name, "openai": bool(name), "local": name or ":" not in (model or "")}
    if model is not None and not named.get(provider):
        raise UsageError(
            f"'{model}' is no model.",
            mend="Write heuristic, local, local:NAME, or openai:NAME with --base-url.",
        )
    if provider != "openai":
        for option, value in (("--base-url", base_url), ("--api-key-env", api_key_env)):
            if value is not None:
                raise UsageError(
                    f"{option} says nothing without a model that has a server.",
                    mend="Add --model openai:NAME, the model's name there.",
                )
    if provider == "openai":
        changed["models"] = {"action": _remote_model(name, base_url, api_key_env)}
    elif provider == "local":
        given = {"provider": "local"} | ({"model": name} if name else {})
        changed["models"] = {"action": ModelConfig.model_validate(given)}
    elif model is not None:
        changed["models"] = {"action": ModelConfig(provider="heuristic")}
    return choose_sandbox(place.config.model_copy(update=changed), sandbox)


def _remote_model(name: str, base_url: str | None, api_key_env: str | None) -> ModelConfig:
    # OpenAI's key goes to OpenAI alone, unless it is named for another server.
    variable = api_key_env or (None if base_url else "OPENAI_API_KEY")
    try:
        return ModelConfig(provider="openai", model=name, base_url=base_url, api_key_env=variable)
    except ValidationError as error:
        (fault, *_) = error.errors(include_input=False)
        option = "--" + str(fault["loc"][0] if fault["loc"] else "model").replace("_", "-")
        what, _, mend = fault["msg"].removeprefix("Value error, ").partition("; ")
        if option == "--api-key-env":
            mend = "put the key into an environment variable, and give that variable's name"
    raise UsageError(f"{option} {what}.", mend=f"{mend[:1].upper()}{mend[1:]}." if mend else None)


def prepared_scaffold(
    place: Workspace, selection: Selection, given: str | None
) -> tuple[Path, str]:
    """The folder to play and its tree hash, copied so that edits meanwhile do not matter.

    Args:
        place: The workspace.
        selection: What is to be played.
        given: A folder or a revision; ``None`` for the champion of the family's lineage, or the
            seed scaffold where there is none.

    Raises:
        UsageError: There is no such scaffold, or it is for another environment.
        BrokenScaffold: It has faults.
    """
    exports = place.artifacts / "revisions"
    folder = Path(given) if given else None
    if folder is None or not folder.is_dir():
        try:
            revision = place.scaffolds.revision(given or selection.family)
            exported = place.scaffolds.export(revision.tree, exports)
        except StoreError:
            if given is not None:
                raise UsageError(
                    f"There is no scaffold folder and no revision '{given}'.",
                    mend="Give a folder with a scaffold.toml, or a name that `slowwave log` shows.",
                ) from None
            folder = seed_scaffolds() / selection.family
        else:
            _check(exported, selection, revision.name)
            return exported, revision.tree
    _check(folder, selection, str(folder))
    files = read_folder(folder)
    return export_files(files, exports), hash_tree(files)


def author_of(place: Workspace, tree: str) -> str:
    """Who wrote the code, if nobody has read it; a folder outside a workspace is a person's."""
    try:
        return place.scaffolds.author(tree)
    except NoStore:
        return ""


def as_json(result: EpisodeResult, place: Workspace) -> dict[str, Any]:
    """An episode's result for ``--json``, its main facts first."""
    record = result.model_dump(mode="json")
    record["trajectory"] = str(place.artifacts / result.trajectory)
    first = (
        "environment",
        "seed",
        "steps",
        "progression",
        "digest",
        "metrics",
        "trajectory",
        "outcome",
    )
    return {**{name: record[name] for name in first}, **record}


def _check(folder: Path, selection: Selection, name: str) -> None:
    """Refuse a scaffold that is broken or says that it is for another environment."""
    check_scaffold_folder(folder, name)
    manifest = read_manifest((folder / MANIFEST).read_text(encoding="utf-8"))
    says = manifest.scaffold.environment.strip().lower()
    if says in ("any", selection.name, selection.family, selection.name.rpartition("-v")[0]):
        return
    raise UsageError(
        f"The scaffold {name} is for the environment '{says}', not for {selection.name}.",
        mend=f"Play {says} with it, or give a scaffold for {selection.name}: --scaffold.",
    )
