"""A change taken apart, and put together again."""

from __future__ import annotations

import itertools

import pytest

from orchestrator.ablation.hunks import Hunk, credit, hunks_between, without
from orchestrator.evaluation import Difference

OLD = {
    "hooks.py": b"a\nb\nc\nd\ne\nf\ng\nh\n",
    "gone.py": b"x = 1\n",
    "same.md": b"as it was\n",
}
NEW = {
    "hooks.py": b"A\nb\nc\nd\ne\nf\ng2\ng3\nh\n",
    "new.py": b"y = 2\nz = 3",
    "same.md": b"as it was\n",
}


def test_far_changes_are_hunks_of_their_own_and_new_or_gone_files_are_one() -> None:
    found = [(one.number, one.where, one.removed, one.added) for one in hunks_between(OLD, NEW)]
    assert found == [
        (1, "gone.py (gone)", ("x = 1\n",), ()),
        (2, "hooks.py:1", ("a\n",), ("A\n",)),
        (3, "hooks.py:7", ("g\n",), ("g2\n", "g3\n")),
        (4, "new.py (new)", (), ("y = 2\n", "z = 3")),
    ]


def test_near_changes_are_one_hunk() -> None:
    before, after = {"a": b"1\n2\n3\n4\n"}, {"a": b"one\n2\n3\nfour\n"}
    (hunk,) = hunks_between(before, after)
    assert (hunk.old, hunk.new) == ((0, 4), (0, 4))
    apart = {"a": b"1\n2\n3\n4\n5\n"}, {"a": b"one\n2\n3\n4\nfive\n"}
    assert len(hunks_between(*apart)) == 2


def test_every_choice_of_hunks_lies_between_the_two() -> None:
    hunks = hunks_between(OLD, NEW)
    assert without(OLD, NEW, hunks, ()) == NEW
    assert without(OLD, NEW, hunks, {1, 2, 3, 4}) == OLD
    assert without(OLD, NEW, hunks, {3}) == {**NEW, "hooks.py": b"A\nb\nc\nd\ne\nf\ng\nh\n"}
    assert without(OLD, NEW, hunks, {1, 4}) == {
        "hooks.py": NEW["hooks.py"], "gone.py": OLD["gone.py"], "same.md": OLD["same.md"],
    }  # fmt: skip
    made = {
        tuple(sorted(without(OLD, NEW, hunks, chosen).items()))
        for size in range(5)
        for chosen in itertools.combinations((1, 2, 3, 4), size)
    }
    assert len(made) == 16, "each hunk is there or not, whatever the others are"


def test_lines_that_are_no_text_and_a_missing_last_newline_survive() -> None:
    old, new = {"a": b"\xff\n1\n2\n3\n4\nend"}, {"a": b"\xfe\n1\n2\n3\n4\nEnd"}
    hunks = hunks_between(old, new)
    assert len(hunks) == 2
    assert without(old, new, hunks, {1}) == {"a": b"\xff\n1\n2\n3\n4\nEnd"}
    assert without(old, new, hunks, {1, 2}) == old


@pytest.mark.parametrize(
    ("difference", "word"),
    [
        (Difference(4.0, 1.0, 7.0, 0.01, 20), "helps"),
        (Difference(-4.0, -7.0, -1.0, 0.01, 20), "harms"),
        (Difference(4.0, -1.0, 9.0, 0.2, 20), "unclear"),
        (Difference(0.2, -0.4, 0.9, 0.6, 20), "dead"),
        (Difference(0.2, -0.4, 1.1, 0.6, 20), "unclear"),
        (Difference(0.0, None, None, 1.0, 20), "dead"),  # not one game differs
        (Difference(0.0, None, None, None, 1), "unclear"),
        (Difference(None, None, None, None, 0), "unclear"),
    ],
)
def test_the_word_for_what_was_measured(difference: Difference, word: str) -> None:
    hunk = Hunk(1, "a", (0, 1), (0, 1), ("x",), ("y",))
    assert credit(hunk, difference, alpha=0.05, margin=1.0).word == word
