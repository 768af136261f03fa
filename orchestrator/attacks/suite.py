"""Play every attack as a whole episode, and say what became of it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import psutil
from pydantic import BaseModel, ConfigDict

from agents.manifest import Budgets
from agents.memory.files import FilesBackend
from envs.base import JsonValue, Observation, Step
from orchestrator.attacks.bait import Bait, laid
from orchestrator.attacks.catalog import ATTACKS, CONTROL, HOOKS, Attack
from orchestrator.episodes.player import Cast, Played, play
from orchestrator.episodes.spec import EpisodeSpec
from orchestrator.episodes.trajectory import TrajectoryWriter
from orchestrator.errors import InfrastructureError
from orchestrator.models.base import Completion, Message, Usage
from orchestrator.sandbox.base import Sandbox, SandboxLimits

LIMITS = SandboxLimits(
    memory_bytes=256 << 20,
    cpu_seconds=60,
    start_seconds=20.0,
    step_seconds=3.0,
    episode_seconds=9.0,
)
"""What each attack may use."""

SLACK_SECONDS = 2.0
"""How long after its limit an attack may be there at most."""

STEPS = 2
MISSING = "missing"
Result = Literal["held", "open", "broken"]


class Finding(BaseModel):
    """What became of one attack.

    Attributes:
        attack: Its name.
        tries: What it does.
        held_by: Names of the guarantees that hold it; empty where the host does.
        promised: Whether this sandbox promises to hold it.
        result: ``held``; ``open``: it got through, and the sandbox does not promise otherwise;
            ``broken``: it got through a promise, or the machinery was harmed.
        outcome: The episode's typed outcome.
        seconds: How long the episode took.
        reasons: Why it is not held.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    attack: str
    tries: str
    held_by: tuple[str, ...]
    promised: bool
    result: Result
    outcome: str
    seconds: float
    reasons: tuple[str, ...] = ()


class Room:
    """The smallest game: it lasts two steps, and nothing that is done in it scores."""

    id = "room-v1"
    actions = ("wait",)
    idle_actions = frozenset({"wait"})
    default_action = "wait"
    default_steps = STEPS
    instructions = "Wait."
    versions: Mapping[str, str] = {"room": "1"}
    progression = 0.0

    def __init__(self) -> None:
        self._steps = 0

    def reset(self, seed: int) -> Observation:
        """Begin."""
        self._steps = 0
        return Observation("A room.")

    def step(self, action: str) -> Step:
        """Wait."""
        self._steps += 1
        return Step(Observation(f"A room, {self._steps} steps later."), False, None)

    def details(self) -> dict[str, JsonValue]:
        """Nothing."""
        return {}

    def render(self, size: tuple[int, int] = (64, 64)) -> npt.NDArray[np.uint8]:
        """Black."""
        return np.zeros((size[1], size[0], 3), np.uint8)

    def close(self) -> None:
        """Nothing is held."""


def check_sandbox(
    sandbox: Sandbox,
    attacks: Iterable[Attack] = ATTACKS,
    *,
    listen: Callable[[Finding], None] = lambda finding: None,
) -> list[Finding]:
    """Run attacks against a sandbox.

    An attack that the sandbox does not promise to hold is run in a variant that harms nobody.

    Args:
        sandbox: Ours, or anyone's own.
        attacks: Which ones.
        listen: Told of each finding as it is made.

    Raises:
        InfrastructureError: The sandbox cannot even run an honest scaffold.
    """
    findings = []
    with tempfile.TemporaryDirectory() as scratch, laid(Path(scratch)) as bait:
        stage = _Stage(sandbox, Path(scratch), bait)
        healthy = stage.play(CONTROL, real=True)
        for attack in attacks:
            finding = _judge(stage, attack, healthy)
            listen(finding)
            findings.append(finding)
    return findings


