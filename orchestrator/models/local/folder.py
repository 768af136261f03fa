"""The folder that is served: made once from the weights, then only read.

``transformers serve`` 5.24 lists GGUF files as something it takes, and fails on this one (a GGUF's
configuration has no ``architectures``, which it looks up). De-quantising also takes a quarter of a
minute at each start. So the weights are written once as a folder of Transformers' own.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

GENERATION = "generation_config.json"
DTYPE_BYTES = {"bfloat16": 2, "float32": 4}


def prepare(source: Path, target: Path, dtype: str) -> None:
    """Make the folder `target` for the weights at `source`, if it is not there.

    Args:
        source: A GGUF file, or a folder of Transformers.
        target: The folder; it appears whole or not at all.
        dtype: The precision to keep the weights in, ``bfloat16`` or ``float32``.
    """
    if target.is_dir():
        return
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    unfinished.mkdir(parents=True)
    try:
        if source.is_dir():
            for one in source.iterdir():
                if one.name != GENERATION:
                    (unfinished / one.name).symlink_to(one)
        else:
            _dequantise(source, unfinished, dtype)
        _sample_plainly(unfinished, source)
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def context_length(folder: Path) -> int:
    """The tokens that prompt and answer may have together."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return int(config["max_position_embeddings"])


def _dequantise(source: Path, target: Path, dtype: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    place, name = str(source.parent), source.name
    model = AutoModelForCausalLM.from_pretrained(
        place,
        gguf_file=name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=getattr(torch, dtype),
    )
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(place, gguf_file=name).save_pretrained(target)


def _sample_plainly(folder: Path, source: Path) -> None:
    """Have the request's temperature and top_p decide alone.

    The server applies a temperature only if the model's own settings say that it samples, and these
    may cut the distribution further.
    """
    kept = (source if source.is_dir() else folder) / GENERATION
    settings = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    settings |= {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    settings.pop("_from_model_config", None)
    (folder / GENERATION).write_text(json.dumps(settings, indent=2), encoding="utf-8")
