"""Call a course at each line that its frame runs, by ``sys.settrace``.

A thread has one trace function at a time. What was there before, of a debugger or of a
coverage tool, gets all of its events.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from tensor_maps.steps.course import Course, Noted

YIELD = dis.opmap["YIELD_VALUE"]
# Returns the course of a frame that begins, or None of one that is not watched.
Starts = Callable[[FrameType], Course | None]


def is_at_yield(frame: FrameType) -> bool:
    """Whether a frame goes on, or can, after a ``yield`` or an ``await``."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return YIELD in (code[at], code[at - 2])  # Python 3.13 is one further


class Watched:
    """A frame that is watched, ``whole`` or from its next line on.

    ``before`` is the trace function that it had before.
    """

    def __init__(
        self, tracer: Tracer, frame: FrameType, course: Course, before: Any, whole: bool
    ) -> None:
        self.tracer, self.course, self.before = tracer, course, before
        self.frame = id(frame)  # the frame itself would keep its tensors alive
        self.whole, self._raising = whole, False
        self.trace = self._trace  # one object: it is compared
        tracer.frames.setdefault(self.frame, []).append(self)
        course.begin(frame, within=not whole)

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._raising = False
            self.course.line(frame)
        elif event == "exception":
            self._raising = not issubclass(arg[0], StopIteration)
            self.course.raises(arg[1])
        is_over = event == "return" and self.whole
        is_over = is_over and (self._raising or not is_at_yield(frame))
        if is_over:
            self.course.end(frame.f_locals)
        if self.before is not None:
            frame.f_trace = self.trace  # as it is, unless the next call changes it
            told = self.before(frame, event, arg)
            if frame.f_trace is not self.trace:
                self.before = frame.f_trace
            elif told is not None:
                self.before = told
            self.tracer.turn_on()
        if is_over:
            self.leave(frame)
            return self.before
        return self.trace

    def leave(self, frame: FrameType | None) -> bool:
        """Watch the frame no longer; return whether lines of it were not told."""
        is_lost = frame is not None and frame.f_trace is not self.trace
        if frame is not None and not is_lost:
            frame.f_trace = self.before
        there = self.tracer.frames.pop(self.frame, [])
        if others := [one for one in there if one is not self]:
            self.tracer.frames[self.frame] = others
        self.tracer.turn_off()
        return is_lost


class Tracer:
    """What is watched in one thread, and the trace function that was there before."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.frames: dict[int, list[Watched]] = {}
        self.expected: list[Starts] = []
        self.before: Any = None
        self.call = self._call  # one object: it is compared

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self.before is None and not self.expected:
            return None  # what is watched already keeps its trace function
        local = None
        if self.before is not None:
            local = self.before(frame, event, arg)
            self.turn_on()
        if there := self.frames.get(id(frame)):
            if is_at_yield(frame):
                there[-1].before = local or there[-1].before
                return there[-1].trace
            # It has the place of a generator of whose end Python 3.13 does not tell.
            for watched in tuple(there):
                watched.course.end(None)
                watched.leave(None)
        for starts in self.expected:
            if (course := starts(frame)) is not None:
                return Watched(self, frame, course, local, whole=True).trace
        return local

    def expect(self, starts: Starts) -> None:
        """Watch frames of this thread when they begin."""
        self.expected.append(starts)
        self.turn_on()

    def watch(self, frame: FrameType, course: Course) -> Watched:
        """Watch a frame that runs, from its next line on."""
        self.turn_on()
        watched = Watched(self, frame, course, frame.f_trace, whole=False)
        frame.f_trace = watched.trace
        return watched

    def release(self, noted: Noted, starts: Starts | None) -> list[Course]:
        """End what was expected, and all whose steps are noted there; return these."""
        if starts in self.expected:
            self.expected.remove(starts)
        every = [watched for there in self.frames.values() for watched in there]
        mine = [watched for watched in every if watched.course.noted is noted]
        for watched in mine:
            watched.leave(None)
        self.turn_off()
        return [watched.course for watched in mine]

    def turn_on(self) -> None:
        """Be told what happens, also after a trace function that changed that."""
        if (now := sys.gettrace()) is not self.call:
            self.before = now
            sys.settrace(self.call)

    def turn_off(self) -> None:
        """Put the before trace function back, if nothing is watched any more."""
        is_mine = self.thread == threading.get_ident() and sys.gettrace() is self.call
        if is_mine and not self.frames and not self.expected:
            sys.settrace(self.before)
            self.before = None


_threads = threading.local()


def tracer() -> Tracer:
    """Return the tracer of this thread."""
    if not hasattr(_threads, "tracer"):
        _threads.tracer = Tracer()
    return _threads.tracer
