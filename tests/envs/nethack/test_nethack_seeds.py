"""What the seeds of the levels and of NetHack's second random stream are for."""

import re
from collections.abc import Callable

import pytest

from tests.envs.nethack.conftest import MAP, Debugged


def _walls(text: str) -> str:
    """The map without what moves, lies about or was not yet seen to be otherwise."""
    rows = text.partition("you are @):\n")[2].partition("\nStatus:")[0]
    return re.sub(r"[^|\-\n ]", ".", rows)


def _level(played: Debugged, depth: int, before: int) -> str:
    """A level's walls as debug mode shows them, reached after some waiting."""
    played.reset(11)
    for _ in range(before):
        played.step("search")
    played.go_to(depth)
    return _walls(played.press(MAP).text)


def _hallucinated(played: Debugged) -> str:
    """What the pet seems to be to somebody who hallucinates."""
    played.reset(11)
    played.wish("potion of hallucination")
    carried = re.findall(r"^(\w) - .*potion", played.step("escape").observation.text, re.MULTILINE)
    played.step("quaff")
    played.step(carried[-1])
    seen = [played.step(action).observation.text for action in ("search", "search", "search")]
    assert all("hallucinating" in text for text in seen)
    return "\n".join(text.partition("In view:\n")[2].partition("\nMap")[0] for text in seen)


def _is_the_same(look: Callable[[Debugged], str], **seeds: object) -> bool:
    shown = []
    for _ in range(2):
        played = Debugged(**seeds)
        shown.append(look(played))
        played.close()
    assert all(shown)
    return shown[0] == shown[1]


def test_a_level_that_is_entered_later_follows_from_the_seed() -> None:
    assert _is_the_same(lambda played: _level(played, 5, before=0))


@pytest.mark.parametrize("depth", [2, 4])
def test_a_level_does_not_depend_on_what_was_done_before(depth: int) -> None:
    played = Debugged()
    levels = {_level(played, depth, before) for before in (0, 1, 20)}
    assert len(levels) == 1
    played.close()


def test_without_a_seed_of_its_own_the_level_generator_depends_on_it() -> None:
    played = Debugged(lgen=None)
    assert _level(played, 4, before=0) != _level(played, 4, before=20)
    played.close()


def test_a_hallucination_follows_from_the_seed() -> None:
    assert _is_the_same(_hallucinated)


def test_without_the_second_seed_it_does_not() -> None:
    assert not _is_the_same(_hallucinated, disp=None)