class _Stage:
    """Plays one attack after the other."""

    def __init__(self, sandbox: Sandbox, root: Path, bait: Bait) -> None:
        self.sandbox = sandbox
        self.root = root
        self.bait = bait
        self.game = Room()

    def play(self, attack: Attack, *, real: bool) -> Played:
        folder = _scaffold(self.root / attack.name, attack)
        cast = Cast(
            environment=self.game,
            sandbox=self.sandbox,
            limits=LIMITS,
            scaffold=folder,
            seed_memory={"diary": ""},
            options=self.bait.options(real=real),
            memory=FilesBackend(),
            handover=False,
            call_model=_wait,
        )
        spec = EpisodeSpec(
            environment=self.game.id,
            versions=dict(self.game.versions),
            seed=0,
            steps=STEPS,
            tree=attack.name,
            budgets=Budgets(),
            limits=LIMITS,
            models={},
            agent=self.sandbox.fingerprint,
        )
        return play(spec, cast, TrajectoryWriter(self.root / "trajectory.jsonl.zst", {}))


def _judge(stage: _Stage, attack: Attack, healthy: Played) -> Finding:
    promised = attack.held_by <= stage.sandbox.guarantees
    began = time.monotonic()
    try:
        played = stage.play(attack, real=promised)
    except InfrastructureError as error:
        # What the code inside does must never look like a failure of ours: it would not be scored.
        outcome = MISSING
        reasons = [f"the episode was lost: {error.message}", *stage.bait.touched()]
    else:
        outcome, reasons = played.outcome, _reasons(stage, attack, played)
    seconds = time.monotonic() - began
    reasons += _survivors(stage.bait)
    if seconds > LIMITS.step_seconds + SLACK_SECONDS:
        reasons.append(f"it took {seconds:.1f} s")
    harmed = _harmed(stage, healthy)
    result: Result = "held"
    if reasons or harmed:
        result = "broken" if promised or harmed or outcome == MISSING else "open"
    return Finding(
        attack=attack.name,
        tries=attack.tries,
        held_by=tuple(sorted(one.name.lower() for one in attack.held_by)),
        promised=promised,
        result=result,
        outcome=outcome,
        seconds=seconds,
        reasons=(*reasons, *harmed),
    )


def _reasons(stage: _Stage, attack: Attack, played: Played) -> list[str]:
    reasons = stage.bait.touched()
    fault = str(played.details.get("fault", ""))
    _, escaped, how = fault.partition("Escaped: ")
    if escaped:
        reasons.append(how.removesuffix(" Mend that line."))
    elif played.outcome not in attack.ends:
        reasons.append(f"the episode ended with {played.outcome}: {fault}")
    if played.progression != 0:
        reasons.append(f"the score is {played.progression}")
    if attack.plays_itself and played.metrics["override_rate"] != 1.0:
        reasons.append("actions that no model chose pass for a model's")
    return reasons


def _survivors(bait: Bait) -> list[str]:
    # The kernel takes a moment to end what a killed process has started.
    _, left = psutil.wait_procs(bait.survivors(), timeout=SLACK_SECONDS / 2)
    for process in left:
        process.kill()
    return [f"{len(left)} processes live on after the episode"] if left else []


def _harmed(stage: _Stage, healthy: Played) -> list[str]:
    """Whether an honest scaffold still plays as before."""
    try:
        after = stage.play(CONTROL, real=True)
    except InfrastructureError as error:
        return [f"after it no episode can be played: {error.message}"]
    if after.digest != healthy.digest:
        return ["after it an honest scaffold plays another game"]
    return []


def _scaffold(folder: Path, attack: Attack) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    texts = {
        "scaffold.toml": f'[scaffold]\nname = "{attack.name}"\nenvironment = "any"\n',
        "prompts/system.j2": attack.system,
        "prompts/log.j2": "LOG {{ step }}: {{ observation }}",
        "prompts/plan.j2": "PLAN {{ step }}: {{ observation }}",
        "hooks.py": (HOOKS / f"{attack.name}.py").read_text(encoding="utf-8"),
        "lib.py": (HOOKS / "lib.py").read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
    for path in (folder, folder / "prompts"):
        path.chmod(0o755)
    return folder


def _wait(role: str, messages: Sequence[Message]) -> Completion:
    """The model of all attacks: it waits."""
    planning = messages[-1]["content"].startswith("PLAN")
    text = "<|ACTION|>wait<|END|>" if planning else "<|DONE|>"
    return Completion(text, Usage(1, 1), "stop", "waiting")
