"""The conversation of an editor, written down as it happens, for people to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchestrator.models.base import Completion, ToolMessage


class Transcript:
    """One JSON line for each message; a conversation that is taken up again is written anew.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")

    def add(self, message: ToolMessage, answer: Completion | None = None) -> None:
        """Write one message down; with the answer it came as, what that took."""
        record: dict[str, Any] = {"role": message["role"], "content": message["content"]}
        if answer is not None:
            usage = answer.usage
            record["model"] = answer.model
            record["tokens"] = [usage.input_tokens, usage.output_tokens, usage.cached_tokens]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def transcript_path(night_folder: Path, number: int) -> Path:
    """Where the conversation about a night's n-th candidate is written down."""
    return night_folder / "editor" / f"{number}.jsonl"


def read_transcript(path: Path) -> list[dict[str, Any]]:
    """The messages; what was cut off in the middle is left out, and a missing file has none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    messages = []
    for line in lines:
        try:
            messages.append(json.loads(line))
        except ValueError:
            break
    return messages
