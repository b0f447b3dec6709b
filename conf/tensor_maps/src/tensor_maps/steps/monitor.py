"""Be told of lines by ``sys.monitoring``, of Python 3.12 and newer.

Only the code that is watched is monitored: other functions cost nothing, and debuggers
and coverage tools, each with a number of its own, notice nothing.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import CodeType, FrameType
from typing import Any

from tensor_maps.reading import forget_copy
from tensor_maps.steps.course import Course, Expected

# Of tools; those of debuggers, coverage tools and profilers are 0 to 2.
NUMBERS = (4, 3)


class _Frame:
    """A frame that is watched, by one of several who may."""

    def __init__(self, frame: FrameType, course: Course, ends: bool) -> None:
        self.frame_id, self.code = id(frame), frame.f_code
        self.course, self.ends = course, ends


class _Monitor:
    """The tool, while anything is watched: one for all threads."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lock = threading.RLock()
        self.frames: dict[int, list[_Frame]] = {}
        self.expected: list[tuple[int, Expected]] = []
        self.is_on = False
        # Whether lines of a loop are told no more: until all are told again.
        self.has_silenced = False
        # By its id, of how many frames that are watched a code object is.
        self.codes: Counter[int] = Counter()

    # -- What Python tells

    def line(self, code: CodeType, number: int) -> Any:
        """Be told of a line."""
        frame = sys._getframe(1)
        watched = self.frames.get(id(frame))
        if watched is None:
            return None
        if len(watched) == 1:
            course = watched[0].course
            was = course.quiet
            if course.line(frame):
                # Another frame of this code would not be told either.
                if self.codes[id(code)] > 1:
                    return None
                self.has_silenced = True
                return sys.monitoring.DISABLE
            quiet = course.quiet
            if quiet is was and quiet is not None:
                return None
            if was is not None and quiet is None:
                self.tell_all()  # the loop may run again
        else:
            for one in watched:
                one.course.line(frame)
        forget_copy(frame)
        return None

    def raises(self, code: CodeType, at: int, error: BaseException) -> None:
        """Be told of an exception, in whatever code."""
        for one in self.frames.get(id(sys._getframe(1)), ()):
            one.course.raises(type(error), error)

    def start(self, code: CodeType, at: int) -> Any:
        """Be told that a function or a module begins."""
        frame, mine, may_be = sys._getframe(1), threading.get_ident(), False
        for thread, expected in tuple(self.expected):
            if not expected.may_begin(code):
                continue
            may_be = True
            course = expected.starts(frame) if thread == mine else None
            if course is not None:
                self.watch(frame, course, ends=True)
                return None
        if may_be or self.codes[id(code)]:
            return None
        self.has_silenced = True
        return sys.monitoring.DISABLE

    def returns(self, code: CodeType, at: int, value: object) -> None:
        """Be told that a function or a module ends."""
        frame = sys._getframe(1)
        for one in tuple(self.frames.get(id(frame), ())):
            if one.ends:
                one.course.end(frame.f_locals)
                self.leave(one)

    # -- Where watching begins and ends

    def watch(self, frame: FrameType, course: Course, *, ends: bool) -> _Frame:
        """Watch a frame from its next line on."""
        one = _Frame(frame, course, ends)
        course.begin(frame, within=not ends)
        forget_copy(frame)
        with self.lock:
            self.frames.setdefault(one.frame_id, []).append(one)
            self.codes[id(one.code)] += 1
            self._update(one.code)
            self.tell_all()
        return one

    def leave(self, one: _Frame) -> None:
        """Watch a frame no longer."""
        with self.lock:
            there = self.frames.get(one.frame_id, [])
            if one not in there:
                return
            there.remove(one)
            if not there:
                del self.frames[one.frame_id]
            self.codes[id(one.code)] -= 1
            self._update(one.code)

    def expect(self, expected: Expected) -> tuple[int, Expected]:
        """Watch frames of this thread when they begin."""
        one = threading.get_ident(), expected
        with self.lock:
            self.expected.append(one)
            self._update(*expected.codes)
            self.tell_all()
        return one

    def expect_no_more(self, one: tuple[int, Expected]) -> None:
        """End what :meth:`expect` began."""
        with self.lock:
            if one in self.expected:
                self.expected.remove(one)
                self._update(*one[1].codes)

    def tell_all(self) -> None:
        """Be told again of lines that were silenced."""
        if self.has_silenced:
            self.has_silenced = False
            sys.monitoring.restart_events()

    def _update(self, *codes: CodeType) -> None:
        """Ask for the events that are needed now: of all code, and of these."""
        tool, events = sys.monitoring, sys.monitoring.events
        told = {
            events.LINE: self.line,
            events.RAISE: self.raises,
            events.PY_START: self.start,
            events.PY_RETURN: self.returns,
            events.PY_UNWIND: self.returns,
        }
        needed = bool(self.frames or self.expected)
        if needed and not self.is_on:
            tool.use_tool_id(self.number, "tensor_maps")
            for event, function in told.items():
                tool.register_callback(self.number, event, function)
            self.is_on = True
        if not self.is_on:
            return
        everywhere = 0
        if needed:
            everywhere = events.RAISE
            everywhere |= events.PY_UNWIND if self.expected else 0
            if any(expected.may_be is not None for _, expected in self.expected):
                everywhere |= events.PY_START
        if tool.get_events(self.number) != everywhere:
            tool.set_events(self.number, everywhere)
        for code in codes:
            wanted = events.LINE | events.PY_RETURN if self.codes[id(code)] else 0
            if any(one.codes and one.may_begin(code) for _, one in self.expected):
                wanted |= events.PY_START | events.LINE | events.PY_RETURN
            if tool.get_local_events(self.number, code) != wanted:
                tool.set_local_events(self.number, code, wanted)
        if not needed:
            self.tell_all()
            self.codes.clear()
            for event in told:
                tool.register_callback(self.number, event, None)
            tool.free_tool_id(self.number)
            self.is_on = False


