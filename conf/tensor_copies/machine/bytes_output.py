"""Let a lesson write bytes to ``sys.stdout.buffer``, as a plain Python does.

The gallery puts an object in the place of ``sys.stdout`` that takes text alone.
"""

from __future__ import annotations

from typing import Any

from sphinx_gallery import gen_rst


class _Bytes:
    """What takes bytes for a stream of text: UTF-8, as Python reads its own output."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: bytes) -> int:
        """Write bytes; what is no text becomes U+FFFD."""
        self._stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing waits here."""


def give_buffer() -> None:
    """Give what takes the place of ``sys.stdout`` the attribute ``buffer``."""
    gen_rst._LoggingTee.buffer = property(_Bytes)
