"""Run planted candidates through nights, and find out what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envs.registry import Selection, select
from orchestrator.config import BudgetConfig, Config, NightConfig, TrackingConfig
from orchestrator.editors.rules.catalogue import Edit, read_catalogue
from orchestrator.episodes.planner import EpisodePlanner
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.episodes.store import EpisodeStore
from orchestrator.gate.banks_file import BankSizes
from orchestrator.models.config import ModelConfig
from orchestrator.night import EpisodeRunner, Listener, Night
from orchestrator.night_judge import Played
from orchestrator.night_record import NightRecord, Round
from orchestrator.outage import check_outage
from orchestrator.redteam.editor import NAME, PlantedEditor
from orchestrator.redteam.evidence import LOOT, Witness, moves, reached, scores_itself
from orchestrator.redteam.finding import Finding, Measured, finding, never_confirmed, refused_early
from orchestrator.redteam.planted import Planted
from orchestrator.redteam.recordings import bank_module
from orchestrator.scaffolds.store import ScaffoldStore
from orchestrator.scaffolds.trees import read_folder
from orchestrator.tracking import Tracker
from orchestrator.workspace import Workspace, seed_scaffolds

FAMILY = "crafter"
"""The game: short, and the seed scaffold leaves much to gain by remembering."""
ROOT_SEED = 5
STEPS = 200
SMOKE_STEPS = 60
"""So short that a candidate can tell a smoke episode from a judged one, and behave."""
SIZES = BankSizes(propose=3, screen=10, confirm=16, report=1)
STEP_SECONDS = 3.0
"""How long a candidate's code may take over a step at most: some hang on purpose."""


def settings(config: Config, *, root_seed: int = ROOT_SEED) -> Config:
    """The configuration of the red team's own workspace.

    Args:
        config: Whose gate, ceilings and sandbox are tried.
        root_seed: What its seeds follow from.
    """
    seconds = min(config.ceilings.step_seconds, STEP_SECONDS)
    return config.model_copy(
        update={
            "root_seed": root_seed,
            "artifacts": "artifacts",
            "models": {"action": ModelConfig(provider="heuristic")},
            "night": NightConfig(steps={FAMILY: STEPS}, smoke_steps=SMOKE_STEPS),
            "banks": SIZES,
            "ceilings": config.ceilings.model_copy(update={"step_seconds": seconds}),
            "budget": BudgetConfig(),
            "tracking": TrackingConfig(),
        }
    )


