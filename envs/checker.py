"""The passive half of the environment checker: on in every game, at next to no cost.

`Checked` stands around an environment and looks at all that comes out of it; `make` puts it there.
It plays nothing and changes nothing, as Gymnasium's ``PassiveEnvChecker`` does. The other half,
which plays games of its own, is `envs.conformance` with `envs.determinism`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from envs.base import OUTCOMES, Environment, JsonValue, Observation, Step
from envs.errors import EnvironmentBroken, EnvironmentFault, is_of_the_machine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Checked:
    """An environment whose answers are checked as they pass.

    Args:
        environment: The environment.

    Raises:
        EnvironmentBroken: From any method whose answer breaks the contract of `Environment`.
    """

    def __init__(self, environment: Environment) -> None:
        """Look at what is said once: id, vocabulary, defaults."""
        self.inside = environment
        self.id = environment.id
        self.actions = environment.actions
        self.idle_actions = environment.idle_actions
        self.default_action = environment.default_action
        self.default_steps = environment.default_steps
        self._furthest = 0.0
        if not self.actions or len(set(self.actions)) != len(self.actions):
            raise self._broken("its vocabulary is empty or names an action twice")
        if self.default_action not in self.actions:
            raise self._broken(f"its default action {self.default_action!r} cannot be played")

    @property
    def instructions(self) -> str:
        """See `Environment.instructions`."""
        with self._failures():
            return self.inside.instructions

    @property
    def versions(self) -> Mapping[str, str]:
        """See `Environment.versions`."""
        with self._failures():
            return self.inside.versions

    @property
    def progression(self) -> float:
        """See `Environment.progression`."""
        with self._failures():
            now = self.inside.progression
        if not isinstance(now, int | float) or not self._furthest <= now <= 1.0:  # nor NaN
            raise self._broken(f"its progression went from {self._furthest} to {now}")
        self._furthest = now
        return now

    def reset(self, seed: int) -> Observation:
        """See `Environment.reset`."""
        with self._failures():
            observation = self.inside.reset(seed)
        self._furthest = 0.0
        self._look_at(observation)
        return observation

    def step(self, action: str) -> Step:
        """See `Environment.step`."""
        with self._failures():
            step = self.inside.step(action)
        if not isinstance(step, Step):
            raise self._broken(f"a step gave {type(step).__name__} and no Step")
        self._look_at(step.observation)
        if step.done is not (step.outcome is not None) or (
            step.done and step.outcome not in OUTCOMES
        ):
            raise self._broken(f"a step is done={step.done} with the outcome {step.outcome!r}")
        return step

    def details(self) -> dict[str, JsonValue]:
        """See `Environment.details`."""
        with self._failures():
            return self.inside.details()

    def render(self, size: tuple[int, int] | None = None) -> npt.NDArray[np.uint8]:
        """See `Environment.render`."""
        return self.inside.render() if size is None else self.inside.render(size)

    def close(self) -> None:
        """See `Environment.close`."""
        self.inside.close()

    def _look_at(self, observation: Observation) -> None:
        text = getattr(observation, "text", None)
        if not isinstance(text, str) or not text or text[-1] == "\n":
            raise self._broken("an observation is no text, empty, or ends in a newline")
        _ = self.progression

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn what an environment may not raise into a sentence; the machine's own stay."""
        try:
            yield
        except EnvironmentFault:
            raise
        except Exception as error:
            if is_of_the_machine(error):
                raise
            raise self._broken(f"it failed with {type(error).__name__}: {error}") from error

    def _broken(self, how: str) -> EnvironmentBroken:
        return EnvironmentBroken(
            f"{self.id} breaks its contract: {how}.",
            mend=f"Its scores count for nothing until this is mended; try slowwave envs check"
            f" {self.id}.",
        )
