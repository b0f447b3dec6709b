"""Be told of lines by ``sys.settrace``, beside whoever else is.

Python 3.12 has something better (:mod:`tensor_maps.steps.monitor`). Here each thread
has one trace function at a time, so all events go on to the one that was there: of a
debugger, or of a coverage tool.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FrameType, FunctionType, MethodType
from typing import Any

from tensor_maps.steps.course import Course, Expected

IS_SUSPENDED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
YIELD = dis.opmap["YIELD_VALUE"]
Local = Callable[[FrameType, str, Any], Any]


class _Watched:
    """A frame that is watched: its course, and the trace function that it had."""

    def __init__(
        self, thread: _Thread, course: Course, frame: FrameType, ends: bool
    ) -> None:
        self.thread, self.course, self.frame_id = thread, course, id(frame)
        self.ends = ends
        self.below: _Watched | None = None
        self.earlier: Local | None = frame.f_trace
        self.is_lent = False
        self._raising = False
        self.full: Local = self._trace  # one object: it is compared

    def lend(self, earlier: Any) -> None:
        """Hand the frame's events to a trace function that is told of all frames."""
        if self.earlier is None and _is_told_of_all(earlier):
            self.earlier, self.is_lent = earlier, True

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        thread, course = self.thread, self.course
        if event == "line":
            self._raising = False
            course.line(frame)
        elif event == "exception":
            course.raises(*arg[:2])
            self._raising = not issubclass(arg[0], StopIteration)
        is_over = event == "return" and self.ends and not self._waits(frame)
        if is_over:
            course.end(frame.f_locals)
        if self.earlier is not None:
            frame.f_trace = self.full  # as it is, unless the next call changes it
            result = self.earlier(frame, event, arg)
            if frame.f_trace is not self.full:
                self.earlier, self.is_lent = frame.f_trace, False
            elif result is not None:
                self.earlier = result
            thread.stay()
        if is_over:
            thread.leave(self, frame)
            return self.earlier
        return self.full

    def _waits(self, frame: FrameType) -> bool:
        """Whether the frame has not ended: it will go on after a ``yield``."""
        code = frame.f_code
        can = code.co_flags & IS_SUSPENDED
        return bool(can and not self._raising and code.co_code[frame.f_lasti] == YIELD)


def _is_told_of_all(tracer: Any) -> bool:
    """Whether a trace function gets all events, though it is no frame's own.

    That of coverage.py, written in C, does so.
    """
    return tracer is not None and not isinstance(tracer, FunctionType | MethodType)


class _Thread:
    """What is watched in one thread, and the trace function that was there before."""

    def __init__(self) -> None:
        self.ident = threading.get_ident()
        self.frames: dict[int, _Watched] = {}
        self.expected: list[Expected] = []
        self.earlier: Any = None
        self.is_on = False
        self.call = self._call  # one object: it is compared

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Be told of each call; the events of other frames are none of ours."""
        if self.earlier is None and not self.expected:
            return None
        local = None
        if self.earlier is not None:
            local = self.earlier(frame, event, arg)
            self.stay()
        watched = self.frames.get(id(frame))
        if watched is not None:  # it goes on after a `yield`
            watched.earlier = local or watched.earlier
            return watched.full
        for expected in self.expected:
            if not expected.may_begin(frame.f_code):
                continue
            course = expected.starts(frame)
            if course is not None:
                watched = self._watch(frame, course, ends=True)
                watched.earlier = local
                return watched.full
        return local

    # -- Where watching begins and ends

    def turn_on(self) -> None:
        """Begin to be told."""
        if self.is_on:
            self.stay()
            return
        self.is_on = True
        self.earlier = sys.gettrace()
        if _is_told_of_all(self.earlier):
            # It was told that our own frames began: it is to be told that they end.
            frame = sys._getframe(1)
            while frame is not None and frame.f_globals.get("__package__") == PACKAGE:
                frame.f_trace = frame.f_trace or self.earlier
                frame = frame.f_back
        sys.settrace(self.call)

    def turn_off(self) -> None:
        """Put the earlier trace function back, if nothing is watched any more."""
        if not self.is_on or self.frames or self.expected:
            return
        if threading.get_ident() != self.ident:
            return  # that thread notices at its next call
        self.is_on = False
        if sys.gettrace() is self.call:
            sys.settrace(self.earlier)
            if _is_told_of_all(self.earlier):
                _nothing()  # one written in C takes its place again at the next call
        self.earlier = None

    def stay(self) -> None:
        """Be told further, after a trace function that may have changed that."""
        now = sys.gettrace()
        if now is not self.call:
            self.earlier = now
            sys.settrace(self.call)

    def watch(self, frame: FrameType, course: Course) -> None:
        """Watch a frame that runs, from its next line on."""
        self.turn_on()
        watched = self._watch(frame, course, ends=False)
        watched.lend(self.earlier)
        frame.f_trace = watched.full

    def _watch(self, frame: FrameType, course: Course, *, ends: bool) -> _Watched:
        watched = _Watched(self, course, frame, ends)
        watched.below = self.frames.get(id(frame))
        self.frames[id(frame)] = watched
        course.begin(frame, within=not ends)
        return watched

    def leave(self, watched: _Watched, frame: FrameType | None) -> bool:
        """Watch a frame no longer; return whether lines of it were not told."""
        is_lost = False
        if frame is not None:
            if frame.f_trace is watched.full:
                frame.f_trace = None if watched.is_lent else watched.earlier
            else:
                is_lost = True
        if self.frames.get(watched.frame_id) is watched:
            del self.frames[watched.frame_id]
            if watched.below is not None:
                self.frames[watched.frame_id] = watched.below
        self.turn_off()
        return is_lost


def _nothing() -> None:
    """Be called."""


PACKAGE = __package__
_threads = threading.local()


def _thread() -> _Thread:
    if not hasattr(_threads, "state"):
        _threads.state = _Thread()
    return _threads.state


class Tracing:
    """Watching by ``sys.settrace``, in the thread that asks for it."""

    def __init__(self) -> None:
        self._thread = _thread()
        self._watched: _Watched | None = None

    def watch(self, frame: FrameType, course: Course) -> None:
        """Watch a frame that runs, from its next line on."""
        self._thread.watch(frame, course)
        self._watched = self._thread.frames[id(frame)]

    def leave(self, frame: FrameType | None) -> bool:
        """Watch it no longer; return whether lines of it were not told."""
        watched, self._watched = self._watched, None
        return watched is not None and self._thread.leave(watched, frame)

    def expect(self, expected: Expected) -> None:
        """Watch frames when they begin."""
        self._thread.expected.append(expected)
        self._thread.turn_on()

    def expect_no_more(self, expected: Expected) -> None:
        """End what :meth:`expect` began."""
        if expected in self._thread.expected:
            self._thread.expected.remove(expected)
        self._thread.turn_off()

    def drop(self, course: Course) -> None:
        """Watch the frame of a course no longer, though it was not told to end."""
        for watched in tuple(self._thread.frames.values()):
            if watched.course is course:
                self._thread.leave(watched, None)
