"""What every environment must do, as checks that any implementation can be run through.

This is for whoever writes an environment: `faults_of` plays a few hundred steps and says in
sentences what is wrong. Nothing calls it while a game is scored.
"""

from __future__ import annotations

import json
import random
import re

from envs.base import OUTCOMES, Environment, Step
from envs.errors import EpisodeNotRunning, InvalidAction

_NO_SUCH_ACTION = "no such action"


def faults_of(environment: Environment, *, seed: int = 0, steps: int = 200) -> tuple[str, ...]:
    """Try an environment that has not been reset yet.

    Args:
        environment: The environment; its episode is lost.
        seed: The seed to play.
        steps: Steps to play, fewer if the game ends.

    Returns:
        A sentence for each fault; empty if there is none.
    """
    return (
        *_faults_of_description(environment),
        *_faults_before_reset(environment),
        *_faults_of_refusal(environment, seed),
        *_faults_of_play(environment, seed, steps),
    )


def _faults_of_description(environment: Environment) -> list[str]:
    faults = []
    if not re.fullmatch(r"[a-z0-9][a-z0-9/-]*-v[0-9]+", environment.id):
        faults.append(f"The id {environment.id!r} is not lower case with a version at its end.")
    actions = environment.actions
    if len(set(actions)) != len(actions) or not actions:
        faults.append("The vocabulary is empty or names an action twice.")
    if environment.default_action not in actions:
        faults.append(f"The default action {environment.default_action!r} cannot be played.")
    if not environment.idle_actions <= set(actions):
        faults.append("An idle action is not in the vocabulary.")
    if environment.default_steps < 1:
        faults.append("The default number of steps is less than 1.")
    if not environment.instructions.strip():
        faults.append("There are no instructions.")
    if not environment.versions:
        faults.append("No version is named on which the stream depends.")
    return faults


def _faults_before_reset(environment: Environment) -> list[str]:
    try:
        environment.step(environment.default_action)
    except EpisodeNotRunning:
        return []
    return ["A step before the first reset is not refused with EpisodeNotRunning."]


def _faults_of_refusal(environment: Environment, seed: int) -> list[str]:
    faults = []
    start = environment.reset(seed)
    before = environment.details()
    try:
        environment.step(_NO_SUCH_ACTION)
    except InvalidAction as error:
        if _NO_SUCH_ACTION not in str(error):
            faults.append("The refusal of an unknown action does not name it.")
    else:
        faults.append("An unknown action is not refused with InvalidAction.")
    if environment.details() != before:
        faults.append("An action that was refused moved the game.")
    if environment.reset(seed) != start:
        faults.append("A second reset to the same seed shows something else.")
    return faults


def _faults_of_play(environment: Environment, seed: int, steps: int) -> list[str]:
    faults: list[str] = []
    streams = []
    for _ in range(2):
        environment.reset(seed)
        draw = random.Random(seed)
        stream: list[tuple[Step, float]] = []
        furthest = environment.progression
        for _ in range(steps):
            action = environment.actions[int(draw.random() * len(environment.actions))]
            step = environment.step(action)
            now = environment.progression
            faults += _faults_of_step(step, furthest, now)
            furthest = now
            stream.append((step, now))
            if step.done:
                faults += _faults_after_the_end(environment)
                break
        streams.append(stream)
    if streams[0] != streams[1]:
        faults.append("The same seed and actions gave two streams in one instance.")
    try:
        json.dumps(environment.details(), allow_nan=False)
    except (TypeError, ValueError) as error:
        faults.append(f"The details are not JSON: {error}.")
    return list(dict.fromkeys(faults))


def _faults_of_step(step: Step, furthest: float, now: float) -> list[str]:
    faults = []
    if not furthest <= now <= 1.0:
        faults.append(f"The progression went from {furthest} to {now}.")
    if not step.observation.text or step.observation.text.endswith("\n"):
        faults.append("An observation is empty or ends in a newline.")
    if step.done is not (step.outcome in OUTCOMES):
        faults.append(f"A step is done={step.done} with the outcome {step.outcome!r}.")
    return faults


def _faults_after_the_end(environment: Environment) -> list[str]:
    try:
        environment.step(environment.default_action)
    except EpisodeNotRunning:
        return []
    return ["A step after the game was over is not refused with EpisodeNotRunning."]
