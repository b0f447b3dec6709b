"""One call exchanged for another: what a reader may have taken a program for.

The wrong answers of a question are the outputs of programs that differ from the right
one in a single place: a ``clone`` or ``detach`` that is put in or left out, a flipped
``requires_grad``, a write in place that becomes a new tensor. :func:`exchanges` lists
such programs, those first that a reader is most likely to have had in mind: nearest to
the question, calls that copy or share before others.

An author may name an exchange, ``old -> new``; without ``new``, ``old`` is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

LONGEST_SAID = 64  # characters of code in one sentence
ARROW = "->"
# Methods that return what stands before them, or a part of it, in the same memory.
VIEWS = {"contiguous", "expand", "flatten", "mT", "narrow", "permute", "ravel"}
VIEWS |= {"reshape", "squeeze", "t", "transpose", "unsqueeze", "view", "view_as"}
MOVES = {"cpu", "cuda", "double", "float", "to", "type"}
MAKES = {"arange", "full", "ones", "rand", "randn", "tensor", "zeros"}
# What stands in the place of a call of a method: {call} is all of it, {owner} what
# stands before the dot, {rest} what stands behind that.
EXCHANGED = {
    **dict.fromkeys(MOVES, ("{call}.clone()", "{owner}", "{owner}.detach(){rest}")),
    **dict.fromkeys(VIEWS, ("{call}.clone()", "{owner}")),
    "numpy": ("{call}.copy()", "{owner}"),
    "state_dict": ("copy.deepcopy({call})",),
}
# The same of calls without arguments.
EXCHANGED_BARE = {
    "detach": ("{call}.clone()", "{owner}", "{owner}.clone()"),
    "clone": ("{owner}", "{owner}.detach()", "{owner}.detach().clone()"),
    "copy": ("{owner}",),
}
# What puts in twice what is there once.
IDLE = re.compile(r"(\.(?:clone|detach|copy)\(\))\1")
# What is exchanged. To leave out a write that the question is about says little: that
# comes after all else.
COPYING, OTHER, ORDER, LEFT_OUT = range(4)
MOST = 40  # programs that are run for one question


class BadExchange(ValueError):
    """An exchange that an author has named cannot be made; the message says why."""


@dataclass(frozen=True)
class Exchange:
    """A program that differs from the right one in the code of one block."""

    block: int
    code: str
    # What is exchanged, before "it prints that"; code is between double backticks.
    said: str
    named: bool = False  # by the author
    late: bool = False  # offered only where others are not enough


class _Edit(NamedTuple):
    """New text for a piece of a block, and how the exchange is said."""

    start: int
    end: int
    text: str
    kind: int
    said: str = ""


def exchanges(
    blocks: list[str], named: list[str], *, only_last: bool = False
) -> list[Exchange]:
    """Return the exchanges of a program, the likeliest first.

    The program is given block by block: its question is about the last one. With
    ``only_last`` the blocks before that are programs of their own. ``named`` is what
    the author has named.

    Raises
    ------
    BadExchange
        If a named exchange is not readable, or the program lacks what it names.
    """
    found = [_named(blocks, words) for words in named]
    last = len(blocks) - 1
    for place in [last] if only_last else range(last, -1, -1):
        found += _Block(blocks[place], is_last=place == last).exchanges(place)
    once: dict[tuple[int, str], Exchange] = {}
    for one in found:
        once.setdefault((one.block, one.code), one)
    return sorted(once.values(), key=lambda one: one.late)[:MOST]


def _named(blocks: list[str], words: str) -> Exchange:
    old, arrow, new = (part.strip() for part in words.partition(ARROW))
    if not old or not arrow:
        raise BadExchange(f"the exchange {words!r} is not written as 'old {ARROW} new'")
    for place in range(len(blocks) - 1, -1, -1):
        start = blocks[place].rfind(old)
        if start < 0:
            continue
        end = start + len(old)
        code = blocks[place][:start] + (new or "pass") + blocks[place][end:]
        try:
            ast.parse(code)
        except SyntaxError:
            raise BadExchange(f"with the exchange {words!r} it is no Python") from None
        line = code[code.rfind("\n", 0, start) + 1 :].partition("\n")[0].strip()
        fits = new in line and len(line) <= LONGEST_SAID
        said = f"With ``{line if fits else new}``" if new else _without(old)
        return Exchange(place, code, said, named=True)
    raise BadExchange(f"the exchange {words!r} names what no code up to there has")


def _without(code: str) -> str:
    return f"Without ``{code}``"


class _Block:
    """One block of code: its text, its tree and the edits that can be made to it."""

    def __init__(self, source: str, *, is_last: bool) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.is_last = is_last
        # Where each line begins, in characters; columns of the tree are in bytes.
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def exchanges(self, place: int) -> list[Exchange]:
        """Return what can be exchanged here, from the end of the block upwards."""
        found: list[tuple[int, int, Exchange]] = []
        for number, (statement, body) in enumerate(self._statements()):
            for edit in self._edits(statement, body):
                code = self.source[: edit.start] + edit.text + self.source[edit.end :]
                if IDLE.search(edit.text) or code == self.source:
                    continue
                try:
                    ast.parse(code)
                except SyntaxError:
                    continue
                said = edit.said or self._said(statement, edit)
                one = Exchange(place, code, said, late=edit.kind == LEFT_OUT)
                found.append((edit.kind, -number, one))
        return [one for *_, one in sorted(found, key=lambda found: found[:2])]

    def _statements(self) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
        """Yield each statement that does something, in order, with its neighbours."""
        waiting = [self.tree.body]
        found: list[tuple[ast.stmt, list[ast.stmt]]] = []
        while waiting:
            body = waiting.pop()
            for statement in body:
                if isinstance(statement, ast.Assert | ast.Import | ast.ImportFrom):
                    continue
                # What another block defines is a tool there, and no question here.
                if isinstance(statement, ast.FunctionDef) and not self.is_last:
                    continue
                found.append((statement, body))
                parts = ("body", "orelse", "finalbody")
                waiting += [getattr(statement, name, []) for name in parts]
        yield from sorted(found, key=lambda pair: pair[0].lineno)

    def _edits(self, statement: ast.stmt, body: list[ast.stmt]) -> Iterator[_Edit]:
        yield from self._of_statement(statement, body)
        printed = _is_print(statement)
        # From the right to the left: the outer call before those within it.
        written = (one for one in _expressions(statement) if hasattr(one, "end_lineno"))
        for node in sorted(written, key=self._end, reverse=True):
            if isinstance(node, ast.Call):
                yield from self._of_call(node)
            elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
                if isinstance(node.ctx, ast.Load):
                    yield self._put(node, f"{self._text(node)}.clone()", COPYING)
            elif isinstance(node, ast.BinOp) and not printed:
                for side in (node.right, node.left):
                    if isinstance(side, ast.Name):
                        yield self._put(side, f"{side.id}.detach()", OTHER)

    def _of_statement(
        self, statement: ast.stmt, body: list[ast.stmt]
    ) -> Iterator[_Edit]:
        text = self._text(statement)
        if isinstance(statement, ast.AugAssign):
            target, value = self._text(statement.target), self._text(statement.value)
            sign = text[len(target) : len(text) - len(value)].strip()[:-1]
            yield self._put(statement, f"{target} = {target} {sign} {value}", COPYING)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
            target, left = self._text(statement.targets[0]), statement.value.left
            if isinstance(left, ast.Name) and left.id == target:
                right = self._text(statement.value.right)
                start, end = self._end(left), self._start(statement.value.right)
                sign = self.source[start:end].strip()
                yield self._put(statement, f"{target} {sign}= {right}", COPYING)
        if _is_write(statement):
            yield self._put(statement, "pass", LEFT_OUT, _without(text))
        place = body.index(statement)
        before = body[place - 1] if place else statement
        if self.is_last and place and _is_step(statement) and _is_step(before):
            gap = self.source[self._end(before) : self._start(statement)]
            other = self._text(before)
            yield _Edit(
                self._start(before), self._end(statement),
                f"{text}{gap}{other}", ORDER,
                f"With ``{text}`` before ``{other}``",
            )  # fmt: skip

    def _of_call(self, call: ast.Call) -> Iterator[_Edit]:
        whole = self._text(call)
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        for argument in [] if whole.startswith("warnings.") else values:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, bool):
                yield self._put(argument, str(not argument.value), OTHER)
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if not name:
            return
        owner = self._text(call.func.value)
        if owner in ("torch", "copy", "np", "numpy", "torch.nn"):
            yield from self._of_function(call, owner, name)
            return
        if name == "copy_" and len(call.args) == 1:
            value = call.args[0]
            written = f"({self._text(value)})"
            if isinstance(value, ast.Name | ast.Call | ast.Attribute):
                written = self._text(value)
            yield self._put(value, f"{written}.detach()", COPYING)
        is_bare = not call.args and not call.keywords
        known = EXCHANGED | EXCHANGED_BARE if is_bare else EXCHANGED
        for new in known.get(name, ()):
            text = new.format(call=whole, owner=owner, rest=whole[len(owner) :])
            yield self._put(call, text, COPYING)

    def _of_function(self, call: ast.Call, owner: str, name: str) -> Iterator[_Edit]:
        rest = self.source[self._end(call.func) : self._end(call)]
        inner = self._text(call.args[0]) if call.args else ""
        of_name = bool(call.args) and isinstance(call.args[0], ast.Name)
        flags = {keyword.arg: keyword for keyword in call.keywords}
        if (owner, name) == ("torch", "from_numpy"):
            yield self._put(call, f"torch.tensor{rest}", COPYING)
        elif (owner, name) == ("torch", "tensor") and of_name:
            yield self._put(call, f"torch.from_numpy{rest}", COPYING)
        elif name == "deepcopy":
            yield self._put(call, inner, COPYING)
        elif name == "Parameter" and of_name:
            yield self._put(call.args[0], f"{inner}.clone()", COPYING)
        elif name in ("no_grad", "inference_mode"):
            yield self._put(call, "torch.enable_grad()", OTHER)
        elif name in MAKES and owner == "torch" and "requires_grad" not in flags:
            text = f"{self._text(call)[:-1]}, requires_grad=True)"
            yield self._put(call, text, OTHER)

    def _said(self, statement: ast.stmt, edit: _Edit) -> str:
        """Say an exchange by its statement, or by a piece of it that says enough."""
        if _is_step(statement):
            old, new = self._exchanged(statement, edit)
            if "\n" not in new and len(new) <= LONGEST_SAID:
                twice = new in map(str.strip, self.lines)
                told = f" in the place of ``{old}``" if twice else ""
                return f"With ``{new}``{told}"
        # The smallest piece that stands here alone; a flag alone says nothing.
        around = [
            node
            for node in _expressions(statement)
            if isinstance(node, ast.expr)
            and not isinstance(node, ast.Constant | ast.Name | ast.Attribute)
            and not _is_named(node, "print")
            and self._start(node) <= edit.start
            and edit.end <= self._end(node)
        ]
        around.sort(key=lambda node: len(self._text(node)))
        pieces = [self._exchanged(node, edit) for node in around]
        fitting = (
            (old, new)
            for old, new in pieces
            if self.source.count(old) == 1 and len(old + new) <= 2 * LONGEST_SAID
        )
        alone = (self.source[edit.start : edit.end], edit.text)
        old, new = next(fitting, pieces[0] if pieces else alone)
        return f"With ``{new}`` in the place of ``{old}``"

    def _exchanged(self, node: ast.AST, edit: _Edit) -> tuple[str, str]:
        """Return the text of a node before and after an exchange within it."""
        start, end = self._start(node), self._end(node)
        before, after = self.source[start : edit.start], self.source[edit.end : end]
        return self.source[start:end], f"{before}{edit.text}{after}"

    def _put(self, node: ast.AST, text: str, kind: int, said: str = "") -> _Edit:
        return _Edit(self._start(node), self._end(node), text, kind, said)

    def _start(self, node: ast.AST) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        before = self.lines[line - 1].encode()[:column].decode()
        return self.starts[line - 1] + len(before)

    def _text(self, node: ast.AST) -> str:
        return self.source[self._start(node) : self._end(node)]


def _expressions(statement: ast.stmt) -> list[ast.AST]:
    """Return the expressions of a statement, less those of statements within it."""
    waiting, found = list(ast.iter_child_nodes(statement)), []
    while waiting:
        node = waiting.pop()
        # The text of a format says what is asked: it must stay.
        if isinstance(node, ast.stmt | ast.JoinedStr | ast.ExceptHandler):
            continue
        found.append(node)
        waiting += ast.iter_child_nodes(node)
    return found


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == name


def _is_print(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and _is_named(statement.value, "print")


def _is_step(statement: ast.stmt) -> bool:
    """Whether a statement does one thing, and does not only show it."""
    simple = isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr)
    return simple and not _is_print(statement)


def _is_write(statement: ast.stmt) -> bool:
    """Whether a statement writes into a tensor, or asks one to keep its gradient."""
    if isinstance(statement, ast.Assign | ast.AugAssign):
        targets = getattr(statement, "targets", None) or [statement.target]
        return any(isinstance(target, ast.Subscript) for target in targets)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    name = getattr(statement.value.func, "attr", "")
    return name == "retain_grad" or name.endswith("_")
