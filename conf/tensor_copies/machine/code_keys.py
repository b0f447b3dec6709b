"""Hashes of code: they change when what the code does may change, and only then.

What a lesson printed depends on the modules that ran, captured and drew it, not on
those that lay out the page. So a key is made of the modules that are named and of
those of ours that they import, without their comments, docstrings and blank lines.
The text that is hashed is the same in every version of Python: keys are compared
between machines.

To parse all modules takes half a second, so what was found in a text is kept under
``build``, by the text.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from tensor_copies.machine import kept_json
from tensor_copies.machine.fingerprint import CONF, PACKAGES

# Where a page or a module of ours finds what it imports.
ROOTS = PACKAGES
KEPT = CONF.parent / "build" / "code_keys.json"
MOST_KEPT = 400
IMPORT = re.compile(r"^\s*(?:from|import) ([\w.]+)", re.MULTILINE)
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def key_of(*parts: str) -> str:
    """Return sixteen hexadecimal digits that differ when any of the texts differs."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def hash_of(path: Path) -> str:
    """Return a hash of a file's bytes, or nothing for a file that is not there."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def code_behind(modules: Iterable[str], but: Iterable[str] = ()) -> str:
    """Return the key of modules of ours and of all that they import of ours.

    A file beside a module that the module names (a style, say) belongs to it. A
    module that is not ours is passed over.

    Parameters
    ----------
    modules
        The modules to begin with.
    but
        Modules that are no part of the key, nor what they alone import.
    """
    waiting, parts = list(modules), []
    seen = {_file(module, ROOTS) for module in but}
    known = len(_kept())
    while waiting:
        path = _file(waiting.pop(), ROOTS)
        if path is None or path in seen:
            continue
        seen.add(path)
        code, imported = _read(path.read_text(encoding="utf-8"))
        parts.append(f"{path.relative_to(CONF).as_posix()}\0{code}")
        parts += [
            f"{beside.name} {hash_of(beside)}"
            for beside in path.parent.iterdir()
            if beside.suffix != ".py" and beside.is_file() and beside.name in code
        ]
        waiting += imported
    if len(_kept()) != known:
        _keep(_kept())
    return key_of(*sorted(parts))


def _read(source: str) -> tuple[str, list[str]]:
    """Return the essence of a module and the names of all that it imports."""
    kept, name = _kept(), key_of(source, _own_hash())
    if name not in kept:
        kept[name] = _parsed(source)
    return kept[name]


@cache
def _own_hash() -> str:
    return hash_of(Path(__file__))


@cache
def _kept() -> dict[str, tuple[str, list[str]]]:
    return kept_json.load(KEPT) or {}


def _keep(kept: dict[str, tuple[str, list[str]]]) -> None:
    for old in list(kept)[:-MOST_KEPT]:
        del kept[old]
    with suppress(OSError):  # it is only slower without
        kept_json.save(KEPT, kept)


def _parsed(source: str) -> tuple[str, list[str]]:
    tree = ast.parse(source)
    found: list[str] = []
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module]
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return essence(source, tree, nodes), found


def imported_by(text: str) -> list[str]:
    """Return the modules that the cells of a page import, ours or not."""
    return IMPORT.findall(text)


def definitions(source: str, roots: Iterable[str], but: Iterable[str] = ()) -> str:
    """Return the essence of top-level definitions and of all those that they use.

    Parameters
    ----------
    source
        The text of a module.
    roots
        The names to begin with.
    but
        Names that are not followed.
    """
    tree = ast.parse(source)
    defined = {name: node for node in tree.body for name in _names(node)}
    waiting, seen = list(roots), set(but)
    found: set[ast.stmt] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in defined:
            continue
        seen.add(name)
        found.add(defined[name])
        waiting += [
            used.id for used in ast.walk(defined[name]) if isinstance(used, ast.Name)
        ]
    tree.body = [node for node in tree.body if node in found]
    return essence(source, tree)


def essence(
    source: str, tree: ast.Module, nodes: Iterable[ast.AST] | None = None
) -> str:
    """Return the code of the statements of ``tree``, which is parsed from ``source``.

    Comments, docstrings and blank lines are no part of it. ``nodes`` are all of the
    tree, from whoever has walked it already.
    """
    lines = _without_comments(source)
    inside: set[int] = set()  # a blank line of a text is a part of it
    said: set[int] = set()
    for node in ast.walk(tree) if nodes is None else nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr):
            inside.update(range(node.lineno, node.end_lineno))
        elif isinstance(node, ast.Module | Named) and _has_docstring(node):
            said.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    wanted = {
        row
        for node in tree.body
        for row in range(_first_line(node), node.end_lineno + 1)
    }
    wanted -= said
    kept = []
    for row, line in enumerate(lines, 1):
        if row in wanted:
            line = line if row in inside else line.rstrip()
            kept += [line] if line or row in inside else []
    return "\n".join(kept)


@cache
def _without_comments(source: str) -> tuple[str, ...]:
    """Return the lines of a source; of a large one this takes a tenth of a second."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return tuple(lines)


def _has_docstring(node: ast.Module | Named) -> bool:
    first = node.body[0] if node.body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _names(node: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a module defines."""
    if isinstance(node, Named):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def _file(module: str, roots: tuple[Path, ...]) -> Path | None:
    """Return the file of a module of ours; a package's own file only sets it up."""
    for root in roots:
        path = root.joinpath(*module.split(".")).with_suffix(".py")
        if path.is_file():
            return path
    return None
