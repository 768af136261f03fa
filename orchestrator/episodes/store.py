"""Results by key: what has been played is never played again.

A result appears whole, after its trajectory, by one rename each. So whatever moment a process is
killed at, a key either has a result with its trajectory or has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from orchestrator.episodes.spec import EpisodeResult
from orchestrator.files import write_atomically


class EpisodeStore:
    """Episode results under ``artifacts/episodes``.

    Args:
        artifacts: The artifacts folder.
    """

    def __init__(self, artifacts: Path) -> None:
        self._artifacts = artifacts
        self._root = artifacts / "episodes"

    def get(self, key: str) -> EpisodeResult | None:
        """The result stored under a key; a damaged one counts as none and is played again."""
        path = self._result_path(key)
        try:
            result = EpisodeResult.model_validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return result if (self._artifacts / result.trajectory).exists() else None

    def put(self, result: EpisodeResult) -> None:
        """Store a result; its trajectory must be in place."""
        write_atomically(self._result_path(result.key), result.model_dump_json(indent=1))

    def forget(self, key: str) -> None:
        """Drop a result, so that its episode is played again."""
        self._result_path(key).unlink(missing_ok=True)

    def trajectory_path(self, key: str, *, again: bool = False) -> Path:
        """Where a key's trajectory lies; or that of a game played again to compare with it."""
        return self._root / key[:2] / f"{key}{'.again' if again else ''}.jsonl.zst"

    def relative(self, path: Path) -> str:
        """A path as results name it: relative to the artifacts folder."""
        return path.relative_to(self._artifacts).as_posix()

    def results(self) -> Iterator[EpisodeResult]:
        """Every stored result, by key."""
        for path in sorted(self._root.glob("??/*.json")):
            result = self.get(path.stem)
            if result is not None:
                yield result

    def _result_path(self, key: str) -> Path:
        return self._root / key[:2] / f"{key}.json"
