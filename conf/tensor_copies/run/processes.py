"""What a process has started, how much memory each part of it takes, and its end."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress

from tensor_copies.run.fingerprint import PACKAGES

# Where Python finds itself, its packages and its caches, and how it reads text.
KEPT = ("PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUTF8", "PYTHONIOENCODING")
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36  # of <linux/prctl.h>


def with_our_packages(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables with which a new Python finds the packages in conf/.

    Without those that would change what examples print: optimised assertions, warnings
    that are ignored, a start file, relative paths, matplotlib's backend, torch's log.
    """
    plain = {
        name: value
        for name, value in environment.items()
        if name in KEPT or not name.startswith(("PYTHON", "MPLBACKEND", "TORCH"))
    }
    paths = [*map(str, PACKAGES), *environment.get("PYTHONPATH", "").split(os.pathsep)]
    plain["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(os.path.isabs, paths)))
    return plain


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
    _end(numbers)


def end_children() -> None:
    """End all that goes back to this process, which goes on."""
    _end({*taken_by(os.getpid())} - {os.getpid()})


def _end(numbers: set[int]) -> None:
    for number in numbers:
        with suppress(OSError):
            os.kill(number, getattr(signal, "SIGKILL", signal.SIGTERM))


def adopt_orphans() -> None:
    """Make what loses its parent a child of this process, so that it is found."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)


def end_with_the_parent() -> None:
    """Have this process end when that which has started it does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
