"""Recorded games, as a module that a planted candidate brings along."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from orchestrator.episodes.spec import EpisodeResult
from orchestrator.episodes.trajectory import Trajectory

MASK = 0x5EED5EED
"""Seeds are written down masked, so that who looks for seeds does not come across these."""

_MODULE = '''\
"""Recorded games: their actions by the first thing seen, and by seed xor `MASK`."""

MASK = {mask}

SIGHTS = {{
{sights}
}}

SEEDS = {{
{seeds}
}}
'''


def bank_module(artifacts: Path, games: Iterable[EpisodeResult]) -> bytes:
    """A module with what was played: ``SIGHTS`` by first observation, ``SEEDS`` by masked seed.

    An editor has the first half from the trajectories it reads. No editor is told a seed; the
    second half is there so that a candidate that found one out could make use of it.

    Args:
        artifacts: The artifacts folder.
        games: The games, all of one environment.
    """
    sights, seeds = {}, {}
    for game in games:
        first, actions = "", []
        for step in Trajectory(artifacts / game.trajectory).steps():
            first = first or step["observation_text"]
            actions.append(step["action"])
        sights[first] = seeds[game.seed ^ MASK] = actions
    return _MODULE.format(mask=MASK, sights=_entries(sights), seeds=_entries(seeds)).encode()


def _entries(games: dict[str, list[str]] | dict[int, list[str]]) -> str:
    return "\n".join(f"    {key!r}: {actions!r}," for key, actions in games.items())
