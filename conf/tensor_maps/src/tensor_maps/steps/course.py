"""Follows one frame through its statements: where it is, what each one did and wrote.

What a frame prints is heard, whoever else prints meanwhile.
"""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from traceback import format_exc
from types import FrameType
from typing import Any

from tensor_maps.steps.look import Look, differences, look
from tensor_maps.steps.syntax import Region, Unit, line_range

MOST_STEPS = 300
MOST_LETTERS = 300
# Of a loop, the first turns are steps, and all later ones together are one more; of a
# loop within a loop, fewer are.
MOST_TURNS = (3, 2, 1)
MOST_PRINTED = 20_000  # characters of a step that are kept
Hearing = Callable[[str], None]


@dataclass(eq=False)
class Loop:
    """One run of a loop: where in the code a turn begins, its depth and its turn.

    So many of its turns are ``shown`` as steps.
    """

    node: ast.stmt
    begins: int
    depth: int
    shown: int
    turn: int = 1


@dataclass(eq=False)
class Step:
    """One step, before it is drawn: where, and what was seen before and after.

    Its lines in the code shown are ``shift`` after those of its statement, and
    ``left_out`` counts the letters of what it printed that were not kept.
    """

    unit: Unit
    turns: list[tuple[Loop, int]]
    printed: str
    raised: str
    differ: dict[str, frozenset[str]]
    before: Look
    after: Look
    collapsed: bool
    shift: int
    left_out: int

    def place(self) -> dict:
        """Return the lines of the statement, and the turn of each loop around it."""
        return {
            "first": self.unit.first + self.shift,
            "last": self.unit.last + self.shift,
            "turn": [[turn, loop.turn] for loop, turn in self.turns],
        }

    @property
    def changed(self) -> list[str]:
        """The names that are there and whose facts changed."""
        return [name for name, kinds in self.differ.items() if "gone" not in kinds]


@dataclass(eq=False)
class Noted:
    """The steps of all frames that one :class:`Steps` watches, in the order they end.

    ``turns`` is how many of a loop are steps, as :class:`Steps` has it.
    """

    turns: tuple[int, ...]
    steps: list[Step] = field(default_factory=list)
    not_shown: int = 0
    failed: str = ""


