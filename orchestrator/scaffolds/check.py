"""What is refused before anything is played: the static check of a scaffold.

Runs on the host and imports nothing of the scaffold: names and sizes, text that is text, the
manifest's TOML, the syntax tree of the Python, the syntax of the prompts. Every fault names its
file, its line where there is one, and the mend.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

import jinja2
from jinja2 import nodes

from orchestrator.errors import SlowwaveError
from orchestrator.scaffolds.check_code import check_code
from orchestrator.scaffolds.errors import NoStore
from orchestrator.scaffolds.fault import BrokenScaffold, Fault, raise_for_faults
from orchestrator.scaffolds.names import MAX_FILE_BYTES, MAX_FILES, check_files, file_path
from orchestrator.scaffolds.trees import IGNORED_NAMES, file_fault, is_ignored, walk

if TYPE_CHECKING:
    from orchestrator.scaffolds.reader import ScaffoldReader
    from orchestrator.scaffolds.revision import Revision

__all__ = [
    "BrokenScaffold",
    "Fault",
    "ManifestCheck",
    "check_folder",
    "check_scaffold",
    "check_tree",
    "raise_for_faults",
]

ManifestCheck: TypeAlias = Callable[[str], Iterable[Fault]]
"""Checks the text of a `scaffold.toml` that is valid TOML against the manifest's schema."""

MANIFEST = "scaffold.toml"

PROMPTS = ("prompts/system.j2", "prompts/log.j2", "prompts/plan.j2")
"""The prompts that every scaffold has: the agent's standing orders and its two phases."""

_ALLOWED = re.compile(
    r"scaffold\.toml|README\.md|[A-Za-z_][A-Za-z0-9_]*\.py"
    r"|prompts/[^/]+\.(?:j2|md)|memory/[^/]{1,61}\.(?:md|txt)"
)
_LAYOUT = (
    "A scaffold holds scaffold.toml, README.md, hooks.py and other .py files beside it, "
    "prompts/*.j2 or *.md, memory/*.md or *.txt."
)
_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


def check_folder(
    folder: Path,
    *,
    validate_manifest: ManifestCheck | None = None,
    filters: Iterable[str] = (),
) -> list[Fault]:
    """Faults of a scaffold in a folder on disk; arguments as `check_scaffold`.

    Raises:
        NoStore: There is no such folder.
    """
    if not folder.is_dir():
        raise NoStore(
            f"There is no scaffold folder at {folder}.",
            mend="Give the folder that holds scaffold.toml.",
        )
    faults: list[Fault] = []
    files: dict[str, bytes] = {}
    try:
        for path, entry in walk(folder, prune=IGNORED_NAMES):
            if is_ignored(path):
                continue
            if len(files) + len(faults) >= MAX_FILES:
                return [_too_many(f"more than {MAX_FILES}")]
            fault = file_fault(entry.stat(follow_symlinks=False))
            if fault:
                faults.append(Fault(path, None, *fault))
            else:
                files[path] = Path(entry.path).read_bytes()
    except SlowwaveError as error:
        return [_as_fault(str(folder), error)]
    found = check_scaffold(files, validate_manifest=validate_manifest, filters=filters)
    return _together(faults, found)


def check_tree(
    store: ScaffoldReader,
    tree: str | Revision,
    *,
    validate_manifest: ManifestCheck | None = None,
    filters: Iterable[str] = (),
) -> list[Fault]:
    """Faults of a revision in the store; arguments as `check_scaffold`."""
    entries = store.entries(tree)
    if len(entries) > MAX_FILES:
        return [_too_many(str(len(entries)))]
    faults = []
    plain = []
    for entry in entries:
        if entry.fault:
            mend = "Put an ordinary file in its place."
            faults.append(Fault(entry.path, None, entry.fault, mend))
        elif (entry.size or 0) > MAX_FILE_BYTES:
            faults.append(_too_long(entry.path, entry.size or 0))
        else:
            plain.append(entry)
    found = check_scaffold(
        store.read_plain(plain), validate_manifest=validate_manifest, filters=filters
    )
    return _together(faults, found)


