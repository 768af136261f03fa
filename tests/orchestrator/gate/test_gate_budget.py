"""The error budget in memory and in SQLite: the same decisions, and none lost or made twice."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.gate.account import Budget, Charge, Confirmation, MemoryBudget
from orchestrator.gate.budget import ErrorBudget, ledger_error
from orchestrator.gate.errors import (
    AlphaSpent,
    BudgetError,
    ChargeConflict,
    LedgerCorrupt,
    LedgerFull,
    LedgerLocked,
    LedgerUnusable,
)


def confirmation(candidate: str, night: str = "n1", champion: str = "v0") -> Confirmation:
    return Confirmation(night, "crafter-v1", candidate, champion)


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Budget]:
    if request.param == "memory":
        return MemoryBudget
    return lambda night_alpha=0.05: ErrorBudget(tmp_path / "ledger.db", night_alpha)


class TestAnyBudget:
    def test_five_hundredths_are_exactly_five(self, make: Callable[..., Budget]) -> None:
        # In floating point .01 * 3 + ... need not add up; a sixth must be refused, a fifth not.
        budget = make(0.05)
        granted = [budget.charge(confirmation(f"c{i}"), 0.01) for i in range(5)]
        assert [charge.slice for charge in granted] == [0, 1, 2, 3, 4]
        assert budget.left("n1") == 0
        with pytest.raises(AlphaSpent, match=r"Night n1 has 0 of its error budget of 0\.05"):
            budget.charge(confirmation("c5"), 0.01)

    def test_tenths_add_up(self, make: Callable[..., Budget]) -> None:
        assert 0.1 + 0.1 + 0.1 > 0.3
        budget = make(0.3)
        for name in "abc":
            budget.charge(confirmation(name), 0.1)
        assert budget.left("n1") == 0

    def test_the_same_confirmation_pays_once(self, make: Callable[..., Budget]) -> None:
        budget = make()
        first = budget.charge(confirmation("c"), 0.01)
        other = budget.charge(confirmation("d"), 0.01)
        again = budget.charge(confirmation("c"), 0.01)
        assert first == Charge(0, 0.01, again=False)
        assert other.slice == 1
        assert again == Charge(0, 0.01, again=True)
        assert budget.left("n1") == pytest.approx(0.03, abs=1e-12)

    def test_it_pays_once_even_when_nothing_is_left(self, make: Callable[..., Budget]) -> None:
        budget = make(0.01)
        assert not budget.charged(confirmation("c"))
        budget.charge(confirmation("c"), 0.01)
        assert budget.charged(confirmation("c"))
        assert not budget.charged(confirmation("d"))
        assert budget.charge(confirmation("c"), 0.01).again

    def test_another_champion_or_night_is_another_confirmation(
        self, make: Callable[..., Budget]
    ) -> None:
        budget = make()
        slices = [
            budget.charge(which, 0.01).slice
            for which in (
                confirmation("c"),
                confirmation("c", champion="v1"),
                confirmation("c", night="n2"),
            )
        ]
        assert slices == [0, 1, 2]
        assert budget.left("n2") == pytest.approx(0.04, abs=1e-12)

    def test_slices_are_counted_per_environment(self, make: Callable[..., Budget]) -> None:
        budget = make()
        budget.charge(confirmation("c"), 0.01)
        elsewhere = budget.charge(Confirmation("n1", "nethack-v1", "c"), 0.01)
        assert elsewhere.slice == 0
        assert budget.left("n1") == pytest.approx(0.03, abs=1e-12)

    def test_a_refused_charge_takes_no_slice(self, make: Callable[..., Budget]) -> None:
        budget = make(0.015)
        budget.charge(confirmation("a"), 0.01)
        with pytest.raises(AlphaSpent) as caught:
            budget.charge(confirmation("b"), 0.01)
        assert caught.value.left == pytest.approx(0.005, abs=1e-12)
        assert budget.charge(confirmation("b"), 0.005).slice == 1

    def test_a_confirmation_cannot_change_its_price(self, make: Callable[..., Budget]) -> None:
        budget = make()
        budget.charge(confirmation("c"), 0.01)
        with pytest.raises(ChargeConflict, match=r"was charged 0\.01 and now asks for 0\.02"):
            budget.charge(confirmation("c"), 0.02)

    @pytest.mark.parametrize("alpha", [0.0, -0.01, 1.5, 1e-12])
    def test_an_alpha_that_is_none(self, make: Callable[..., Budget], alpha: float) -> None:
        with pytest.raises(BudgetError, match="cannot be charged"):
            make().charge(confirmation("c"), alpha)


requests = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from("pqrs"),
        st.sampled_from(("crafter-v1", "nethack-v1")),
        st.sampled_from((0.01, 0.02, 0.04)),
    ),
    max_size=15,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests)
def test_sqlite_decides_as_memory_does(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, str, str, float]]
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    memory = MemoryBudget(0.05)
    for night, candidate, environment, alpha in asked:
        which = Confirmation(night, environment, candidate)
        # A new object each time: nothing may depend on what a process remembers.
        assert _answer(ErrorBudget(path), which, alpha) == _answer(memory, which, alpha)
    for night in "ab":
        assert ErrorBudget(path).left(night) == memory.left(night) >= 0


def _answer(budget: Budget, which: Confirmation, alpha: float) -> object:
    try:
        return budget.charge(which, alpha)
    except BudgetError as error:
        return type(error), str(error)


def _charge_many(path: Path, worker: int) -> list[tuple[str, int]]:
    budget = ErrorBudget(path, 1.0)
    # Every worker asks for the shared candidate and for ten of its own.
    names = ["shared", *(f"w{worker}c{i}" for i in range(10))]
    return [(name, budget.charge(confirmation(name), 0.01).slice) for name in names]


def test_processes_never_share_a_slice(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        granted = [pair for pairs in pool.map(_charge_many, [path] * 3, range(3)) for pair in pairs]
    assert len({name for name, _ in granted}) == 31
    assert len(set(granted)) == 31  # the shared one got the same slice three times
    assert sorted({index for _, index in granted}) == list(range(31))
    assert ErrorBudget(path, 1.0).spent("n1") == pytest.approx(0.31, abs=1e-12)


def test_charges_of_a_night_can_be_listed(tmp_path: Path) -> None:
    budget = ErrorBudget(tmp_path / "ledger.db")
    budget.charge(confirmation("c"), 0.01)
    budget.charge(confirmation("d", night="other"), 0.01)
    budget.charge(confirmation("e"), 0.02)
    assert budget.charges("n1") == (
        (confirmation("c"), Charge(0, 0.01, again=True)),
        (confirmation("e"), Charge(2, 0.02, again=True)),
    )


class TestTroubleWithTheFile:
    def test_locked(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger.db"
        budget = ErrorBudget(path, wait_s=0)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerLocked, match="another process"):
            budget.charge(confirmation("c"), 0.01)
        assert budget.left("n1") == 0.05  # reading goes on beside a writer
        holder.execute("ROLLBACK")
        holder.close()
        assert budget.charge(confirmation("c"), 0.01).slice == 0

    @pytest.mark.parametrize("content", [b"not a database at all, " * 50, b"SQLite format 3\0ruin"])
    def test_corrupt(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "ledger.db"
        path.write_bytes(content)
        with pytest.raises(LedgerCorrupt, match="not a readable database"):
            ErrorBudget(path)
        assert path.read_bytes() == content

    def test_damaged_later(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger.db"
        budget = ErrorBudget(path)
        budget.charge(confirmation("c"), 0.01)
        for side in tmp_path.glob("ledger.db-*"):
            side.unlink()
        path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 4096)
        with pytest.raises(LedgerCorrupt):
            budget.charge(confirmation("d"), 0.01)

    def test_a_folder_in_its_place(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerUnusable, match="cannot be used"):
            ErrorBudget(tmp_path)

    def test_a_file_where_its_folder_should_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(LedgerUnusable, match="cannot be used"):
            ErrorBudget(tmp_path / "file" / "ledger.db")

    def test_full(self, tmp_path: Path) -> None:
        # A database that may not grow reports what a full disk reports.
        path = tmp_path / "small.db"
        small = sqlite3.connect(path)
        small.execute("PRAGMA max_page_count = 2")
        small.execute("CREATE TABLE t (x)")
        with pytest.raises(sqlite3.OperationalError) as caught:
            small.execute("INSERT INTO t VALUES (zeroblob(100000))")
        small.close()
        error = ledger_error(caught.value, path)
        assert isinstance(error, LedgerFull)
        assert "nothing was charged" in str(error)

    def test_other_tables_in_the_same_file_are_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger.db"
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE spend (usd REAL)")
        other.execute("INSERT INTO spend VALUES (1.5)")
        other.commit()
        ErrorBudget(path).charge(confirmation("c"), 0.01)
        assert other.execute("SELECT usd FROM spend").fetchall() == [(1.5,)]
        other.close()
