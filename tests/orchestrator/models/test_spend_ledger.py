from __future__ import annotations

import multiprocessing
import pickle
import signal
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from orchestrator.models.errors import BudgetExhausted, DuplicateCall, StoreFailure
from orchestrator.models.ledger import Limits, SpendLedger, Totals

CENT = Decimal("0.01")
ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "ledger.db"


def test_a_reservation_counts_in_full_until_it_is_settled(path: Path) -> None:
    ledger = SpendLedger(path)
    ledger.reserve("n", "a", 5 * CENT, 100, role="action")
    ledger.reserve("n", "b", 3 * CENT, 10, role="memory")
    assert ledger.totals("n") == Totals(8 * CENT, 110, 2, open_money_usd=8 * CENT, open_calls=2)
    ledger.settle("a", 2 * CENT, 40)
    assert ledger.totals("n") == Totals(5 * CENT, 50, 2, open_money_usd=3 * CENT, open_calls=1)
    ledger.void("b")
    assert ledger.totals("n") == Totals(2 * CENT, 40, 1)
    assert ledger.by_role("n") == {"action": Totals(2 * CENT, 40, 1), "memory": Totals()}
    assert ledger.totals("another night") == Totals()
    ledger.close()


def test_a_call_may_cost_more_than_was_reserved(path: Path) -> None:
    ledger = SpendLedger(path, Limits(money_usd=5 * CENT))
    ledger.reserve("n", "a", 5 * CENT, 1)
    ledger.settle("a", 6 * CENT, 1)
    assert ledger.totals("n").money_usd == 6 * CENT
    with pytest.raises(BudgetExhausted):
        ledger.reserve("n", "b", Decimal("1e-9"), 1)
    ledger.reserve("n", "free", Decimal(0), 1)  # what costs nothing needs no money
    ledger.close()


def test_money_is_exact(path: Path) -> None:
    """A tenth of a cent, ten thousand times, is ten dollars; in floats it is not."""
    ledger = SpendLedger(path, Limits(money_usd=Decimal(1)))
    for number in range(10):
        ledger.reserve("n", str(number), Decimal("0.1"), 1)
    assert ledger.totals("n").money_usd == 1
    with pytest.raises(BudgetExhausted) as caught:
        ledger.reserve("n", "x", Decimal("0.000000001"), 1)
    assert caught.value.value == Decimal("1.000000001")
    ledger.close()


def test_a_fraction_of_a_billionth_is_rounded_up(path: Path) -> None:
    ledger = SpendLedger(path)
    ledger.reserve("n", "a", Decimal("1e-12"), 1)
    assert ledger.totals("n").money_usd == Decimal("1e-9")
    ledger.close()


@pytest.mark.parametrize(
    ("limits", "kind", "value", "limit"),
    [
        (Limits(money_usd=7 * CENT, where="w"), "money", 8 * CENT, 7 * CENT),
        (Limits(tokens=70, where="w"), "tokens", 80, 70),
        (Limits(calls=1, where="w"), "calls", 2, 1),
    ],
)
def test_each_limit_says_what_it_is(
    path: Path, limits: Limits, kind: str, value: Decimal | int, limit: Decimal | int
) -> None:
    ledger = SpendLedger(path, limits)
    ledger.reserve("n", "a", 4 * CENT, 40)
    with pytest.raises(BudgetExhausted) as caught:
        ledger.reserve("n", "b", 4 * CENT, 40)
    error = caught.value
    assert (error.kind, error.value, error.limit, error.where) == (kind, value, limit, "w")
    assert ledger.totals("n").calls == 1
    ledger.reserve("next night", "b", 4 * CENT, 40)
    ledger.close()


def test_a_limit_may_be_reached_but_not_passed(path: Path) -> None:
    ledger = SpendLedger(path, Limits(money_usd=8 * CENT, tokens=80, calls=2))
    ledger.reserve("n", "a", 4 * CENT, 40)
    ledger.reserve("n", "b", 4 * CENT, 40)
    ledger.close()


def test_every_step_may_be_repeated(path: Path) -> None:
    ledger = SpendLedger(path)
    first = ledger.reserve("n", "a", CENT, 10)
    assert ledger.reserve("n", "a", CENT, 10) == first
    for _ in range(2):
        ledger.settle("a", CENT / 2, 5)
        ledger.record("n", "r", Decimal(0), 7, calls=3)
    assert ledger.totals("n") == Totals(CENT / 2, 12, 4)
    assert ledger.reserve("n", "a", CENT, 10).state == "settled"
    ledger.close()


def test_what_is_recorded_again_replaces_what_was_there(path: Path) -> None:
    ledger = SpendLedger(path, Limits(tokens=1, calls=1))
    ledger.record("n", "episode", Decimal(0), 50, calls=5, role="action")
    ledger.record("n", "episode", Decimal(0), 70, calls=7, role="action")
    ledger.record("n", "another", Decimal(0), 1, calls=1, role="memory")
    assert ledger.totals("n") == Totals(Decimal(0), 71, 8)
    assert ledger.by_role("n")["action"] == Totals(Decimal(0), 70, 7)
    ledger.close()


