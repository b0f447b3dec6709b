"""Hears what watched frames print, whoever else prints meanwhile."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

# Of a step, and of all steps together, so many printed characters are kept.
MOST_PRINTED, MOST_PRINTED_IN_ALL = 20_000, 200_000
Hearing = Callable[[str], None]
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