def check_scaffold(
    files: Mapping[str, bytes],
    *,
    validate_manifest: ManifestCheck | None = None,
    filters: Iterable[str] = (),
) -> list[Fault]:
    """Faults of a scaffold given as its files.

    Args:
        files: Content by path.
        validate_manifest: Called with the text of `scaffold.toml` once it is valid TOML.
        filters: Names of template filters beyond Jinja's own.

    Returns:
        What is wrong, by file and line; empty if nothing is.
    """
    faults = _check_layout(files)
    texts = {}
    for path, data in files.items():
        text = _text(path, data)
        if isinstance(text, Fault):
            faults.append(text)
        elif _ALLOWED.fullmatch(path):
            texts[path] = text
    modules = {path.removesuffix(".py") for path in files if re.fullmatch(r"[^/]+\.py", path)}
    known = {*jinja2.Environment().filters, *filters}
    for path, text in texts.items():
        if path == MANIFEST:
            faults += _check_manifest(text, validate_manifest)
        elif path.endswith(".py"):
            faults += check_code(path, text, modules)
        elif path.endswith(".j2"):
            faults += _check_prompt(path, text, known)
    return sorted(faults, key=_place)


def _check_layout(files: Mapping[str, bytes]) -> list[Fault]:
    faults = []
    plain = {}
    for path, data in files.items():
        try:
            plain[file_path(path)] = data
        except SlowwaveError as error:
            faults.append(_as_fault(path, error))
            continue
        if not _ALLOWED.fullmatch(path):
            faults.append(Fault(path, None, "has no place in a scaffold", _LAYOUT))
        if len(data) > MAX_FILE_BYTES:
            faults.append(_too_long(path, len(data)))
    names = [PurePosixPath(path).stem for path in files if path.startswith("memory/")]
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.append(
            Fault(f"memory/{name}", None, "stands there twice", "Keep one file of that name.")
        )
    if MANIFEST not in files:
        faults.append(Fault(MANIFEST, None, "is missing", "Add it: a scaffold begins with it."))
    if not faults:
        try:
            check_files(plain, "The scaffold")
        except SlowwaveError as error:
            faults.append(_as_fault(".", error))
    for path in PROMPTS:
        if path not in files:
            mend = "Add it: the agent cannot play without this prompt."
            faults.append(Fault(path, None, "is missing", mend))
    return faults


def _text(path: str, data: bytes) -> str | Fault:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"is not UTF-8 text (byte 0x{data[error.start]:02x})"
        return Fault(path, line, what, "Save it as UTF-8.")
    for bad, what in (("\0", "holds a zero byte"), ("\ufeff", "holds a byte-order mark")):
        if bad in text:
            line = text.count("\n", 0, text.index(bad)) + 1
            return Fault(path, line, what, "Save it as plain text.")
    return text


def _check_manifest(text: str, validate: ManifestCheck | None) -> list[Fault]:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else len(text.splitlines()) or 1
        what = f"is not valid TOML: {_TOML_PLACE.sub('', str(error))}"
        return [Fault(MANIFEST, line, what, "Correct the syntax there.")]
    except RecursionError:
        return [Fault(MANIFEST, None, "is nested too deeply", "Flatten it.")]
    return list(validate(text)) if validate else []


def _check_prompt(path: str, text: str, known: set[str]) -> list[Fault]:
    # Parsed, never compiled: compiling folds constants, and {{ "a" * 10**9 }} is one.
    environment = jinja2.Environment()
    try:
        template = environment.parse(text, path)
        used = list(template.find_all(nodes.Filter))
    except jinja2.TemplateSyntaxError as error:
        what = f"is not a valid template: {error.message}"
        return [Fault(path, error.lineno, what, "Correct the syntax there.")]
    except (RecursionError, OverflowError, MemoryError):
        return [Fault(path, None, "is nested too deeply", "Nest expressions less deeply.")]
    return [
        Fault(path, use.lineno, f"uses an unknown filter, {use.name}", "Use one of Jinja's own.")
        for use in used
        if use.name not in known
    ]


def _too_long(path: str, size: int) -> Fault:
    return Fault(
        path, None, f"is {size:,} bytes long", f"Keep each file under {MAX_FILE_BYTES:,} bytes."
    )


def _too_many(count: str) -> Fault:
    return Fault(".", None, f"has {count} files", f"Keep it to {MAX_FILES} files.")


def _together(unread: list[Fault], found: list[Fault]) -> list[Fault]:
    """Faults of files that were not read, and of the rest, to which the former seem missing."""
    known = {fault.file for fault in unread}
    return sorted(unread + [fault for fault in found if fault.file not in known], key=_place)


def _as_fault(path: str, error: SlowwaveError) -> Fault:
    return Fault(path, None, error.message.rstrip("."), error.mend or "Change it.")


def _place(fault: Fault) -> tuple[str, int, str]:
    return fault.file, fault.line or 0, fault.message
