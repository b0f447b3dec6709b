"""Cut source into statements, each a step, with the loops around it."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from tensor_maps.reading import tried


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


def with_block(frame: FrameType) -> tuple[list[str], list[ast.stmt]] | None:
    """Return the lines of the source, and the block of the ``with`` that is entered."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    tree = tried(lambda: ast.parse("".join(lines)), ast.Module([], []))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.With | ast.AsyncWith)
        for item in node.items
        if item.context_expr.lineno <= frame.f_lineno <= item.context_expr.end_lineno
    ]
    if not found:
        return None
    return [line.rstrip("\r\n") for line in lines], found[-1].body


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
        parts = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
        for part in parts:
            start = (part.pattern if isinstance(part, ast.match_case) else part).lineno
            ends = [getattr(n, "end_lineno", start) for n in head_nodes(part)]
            yield Unit(part, start, max(start, *ends, 0), loops, is_head=True)
            inside = (*loops, part) if isinstance(part, LOOPS) else loops
            yield from units_of(getattr(part, "body", []), inside)
        for name in ("orelse", "finalbody"):
            yield from units_of(getattr(node, name, []), loops)


DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
NAMED = DEFINITIONS | ast.Import | ast.ImportFrom


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