def test_a_key_stands_for_one_call(path: Path) -> None:
    ledger = SpendLedger(path)
    ledger.reserve("n", "a", CENT, 10)
    with pytest.raises(DuplicateCall):
        ledger.reserve("n", "a", 2 * CENT, 10)
    with pytest.raises(DuplicateCall):
        ledger.reserve("m", "a", CENT, 10)
    ledger.settle("a", CENT, 5)
    with pytest.raises(DuplicateCall):
        ledger.settle("a", CENT, 6)
    with pytest.raises(DuplicateCall):
        ledger.void("a")
    for act in (lambda: ledger.settle("?", CENT, 1), lambda: ledger.presume("?")):
        with pytest.raises(DuplicateCall, match="no reservation"):
            act()
    ledger.close()


@pytest.mark.parametrize("amount", [Decimal(-1), Decimal("1e11")])
def test_an_amount_out_of_range_is_refused(path: Path, amount: Decimal) -> None:
    ledger = SpendLedger(path)
    with pytest.raises(ValueError, match="amount"):
        ledger.reserve("n", "a", amount, 1)
    ledger.close()


def test_what_may_have_been_billed_is_presumed_and_can_be_corrected(path: Path) -> None:
    ledger = SpendLedger(path)
    for key in "abc":
        ledger.reserve("n", key, 5 * CENT, 10)
    assert ledger.presume("a") == 5 * CENT
    assert ledger.recover("n") == 2
    assert ledger.recover("n") == 0
    assert ledger.totals("n") == Totals(
        15 * CENT, 30, 3, presumed_money_usd=15 * CENT, presumed_calls=3
    )
    ledger.correct("a", CENT, 1)
    ledger.correct("a", 2 * CENT, 2)  # settled by now: stays
    ledger.settle("b", CENT, 1)  # its process was alive after all
    ledger.void("c")
    ledger.correct("unknown", CENT, 1)
    assert ledger.totals("n") == Totals(2 * CENT, 2, 2)
    ledger.close()


KILLED = """
import os, signal, sys
from decimal import Decimal
from pathlib import Path
from orchestrator.models.ledger import Limits, SpendLedger
ledger = SpendLedger(Path(sys.argv[1]))
ledger.reserve("n", "done", Decimal("0.5"), 500)
ledger.settle("done", Decimal("0.25"), 250)
ledger.reserve("n", "in flight", Decimal("0.125"), 125)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_its_reservation_to_be_presumed(path: Path) -> None:
    dead = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, check=False)
    assert dead.returncode == -signal.SIGKILL
    ledger = SpendLedger(path, Limits(money_usd=Decimal("0.375")))
    assert ledger.totals("n").open_money_usd == Decimal("0.125")
    with pytest.raises(BudgetExhausted):
        ledger.reserve("n", "next", Decimal("0.001"), 1)
    assert ledger.recover("n") == 1
    assert ledger.totals("n") == Totals(
        Decimal("0.375"), 375, 2, presumed_money_usd=Decimal("0.125"), presumed_calls=1
    )
    ledger.close()


FORKED = """
import os, sys
from decimal import Decimal
from pathlib import Path
from orchestrator.models.ledger import SpendLedger
ledger = SpendLedger(Path(sys.argv[1]))
ledger.reserve("n", "parent", Decimal(1), 1)
child = os.fork()
if child == 0:
    ledger.reserve("n", "child", Decimal(1), 1)
    ledger.settle("child", Decimal(2), 2)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
