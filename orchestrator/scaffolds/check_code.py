"""Static check of a scaffold's Python: its syntax tree is read, nothing of it runs.

This finds mistakes early and says where they are. It is no wall: what keeps untrusted code away
from the host is the sandbox.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from types import ModuleType

from orchestrator.scaffolds.fault import Fault

ALLOWED_MODULES = frozenset(
    {
        "__future__",
        "abc",
        "bisect",
        "collections",
        "collections.abc",
        "copy",
        "dataclasses",
        "difflib",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "json",
        "math",
        "operator",
        "re",
        "statistics",
        "string",
        "textwrap",
        "typing",
        "unicodedata",
    }
)
PUBLIC_MODULE = "agents.scaffold"
_KNOWN_MODULES = ALLOWED_MODULES | {PUBLIC_MODULE}

_REASONS = {
    "random": "an episode must play the same way each time",
    "secrets": "an episode must play the same way each time",
    "uuid": "an episode must play the same way each time",
    "time": "an episode must not depend on the clock",
    "datetime": "an episode must not depend on the clock",
}
_REFUSED_CALLS = frozenset(
    {"__import__", "breakpoint", "compile", "eval", "exec", "globals", "input", "open"}
)
_PLAIN_DUNDERS = frozenset(
    {"__doc__", "__eq__", "__hash__", "__init__", "__len__", "__name__", "__post_init__"}
)
_RESERVED = frozenset({"agents", "jinja2", "markupsafe", "orchestrator", "envs", "pydantic"})


def check_code(path: str, source: str, siblings: Collection[str]) -> list[Fault]:
    """Faults of one Python file.

    Args:
        path: Its path inside the scaffold.
        source: Its text.
        siblings: Names of the scaffold's own modules (`hooks`, `positions`).
    """
    stem = path.removesuffix(".py")
    if stem in sys.stdlib_module_names or stem in _RESERVED:
        return [Fault(path, None, f"hides the module {stem}", "Give the file another name.")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bad escape is the author's matter, not our console's
        try:
            # The whole compiler, as the parser alone lets a `return` outside a function pass.
            tree = ast.parse(source, path)
            compile(source, path, "exec", dont_inherit=True)
        except SyntaxError as error:
            what = f"cannot be read as Python: {error.msg}"
            return [Fault(path, error.lineno, what, "Correct the syntax there.")]
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            what = f"cannot be read as Python: {str(error) or 'it is nested too deeply'}"
            return [Fault(path, None, what, "Simplify it.")]
    return sorted(_faults(path, tree, siblings), key=lambda fault: fault.line or 0)


def _faults(path: str, tree: ast.Module, siblings: Collection[str]) -> Iterator[Fault]:
    yield from _hidden_modules(path, tree)
    for node in ast.walk(tree):
        rule = _RULES.get(type(node))
        if rule is not None:
            for message, mend in rule(node, siblings):
                yield Fault(path, getattr(node, "lineno", None), message, mend)


Findings = Iterator[tuple[str, str]]


def _import(node: ast.AST, siblings: Collection[str]) -> Findings:
    assert isinstance(node, ast.Import)
    for alias in node.names:
        yield from _module(alias.name, siblings)


def _import_from(node: ast.AST, siblings: Collection[str]) -> Findings:
    assert isinstance(node, ast.ImportFrom)
    if node.level:
        what = f"imports {'.' * node.level}{node.module or ''} relative to a package"
        yield what, "A scaffold's modules stand side by side: write `from positions import …`."
        return
    module = node.module or ""
    names = [alias.name for alias in node.names]
    if module == "agents" and names == ["scaffold"]:
        return
    yield from _module(module, siblings)
    if "*" in names:
        yield f"imports everything from {module}", "Name what is used."
    if module == PUBLIC_MODULE:
        for name in names:
            if name.startswith("_"):
                yield f"imports the private name {name} of {module}", "Use its public names."


def _module(name: str, siblings: Collection[str]) -> Findings:
    if name in _KNOWN_MODULES or name in siblings:
        return
    reason = _REASONS.get(name.partition(".")[0])
    yield (
        f"imports {name}, which a scaffold may not use" + (f": {reason}" if reason else ""),
        f"Use {PUBLIC_MODULE}, the scaffold's own modules, or "
        f"{', '.join(sorted(ALLOWED_MODULES - {'__future__'}))}.",
    )


def _hidden_modules(path: str, tree: ast.Module) -> Iterator[Fault]:
    """Modules that are taken out of others which may be imported: ``collections._sys``."""
    names: dict[str, ModuleType] = {}
    others: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            others.add(node.id)
        elif isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                # What of `agents` is loaded depends on who asks; a sandbox has little of it.
                if alias.name in ALLOWED_MODULES:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    names[alias.asname or whole] = import_module(whole)
        elif isinstance(node, ast.ImportFrom) and node.module in _KNOWN_MODULES:
            owner = import_module(node.module)
            for alias in node.names:
                found = getattr(owner, alias.name, None)
                if isinstance(found, ModuleType):
                    names[alias.asname or alias.name] = found
                    yield from _hidden(path, node, found)
    for name in others:  # what stands for something else in places is not known to be a module
        names.pop(name, None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found = _module_named(node, names)
            if found is not None:
                yield from _hidden(path, node, found)


def _hidden(path: str, node: ast.stmt | ast.expr, module: ModuleType) -> Iterator[Fault]:
    name = module.__name__
    if name in _KNOWN_MODULES or name.rpartition(".")[0] in _KNOWN_MODULES:
        return
    for message, mend in _module(name, ()):
        message = message.replace("imports", "reaches for the module", 1)
        yield Fault(path, node.lineno, message, mend)


def _module_named(node: ast.expr, names: Mapping[str, ModuleType]) -> ModuleType | None:
    """The module that an expression such as ``json.decoder`` stands for, if it is one."""
    links: list[str] = []
    while isinstance(node, ast.Attribute):  # in a loop: a chain may be longer than a stack is deep
        links.append(node.attr)
        node = node.value
    found: object = names.get(node.id) if isinstance(node, ast.Name) else None
    for link in reversed(links):
        if not isinstance(found, ModuleType):
            return None
        found = getattr(found, link, None)
    return found if isinstance(found, ModuleType) else None


def _name(node: ast.AST, _: Collection[str]) -> Findings:
    assert isinstance(node, ast.Name)
    if node.id in _REFUSED_CALLS or node.id in {"__builtins__", "__loader__", "__spec__"}:
        yield (
            f"uses {node.id}, which a scaffold may not",
            f"Reach memory and prompts through {PUBLIC_MODULE}.",
        )


def _attribute(node: ast.AST, _: Collection[str]) -> Findings:
    assert isinstance(node, ast.Attribute)
    if _is_dunder(node.attr) and node.attr not in _PLAIN_DUNDERS:
        yield f"reaches for {node.attr}", "Use ordinary attributes."


def _is_dunder(name: str) -> bool:
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


_RULES: dict[type[ast.AST], Callable[[ast.AST, Collection[str]], Findings]] = {
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Name: _name,
    ast.Attribute: _attribute,
}
