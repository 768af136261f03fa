"""One NetHack game under exact seeds, a key at a time.

Four things must be set for a seed to mean one game (measured; see ``docs/reproducibility.md``):
the seeds of both of NetHack's random streams, that of the level generator, no reseeding in between,
and a phase of the moon that does not come from the clock. Whatever NLE would read away by itself
(a --More-- before the first move or at death, the way out after a win) is left for `Game` to read,
so that no message is lost; and nothing is shown that depends on the date or on games played before:
the gravestone bears the year, the list of high scores the last games of this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envs.nethack.keys import ESCAPE, MORE
from envs.nethack.screen import OBSERVED, Page, Screen, read_page, read_screen

MAX_PAGES = 200
"""Pages that may follow one key; NetHack's longest texts have some thirty."""

EXPLORE = "Do you want to enter explore mode?"

FOREVER = 10**9
_GAME_OVER = 0


class _Unhurried:
    """Overrides that keep NLE from pressing keys on its own, or from skipping what it reads."""

    def _in_moveloop(self, observation: Any) -> bool:
        begun = bool(super()._in_moveloop(observation))  # type: ignore[misc]
        if not begun:
            self.opening.append(read_page(self.observed(observation)).text)
        return begun

    def _perform_known_steps(self, observation: Any, done: bool, exceptions: bool = True) -> Any:
        return observation, done

    def _quit_game(self, observation: Any, done: bool) -> None:
        return None

    def observed(self, observation: Any) -> dict[str, Any]:
        """Observations by name; NLE writes the next ones into the same arrays."""
        return dict(zip(self._observation_keys, observation, strict=True))  # type: ignore[attr-defined]

    @property
    def opening(self) -> list[str]:
        """What was said before the first move, page by page."""
        pages: list[str] = self.__dict__.setdefault("_opening", [])
        return pages


def exact(kind: type[Any], **options: Any) -> Any:
    """An environment of NLE's that can be seeded exactly and skips nothing.

    Args:
        kind: NLE's base task, or a MiniHack task.
        options: Further arguments for it.

    Returns:
        The instance. Its step limit is out of reach, for the host counts the steps.
    """
    unhurried = type(kind.__name__, (_Unhurried, kind), {})
    return unhurried(
        observation_keys=OBSERVED,
        allow_all_yn_questions=True,
        allow_all_modes=True,
        max_episode_steps=FOREVER,
        fix_moon_phase=True,
        **options,
    )


class Game:
    """A game under way.

    Attributes:
        succeeded: The task's own signal of success has come.
        over: The game has ended.

    Args:
        native: What `exact` made.
        keys: Code of every key that will be pressed, as handed to it.
    """

    def __init__(self, native: Any, keys: Sequence[int]) -> None:
        self._native = native
        self._index = {key: number for number, key in enumerate(keys)}
        self.succeeded = False
        self.over = False
        self._said = ""

    def begin(self, seed: int) -> Screen:
        """Start the game of a seed and read all that is said before the first move."""
        native = self._native
        self.succeeded = self.over = False
        native.seed(core=seed, disp=seed, reseed=False, lgen=seed)
        native.opening.clear()
        native.reset()
        return self._read(list(native.opening))

    def press(self, key: int) -> Screen:
        """Press a key and read every page that follows.

        Args:
            key: One of the keys handed in.

        Returns:
            The screen on which NetHack waits for the next key, or with which the game ended. Its
            arrays are overwritten by the next key.
        """
        # In explore mode the player need not die, and nothing counts: it is never entered.
        self._step(ESCAPE if EXPLORE in self._said else key)
        return self._read([])

    def finish(self) -> tuple[str, str]:
        """Leave a game that is over, and ask how it ended.

        Returns:
            NetHack's own word for the end (``died``, ``starving``, ``ascended``, ...) and the cause
            as its log has it (``killed by a newt``).
        """
        nethack, done = self._native.nethack, False
        for _ in range(MAX_PAGES):
            if done:
                break
            _, done = nethack.step(MORE)
        return nethack.how_done().name.lower(), _last_cause(Path(nethack._vardir) / "xlogfile")

    def terminal(self) -> tuple[Any, Any]:
        """Copies of the terminal's characters and colors, rows by columns."""
        native = self._native
        observed = native.observed(native.last_observation)
        return observed["tty_chars"].copy(), observed["tty_colors"].copy()

    def close(self) -> None:
        """Give back NetHack's memory and its folder."""
        self._native.close()

    def _read(self, said: list[str]) -> Screen:
        """Turn pages until NetHack waits for something else."""
        page = self._page()
        for _ in range(MAX_PAGES):
            said.append(page.text)
            if not page.more or self.over or self.succeeded:
                break
            self._step(MORE)
            page = self._page()
        native = self._native
        pages = tuple(text for text in said if text)
        self._said = pages[-1] if pages else ""
        return read_screen(native.observed(native.last_observation), pages, page.menu)

    def _page(self) -> Page:
        native = self._native
        return read_page(native.observed(native.last_observation))

    def _step(self, key: int) -> None:
        native = self._native
        *_, information = native.step(self._index[key])
        state = native.last_observation[native._program_state_index]
        self.over = bool(state[_GAME_OVER])
        # The task's own signal: a win on a turn that is charged a penalty pays less than 1.
        if information["end_status"].name == "TASK_SUCCESSFUL":
            self.succeeded = True


def _last_cause(log: Path) -> str:
    """The cause of death in the last line of NetHack's own log."""
    lines = log.read_text(encoding="latin-1").splitlines()
    fields = dict(part.partition("=")[::2] for part in lines[-1].split("\t")) if lines else {}
    return fields.get("death", "")