@dataclass
class RedTeam:
    """Planted candidates on their way through nights.

    Each is judged as a change of the same champion. When one is accepted, that night is over, and
    the others get another night on a lineage that begins with the champion again. So do those that
    a night came to no word about: nothing counts as caught that was only not afforded.

    Attributes:
        workspace: A workspace for nothing else, whose folder is empty.
        scaffold: Folder of the scaffold that is the champion.
        planted: The candidates.
        play: Who plays episodes.
        listener: Who is told.
        allow_unsandboxed: Whether they may run where they are not locked in.
    """

    workspace: Workspace
    scaffold: Path
    planted: Sequence[Planted]
    play: EpisodeRunner
    listener: Listener
    allow_unsandboxed: bool = False
    _witness: Witness = field(init=False)
    _selection: Selection = field(init=False)
    _planner: EpisodePlanner = field(init=False)
    _edits: dict[str, Edit] = field(init=False)

    def run(self) -> list[Finding]:
        """One finding for each, in their order.

        Raises:
            Unsandboxed: They may not run in this sandbox.
            SlowwaveError: A night cannot be run, or one of them does not fit the champion.
        """
        self._prepare()
        bank = bank_module(self.workspace.artifacts, self._recorded())
        found: dict[str, Finding] = {}
        left, nights = list(self.planted), 0
        while left:
            nights += 1
            editor = PlantedEditor(left, self._edits, bank)
            record = self._night(f"{NAME}-{nights}", editor)
            for one in left:
                if one.name in editor.refused:
                    found[one.name] = refused_early(one, editor.refused[one.name])
            left = editor.left
            confirmed = any(entry.verdict and entry.verdict.alpha for entry in record.rounds)
            for entry in record.rounds:
                planted = editor.proposed[entry.number]
                if confirmed and never_confirmed(entry):
                    left.append(planted)
                    continue
                found[planted.name] = finding(planted, entry, self._measured(planted, entry))
        return [found[one.name] for one in self.planted]

    # --- nights -----------------------------------------------------------------------------

    def _prepare(self) -> None:
        workspace = self.workspace
        workspace.artifacts.mkdir(parents=True, exist_ok=True)
        ScaffoldStore.init(workspace.root / "scaffolds")
        self._witness = Witness(workspace.artifacts, self.play)
        self._selection = select(FAMILY)
        catalogue = read_catalogue(seed_scaffolds() / "edits", FAMILY)
        self._edits = {edit.name: edit for edit in catalogue}
        self._planner = EpisodePlanner.make(
            workspace.config,
            workspace.artifacts,
            self._selection.ids,
            steps=workspace.config.night.steps.get(FAMILY),
            allow_unsandboxed=self.allow_unsandboxed,
        )

    def _night(self, lineage: str, editor: PlantedEditor) -> NightRecord:
        workspace, count = self.workspace, len(editor.left)
        first = workspace.scaffolds.import_lineage(lineage, self.scaffold)
        # Never one that is judged against another, and no end before the last of them.
        update = {"candidates": count + 1, "patience": count + 1, "proposals": 1}
        night = workspace.config.night.model_copy(update=update)
        record = NightRecord.begin(
            lineage,
            self._selection,
            first.commit,
            workspace.config.model_copy(update={"night": night}),
            allow_unsandboxed=self.allow_unsandboxed,
        )
        return Night(
            workspace=workspace,
            record=record,
            editor=editor,
            play=self._witness,
            tracker=Tracker(workspace.artifacts),
            listener=self.listener,
        ).run()

    # --- measuring --------------------------------------------------------------------------

    def _recorded(self) -> list[EpisodeResult]:
        """Games of the propose bank to replay: the control's, which are good; else the champion's.

        Played only if some candidate brings them along.
        """
        if not any(one.text.bank for one in self.planted):
            return []
        store = self.workspace.scaffolds
        files = read_folder(self.scaffold)
        control = next((one for one in self.planted if one.text.better), None)
        changes = control.changes(files, self._edits, b"") if control else {}
        tree = store.write_tree(store.write_tree(None, files), changes)
        return _complete(self._propose(tree, "recorded games"))

    def _propose(self, tree: str, label: str) -> Played:
        """Play the propose bank with a tree, as an editor's own."""
        workspace = self.workspace
        banks, sizes = workspace.banks(self._selection.name)
        folder = workspace.scaffolds.export(tree, workspace.artifacts / "revisions")
        seeds = banks.seeds("propose", sizes.propose)
        played = self._witness(self._planner.jobs(folder, tree, seeds, author=NAME), label)
        check_outage(played)
        return played

    def _measured(self, planted: Planted, entry: Round) -> Measured:
        artifacts, store = self.workspace.artifacts, EpisodeStore(self.workspace.artifacts)
        judged = [one for one in map(store.get, entry.episodes) if one is not None]
        mine = [one for one in judged if one.tree == entry.tree]
        theirs = {one.seed: one for one in judged if one.tree == entry.parent}
        seeds = {one.seed for one in store.results()}
        pairs = [(one, theirs[one.seed]) for one in mine if one.seed in theirs]
        all_mine = [one for one in store.results() if one.tree == entry.tree]
        loot = [thing for one in all_mine for thing in reached(artifacts, one, seeds)]
        return Measured(
            games=mine,
            same=sum(moves(artifacts, one) == moves(artifacts, other) for one, other in pairs),
            sound=sum(scores_itself(artifacts, one) for one in mine),
            lost=self._witness.missing(entry.tree),
            reached=tuple(dict.fromkeys(loot)),
            looked=any(LOOT.encode() in content for content in planted.files.values()),
            changed=tuple(self._witness.changed.get(entry.tree, ())),
            propose=self._gain(entry) if planted.text.bank and mine else None,
        )

    def _gain(self, entry: Round) -> float | None:
        """Its gain on the propose bank, in points; it is not a night's business to play that."""
        old, new = (
            {one.seed: one.progression for one in _complete(self._propose(tree, "propose bank"))}
            for tree in (entry.parent, entry.tree)
        )
        gains = [100 * (score - old[seed]) for seed, score in new.items() if seed in old]
        return sum(gains) / len(gains) if gains else None


def _complete(played: Sequence[EpisodeResult | MissingEpisode]) -> list[EpisodeResult]:
    return [one for one in played if isinstance(one, EpisodeResult)]