ledger.settle("parent", Decimal(4), 4)
print(ledger.totals("n").money_usd)
"""


def test_a_ledger_may_cross_a_fork(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(path)], cwd=ROOT, check=True, capture_output=True
    )
    assert Decimal(done.stdout.decode()) == 6


def _spend(ledger: SpendLedger, name: str) -> int:
    """Reserve and settle until there is no room; every third call costs less than reserved."""
    number = 0
    while True:
        key = f"{name}-{number}"
        try:
            ledger.reserve("n", key, 3 * CENT, 30)
        except BudgetExhausted:
            ledger.close()
            return number
        if number % 3 == 0:
            ledger.settle(key, CENT, 10)
        number += 1


def test_processes_at_once_do_not_overdraw(path: Path) -> None:
    ledger = SpendLedger(path, Limits(money_usd=Decimal(3), where="test"))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        counts = pool.starmap(_spend, [(ledger, name) for name in "abc"])
    totals = ledger.totals("n")
    # Refused only when less than one reservation of 3 cents was left.
    assert Decimal(3) - 3 * CENT < totals.money_usd <= 3
    cheap = sum((count + 2) // 3 for count in counts)
    assert totals.money_usd == cheap * CENT + (sum(counts) - cheap) * 3 * CENT
    assert totals.calls == sum(counts)
    ledger.close()


def test_it_can_be_sent_to_another_process(path: Path) -> None:
    ledger = SpendLedger(path, Limits(calls=3))
    ledger.reserve("n", "a", CENT, 1)
    copy: SpendLedger = pickle.loads(pickle.dumps(ledger))
    assert copy.totals("n") == ledger.totals("n")
    assert copy.limits == Limits(calls=3)
    copy.close()
    ledger.close()


def test_it_can_be_closed_and_used_again(path: Path) -> None:
    ledger = SpendLedger(path)
    ledger.close()
    ledger.reserve("n", "a", CENT, 1)
    ledger.close()
    ledger.close()
    assert ledger.totals("n").calls == 1
    ledger.close()


def test_a_file_that_is_no_database_is_named_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("my notes, " * 100)
    with pytest.raises(StoreFailure) as caught:
        SpendLedger(path).totals("n")
    assert str(path) in str(caught.value)
    assert path.read_text() == "my notes, " * 100


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailure, match=r"ledger\.db"):
        SpendLedger(tmp_path / "file" / "ledger.db").reserve("n", "a", CENT, 1)


def test_another_versions_ledger_is_left_alone(path: Path) -> None:
    ledger = SpendLedger(path)
    ledger.reserve("n", "a", CENT, 1)
    ledger.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE spend_schema SET version = 99")
    db.commit()
    db.close()
    with pytest.raises(StoreFailure, match="version 99"):
        ledger.totals("n")


FULL = """
import resource, signal, sys
from decimal import Decimal
from pathlib import Path
from orchestrator.models.errors import StoreFailure
from orchestrator.models.ledger import SpendLedger
ledger = SpendLedger(Path(sys.argv[1]))
ledger.reserve("n", "first", Decimal(1), 1)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
size = max(file.stat().st_size for file in Path(sys.argv[1]).parent.iterdir())
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5000, resource.RLIM_INFINITY))
try:
    for number in range(1000):
        ledger.reserve("n", str(number), Decimal(1), 1)
except StoreFailure as error:
    print(number, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(ledger.totals("n").calls)
"""


def test_a_full_disk_gets_a_sentence_and_loses_nothing(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], cwd=ROOT, check=True, capture_output=True
    )
    failure, calls = done.stdout.decode().strip().splitlines()
    assert str(path) in failure
    assert int(calls) == int(failure.split()[0]) + 1


class LedgerMachine(RuleBasedStateMachine):
    """Any order of steps, against a dictionary that adds up by hand."""

    keys = Bundle("keys")
    amounts = st.decimals(0, 10, places=9)
    tokens = st.integers(0, 1000)

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.limit = Decimal(25)
        self.ledger = SpendLedger(Path(self.folder.name) / "l.db", Limits(money_usd=self.limit))
        self.entries: dict[str, tuple[str, Decimal, int, Decimal, int]] = {}

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()

    def spent(self) -> Decimal:
        return sum((entry[1] for entry in self.entries.values()), Decimal(0))

    @rule(target=keys, money=amounts, tokens=tokens)
    def reserve(self, money: Decimal, tokens: int) -> str:
        key = str(len(self.entries))
        if money and self.spent() + money > self.limit:
            with pytest.raises(BudgetExhausted):
                self.ledger.reserve("n", key, money, tokens)
        else:
            self.ledger.reserve("n", key, money, tokens)
            self.entries[key] = ("open", money, tokens, money, tokens)
        return key

    def ends(self, key: str, state: str, money: Decimal, tokens: int) -> bool:
        """Whether the step is allowed; the model takes it if so."""
        entry = self.entries.get(key)
        if entry is None or (
            entry[0] in ("settled", "void") and entry[:3] != (state, money, tokens)
        ):
            return False
        self.entries[key] = (state, money, tokens, *entry[3:])
        return True

    @rule(key=keys, money=amounts, tokens=tokens)
    def settle(self, key: str, money: Decimal, tokens: int) -> None:
        if self.ends(key, "settled", money, tokens):
            self.ledger.settle(key, money, tokens)
        else:
            with pytest.raises(DuplicateCall):
                self.ledger.settle(key, money, tokens)

    @rule(key=keys)
    def void(self, key: str) -> None:
        if self.ends(key, "void", Decimal(0), 0):
            self.ledger.void(key)
        else:
            with pytest.raises(DuplicateCall):
                self.ledger.void(key)

    @rule()
    def restart(self) -> None:
        self.ledger.close()
        found = self.ledger.recover("n")
        assert found == sum(entry[0] == "open" for entry in self.entries.values())
        for key, entry in self.entries.items():
            if entry[0] == "open":
                self.entries[key] = ("presumed", *entry[1:])

    @invariant()
    def sums_agree(self) -> None:
        totals = self.ledger.totals("n")
        assert totals.money_usd == self.spent()
        assert totals.tokens == sum(entry[2] for entry in self.entries.values())
        assert totals.calls == sum(entry[0] != "void" for entry in self.entries.values())
        assert totals == SpendLedger(self.ledger.path).totals("n")


LedgerMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestLedgerMachine = LedgerMachine.TestCase
