"""Differences as HTML: nothing lost, nothing run, never larger than asked."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report import diffs
from orchestrator.report.words import visible

DIFF = """\
diff --git a/hooks.py b/hooks.py
index 111..222 100644
--- a/hooks.py
+++ b/hooks.py
@@ -3,4 +3,4 @@ def on_start(context):
     x = 1
-    y = 2
+    y = 3  # <b>
     z = 4
@@ -20 +20 @@ and some prose
-old
\\ No newline at end of file
+new
diff --git a/notes.md b/notes.md
new file mode 100644
index 000..333
--- /dev/null
+++ b/notes.md
@@ -0,0 +1,2 @@
+# Notes
+++ b/still a line
diff --git a/a.bin b/a.bin
Binary files a/a.bin and b/a.bin differ
"""


def _text(line: diffs.ShownLine) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", str(line.html)))


def test_lines_have_their_numbers_and_kinds() -> None:
    hooks, notes, binary = diffs.parse(DIFF)
    assert [(x.kind, x.old, x.new, x.text) for x in hooks.lines] == [
        ("hunk", None, None, "def on_start(context):"),
        ("context", 3, 3, "    x = 1"),
        ("remove", 4, None, "    y = 2"),
        ("add", None, 4, "    y = 3  # <b>"),
        ("context", 5, 5, "    z = 4"),
        ("hunk", None, None, "…"),
        ("remove", 20, None, "old"),
        ("note", None, None, "No newline at end of file"),
        ("add", None, 20, "new"),
    ]
    assert (hooks.path, hooks.added, hooks.removed) == ("hooks.py", 2, 2)
    assert [(x.kind, x.text) for x in notes.lines] == [
        ("note", "new file"),
        ("add", "# Notes"),
        # Inside a hunk what looks like a header is a line.
        ("add", "++ b/still a line"),
    ]
    assert (notes.path, binary.path) == ("notes.md", "a.bin")
    assert binary.lines[0].text == "Binary files a/a.bin and b/a.bin differ"


def test_code_is_coloured_and_escaped() -> None:
    lines = diffs.show(DIFF, 100_000)[0].lines
    added = next(line for line in lines if line.kind == "add")
    assert _text(added) == "    y = 3  # <b>"
    assert "<b>" not in added.html
    assert '<span class="c1"># &lt;b&gt;</span>' in added.html


def test_a_text_in_several_lines_is_coloured_in_each() -> None:
    diff = "diff --git a/a.py b/a.py\n@@ -0,0 +1,3 @@\n+'''one\n+two\n+three'''\n"
    (file,) = diffs.show(diff, 10_000)
    assert [str(line.html) for line in file.lines] == [
        """<span class="sd">'''one</span>""",
        """<span class="sd">two</span>""",
        """<span class="sd">three'''</span>""",
    ]


def test_what_does_not_fit_is_counted() -> None:
    body = "".join(f"+line {number}\n" for number in range(1000))
    diff = f"diff --git a/a.md b/a.md\n@@ -0,0 +1,1000 @@\n{body}"
    (file,) = diffs.show(diff, 5000)
    assert 40 < len(file.lines) < 80
    assert len(file.lines) + file.left_out == 1000
    assert file.added == 1000


def test_marks_that_reorder_text_are_shown() -> None:
    diff = "diff --git a/a.py b/a.py\n@@ -0,0 +1 @@\n+if admin:\u202e # \u2066x\n"
    (file,) = diffs.show(diff, 10_000)
    assert _text(file.lines[0]) == "if admin:⟦U+202E⟧ # ⟦U+2066⟧x"


def test_an_empty_difference() -> None:
    assert diffs.show("", 1000) == []


LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=40)


@given(
    st.lists(st.tuples(st.sampled_from("+- "), LINE), max_size=12),
    st.sampled_from(["a.py", "b.j2", "c.toml", "d.md", "e.txt"]),
)
def test_every_line_of_a_difference_is_shown_as_it_is(
    lines: list[tuple[str, str]], path: str
) -> None:
    body = "".join(f"{sign}{text}\n" for sign, text in lines)
    diff = f"diff --git a/{path} b/{path}\n@@ -1,9 +1,9 @@\n{body}"
    (file,) = diffs.show(diff, 10**6)
    assert [_text(line) for line in file.lines] == [visible(text) for _, text in lines]
    kinds = {"+": "add", "-": "remove", " ": "context"}
    assert [line.kind for line in file.lines] == [kinds[sign] for sign, _ in lines]


@pytest.mark.parametrize("path", ["a.py", "b.j2", "c.toml", "d.md"])
@given(st.text(alphabet="<>&\"'/ scriptonerror=#{}%`\\", max_size=60))
def test_no_tag_but_ours_comes_out(path: str, text: str) -> None:
    diff = f"diff --git a/{path} b/{path}\n@@ -0,0 +1 @@\n+{text}\n"
    (file,) = diffs.show(diff, 10**6)
    tags = re.findall(r"<[^>]*>", str(file.lines[0].html))
    assert all(re.fullmatch(r'<span class="[a-z0-9 ]+">|</span>', tag) for tag in tags)


def test_the_colours_are_for_both_schemes_and_set_no_background() -> None:
    rules = str(diffs.colours())
    light, _, dark = rules.partition("@media screen and (prefers-color-scheme: dark)")
    assert ".code .k {" in light
    assert ".code .k {" in dark
    assert "background" not in rules
