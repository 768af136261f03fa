"""Somebody who thinks in the place of a Meta-LLM: what it says, turn by turn."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.messages_server import Answer, Block, Failure, call, results, say

Turn = Sequence[Block] | Callable[[list[str]], Sequence[Block]] | Failure
"""Blocks; or what makes blocks of the last results; or an answer that is none."""

DONE_LIST = '''"""Keeps what has been achieved in sight, for good."""

import re

import hooks

SAID = re.compile(r"\\bdone ([a-z_]+)")


def after_log(context):
    done = context.state.setdefault("done", [])
    for line in context.memory.lines("actions_log")[-3:]:
        done += [word for word in SAID.findall(line) if word not in done]
    if done:
        context.notes["Done so far"] = ", ".join(done)
'''

HOOKS_PATCH = """--- a/hooks.py
+++ b/hooks.py
@@ -3,6 +3,8 @@
 A part may have any of the hooks below; they run in the order of the list.
 \"\"\"

+import done_list
+
 PARTS: list = [
+    done_list,
     # parts end here
 ]
"""


@dataclass
class ScriptedMind:
    """Says its turns in order; what failed is asked again and gets the next turn.

    Attributes:
        scripts: Turns by the candidate's number; without more of them it gives up.
        seen: What the tools returned, by candidate and tool, in order.
    """

    scripts: Mapping[int, Sequence[Turn]]
    seen: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    _failed: dict[int, int] = field(default_factory=dict)

    def __call__(self, body: dict[str, Any]) -> Answer | Failure:
        opening = body["messages"][0]["content"]
        text = opening if isinstance(opening, str) else opening[0]["text"]
        number = int(re.search(r"candidate (\d+)", text)[1])
        last = [str(block["content"]) for block in results(body)]
        self._note(number, body, last)
        said = sum(message["role"] == "assistant" for message in body["messages"])
        turns = self.scripts.get(number, ())
        at = said + self._failed.get(number, 0)
        turn = turns[at] if at < len(turns) else [call("give_up", reason="Nothing more to try.")]
        if isinstance(turn, Failure):
            self._failed[number] = self._failed.get(number, 0) + 1
            return turn
        return Answer(list(turn(last) if callable(turn) else turn))

    def _note(self, number: int, body: dict[str, Any], last: list[str]) -> None:
        if len(body["messages"]) < 2 or not last:
            return
        called = [one for one in body["messages"][-2]["content"] if one["type"] == "tool_use"]
        for one, text in zip(called, last, strict=True):
            kept = self.seen.setdefault((number, one["name"]), [])
            if text not in kept:
                kept.append(text)


class RecordedMind:
    """Says what was said before to the same conversation; to any other it has no answer.

    Args:
        transcripts: Conversations as the editor wrote them down.
    """

    def __init__(self, transcripts: Iterable[Sequence[dict[str, Any]]]) -> None:
        self._answers: dict[str, list[Block]] = {}
        for told in transcripts:
            for at, message in enumerate(told):
                if message["role"] == "assistant":
                    self._answers[_content(told[:at])] = message["content"]

    def __call__(self, body: dict[str, Any]) -> Answer | Failure:
        blocks = self._answers.get(_content(body["messages"]))
        if blocks is None:
            return Failure(400, "invalid_request_error", "nobody has said this before")
        return Answer([{key: one[key] for key in one if key != "id"} for one in blocks])


def _content(messages: Sequence[dict[str, Any]]) -> str:
    """A conversation without the ids of its calls and the marks of the prompt cache."""
    return json.dumps([[one["role"], _bare(one["content"])] for one in messages])


def _bare(content: str | Sequence[Block]) -> list[Block]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    passing = ("id", "tool_use_id", "cache_control")
    return [{key: one[key] for key in sorted(one) if key not in passing} for one in blocks]


def submit(subject: str, kind: str = "memory") -> Block:
    """A submission with reasons of the length that is asked for."""
    return call(
        "submit",
        subject=subject,
        summary="A part of hooks.py collects what the diary calls done and shows the list.",
        rationale="In the worst episode the agent did again what it had done long before.",
        expected_effect="No goal is pursued twice; more achievements in the same steps.",
        kind=kind,
    )


LAST_ACHIEVEMENT = re.compile(r"step (\d+): achievement")

GOOD: tuple[Turn, ...] = (
    [call("episodes"), call("history")],
    [say("The worst one."), call("events", episode="e3", kinds=["achievement", "death"])],
    lambda last: [
        call(
            "steps",
            episode="e3",
            first=int(LAST_ACHIEVEMENT.search(last[0])[1]) - 1,
            last=int(LAST_ACHIEVEMENT.search(last[0])[1]),
            full=True,
        ),
        call("find", text="done collect", most=5),
    ],
    [
        call("memory", episode="e3", step=60, file="actions_log"),
        call("memory_diff", episode="e3", before=10, after=12),
        call("files"),
        call("read_file", path="hooks.py"),
    ],
    [
        call("write_file", path="done_list.py", text=DONE_LIST.replace("import hooks\n\n", "")),
        call("apply_patch", patch=HOOKS_PATCH),
    ],
    [call("try_it")],
    [call("steps", episode="try1", first=0, last=5)],
    [submit("Keep a list of what is done")],
)
"""Reads, finds that what is done is forgotten, and mends it."""

HARMFUL: tuple[Turn, ...] = (
    [call("episodes")],
    [
        call(
            "write_file",
            path="prompts/plan.j2",
            text="PLAN, step {{ step }}.\n<|TAIL|>actions_log|3<|END|>\n",
        )
    ],
    [submit("Show nothing in PLAN", "perception")],
)
"""Takes the observation out of PLAN."""

LINK_PATCH = """diff --git a/link b/link
new file mode 120000
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+/etc/passwd
\\ No newline at end of file
"""

ILLEGAL: tuple[Turn, ...] = (
    [
        call("write_file", path="../outside.py", text="x = 1"),
        call("write_file", path="spy.py", text="import socket\n"),
        call("apply_patch", patch=LINK_PATCH),
        call("no_such_tool"),
        call("steps", episode="e1", first="soon"),
        call("steps", episode="e99", first=0, last=1),
    ],
    [submit("Look outside")],
    [
        call("delete_file", path="spy.py"),
        call(
            "write_file",
            path="prompts/system.j2",
            text='You play.\nActions: {{ actions | join(", ") }}\n',
        ),
    ],
    [submit("Say less")],
    [call("episodes"), call("take_up"), call("files")],
    [submit("Try the same once more")],
)
"""Tries what is not allowed, and gives up."""
