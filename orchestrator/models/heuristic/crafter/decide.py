"""One action for one observation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.models.heuristic.crafter import craft, danger, living
from orchestrator.models.heuristic.crafter.beliefs import NOTHING_KNOWN, Beliefs
from orchestrator.models.heuristic.crafter.craft import Offer, Plan
from orchestrator.models.heuristic.crafter.explore import explore
from orchestrator.models.heuristic.crafter.scene import Scene
from orchestrator.models.heuristic.crafter.view import View

FULL_ENERGY = 9
PATIENCE = 14
"""Offers dearer than this are worth less than looking round elsewhere."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do and why.

    Args:
        action: One of the 17 actions.
        goal: What it serves, in the words of the achievements where there is one.
        wants: Kinds of place that would help, the most useful first.
    """

    action: str
    goal: str
    wants: tuple[str, ...] = ()


def decide(view: View, beliefs: Beliefs = NOTHING_KNOWN) -> Decision:
    """Chooses an action from what is seen and what is believed, and from nothing else."""
    if view.asleep and view.energy < FULL_ENERGY:
        return Decision("sleep", "sleep")
    scene = Scene(view, beliefs)
    for react in (danger.fight, danger.dodge, danger.recover):
        answer = react(scene)
        if answer:
            return Decision(*answer)
    plan = Plan(scene)
    wants = _wants(scene, plan)
    crafted = craft.make(scene, plan)
    if crafted:
        return Decision(crafted[1], crafted[2], wants)
    answer = danger.sleep(scene)
    if answer and min(view.food, view.drink) > 0:
        return Decision(*answer, wants)
    best = min(_offers(scene, plan, wants), default=None)
    if best and best[0] < PATIENCE and best[1] != "noop":
        return Decision(best[1], best[2], wants)
    return Decision(explore(scene, wants), "explore", wants)


def _offers(scene: Scene, plan: Plan, wants: tuple[str, ...]) -> Iterator[Offer]:
    yield from craft.bench_offers(scene, plan)
    yield from craft.material_offers(scene, plan)
    yield from craft.placing_offers(scene, plan)
    yield from living.drink_offers(scene)
    yield from living.food_offers(scene)
    yield from living.plant_offers(scene)
    yield from living.hunt_offers(scene)
    yield from _remembered_offers(scene, wants)


_GLYPH = {"tree": "T", "stone": "#", "coal": "c", "iron": "i", "diamond": "d"}


def _remembered_offers(scene: Scene, wants: tuple[str, ...]) -> Iterator[Offer]:
    for kind in wants:
        if kind in _GLYPH and _GLYPH[kind] not in scene.cells:
            far = scene.remembered(kind)
            if far:
                price, action = scene.ways.towards(far[1], far[2])
                yield price / 3 + 2, action, f"collect_{kind}"


def _wants(scene: Scene, plan: Plan) -> tuple[str, ...]:
    kinds = craft.wanted(scene, plan)
    if scene.view.drink <= 5:
        kinds = ("water", *kinds)
    if scene.view.food <= 5:
        kinds = ("cow", *kinds)
    return kinds
