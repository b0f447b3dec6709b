"""What a process has started, how much memory each part of it takes, and its end."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

SET_CHILD_SUBREAPER = 36  # of <linux/prctl.h>


def taken_by(pid: int) -> dict[int, int]:
    """Return the bytes in memory of a process and of each that goes back to it."""
    import psutil  # not at the top: who lacks a package is told so first

    sizes = {}
    with suppress(psutil.Error):  # it has ended meanwhile
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                sizes[one.pid] = one.memory_info().rss
    return sizes


def end_all(pid: int) -> None:
    """End a process, its group, and all that goes back to it, at once."""
    numbers = {*taken_by(pid), pid}
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
    for number in numbers:
        with suppress(OSError):
            os.kill(number, getattr(signal, "SIGKILL", signal.SIGTERM))


def adopt_orphans() -> None:
    """Make what loses its parent a child of this process, so that it is found."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)
