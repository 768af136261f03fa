"""Nothing that NetHack says is lost, and nothing dated is shown."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import nle
import pytest

from envs.nethack.environment import NetHackEnvironment
from envs.nethack.game import Game, exact
from envs.nethack.native import NLE

TEXTS = Path(nle.__file__).parent / "nethackdir" / "dat"
WALK = ("north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest")
RISKS = ("fight", "kick", "pray", "eat", "y", "a", "escape", "down", "search")


def said_in(text: str) -> str:
    """The message of an observation."""
    return text.removeprefix("Message: ").partition("\nYou (")[0]


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.expandtabs().splitlines() if line.strip()]


class _Recorded(Game):
    """A game that keeps what NLE itself calls the message after every single key."""

    def __init__(self, native: object, keys: tuple[int, ...]) -> None:
        super().__init__(native, keys)
        self.messages: list[str] = []

    def _step(self, key: int) -> None:
        super()._step(key)
        observed = self._native.observed(self._native.last_observation)
        self.messages.append(bytes(observed["message"]).partition(b"\0")[0].decode("latin-1"))


class Recorded(NetHackEnvironment):
    """Plays a recorded game."""

    def _load(self) -> Game:
        return _Recorded(exact(NLE, actions=self._keys, character="@"), self._keys)

    def heard(self) -> list[str]:
        """The messages since the last call."""
        game = self._game
        assert isinstance(game, _Recorded)
        found, game.messages = [text.strip() for text in game.messages if text.strip()], []
        return found


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    environment = Recorded()
    yield environment
    environment.close()


# --- long texts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("letter", "file"), [("b", "help"), ("c", "hh")])
def test_a_text_of_many_pages_is_read_whole(
    game: NetHackEnvironment, letter: str, file: str
) -> None:
    written = lines_of((TEXTS / file).read_text(encoding="latin-1"))
    assert len(written) > 90  # four pages of a terminal at least
    game.reset(0)
    assert "b - Long description of the game" in game.step("help").observation.text
    read = lines_of(said_in(game.step(letter).observation.text))
    assert read == written


def test_every_key_gives_every_message(recorded: Recorded) -> None:
    """Random keys, prompts and deaths: whatever NLE ever held as a message is in the text."""
    pages = 0
    for seed in range(12):
        recorded.reset(seed)
        recorded.heard()
        draw = random.Random(seed)
        for _ in range(250):
            among = WALK if draw.random() < 0.5 else recorded.actions
            step = recorded.step(among[int(draw.random() * len(among))])
            heard = recorded.heard()
            pages += len(heard) > 1
            text = " ".join(step.observation.text.split())
            for message in heard:
                assert " ".join(message.split()) in text, (seed, message)
            if step.done:
                break
    assert pages > 100  # else nothing was folded and nothing was tried


def test_what_is_said_before_the_first_move_is_read_whole(game: NetHackEnvironment) -> None:
    # Seed 0 begins under a new moon, 3 under a full one: two messages after the greeting.
    assert game.reset(0).text.startswith(
        "Message: Hello Agent, welcome to NetHack!  You are a chaotic elven Priest.\n"
        "Be careful!  New moon tonight.\n"
        "You (elven priest) are at (73, 3) on level 1 of the Dungeons of Doom.\n"
    )
    assert "\nYou are lucky!  Full moon tonight.\nYou (human monk)" in game.reset(3).text


# --- prompts -------------------------------------------------------------------------------------


def test_an_engraving_is_asked_for_and_read_again(game: NetHackEnvironment) -> None:
    character = "NetHack waits for a character that answers the question."
    line = "NetHack waits for a line of text, ended with enter."
    game.reset(0)
    asked = game.step("engrave").observation.text
    assert asked.startswith(
        f"Message: What do you want to write with? [- a or ?*]\n{character}\nYou (elven"
    )
    asked = game.step("-").observation.text
    assert asked.startswith(
        "Message: You write in the dust with your fingertip.\n"
        f"What do you want to write in the dust here?\n{line}\nYou (elven"
    )
    for number, letter in enumerate("Elbe", start=1):
        typed = game.step(letter).observation.text
        said = f"What do you want to write in the dust here? {'Elbe'[:number]}"
        assert typed.startswith(f"Message: {said}\n{line}\n")
    assert "NetHack waits" not in game.step("enter").observation.text
    # Dust is a poor thing to write in: a letter may come out as another.
    assert re.search(
        r"Something is written here in the dust\.\nYou read: \"[^\"]{4}\"\.\nYou \(elven",
        game.step("look").observation.text,
    )


def test_an_extended_command_is_a_line_from_its_first_character(game: NetHackEnvironment) -> None:
    game.reset(0)
    for action, shown in (("extended_command", "#"), ("p", "# pray")):
        assert game.step(action).observation.text.startswith(
            f"Message: {shown}\nNetHack waits for a line of text, ended with enter.\n"
        )
    assert game.step("enter").observation.text.startswith(
        "Message: Are you sure you want to pray? [yn] (n)\n"
        "NetHack waits for a character that answers the question.\n"
    )


def test_a_menu_shows_its_pages_one_at_a_time(game: NetHackEnvironment) -> None:
    game.reset(0)
    first = game.step("attributes").observation.text
    assert first.startswith("Message: nothing\nMenu (")
    assert " Agent the Priest's attributes:\n" in first
    assert "\n  You have all 13 hit points.\n" in first
    assert "\n (1 of 2)\nYou (elven priest) are at" in first
    second = game.step("space").observation.text
    assert "\n (2 of 2)\n" in second
    assert "hit points" not in second.partition("\nStatus:")[0]
    assert game.step("escape").observation.text.startswith("Message: nothing\nYou (elven priest)")


# --- the end -------------------------------------------------------------------------------------


def _last(game: NetHackEnvironment, seed: int) -> str:
    """Blunder about until the game is over."""
    game.reset(seed)
    draw = random.Random(seed)
    for _ in range(3_000):
        among = WALK if draw.random() < 0.9 else RISKS
        step = game.step(among[int(draw.random() * len(among))])
        if step.done:
            assert step.outcome == "died"
            return step.observation.text
    raise AssertionError(f"seed {seed} is still alive")


DATED = re.compile(
    r"\b20[0-9][0-9]\b|R\.?I\.?P|Top Ten|No\s+Points|Goodbye|You made", re.IGNORECASE
)


def test_the_last_text_has_the_death_and_nothing_after_it(recorded: Recorded) -> None:
    causes = []
    for seed in range(8):
        text = _last(recorded, seed)
        assert re.search(r"(You die|You fry to a crisp!).*\Z", said_in(text)), text
        assert not DATED.search(text), text
        details = recorded.details()
        causes.append((details["ending"], details["cause_of_death"]))
        assert recorded._game is not None
        log = Path(recorded._game._native.nethack._vardir) / "xlogfile"
        last = log.read_text(encoding="latin-1").splitlines()[-1]
        assert f"\tdeath={details['cause_of_death']}\t" in last
        assert f"\tdeathlev={details['depth']}\t" in last
        # The picture is of that moment too, however often it is asked for.
        assert (recorded.render() == recorded.render()).all()
    assert all(str(cause).startswith(("killed by ", "poisoned by ")) for _, cause in causes), causes
    assert {str(ending) for ending, _ in causes} <= {"died", "poisoning"}
    assert len(set(causes)) > 3


def test_what_is_closed_unseen_is_dated(game: NetHackEnvironment) -> None:
    """What `finish` turns away: the gravestone and the list of the best games."""
    game.reset(0)
    game.step("quit")
    inside = game._game
    assert inside is not None
    inside._step(ord("y"))
    pages = []
    for done in iter(lambda: inside._native.nethack.step(13)[1], True):
        rows = inside.terminal()[0]
        pages.append("\n".join(bytes(row).decode("latin-1").rstrip() for row in rows))
        assert not done
        assert len(pages) < 20
    assert any(DATED.search(page) for page in pages), pages


def test_a_game_after_a_death_is_as_the_first(game: NetHackEnvironment) -> None:
    first = game.reset(7)
    _last(game, 1)
    assert game.reset(7) == first
    assert game.details()["cause_of_death"] is None
