"""Hear what watched code prints, whoever else prints meanwhile."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

# Of a step, and of all steps together, so many characters are kept.
MOST_PRINTED, MOST_PRINTED_IN_ALL = 20_000, 200_000
Hearing = Callable[[str], None]


class Heard:
    """The text that one statement prints: its beginning, and how much there was."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._kept = 0
        self.left_out = 0

    def add(self, text: str, room: int) -> int:
        """Keep what there is room for, and return how many characters that are."""
        kept = text[: max(min(MOST_PRINTED - self._kept, room), 0)]
        if kept:
            self._parts.append(kept)
        self._kept += len(kept)
        self.left_out += len(text) - len(kept)
        return len(kept)

    def take(self) -> tuple[str, int]:
        """Return what was kept, and how many characters were not; begin again."""
        found = "".join(self._parts), self.left_out
        self.__init__()
        return found


class _Stream:
    """A stream whose ``write`` is heard, and who listens: the ids of their frames."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        # A notebook's stream may have a function of its own there already.
        self.earlier = vars(stream).get("write")
        self.listening: dict[int, list[tuple[object, Hearing]]] = {}
        write, listening = stream.write, self.listening

        def hear(text: str) -> Any:
            # Who prints is on the stack: no other thread is, no coroutine that waits.
            frame, told = sys._getframe(1), []
            while frame is not None and listening:
                for owner, tell in tuple(listening.get(id(frame), ())):
                    if owner not in told:  # a statement that calls others is outside
                        told.append(owner)
                        tell(text)
                frame = frame.f_back
            return write(text)

        self.hear = hear
        stream.write = hear

    def put_back(self) -> None:
        if vars(self.stream).get("write") is not self.hear:
            return  # someone else has taken over
        if self.earlier is None:
            del self.stream.write
        else:
            self.stream.write = self.earlier


_lock = threading.RLock()
_streams: dict[int, _Stream] = {}


def listen(frame: int, owner: object, tell: Hearing) -> Callable[[], None]:
    """Hear what is written to ``sys.stdout``, which gets it as before.

    That is what the frame of this id, and all that it calls, writes to the stream that
    is there now. Of several frames of one owner only the innermost is told. Return
    what ends it.
    """
    stream = sys.stdout
    if getattr(stream, "__dict__", None) is None:
        return lambda: None
    with _lock:
        heard = _streams.get(id(stream))
        if heard is None or heard.stream is not stream:
            heard = _streams[id(stream)] = _Stream(stream)
        heard.listening.setdefault(frame, []).append((owner, tell))

    def end() -> None:
        with _lock:
            there = heard.listening.get(frame, [])
            if (owner, tell) in there:
                there.remove((owner, tell))
            if not there:
                heard.listening.pop(frame, None)
            if not heard.listening and _streams.get(id(stream)) is heard:
                del _streams[id(stream)]
                heard.put_back()

    return end