class Course:
    """One frame that is watched, or what is run in one namespace piece by piece."""

    def __init__(self, region: Region, noted: Noted) -> None:
        self.region, self.noted = region, noted
        self._seen: Look | None = None
        self._unit: Unit | None = None
        self._began = -1
        self._turns: list[tuple[Loop, int]] = []
        self._loops: list[Loop] = []
        self._raised: tuple[str, bool] | None = None
        self._heard, self._left_out = "", 0
        self._deafen: Callable[[], None] | None = None  # while the frame runs

    # -- What Python tells. The program that is watched must not notice a failure here.

    def begin(self, frame: FrameType, within: bool) -> None:
        """Look for the first time; ``within`` a line, its statement has begun."""
        try:
            if self._seen is None:
                self._seen = look(frame.f_locals)
            if within:
                self._unit = self.region.units.get(frame.f_lineno)
                self._began = frame.f_lasti
            self._deafen = listen(id(frame), self.noted, self._hear)
        except Exception:
            self._fail()

    def line(self, frame: FrameType) -> None:
        """Note that a line begins."""
        try:
            unit = self.region.units.get(frame.f_lineno)
            if unit is None or unit is not self._unit or frame.f_lasti <= self._began:
                self._next(unit, frame)
        except Exception:
            self._fail()

    def raises(self, error: BaseException) -> None:
        """Note what is raised."""
        try:
            text = str(error).strip().partition("\n")[0]
        except Exception:
            text = ""
        said = f"{type(error).__name__}: {text}" if text else type(error).__name__
        self._raised = (said[:MOST_LETTERS], isinstance(error, StopIteration))

    def end(self, namespace: Any) -> None:
        """Note the last step, unless there is no namespace to look at any more."""
        try:
            left, self._loops = self._loops[::-1], []
            if namespace is not None:
                self._finish(left, namespace)
        except Exception:
            self._fail()
        self._unit = self._raised = None
        self._turns, self._loops, self._began = [], [], -1
        if self._deafen is not None:
            self._deafen()
        self._deafen = None

    def _fail(self) -> None:
        self.noted.failed = self.noted.failed or format_exc()

    def _hear(self, text: str) -> None:
        kept = text[: MOST_PRINTED - len(self._heard)]
        self._heard += kept
        self._left_out += len(text) - len(kept)

    # -- Statements and loops

    def _next(self, unit: Unit | None, frame: FrameType) -> None:
        """Note that a statement begins."""
        caught = unit is not None and isinstance(unit.node, ast.ExceptHandler)
        if self._raised and self._raised[1] and not caught:
            self._raised = None  # an iterator has ended
        self._finish(self._move(unit, frame.f_lasti), frame)
        self._unit, self._began = unit, frame.f_lasti
        inside = len(unit.loops) if unit else 0
        self._turns = [(loop, loop.turn) for loop in self._loops[:inside]]

    def _move(self, unit: Unit | None, at: int) -> list[Loop]:
        """Count the turns of the loops; return those that have ended, inner first.

        ``at`` is where the statement begins, in bytes of the code.
        """
        inside = unit.loops if unit else ()
        around = (*inside, unit.node) if unit and unit.is_head else inside
        stay = 0
        for loop, node in zip(self._loops, around, strict=False):
            if loop.node is not node:
                break
            stay += 1
            if stay <= len(inside) and at <= loop.begins:
                loop.turn += 1
                break
        left = self._loops[stay:][::-1]
        self._loops = self._loops[:stay]
        for node in inside[stay:]:
            depth, most = len(self._loops), self.noted.turns
            self._loops.append(Loop(node, at, depth, most[min(depth, len(most) - 1)]))
        return left

    def _finish(self, left: list[Loop], names: Any) -> None:
        """Note the step of the statement that has run, unless its turn is not shown.

        Of loops that were ``left``, all turns that were not shown are one step more.
        """
        if (unit := self._unit) is not None:
            of = [(o, o.turn) for o in (*self._loops, *left) if o.node is unit.node]
            if all(turn <= loop.shown for loop, turn in (*self._turns, *of)):
                self._add(unit, self._turns, names, collapsed=False)
        for loop in left:
            outer = self._turns[: loop.depth]
            is_shown = all(turn <= one.shown for one, turn in outer)
            if loop.turn > loop.shown and is_shown:
                whole = Unit(loop.node, *line_range(loop.node), ())
                self._add(whole, [*outer, (loop, loop.turn)], names, collapsed=True)

    def _add(self, unit: Unit, turns: list, names: Any, collapsed: bool) -> None:
        """Add a step; ``names`` is a namespace, or the frame that has it."""
        noted, was = self.noted, self._seen
        if len(noted.steps) >= MOST_STEPS:
            noted.not_shown += 1
            return
        if isinstance(names, FrameType):
            names = names.f_locals  # not before: it takes time
        now = look(names, was, unit)
        printed, left_out = self._heard, self._left_out
        self._heard, self._left_out = "", 0
        raised = self._raised[0] if self._raised else ""
        differ = differences(was, now, unit, collapsed)
        if unit.is_head and not (differ or printed or raised):
            return
        self._raised, self._seen = None, now
        noted.steps.append(
            Step(
                unit, turns, printed, raised, differ, was, now, collapsed,
                shift=self.region.shift, left_out=left_out,
            )
        )  # fmt: skip


# What is printed ----------------------------------------------------------------------

_lock = threading.RLock()
_streams: dict[int, _Stream] = {}


class _Stream:
    """A stream whose ``write`` is heard: by frames, each with its owner."""

    def __init__(self, stream: Any) -> None:
        # A notebook's stream may have a function of its own there already.
        self.stream, self.earlier = stream, vars(stream).get("write")
        self.frames: dict[int, list[tuple[object, Hearing]]] = {}
        write = stream.write

        def hear(text: str) -> Any:
            # Who prints is on the stack: no other thread is, no coroutine that waits.
            frame, told = sys._getframe(1), []
            while frame is not None and self.frames:
                for owner, tell in tuple(self.frames.get(id(frame), ())):
                    if owner not in told:  # of its frames the innermost is told
                        told.append(owner)
                        tell(text)
                frame = frame.f_back
            return write(text)

        self.hear = stream.write = hear

    def put_back(self) -> None:
        if vars(self.stream).get("write") is self.hear:  # nobody else took over
            del self.stream.write
            if self.earlier is not None:
                self.stream.write = self.earlier


def listen(frame: int, owner: object, tell: Hearing) -> Callable[[], None]:
    """Tell what the frame of this id writes to ``sys.stdout``; return what ends it."""
    stream, one = sys.stdout, (owner, tell)
    if not hasattr(stream, "__dict__"):
        return lambda: None
    with _lock:
        heard = _streams.get(id(stream)) or _Stream(stream)
        _streams[id(stream)] = heard
        heard.frames.setdefault(frame, []).append(one)

    def end() -> None:
        with _lock:
            heard.frames[frame].remove(one)
            heard.frames = {frame: ones for frame, ones in heard.frames.items() if ones}
            if not heard.frames and _streams.pop(id(stream), None):
                heard.put_back()

    return end
