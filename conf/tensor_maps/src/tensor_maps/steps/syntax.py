"""Cuts source into statements, each a step, with the loops around it."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from types import CodeType, FrameType

NO_SOURCE = (
    "steps() watches the block of a `with` statement whose source can be read: write "
    "`with steps() as seen:` in a file or a notebook's cell; at a prompt, in `python "
    "-c` and from standard input, give the code as text, as in "
    "`Steps().run(source, globals())`"
)


@dataclass(eq=False)
class Unit:
    """A statement, or the head of one that has others in it.

    ``also`` are the statements that follow it on its last line.
    """

    node: ast.AST
    first: int
    last: int
    loops: tuple[ast.stmt, ...]
    is_head: bool = False
    also: tuple[ast.AST, ...] = ()


class Region:
    """Statements that are watched: by line, and where they stand in the code shown."""

    def __init__(self, body: list[ast.stmt], shift: int = 0) -> None:
        self.shift = shift
        self.last = body[-1].end_lineno if body else 0
        self.units: dict[int, Unit] = {}
        for unit in units_of(body, ()):
            for line in range(unit.first, unit.last + 1):
                # A line with two statements is one step with the first of them.
                known = self.units.setdefault(line, unit)
                if known is not unit and unit.node not in known.also:
                    known.also += (unit.node,)

    def rest(self, unit: Unit) -> Unit:
        """Return all from a statement on as one, where the others were not seen."""
        later = {id(u): u.node for u in self.units.values() if u.first >= unit.first}
        return Unit(ast.Module([*later.values()], []), unit.first, self.last, ())


def block_frame(frame: FrameType) -> FrameType:
    """Return the frame whose block is watched.

    That is not a function with ``@contextmanager`` around ``steps()``, but the one that
    calls it.
    """
    back = frame.f_back
    if back is None or back.f_globals.get("__name__") != "contextlib":
        return frame
    return block_frame(back.f_back) if back.f_code.co_name == "__enter__" else frame


_parsing, MOST_TRIES = Lock(), 20


def _source_of(code: CodeType, names: dict) -> tuple[list[str], ast.Module]:
    """Return the lines of the file of some code, and its tree, or an empty one."""
    lines = linecache.getlines(code.co_filename, names)
    lines = [line.rstrip("\r\n") for line in lines]
    for _ in range(MOST_TRIES):
        try:
            with _parsing:
                return lines, ast.parse("\n".join(lines))
        except SystemError:  # Python 3.11, where another thread parses meanwhile
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            break
    return lines, ast.Module([], [])


def with_block(frame: FrameType) -> tuple[list[str], list[ast.stmt]] | None:
    """Return the lines of the source, and the block of the ``with`` that is entered."""
    lines, tree = _source_of(frame.f_code, frame.f_globals)
    # Python says where the item stands, but for one in parentheses: there it says, from
    # line and column, where the statement does.
    line = list(frame.f_code.co_positions())[frame.f_lasti // 2][0] or frame.f_lineno
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            items = [item.context_expr for item in node.items]
            within = any(item.lineno <= line <= item.end_lineno for item in items)
            found += [node] if within or node.lineno == line else []
    if not found:
        return None
    return lines, max(found, key=lambda node: (node.lineno, node.col_offset)).body


def function_body(code: CodeType) -> tuple[list[str], ast.AST] | None:
    """Return the lines of the source, and the definition of a function."""
    lines, tree = _source_of(code, {})
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            starts = node.lineno, line_range(node)[0]  # with its decorators, or without
            if node.name == code.co_name and code.co_firstlineno in starts:
                return lines, node
    return None


LOOPS = ast.For | ast.AsyncFor | ast.While
HAVE_OTHERS = (
    LOOPS | ast.If | ast.With | ast.AsyncWith | ast.Try | ast.TryStar | ast.Match
)


def units_of(body: list[ast.stmt], loops: tuple[ast.stmt, ...]) -> Iterator[Unit]:
    """Yield all statements of a body, and the heads of those that have others in them.

    A function or a class is one statement, as is what stands on one line.
    """
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        first, last = line_range(node)
        if not isinstance(node, HAVE_OTHERS) or first == last:
            yield Unit(node, first, last, loops)
            continue
        for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            start = (part.pattern if isinstance(part, ast.match_case) else part).lineno
            ends = [getattr(one, "end_lineno", start) for one in head_nodes(part)]
            yield Unit(part, start, max([start, *ends]), loops, True)
            inside = (*loops, part) if isinstance(part, LOOPS) else loops
            yield from units_of(getattr(part, "body", []), inside)
        for name in ("orelse", "finalbody"):
            yield from units_of(getattr(node, name, []), loops)


DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def line_range(node: ast.stmt) -> tuple[int, int]:
    """Return the first line of a statement, of its decorators too, and the last."""
    above = [one.lineno for one in getattr(node, "decorator_list", [])]
    return min([node.lineno, *above]), node.end_lineno


def head_nodes(part: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, less those of statements within it."""
    within = (ast.stmt, ast.ExceptHandler, ast.match_case)
    waiting = [part]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if not isinstance(node, within):
                yield node
                waiting.append(node)


def nodes_of(unit: Unit) -> Iterator[ast.AST]:
    """Yield all nodes of the statements that are one step."""
    yield unit.node
    yield from head_nodes(unit.node) if unit.is_head else ast.walk(unit.node)
    for node in unit.also:
        yield from ast.walk(node)


def as_one(loop: ast.stmt) -> Unit:
    """Return a loop as one statement: with its body."""
    return Unit(loop, *line_range(loop), ())


PATHS = (ast.Name, ast.Attribute, ast.Subscript)


@lru_cache(maxsize=1024)
def names_in(unit: Unit) -> frozenset[str]:
    """Return the names that a statement reads or binds; of ``net.weight``, ``net``."""
    names = {node.id for node in nodes_of(unit) if isinstance(node, ast.Name)}
    return bound_in(unit) | names


@lru_cache(maxsize=1024)
def bound_in(unit: Unit) -> frozenset[str]:
    """Return the names that a statement binds or deletes."""
    found: set[str] = set()
    for node in nodes_of(unit):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case _ if isinstance(node, DEFINITIONS):
                found.add(node.name)
    return frozenset(found)


@lru_cache(maxsize=1024)
def paths_in(unit: Unit) -> frozenset[str]:
    """Return what a statement reads or binds as it is written, as ``net.weight``."""
    return frozenset(ast.unparse(n) for n in nodes_of(unit) if isinstance(n, PATHS))


def root_of(name: str) -> str:
    """Return the name that a path begins with."""
    return re.split(r"[.\[]", name, maxsplit=1)[0]
