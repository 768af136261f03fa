"""Seed banks: disjoint, the same everywhere, and checked on disk."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.gate.banks import BANKS, SLICE_SEEDS, SLICES, SeedBanks
from orchestrator.gate.banks_file import BanksFile, BankSizes, load_banks, open_banks
from orchestrator.gate.errors import BanksEdited, BanksError, BanksUnreadable

BANKS_OF_CRAFTER = SeedBanks("crafter-v1", 20261130)
PINNED_SCREEN = (263985253, 1320699124, 1908001616, 723259136)
PINNED_CONFIRM_3 = (504750383, 2112718362, 445881939, 650429972)


def plain(environment: str, root_seed: int, number: int) -> int:
    """The permutation once more, written down the long way."""
    key = hashlib.sha256(f"slowwave seed banks 1\n{environment}\n{root_seed}".encode()).digest()
    while True:
        left, right = divmod(number, 65536)
        for turn in range(8):
            mixed = hashlib.sha256(key + bytes([turn, right // 256, right % 256])).digest()
            left, right = right, left ^ (mixed[0] * 256 + mixed[1])
        number = left * 65536 + right
        if number < 2**31:
            return number


def test_seeds_follow_from_the_written_down_permutation() -> None:
    for bank_number, bank in enumerate(BANKS):
        for index in (0, 3, 65535):
            first = (bank_number * 65536 + index) * 4096
            assert BANKS_OF_CRAFTER.seeds(bank, 4, index) == tuple(
                plain("crafter-v1", 20261130, first + at) for at in range(4)
            )


def test_seeds_of_old_nights_stay_theirs() -> None:
    # A change here would make every stored verdict lie about its seeds.
    assert BANKS_OF_CRAFTER.seeds("screen", 4) == PINNED_SCREEN
    assert BANKS_OF_CRAFTER.seeds("confirm", 4, 3) == PINNED_CONFIRM_3


def test_no_seed_twice_in_a_large_draw() -> None:
    drawn = [
        seed
        for bank in BANKS
        for index in range(4)
        for seed in BANKS_OF_CRAFTER.seeds(bank, 500, index)
    ]
    assert len(set(drawn)) == len(drawn) == 5 * 4 * 500
    assert all(0 <= seed < 2**31 for seed in drawn)


def test_seeds_spread_over_their_range() -> None:
    # Mean of 2,000 uniform numbers: standard error 2**31 / sqrt(12 * 2000), 0.65% of the range.
    drawn = BANKS_OF_CRAFTER.seeds("confirm", 2000)
    assert sum(drawn) / len(drawn) / 2**31 == pytest.approx(0.5, abs=0.03)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(-(2**70), 2**70),
    st.sampled_from(BANKS),
    st.integers(0, SLICES - 1),
    st.integers(1, 8),
)
def test_any_seed_is_traced_to_its_slice(root: int, bank, index: int, count: int) -> None:
    banks = SeedBanks("minihack/corridor-r3-v1", root)
    drawn = banks.slice(bank, count, index)
    assert {banks.bank_of(seed) for seed in drawn.seeds} == {bank}
    assert {banks.slice_of(seed) for seed in drawn.seeds} == {drawn.name}


def test_a_longer_slice_only_appends() -> None:
    assert BANKS_OF_CRAFTER.seeds("report", 20)[:7] == BANKS_OF_CRAFTER.seeds("report", 7)


def test_names_tell_the_slice_where_there_are_several() -> None:
    assert BANKS_OF_CRAFTER.slice("screen", 1).name == "screen"
    assert BANKS_OF_CRAFTER.slice("confirm", 1).name == "confirm[0]"
    assert BANKS_OF_CRAFTER.slice("confirm", 1, 3).name == "confirm[3]"
    assert BANKS_OF_CRAFTER.slice("training", 1, 2).name == "training[2]"


def test_environments_and_roots_have_seeds_of_their_own() -> None:
    drawn = {
        banks.seeds("screen", 5)
        for banks in (
            BANKS_OF_CRAFTER,
            SeedBanks("crafter-v2", 20261130),
            SeedBanks("crafter-v1", 20261131),
        )
    }
    assert len(drawn) == 3


def test_training_seeds_are_clean_and_bank_seeds_are_not() -> None:
    clean = BANKS_OF_CRAFTER.seeds("training", 5)
    dirty = BANKS_OF_CRAFTER.seeds("confirm", 1, 9) + BANKS_OF_CRAFTER.seeds("propose", 1)
    assert BANKS_OF_CRAFTER.not_for_training(clean + dirty) == dirty


@settings(deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_every_seed_has_at_most_one_bank(seed: int) -> None:
    assert BANKS_OF_CRAFTER.bank_of(seed) in (*BANKS, None)


def test_what_is_no_seed_is_in_no_bank() -> None:
    assert BANKS_OF_CRAFTER.bank_of(-1) is None
    assert BANKS_OF_CRAFTER.bank_of(2**31) is None


@pytest.mark.parametrize(
    ("bank", "count", "index"),
    [
        ("confirmed", 1, 0),
        ("confirm", SLICE_SEEDS + 1, 0),
        ("confirm", 1, SLICES),
        ("screen", 1, -1),
    ],
)
def test_slices_that_do_not_exist(bank, count: int, index: int) -> None:
    with pytest.raises(ValueError, match="seed"):
        BANKS_OF_CRAFTER.slice(bank, count, index)


class TestFile:
    def test_written_once_and_read_back(self, tmp_path: Path) -> None:
        path = tmp_path / "banks" / "crafter-v1.json"
        sizes = BankSizes(confirm=30)
        assert open_banks(path, "crafter-v1", 7, sizes) == (SeedBanks("crafter-v1", 7), sizes)
        before = path.read_bytes()
        assert load_banks(path) == (SeedBanks("crafter-v1", 7), sizes)
        assert open_banks(path, "crafter-v1", 7, sizes) == (SeedBanks("crafter-v1", 7), sizes)
        assert path.read_bytes() == before
        assert [entry.name for entry in path.parent.iterdir()] == ["crafter-v1.json"]

    def test_it_lists_what_a_person_wants_to_see(self, tmp_path: Path) -> None:
        path = tmp_path / "banks.json"
        banks, _ = open_banks(path, "crafter-v1", 7, BankSizes(screen=3))
        told = json.loads(path.read_text())
        assert tuple(told["screen"]) == banks.seeds("screen", 3)
        assert (told["environment"], told["root_seed"]) == ("crafter-v1", 7)

    @pytest.mark.parametrize("bank", ["propose", "screen", "confirm_first", "report"])
    def test_an_edited_seed_is_found(self, tmp_path: Path, bank: str) -> None:
        path = tmp_path / "banks.json"
        open_banks(path, "crafter-v1", 7, BankSizes())
        told = json.loads(path.read_text())
        told[bank][2] += 1
        path.write_text(json.dumps(told))
        with pytest.raises(BanksEdited, match=f"{bank} does not hold the seeds that root seed 7"):
            load_banks(path)

    def test_a_file_cannot_borrow_another_root_seed(self, tmp_path: Path) -> None:
        path = tmp_path / "banks.json"
        open_banks(path, "crafter-v1", 7, BankSizes())
        with pytest.raises(BanksError, match="root seed 7, not of crafter-v1 with root seed 8"):
            open_banks(path, "crafter-v1", 8, BankSizes())
        told = json.loads(path.read_text())
        told["root_seed"] = 8
        path.write_text(json.dumps(told))
        with pytest.raises(BanksEdited):
            open_banks(path, "crafter-v1", 8, BankSizes())

    def test_other_sizes_are_taken_over(self, tmp_path: Path) -> None:
        path = tmp_path / "banks.json"
        open_banks(path, "crafter-v1", 7, BankSizes())
        banks, sizes = open_banks(path, "crafter-v1", 7, BankSizes(report=40))
        assert load_banks(path) == (banks, sizes)
        assert sizes.report == 40

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", '{"environment": "crafter-v1"}', '{"surprise": 1}']
    )
    def test_what_is_no_banks_file(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "banks.json"
        path.write_text(text)
        with pytest.raises(BanksUnreadable, match="not a banks file") as caught:
            load_banks(path)
        assert str(path) in caught.value.message

    def test_missing_and_binary_files(self, tmp_path: Path) -> None:
        with pytest.raises(BanksUnreadable, match="cannot be read"):
            load_banks(tmp_path / "none.json")
        (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(BanksUnreadable, match="cannot be read"):
            load_banks(tmp_path / "binary.json")

    def test_a_file_of_a_later_version(self, tmp_path: Path) -> None:
        path = tmp_path / "banks.json"
        later = BanksFile.describe(SeedBanks("crafter-v1", 7), BankSizes())
        path.write_text(later.model_copy(update={"format": 2}).model_dump_json())
        with pytest.raises(BanksUnreadable, match="format 2"):
            load_banks(path)

    def test_a_place_that_cannot_be_written_loses_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("kept")
        with pytest.raises(BanksError, match="cannot be written"):
            open_banks(tmp_path / "file" / "banks.json", "crafter-v1", 7, BankSizes())
        assert (tmp_path / "file").read_text() == "kept"
