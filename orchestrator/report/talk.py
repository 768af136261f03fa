"""An editor's conversation as the page shows it: who said what, long texts cut."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.report.data import Said

LONGEST = 2_000
"""Characters of one text that the page shows; the whole conversation lies beside it."""


def conversation(messages: list[dict[str, Any]]) -> tuple[Said, ...]:
    """What was said, in order.

    Args:
        messages: The transcript, as `editors.meta.transcript.read_transcript` gives it.
    """
    names: dict[str, str] = {}
    return tuple(said for message in messages for said in _said(message, names))


def _said(message: Mapping[str, Any], names: dict[str, str]) -> Iterator[Said]:
    content = message.get("content")
    speaker = "editor" if message.get("role") == "assistant" else "host"
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            yield Said(who=speaker, kind="words", text=_cut(str(block.get("text", ""))))
        elif kind == "tool_use":
            name = names[str(block.get("id"))] = str(block.get("name"))
            yield Said(who=name, kind="call", text=_cut(_arguments(block.get("input"))))
        elif kind == "tool_result":
            name = names.get(str(block.get("tool_use_id")), "tool")
            how = "refusal" if block.get("is_error") else "result"
            yield Said(who=name, kind=how, text=_cut(str(block.get("content", ""))))


def _arguments(given: object) -> str:
    if not isinstance(given, dict):
        return str(given)
    lines = [
        f"{name}: {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in given.items()
    ]
    return "\n".join(lines)


def _cut(text: str) -> str:
    missing = len(text) - LONGEST
    return text if missing <= 0 else f"{text[:LONGEST]}\n({missing:,} more characters)"
