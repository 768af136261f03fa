"""The ``files`` backend: limits, refusals that change nothing, and a plain model beside it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agents.memory.base import MemoryRefusal, MemoryStats
from agents.memory.files import MAX_FILES, FilesBackend, essence


def backend(files: dict[str, str] | None = None, **limits: int) -> FilesBackend:
    made = FilesBackend(**limits)
    made.begin_episode({"notes": ""} if files is None else files)
    return made


def numbered(count: int) -> str:
    return "\n".join(f"tree {number}" for number in range(1, count + 1))


# --- reading ----------------------------------------------------------------------------------


def test_a_search_gives_the_matching_lines_newest_last_whatever_their_case() -> None:
    memory = backend({"notes": "Water left\nstone\nWATER right\nno match here"})
    found = memory.run("SEARCH", ["notes", "water"])
    assert (found.text, found.matches, found.novel) == ("Water left\nWATER right", 2, None)


def test_a_search_without_a_match_says_so() -> None:
    found = backend({"notes": "stone"}).run("SEARCH", ["notes", "water"])
    assert (found.text, found.matches) == ("(no match)", 0)


def test_a_search_over_its_limit_keeps_the_newest_and_counts_the_rest() -> None:
    memory = backend({"notes": numbered(5)}, search_limit=2)
    found = memory.run("SEARCH", ["notes", "tree"])
    assert found.text == "(3 older matches not shown)\ntree 4\ntree 5"
    assert found.matches == 5
    exact = backend({"notes": numbered(2)}, search_limit=2)
    assert exact.run("SEARCH", ["notes", "tree"]).text == "tree 1\ntree 2"


def test_a_read_over_its_limit_says_how_much_is_missing() -> None:
    memory = backend({"notes": "abcdefghij"}, read_limit=4)
    assert memory.run("READ", ["notes"]).text == "abcd\n(6 more characters not shown)"
    assert backend({"notes": "abcd"}, read_limit=4).run("READ", ["notes"]).text == "abcd"
    assert backend().run("READ", ["notes"]).text == "(empty)"


def test_a_tail_gives_the_last_lines_and_keeps_to_the_read_limit() -> None:
    memory = backend({"notes": "one\ntwo\nthree"})
    assert memory.run("TAIL", ["notes", "2"]).text == "two\nthree"
    assert memory.run("TAIL", ["notes", "9" * 30]).text == "one\ntwo\nthree"
    assert backend().run("TAIL", ["notes", "1"]).text == "(empty)"
    small = backend({"notes": "abcdefghij"}, read_limit=4)
    assert small.run("TAIL", ["notes", "1"]).text == "(6 earlier characters not shown)\nghij"


@pytest.mark.parametrize("n", ["0", "-3", "three", "", "1.5", "9" * 5000])
def test_a_tail_of_no_number_of_lines_is_refused(n: str) -> None:
    with pytest.raises(MemoryRefusal, match="line"):
        backend().run("TAIL", ["notes", n])


def test_a_count_counts() -> None:
    found = backend({"notes": numbered(12)}).run("COUNT", ["notes", "TREE 1"])
    assert (found.text, found.matches) == ("4", 4)  # 1, 10, 11, 12


def test_hooks_read_whole_files_and_their_names() -> None:
    memory = backend({"notes": numbered(400), "map": ""}, read_limit=10)
    assert memory.run("TEXT", ["notes"]).text == numbered(400)
    assert memory.run("FILES", []).text == "notes\nmap"


# --- writing ----------------------------------------------------------------------------------


def test_appending_adds_lines_at_the_end() -> None:
    memory = backend({"notes": "one"})
    memory.run("APPEND", ["notes", "two\nthree"])
    assert memory.run("READ", ["notes"]).text == "one\ntwo\nthree"


def test_writing_replaces_the_file() -> None:
    memory = backend({"notes": "one\ntwo"})
    memory.run("WRITE", ["notes", "three"])
    assert memory.snapshot() == {"notes": "three\n"}


def test_creating_makes_an_empty_file_once() -> None:
    memory = backend()
    memory.run("CREATE", ["map"])
    assert memory.snapshot() == {"notes": "", "map": ""}
    with pytest.raises(MemoryRefusal, match="map is already there"):
        memory.run("CREATE", ["map"])


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("SEARCH", ["mop", "x"]),
        ("READ", ["mop"]),
        ("TAIL", ["mop", "3"]),
        ("COUNT", ["mop", "x"]),
        ("APPEND", ["mop", "x"]),
        ("WRITE", ["mop", "x"]),
        ("TEXT", ["mop"]),
    ],
)
def test_an_unknown_file_is_refused_with_the_list_of_known_ones(
    operation: str, arguments: list[str]
) -> None:
    memory = backend({"notes": "", "map": ""})
    with pytest.raises(MemoryRefusal, match=r"There is no file 'mop'\. Files: notes, map\."):
        memory.run(operation, arguments)
    assert memory.snapshot() == {"notes": "", "map": ""}
    with pytest.raises(MemoryRefusal, match="Files: none yet"):
        backend({}).run(operation, arguments)


def test_hooks_make_files_by_writing() -> None:
    memory = backend({})
    memory.run("PUT", ["status", "well"])
    memory.run("ADD", ["diary", "day 1"])
    assert memory.snapshot() == {"status": "well\n", "diary": "day 1\n"}


BAD_NAMES = ["", "a/b", "/etc/passwd", "..", "a..b", "../notes", ".hidden", "a b", "a\nb", "x" * 65]


@pytest.mark.parametrize("name", [*BAD_NAMES, "a\\b", "-x", "a\x00", "é", "notes\n"])
@pytest.mark.parametrize("operation", ["CREATE", "PUT", "ADD", "APPEND", "WRITE", "READ"])
def test_names_are_plain(operation: str, name: str) -> None:
    memory = backend()
    arguments = {"CREATE": [name], "READ": [name]}.get(operation, [name, "x"])
    with pytest.raises(MemoryRefusal, match="is no file name: use up to 64 letters"):
        memory.run(operation, arguments)
    assert memory.snapshot() == {"notes": ""}


@pytest.mark.parametrize("name", ["x" * 64, "map_notes", "a-b.c", "_x", "0"])
def test_plain_names_are_taken(name: str) -> None:
    memory = backend()
    memory.run("CREATE", [name])
    assert name in memory.snapshot()


def test_a_full_memory_refuses_and_stays_as_it_was() -> None:
    memory = backend({"notes": "12345678"}, size_limit=10)  # 9 with the line's end
    before = memory.snapshot()
    for operation in ("APPEND", "ADD"):
        with pytest.raises(MemoryRefusal, match=r"Memory is full \(9 of 10 characters\)"):
            memory.run(operation, ["notes", "x"])  # 2 with the line's end
    with pytest.raises(MemoryRefusal, match="Memory is full"):
        memory.run("WRITE", ["notes", "1234567890"])
    with pytest.raises(MemoryRefusal, match="Memory is full"):
        memory.run("PUT", ["other", "x"])
    assert memory.snapshot() == before
    assert memory.stats() == MemoryStats(1, 9)
    memory.run("APPEND", ["notes", ""])
    assert memory.stats() == MemoryStats(1, 10)
    memory.run("WRITE", ["notes", "x"])
    assert memory.stats() == MemoryStats(1, 2)


def test_there_is_a_limit_of_files() -> None:
    memory = backend({f"f{number}": "" for number in range(MAX_FILES)})
    for operation, arguments in (
        ("CREATE", ["more"]),
        ("PUT", ["more", "x"]),
        ("ADD", ["more", ""]),
    ):
        with pytest.raises(MemoryRefusal, match="There are 64 files already"):
            memory.run(operation, arguments)
    memory.run("APPEND", ["f0", "still works"])
    assert memory.stats() == MemoryStats(MAX_FILES, 12)


@pytest.mark.parametrize(
    ("operation", "arguments", "says"),
    [
        ("DROP", [], "no operation DROP"),
        ("SEARCH", ["notes"], "SEARCH takes 2 arguments, not 1"),
        ("FILES", ["notes"], "FILES takes 0 arguments, not 1"),
    ],
)
def test_what_is_no_operation_is_refused(operation: str, arguments: list[str], says: str) -> None:
    with pytest.raises(MemoryRefusal, match=says):
        backend().run(operation, arguments)


# --- novelty ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("step 12: saw water", "saw water"),
        ("Step 7 saw  water ", "saw water"),
        ("[12] saw water", "saw water"),
        ("12: saw water", "saw\twater"),
        ("saw water (t=9)", "saw water (t = 123)"),
        ("t5: saw water", "t 17: saw water"),
    ],
)
def test_white_space_and_step_numbers_say_nothing_new(line: str, same: str) -> None:
    assert essence(line) == essence(same)


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("wood 3", "wood 4"),
        ("3 wood", "4 wood"),
        ("water at (3, 4)", "water at (3, 5)"),
        ("steps: 5", "steps: 6"),
        ("saw Water", "saw water"),
    ],
)
def test_everything_else_does(line: str, other: str) -> None:
    assert essence(line) != essence(other)


def test_a_write_is_novel_if_it_adds_a_line_that_the_file_did_not_hold() -> None:
    memory = backend({"notes": "step 1: saw water", "map": ""})
    novel = [
        memory.run("APPEND", ["notes", "step 2: saw water"]).novel,  # said before
        memory.run("APPEND", ["notes", "step 2: saw iron"]).novel,
        memory.run("APPEND", ["notes", "saw water\nsaw iron\nsaw coal"]).novel,  # one of three
        memory.run("APPEND", ["notes", "  \n"]).novel,  # nothing
        memory.run("APPEND", ["map", "saw water"]).novel,  # not in this file yet
        memory.run("WRITE", ["notes", "saw coal\nsaw iron"]).novel,  # only what was there
        memory.run("WRITE", ["notes", "saw coal\nsaw diamond"]).novel,
        memory.run("APPEND", ["notes", "saw iron"]).novel,  # was replaced meanwhile
        memory.run("CREATE", ["other"]).novel,
        memory.run("PUT", ["other", "x"]).novel,
        memory.run("ADD", ["other", "x"]).novel,
    ]
    assert novel == [False, True, True, False, True, False, True, True, False, True, False]


# --- snapshots --------------------------------------------------------------------------------


def test_a_new_episode_starts_from_the_seed_files() -> None:
    memory = backend({"notes": "seed"})
    memory.run("APPEND", ["notes", "learned"])
    memory.run("CREATE", ["map"])
    memory.end_episode("died")
    memory.begin_episode({"notes": "seed"})
    assert memory.snapshot() == {"notes": "seed\n"}
    assert memory.run("APPEND", ["notes", "learned"]).novel is True


def test_a_snapshot_that_does_not_fit_changes_nothing() -> None:
    memory = backend({"notes": "12345"}, size_limit=10)
    for snapshot in ({"map": "x", "notes": "1234567890"}, {"map": "x", "../x": ""}):
        with pytest.raises(MemoryRefusal):
            memory.restore(snapshot)
        assert memory.snapshot() == {"notes": "12345\n"}
        assert memory.stats() == MemoryStats(1, 6)


line_texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)
texts = st.lists(line_texts, max_size=4).map("\n".join)


@given(st.lists(st.tuples(st.sampled_from(["APPEND", "WRITE"]), texts), max_size=8))
def test_a_restored_snapshot_is_what_was(writes: list[tuple[str, str]]) -> None:
    first, second = backend(), backend({"other": "x"})
    for operation, text in writes:
        first.run(operation, ["notes", text])
    second.restore(first.snapshot())
    assert second.snapshot() == first.snapshot()
    assert second.stats() == first.stats()
    for operation, arguments in (("READ", ["notes"]), ("SEARCH", ["notes", ""])):
        assert second.run(operation, arguments) == first.run(operation, arguments)
    assert sum(map(len, first.snapshot().values())) == first.stats().characters


# --- a plain model ----------------------------------------------------------------------------

SIZE, SEARCHES, READS = 60, 3, 20
names = st.sampled_from(["a", "b", "c", "bad/name"])
contents = st.lists(st.sampled_from(["water", "Water 2", "tree", "", "x" * 30]), max_size=3).map(
    "\n".join
)


class PlainFiles(RuleBasedStateMachine):
    """The same operations on a dictionary of lists."""

    def __init__(self) -> None:
        super().__init__()
        self.real = FilesBackend(search_limit=SEARCHES, read_limit=READS, size_limit=SIZE)
        self.plain: dict[str, list[str]] = {}
        self.saved: tuple[dict[str, str], dict[str, list[str]]] | None = None

    @initialize()
    def begin(self) -> None:
        self.real.begin_episode({"a": "water"})
        self.plain = {"a": ["water"]}

    def write(self, operation: str, name: str, text: str, must_exist: bool, keep: bool) -> None:
        lines = text.splitlines() if not keep else text.splitlines() or [""]
        old = self.plain.get(name, [])
        new = {**self.plain, name: [*old, *lines] if keep else lines}
        fits = sum(len(line) + 1 for file in new.values() for line in file) <= SIZE
        allowed = name != "bad/name" and (name in self.plain or not must_exist) and fits
        try:
            result = self.real.run(operation, [name, text])
        except MemoryRefusal:
            assert not allowed
        else:
            assert allowed
            known = {" ".join(line.split()) for line in old}
            assert result.novel == any(
                line.strip() and " ".join(line.split()) not in known for line in lines
            )
            self.plain = new

    @rule(name=names, text=contents)
    def append(self, name: str, text: str) -> None:
        self.write("APPEND", name, text, must_exist=True, keep=True)

    @rule(name=names, text=contents)
    def replace(self, name: str, text: str) -> None:
        self.write("WRITE", name, text, must_exist=True, keep=False)

    @rule(name=names, text=contents)
    def put(self, name: str, text: str) -> None:
        self.write("PUT", name, text, must_exist=False, keep=False)

    @rule(name=names, text=contents)
    def add(self, name: str, text: str) -> None:
        self.write("ADD", name, text, must_exist=False, keep=True)

    @rule(name=names)
    def create(self, name: str) -> None:
        try:
            self.real.run("CREATE", [name])
        except MemoryRefusal:
            assert name in self.plain or name == "bad/name"
        else:
            assert name not in self.plain
            self.plain[name] = []

    @rule(name=st.sampled_from(["a", "b", "c"]), text=st.sampled_from(["WATER", "tree", "", "zz"]))
    def search(self, name: str, text: str) -> None:
        if name not in self.plain:
            with pytest.raises(MemoryRefusal):
                self.real.run("SEARCH", [name, text])
            return
        found = [line for line in self.plain[name] if text.lower() in line.lower()]
        result = self.real.run("SEARCH", [name, text])
        assert result.matches == len(found)
        shown = result.text.split("\n")
        if found:
            assert shown[-min(len(found), SEARCHES) :] == found[-SEARCHES:]
        assert (len(found) > SEARCHES) == shown[0].endswith("older matches not shown)")
        assert self.real.run("COUNT", [name, text]).text == str(len(found))

    @rule(name=st.sampled_from(["a", "b", "c"]), count=st.integers(1, 4))
    def read(self, name: str, count: int) -> None:
        if name not in self.plain:
            return
        whole = "\n".join(self.plain[name])
        read = self.real.run("READ", [name]).text
        assert read.startswith(whole[:READS] or "(empty)")
        assert (len(whole) > READS) == (f"({len(whole) - READS} more" in read)
        tail = "\n".join(self.plain[name][-count:])
        assert self.real.run("TAIL", [name, str(count)]).text.endswith(tail[-READS:] or "(empty)")

    @rule()
    def save(self) -> None:
        self.saved = self.real.snapshot(), {name: list(file) for name, file in self.plain.items()}

    @precondition(lambda self: self.saved is not None)
    @rule()
    def go_back(self) -> None:
        assert self.saved is not None
        self.real.restore(self.saved[0])
        self.plain = {name: list(file) for name, file in self.saved[1].items()}

    @invariant()
    def same(self) -> None:
        assert self.real.run("FILES", []).text.split("\n") == list(self.plain or {"": []})
        for name, lines in self.plain.items():
            assert self.real.run("TEXT", [name]).text == "\n".join(lines)
        size = sum(len(line) + 1 for file in self.plain.values() for line in file)
        assert self.real.stats() == MemoryStats(len(self.plain), size)


PlainFiles.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestPlainFiles = PlainFiles.TestCase
