"""What a process has started, and how much memory each part of it takes (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
SET_CHILD_SUBREAPER = 36  # of <linux/prctl.h>


def taken_by(pid: int) -> dict[int, int]:
    """Return the bytes in memory of a process and of each that goes back to it.

    Parameters
    ----------
    pid
        The number of the process.

    Returns
    -------
    dict
        Bytes by process; empty where the system does not say it in ``/proc``.
    """
    parents, sizes = {}, {}
    for path in PROC.glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            said = path.read_text(errors="replace").rpartition(") ")[2].split()
            number = int(path.parent.name)
            parents[number] = int(said[1])
            sizes[number] = int(said[21]) * os.sysconf("SC_PAGE_SIZE")
    found = {pid} & set(parents)
    while more := {child for child in parents if parents[child] in found} - found:
        found |= more
    return {number: sizes[number] for number in found}


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
