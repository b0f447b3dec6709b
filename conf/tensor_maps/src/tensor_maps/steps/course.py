"""Follow one frame through its statements: where it is, and what each one did."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from traceback import format_exc
from types import CodeType, FrameType
from typing import Any

from tensor_maps.reading import tried
from tensor_maps.steps.facts import Look, differences
from tensor_maps.steps.listen import MOST_PRINTED_IN_ALL, Heard, listen
from tensor_maps.steps.step import MOST_TURNS, Loop, Step
from tensor_maps.steps.syntax import Region, Unit, as_one, line_range

MOST_STEPS = 300
MOST_LETTERS = 300


class Noted:
    """The steps of all frames that one :class:`Steps` watches, in the order they end.

    ``look`` looks at a namespace: it is given that, the look before, and the statement.
    """

    def __init__(
        self,
        look: Callable[[Any, Look | None, Unit | None], Look],
        turns: tuple[int, ...] = MOST_TURNS,
    ) -> None:
        self.look = look
        self.turns = turns
        self.steps: list[Step] = []
        self.not_shown = 0
        self.room = MOST_PRINTED_IN_ALL
        self.failed = ""


@dataclass(frozen=True)
class Quiet:
    """A loop of which no turn is shown any more: nothing is done on its lines.

    A turn begins where the frame is ``begins`` bytes in its code; at ``low`` or before,
    the loop around it has come to its own next turn.
    """

    loop: Loop
    lines: frozenset[int]
    begins: int
    low: int


class Course:
    """One frame that is watched, or what is run in one namespace piece by piece."""

    def __init__(self, region: Region, noted: Noted) -> None:
        self.region, self.noted = region, noted
        self.seen: Look | None = None
        self.quiet: Quiet | None = None
        self._unit: Unit | None = None
        self._began = -1
        self._turns: list[tuple[Loop, int]] = []
        self._loops: list[Loop] = []
        self._raised: tuple[str, bool] | None = None
        self._heard = Heard()
        self._deafen: Callable[[], None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not ended."""
        return self._deafen is not None

    # -- What Python tells. The program that is watched must not notice a failure here.

    def begin(self, frame: FrameType, within: bool = False) -> None:
        """Look for the first time; ``within`` a line, its statement has begun."""
        try:
            if self.seen is None:
                self.seen = self.noted.look(frame.f_locals, None, None)
            if within:
                self._unit = self.region.units.get(frame.f_lineno)
                self._began = frame.f_lasti
            self._deafen = listen(id(frame), self.noted, self._hear)
        except Exception:
            self._fail()

    def line(self, frame: FrameType) -> bool:
        """Note that a line begins; return whether it need not be told again."""
        at, quiet = frame.f_lasti, self.quiet
        if quiet is not None:
            if at > quiet.low and frame.f_lineno in quiet.lines:
                if at != quiet.begins:
                    return True
                quiet.loop.turn += 1
                return False
            self.quiet = None
        try:
            self._line(frame, at)
        except Exception:
            self._fail()
        return False

    def raises(self, kind: type[BaseException], error: object) -> None:
        """Note what is raised."""
        text = tried(lambda: str(error), "").strip().partition("\n")[0]
        said = f"{kind.__name__}: {text}" if text else kind.__name__
        self._raised = (said[:MOST_LETTERS], issubclass(kind, StopIteration))

    def end(self, namespace: Any, is_lost: bool = False) -> None:
        """Note the last step.

        ``is_lost`` says that lines were not told: all from the last statement on that
        was is one step.
        """
        try:
            if is_lost and self._unit is not None:
                self._loops, self._turns = [], []
                self._unit = self.region.rest(self._unit)
            if namespace is not None:
                self._finish(namespace)
                left, self._loops, self._unit = self._loops[::-1], [], None
                self._leave(left, namespace)
        except Exception:
            self._fail()
        self._unit = self.quiet = self._raised = None
        self._turns, self._loops, self._began = [], [], -1
        if self._deafen is not None:
            self._deafen()
            self._deafen = None

    def _fail(self) -> None:
        self.noted.failed = self.noted.failed or format_exc()

    def _hear(self, text: str) -> None:
        self.noted.room -= self._heard.add(text, self.noted.room)

    # -- Statements and loops

    def _line(self, frame: FrameType, at: int) -> None:
        unit = self.region.units.get(frame.f_lineno)
        if unit is not None and unit is self._unit and at > self._began:
            return  # a statement goes on, on another of its lines
        caught = unit is not None and isinstance(unit.node, ast.ExceptHandler)
        if self._raised and self._raised[1] and not caught:
            self._raised = None  # an iterator has ended
        left = self._move(unit, at)
        namespace = frame.f_locals
        self._finish(namespace, [*self._loops, *left])
        self._leave(left, namespace)
        self._unit, self._began = unit, at
        inside = len(unit.loops) if unit else 0
        self._turns = [(loop, loop.turn) for loop in self._loops[:inside]]
        self.quiet = self._quiet()

    def _move(self, unit: Unit | None, at: int) -> list[Loop]:
        """Count the turns of the loops; return those that have ended, inner first."""
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
            depth = len(self._loops)
            self._loops.append(Loop(node, at, depth, self.noted.turns))
        return left

    def _quiet(self) -> Quiet | None:
        """Return the outermost loop that shows no turn any more, if we are in one."""
        for depth, (loop, turn) in enumerate(self._turns):
            if loop.collapsed and turn > loop.shown:
                last = line_range(loop.node.body[-1])[1]
                lines = frozenset(range(loop.node.lineno, last + 1))
                low = self._loops[depth - 1].begins if depth else -1
                return Quiet(loop, lines, loop.begins, low)
        return None

    def _leave(self, left: list[Loop], namespace: Any) -> None:
        """Make one step of all turns that were not shown, of loops that have ended."""
        for loop in left:
            outer = [(one, turn) for one, turn in self._turns if one is not loop]
            outer = outer[: loop.depth]
            if loop.collapsed and all(turn <= one.shown for one, turn in outer):
                turns = [*outer, (loop, loop.turn)]
                self._add(as_one(loop.node), turns, namespace, collapsed=True)

    def _finish(self, namespace: Any, loops: Iterable[Loop] = ()) -> None:
        """Note the step of the statement that has run, or of the head of a loop."""
        if self._unit is None:
            return
        hidden = [loop for loop, turn in self._turns if turn > loop.shown]
        begins = next((loop for loop in loops if loop.node is self._unit.node), None)
        if begins is not None and begins.turn > begins.shown:
            hidden.append(begins)
        for loop in hidden:
            loop.collapsed = True
        if not hidden:
            self._add(self._unit, self._turns, namespace)

    def _add(
        self,
        unit: Unit,
        turns: list[tuple[Loop, int]],
        namespace: Any,
        collapsed: bool = False,
    ) -> None:
        noted = self.noted
        if len(noted.steps) >= MOST_STEPS:
            noted.not_shown += 1
            return
        was = self.seen
        now = noted.look(namespace, was, unit)
        printed, left_out = self._heard.take()
        raised = self._raised[0] if self._raised else ""
        differ = differences(was, now, unit, collapsed)
        if unit.is_head and not (differ or printed or raised):
            return
        self._raised, self.seen = None, now
        step = Step(unit, turns, printed, raised, differ, was, now, collapsed)
        step.shift, step.left_out = self.region.shift, left_out
        noted.steps.append(step)


def is_module_level(frame: FrameType) -> bool:
    """Whether a frame runs the statements of a module, a cell or a prompt."""
    return frame.f_locals is frame.f_globals


Starts = Callable[[FrameType], Course | None]


@dataclass(eq=False)
class Expected:
    """Frames that are to be watched as soon as they begin.

    ``starts`` returns the course of such a frame, or nothing of another. They are of
    one of ``codes``; or, where there are none, of code that ``may_be`` it.
    """

    starts: Starts
    codes: tuple[CodeType, ...] = ()
    may_be: Callable[[CodeType], bool] | None = None

    def may_begin(self, code: CodeType) -> bool:
        """Whether a frame of this code may be one."""
        if self.may_be is not None:
            return self.may_be(code)
        return any(one is code for one in self.codes)
