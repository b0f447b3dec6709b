"""Cuts source into statements, each a step, with the loops around it."""

import ast
import linecache
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType

LOOPS = ast.For | ast.AsyncFor | ast.While
HAVE_OTHERS = (
    LOOPS | ast.If | ast.With | ast.AsyncWith | ast.Try | ast.TryStar | ast.Match
)
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
PATHS = (ast.Name, ast.Attribute, ast.Subscript)
# The lines that are shown, the statements in them, and the number of the first line.
Source = tuple[list[str], list[ast.stmt], int]


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
        self.units: dict[int, Unit] = {}
        for unit in units_of(body, ()):
            for line in range(unit.first, unit.last + 1):
                # A line with two statements is one step with the first of them.
                known = self.units.setdefault(line, unit)
                if known is not unit and unit.node not in known.also:
                    known.also += (unit.node,)


def _source_of(code: CodeType, names: dict) -> tuple[list[str], ast.Module]:
    """Return the lines of the file of some code, and its tree, or an empty one."""
    found = linecache.getlines(code.co_filename, names)
    lines = [line.rstrip("\r\n") for line in found]
    for _ in range(20):  # Python 3.11 may fail where another thread parses meanwhile
        with suppress(Exception):
            return lines, ast.parse("\n".join(lines))
    return lines, ast.Module([], [])


def with_block(frame: FrameType) -> Source:
    """Return the source of the block of the ``with`` that a frame enters.

    A RuntimeError is raised if there is none.
    """
    lines, tree = _source_of(frame.f_code, frame.f_globals)
    # Python says where the item stands, but for one in parentheses: there it says, from
    # line and column, where the statement does.
    line = list(frame.f_code.co_positions())[frame.f_lasti // 2][0] or frame.f_lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            head_ends = node.items[-1].context_expr.end_lineno
            if node.lineno <= line <= head_ends:
                first = line_range(node.body[0])[0]
                return lines[first - 1 : node.end_lineno], node.body, first
    raise RuntimeError(
        "steps() watches the block of a `with` statement whose source can be read: "
        "write `with steps() as seen:` in a file or a notebook's cell; at a prompt, in "
        "`python -c` and from standard input, give the code as text, as in "
        "`Steps().run(source, globals())`"
    )


def function_body(code: CodeType) -> Source:
    """Return the source of the definition of a function.

    A RuntimeError is raised if there is none.
    """
    lines, tree = _source_of(code, {})
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, last = line_range(node)
            # With its decorators, or without.
            is_there = code.co_firstlineno in (first, node.lineno)
            if is_there and node.name == code.co_name:
                return lines[first - 1 : last], node.body, first
    raise RuntimeError(
        f"the source of {code.co_name} cannot be read: steps watches functions that "
        "are defined with `def` in a file or in a notebook"
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


def line_range(node: ast.stmt) -> tuple[int, int]:
    """Return the first line of a statement, of its decorators too, and the last."""
    above = [one.lineno for one in getattr(node, "decorator_list", [])]
    return min([node.lineno, *above]), node.end_lineno


def head_nodes(part: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, less those of statements within it."""
    waiting = [part]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield node
                waiting.append(node)


def nodes_of(unit: Unit) -> Iterator[ast.AST]:
    """Yield all nodes of the statements that are one step."""
    yield unit.node
    yield from head_nodes(unit.node) if unit.is_head else ast.walk(unit.node)
    for node in unit.also:
        yield from ast.walk(node)


@lru_cache(maxsize=1024)
def names_in(unit: Unit) -> frozenset[str]:
    """Return the names that a statement reads or binds; of ``net.weight``, ``net``."""
    names = {node.id for node in nodes_of(unit) if isinstance(node, ast.Name)}
    return bound_in(unit) | names


@lru_cache(maxsize=1024)
def bound_in(unit: Unit) -> frozenset[str]:
    """Return the names that a statement binds or deletes."""
    named = DEFINITIONS | ast.ExceptHandler | ast.MatchAs | ast.MatchStar
    found: set[str | None] = set()
    for node in nodes_of(unit):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, named):
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping):
            found.add(node.rest)
    return frozenset(found - {None})


@lru_cache(maxsize=1024)
def paths_in(unit: Unit) -> frozenset[str]:
    """Return what a statement reads or binds as it is written, as ``net.weight``."""
    return frozenset(ast.unparse(n) for n in nodes_of(unit) if isinstance(n, PATHS))


def root_of(name: str) -> str:
    """Return the name that a path begins with."""
    return re.split(r"[.\[]", name, maxsplit=1)[0]