_monitors: list[_Monitor] = []


def monitor() -> _Monitor | None:
    """Return the tool, or nothing where there is no number left for it."""
    if not hasattr(sys, "monitoring"):
        return None
    if _monitors and _monitors[0].is_on:
        return _monitors[0]
    free = [number for number in NUMBERS if sys.monitoring.get_tool(number) is None]
    if not free:
        return None
    if not _monitors or _monitors[0].number != free[0]:
        _monitors[:] = [_Monitor(free[0])]
    return _monitors[0]


class Monitoring:
    """Watching by ``sys.monitoring``."""

    def __init__(self, tool: _Monitor) -> None:
        self._tool = tool
        self._watched: _Frame | None = None
        self._expected: dict[int, tuple[int, Expected]] = {}

    def watch(self, frame: FrameType, course: Course) -> None:
        """Watch a frame that runs, from its next line on."""
        self._watched = self._tool.watch(frame, course, ends=False)

    def leave(self, frame: FrameType | None) -> bool:
        """Watch it no longer; return whether lines of it were not told."""
        if self._watched is not None:
            self._tool.leave(self._watched)
            self._watched = None
        return False

    def expect(self, expected: Expected) -> None:
        """Watch frames when they begin."""
        self._expected[id(expected)] = self._tool.expect(expected)

    def expect_no_more(self, expected: Expected) -> None:
        """End what :meth:`expect` began."""
        one = self._expected.pop(id(expected), None)
        if one is not None:
            self._tool.expect_no_more(one)

    def drop(self, course: Course) -> None:
        """Watch the frame of a course no longer, though it was not told to end."""
        for there in tuple(self._tool.frames.values()):
            for one in tuple(there):
                if one.course is course:
                    self._tool.leave(one)
