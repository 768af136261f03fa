"""When the machinery is down: what stops a night, and how it waits for its sandbox."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator import outage
from orchestrator.episodes.spec import EpisodeResult, MissingEpisode
from orchestrator.outage import Outage, check_outage, is_away, wait_until_back
from orchestrator.sandbox.base import SandboxAway, SandboxFailure

AWAY = SandboxAway("Nobody answers.", mend="Start it.")


def missing(error: str) -> MissingEpisode:
    return MissingEpisode(
        key="0a", environment="crafter-v1", seed=1, error=error, message=f"{error} happened."
    )


PLAYED = EpisodeResult(
    key="0b",
    environment="corridor-v1",
    seed=2,
    replicate=0,
    tree="0" * 40,
    steps=1,
    progression=0.0,
    outcome="step_limit",
    digest="0" * 64,
    metrics={},
    details={},
    usage={},
    seconds=1.0,
    trajectory="t",
)


@pytest.mark.parametrize(
    ("lost", "of", "error", "stops"),
    [
        (0, 4, "", False),
        (1, 4, "ModelTimeout", False),
        (2, 4, "ModelTimeout", True),
        (1, 2, "ModelTimeout", True),
        (1, 40, "DiskFull", True),
        (0, 0, "", False),
    ],
)
def test_half_of_the_episodes_or_a_reason_that_stays(
    lost: int, of: int, error: str, stops: bool
) -> None:
    outcomes = [missing(error)] * lost + [PLAYED] * (of - lost)
    if stops:
        with pytest.raises(Outage, match=f"{lost} of {of} episodes could not be played: {error}"):
            check_outage(outcomes)
    else:
        check_outage(outcomes)


def test_only_a_sandbox_that_is_away_is_waited_for() -> None:
    assert is_away([PLAYED, PLAYED, missing("SandboxAway")])
    assert not is_away([PLAYED, missing("SandboxFailure"), missing("DiskFull")])
    assert not is_away([])


def looks(*found: Exception | None) -> tuple[Callable[[], None], list[int]]:
    """A check that finds one after the other, and how often it has been asked."""
    asked: list[int] = []

    def check() -> None:
        asked.append(len(asked))
        error = found[asked[-1]]
        if error is not None:
            raise error

    return check, asked


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "LOOK_SECONDS", 0.0)


@pytest.mark.parametrize(("hours", "span"), [(2.0, "2.0 hours"), (0.5, "30 minutes")])
def test_it_says_once_that_it_waits_and_goes_on(hours: float, span: str) -> None:
    check, asked = looks(AWAY, AWAY, AWAY, None)
    said: list[str] = []
    wait_until_back(check, hours, said.append)
    assert said == [
        f"Nobody answers. Start it. Waiting for it, {span} at most.",
        "The sandbox is back: going on.",
    ]
    assert len(asked) == 4


def test_what_is_back_already_is_not_waited_for() -> None:
    check, asked = looks(None)
    said: list[str] = []
    wait_until_back(check, 0, said.append)
    assert said == ["The sandbox is back: going on."]
    assert len(asked) == 1


def test_at_its_limit_it_is_an_outage_that_can_be_gone_on_from() -> None:
    check, asked = looks(AWAY, None)
    said: list[str] = []
    with pytest.raises(Outage) as end:
        wait_until_back(check, 0, said.append)
    assert end.value.message == (
        "Nobody answers. The night has waited for 0 minutes; everything finished is kept."
    )
    assert (
        end.value.mend == "Mend that and run the same command again; it goes on where it stopped."
    )
    assert said == []
    assert len(asked) == 1


def test_a_limit_that_passes_while_it_waits() -> None:
    check, asked = looks(*[AWAY] * 100_000)
    said: list[str] = []
    with pytest.raises(Outage, match="has waited for 0 minutes"):
        wait_until_back(check, 0.02 / 3600, said.append)
    assert len(asked) > 1
    assert len(said) == 1


@pytest.mark.parametrize("error", [SandboxFailure("No image."), ValueError("a bug")])
def test_other_errors_are_not_waited_out(error: Exception) -> None:
    check, asked = looks(AWAY, error, None)
    said: list[str] = []
    with pytest.raises(type(error)) as raised:
        wait_until_back(check, 1, said.append)
    assert raised.value is error
    assert len(asked) == 2
    assert len(said) == 1
