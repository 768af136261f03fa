"""One action for one observation."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.models.heuristic.crafter import craft, danger, living, plants
from orchestrator.models.heuristic.crafter.beliefs import NOTHING_KNOWN, Beliefs
from orchestrator.models.heuristic.crafter.craft import Offer, Plan
from orchestrator.models.heuristic.crafter.explore import explore
from orchestrator.models.heuristic.crafter.navigate import MOVES, far_price
from orchestrator.models.heuristic.crafter.scene import Scene
from orchestrator.models.heuristic.crafter.view import View
from orchestrator.models.heuristic.game import Decision

FULL_ENERGY = 9
TURN_BACK = 1.2
SEARCH = 14
"""What finding water or a cow is taken to cost when none is known."""
SEARCH_BY_DAY = 5
SEARCH_AT_NIGHT = 1
PATIENCE = 30
"""Offers dearer than this are worth less than looking round elsewhere."""


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
    best = min((steady(offer, view.facing) for offer in _offers(scene, plan, wants)), default=None)
    need = _search_first(scene)
    if need and (not best or best[0] > need[0]):
        return Decision(explore(scene, (need[1],)), f"find_{need[1]}", wants)
    if best and best[0] < PATIENCE and best[1] != "noop":
        return Decision(best[1], best[2], wants)
    return Decision(explore(scene, wants), "explore", wants)


def steady(offer: Offer, facing: int) -> Offer:
    """Makes turning back dearer, so that two goals of like price do not take turns."""
    if offer[1] == MOVES[facing ^ 1]:
        return offer[0] + TURN_BACK, offer[1], offer[2]
    return offer


def _search_first(scene: Scene) -> tuple[float, str] | None:
    """The price of looking for water or food that is neither in view nor remembered."""
    view = scene.view
    needs = []
    limit = SEARCH_AT_NIGHT if view.night else SEARCH_BY_DAY
    if view.drink <= limit and "~" not in scene.cells and not scene.remembered("water"):
        needs.append((SEARCH - living.urgency(scene, view.drink), "water"))
    if view.food <= limit and "C" not in scene.cells and not scene.remembered("cow"):
        needs.append((SEARCH - living.urgency(scene, view.food), "cow"))
    return min(needs, default=None)


def _offers(scene: Scene, plan: Plan, wants: tuple[str, ...]) -> Iterator[Offer]:
    yield from craft.bench_offers(scene, plan)
    yield from craft.material_offers(scene, plan)
    yield from craft.placing_offers(scene, plan)
    yield from living.drink_offers(scene)
    yield from living.food_offers(scene)
    yield from plants.plant_offers(scene)
    yield from living.hunt_offers(scene)
    yield from _remembered_offers(scene, wants)


_GLYPH = {"tree": "T", "stone": "#", "coal": "c", "iron": "i", "diamond": "d"}


def _remembered_offers(scene: Scene, wants: tuple[str, ...]) -> Iterator[Offer]:
    for kind in wants:
        if kind in _GLYPH and _GLYPH[kind] not in scene.cells:
            far = scene.remembered(kind)
            if far:
                price, action = scene.ways.towards(far[1], far[2])
                yield far_price(price) + 2, action, f"collect_{kind}"


def _wants(scene: Scene, plan: Plan) -> tuple[str, ...]:
    kinds = craft.wanted(scene, plan)
    if scene.view.drink <= 5:
        kinds = ("water", *kinds)
    if scene.view.food <= 5:
        kinds = ("cow", *kinds)
    return kinds
