"""From a workspace's configuration and a scaffold to jobs, one per seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import envs.registry
from agents.manifest import FILE as MANIFEST
from agents.manifest import Budgets, read_manifest
from agents.tables import TableError
from orchestrator.config import Config
from orchestrator.episodes.job import EpisodeJob
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.models.broker import Broker
from orchestrator.models.config import ModelConfig, Role
from orchestrator.models.heuristic import make_heuristic
from orchestrator.models.ledger import Limits
from orchestrator.sandbox import make_sandbox
from orchestrator.sandbox.base import SandboxLimits
from orchestrator.sandbox.choice import choose
from orchestrator.scaffolds.check import check_folder
from orchestrator.scaffolds.fault import Fault, raise_for_faults


@dataclass(frozen=True, slots=True)
class PlannedGame:
    """One environment that is played.

    Attributes:
        environment: Environment id with version.
        versions: Package versions on which its stream depends.
        steps: Step limit.
    """

    environment: str
    versions: dict[str, str]
    steps: int

    @classmethod
    def make(cls, environment: str, steps: int | None) -> PlannedGame:
        """Look it up; without a step limit it has its own."""
        game = envs.registry.make(environment)
        try:
            return cls(game.id, dict(game.versions), steps or game.default_steps)
        finally:
            game.close()


@dataclass(frozen=True)
class EpisodePlanner:
    """Makes jobs that differ only in scaffold, seed and, in a suite, environment.

    Attributes:
        config: The workspace's configuration.
        artifacts: The artifacts folder.
        games: The environments: one, or those of a suite.
        models: Fingerprint of each role's model.
        agent: Fingerprint of the code in the sandbox.
        night: Id of the night that pays; empty outside one.
        started_at: When that night started, in seconds since the epoch.
        allow_unsandboxed: Whether a model's code may run where it is not locked in.
    """

    config: Config
    artifacts: Path
    games: tuple[PlannedGame, ...]
    models: dict[str, str]
    agent: str
    night: str = ""
    started_at: float | None = None
    allow_unsandboxed: bool = False

    @classmethod
    def make(
        cls,
        config: Config,
        artifacts: Path,
        environments: str | Sequence[str],
        *,
        steps: int | None,
        night: str = "",
        started_at: float | None = None,
        allow_unsandboxed: bool = False,
    ) -> EpisodePlanner:
        """Look up everything that all jobs share.

        Raises:
            SandboxFailure: The sandbox is not set up, or what it runs on does not answer.
            UnknownEnvironment: There is no such environment.
            EnvironmentUnavailable: It cannot be played here.
            MissingKey: A model's key is not there.
        """
        names = [environments] if isinstance(environments, str) else environments
        games = tuple(PlannedGame.make(name, steps) for name in names)
        with Broker(playing(config), factories={"heuristic": make_heuristic}) as broker:
            fingerprints = {str(role): text for role, text in broker.fingerprints().items()}
        choice = choose(config.sandbox, config.docker)
        config = config.model_copy(update={"sandbox": choice.kind, "docker": choice.docker})
        sandbox = make_sandbox(config.sandbox, artifacts, config.docker)
        return cls(
            config=config,
            artifacts=artifacts,
            games=games,
            models=fingerprints,
            agent=sandbox.fingerprint,
            night=night,
            started_at=started_at,
            allow_unsandboxed=allow_unsandboxed,
        )

    @property
    def steps(self) -> int:
        """The longest step limit."""
        return max(game.steps for game in self.games)

    def jobs(
        self,
        scaffold: Path,
        tree: str,
        seeds: Iterable[int],
        *,
        author: str,
        replicate: int = 0,
    ) -> list[EpisodeJob]:
        """One job per seed and environment for a scaffold's folder, seed by seed.

        Args:
            scaffold: The folder.
            tree: Its tree hash.
            seeds: The environment's seeds.
            author: The editor that wrote its code; empty if people have read it.
            replicate: Number of this independent run.
        """
        budgets = self._budgets(scaffold)
        ceilings, limits = self.config.ceilings, spending_limits(self.config)
        sandbox_limits = SandboxLimits(
            memory_bytes=ceilings.memory_mb << 20,
            step_seconds=ceilings.step_seconds,
            episode_seconds=ceilings.episode_seconds,
        )
        return [
            EpisodeJob(
                spec=EpisodeSpec(
                    environment=game.environment,
                    versions=game.versions,
                    seed=seed,
                    replicate=replicate,
                    steps=game.steps,
                    tree=tree,
                    budgets=budgets,
                    limits=sandbox_limits,
                    models=self.models,
                    agent=self.agent,
                ),
                scaffold=scaffold,
                artifacts=self.artifacts,
                models=playing(self.config),
                sandbox=self.config.sandbox,
                docker=self.config.docker,
                author=author,
                allow_unsandboxed=self.allow_unsandboxed,
                night=self.night,
                started_at=self.started_at,
                limits=limits,
            )
            for seed in seeds
            for game in self.games
        ]

    def shorter(self, steps: int) -> EpisodePlanner:
        """The same with another step limit, and only the first environment of a suite."""
        return replace(self, games=(replace(self.games[0], steps=steps),))

    def _budgets(self, scaffold: Path) -> Budgets:
        manifest = read_manifest((scaffold / MANIFEST).read_text(encoding="utf-8"))
        ceilings = self.config.ceilings
        return manifest.budgets.capped(
            Budgets(**{name: getattr(ceilings, name) for name in Budgets.model_fields})
        )


def playing(config: Config) -> dict[Role, ModelConfig]:
    """The models that play: those of other roles decide no episode's result."""
    return {role: model for role, model in config.models.items() if role in ("action", "memory")}


def check_scaffold_folder(folder: Path, name: str | None = None) -> None:
    """Refuse a folder that is no valid scaffold.

    Args:
        folder: The folder.
        name: What a person calls it; default: its path.

    Raises:
        NoStore: There is no such folder.
        BrokenScaffold: Names the file, the line and the mend of each fault.
    """
    faults = check_folder(folder, validate_manifest=manifest_faults)
    raise_for_faults(faults, name or str(folder))


def spending_limits(config: Config) -> Limits:
    """What a night may spend, for its ledger."""
    budget = config.budget
    return Limits(money_usd=budget.money_usd, tokens=budget.tokens, hours=budget.hours)


def manifest_faults(text: str) -> list[Fault]:
    """The faults of a manifest in the form of the other static checks."""
    try:
        read_manifest(text)
    except TableError as error:
        return [Fault(MANIFEST, one.line, one.message, one.mend) for one in error.faults]
    return []
