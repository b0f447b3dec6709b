"""Tells a course of each line of its frame, by ``sys.settrace``.

A thread has one trace function at a time. What was there before, of a debugger or of a
coverage tool, gets all of its events.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FrameType
from typing import Any

from tensor_maps.steps.course import Course, Noted

CAN_WAIT = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
YIELD = dis.opmap["YIELD_VALUE"]
# Returns the course of a frame that begins, or None of one that is not watched.
Starts = Callable[[FrameType], Course | None]


class Watched:
    """A frame that is watched, and the trace function that it had before."""

    def __init__(
        self, thread: Tracer, course: Course, frame: FrameType, whole: bool
    ) -> None:
        self.thread, self.course, self.whole = thread, course, whole
        self.frame = id(frame)  # the frame itself would keep its tensors alive
        self.earlier: Any = frame.f_trace
        self._raising = False
        self.trace = self._trace  # one object: it is compared

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._raising = False
            self.course.line(frame)
        elif event == "exception":
            self._raising = not issubclass(arg[0], StopIteration)
            self.course.raises(*arg[:2])
        is_over = event == "return" and self.whole and not self._waits(frame)
        if is_over:
            self.course.end(frame.f_locals)
        if self.earlier is not None:
            frame.f_trace = self.trace  # as it is, unless the next call changes it
            told = self.earlier(frame, event, arg)
            if frame.f_trace is not self.trace:
                self.earlier = frame.f_trace
            elif told is not None:
                self.earlier = told
            self.thread.stay()
        if is_over:
            self.leave(frame)
            return self.earlier
        return self.trace

    def _waits(self, frame: FrameType) -> bool:
        """Whether the frame goes on after a ``yield`` or an ``await``."""
        code = frame.f_code
        can = code.co_flags & CAN_WAIT and not self._raising
        return bool(can and code.co_code[frame.f_lasti] == YIELD)

    def leave(self, frame: FrameType | None) -> bool:
        """Watch the frame no longer; return whether lines of it were not told."""
        is_lost = False
        if frame is not None:
            is_lost = frame.f_trace is not self.trace
            if not is_lost:
                frame.f_trace = self.earlier
        there = self.thread.frames.get(self.frame, [])
        if self in there:
            there.remove(self)
        if not there:
            self.thread.frames.pop(self.frame, None)
        self.thread.turn_off()
        return is_lost


class Tracer:
    """What is watched in one thread, and the trace function that was there before."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.frames: dict[int, list[Watched]] = {}
        self.expected: list[Starts] = []
        self.earlier: Any = None
        self.call = self._call  # one object: it is compared

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self.earlier is None and not self.expected:
            return None  # what is watched already keeps its trace function
        local = None
        if self.earlier is not None:
            local = self.earlier(frame, event, arg)
            self.stay()
        if there := self.frames.get(id(frame)):  # it goes on after a `yield`
            there[-1].earlier = local or there[-1].earlier
            return there[-1].trace
        for starts in self.expected:
            if (course := starts(frame)) is not None:
                watched = self._watch(frame, course, whole=True)
                watched.earlier = local
                return watched.trace
        return local

    def stay(self) -> None:
        """Be told further, after a trace function that may have changed that."""
        if (now := sys.gettrace()) is not self.call:
            self.earlier = now
            sys.settrace(self.call)

    def expect(self, starts: Starts) -> None:
        """Watch frames of this thread when they begin."""
        self.expected.append(starts)
        self._turn_on()

    def expect_no_more(self, starts: Starts) -> None:
        """End what :meth:`expect` began."""
        if starts in self.expected:
            self.expected.remove(starts)
        self.turn_off()

    def watch(self, frame: FrameType, course: Course) -> Watched:
        """Watch a frame that runs, from its next line on."""
        self._turn_on()
        watched = self._watch(frame, course, whole=False)
        frame.f_trace = watched.trace
        return watched

    def _watch(self, frame: FrameType, course: Course, whole: bool) -> Watched:
        watched = Watched(self, course, frame, whole)
        self.frames.setdefault(id(frame), []).append(watched)
        course.begin(frame, within=not whole)
        return watched

    def drop(self, noted: Noted) -> list[Course]:
        """Watch no frame whose steps are noted there; return what did not end."""
        every = [watched for there in self.frames.values() for watched in there]
        mine = [watched for watched in every if watched.course.noted is noted]
        for watched in mine:
            watched.leave(None)
        return [watched.course for watched in mine]

    def _turn_on(self) -> None:
        if sys.gettrace() is not self.call:
            self.earlier = sys.gettrace()
            sys.settrace(self.call)

    def turn_off(self) -> None:
        """Put the earlier trace function back, if nothing is watched any more."""
        is_mine = self.thread == threading.get_ident() and sys.gettrace() is self.call
        if is_mine and not self.frames and not self.expected:
            sys.settrace(self.earlier)
            self.earlier = None


_threads = threading.local()


def tracer() -> Tracer:
    """Return the tracer of this thread."""
    if not hasattr(_threads, "tracer"):
        _threads.tracer = Tracer()
    return _threads.tracer
