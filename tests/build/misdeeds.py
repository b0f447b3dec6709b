"""What a lesson may do to its process; test_build.py has each run apart.

Each is given the folder of the lessons.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path
from threading import Thread

from sphinx.util import logging
from tensor_copies.run import isolation


def leave(folder: Path) -> None:
    """End the process."""
    os._exit(3)


def leave_a_fork(folder: Path) -> None:
    """End the process, but not a fork of it, which has all of its pipes."""
    if fork := os.fork():
        (folder / ".fork").write_text(str(fork))
        os._exit(3)
    os.setsid()
    time.sleep(60)
    os._exit(0)


def crash(folder: Path) -> None:
    """Read where nothing is."""
    ctypes.string_at(0)


def hang(folder: Path) -> None:
    """Go on for ever."""
    (folder / ".begun").touch()
    while True:
        pass


def grow(folder: Path) -> None:
    """Take a gigabyte."""
    taken = bytearray(b"1") * 10**9
    time.sleep(600 if taken else 0)


def stop(folder: Path) -> None:
    """Ask Python to end."""
    sys.exit(4)


def write(folder: Path) -> None:
    """Leave a file."""
    (folder / "left.txt").write_text("left")


def print_past(folder: Path) -> None:
    """Print where no page shows it."""
    os.write(1, b"hello\n")


def warn_past(folder: Path) -> None:
    """Warn as a library in C does."""
    os.write(2, b"mind\n")


def fork_and_go_on(folder: Path) -> None:
    """Go on in two processes, as a script may, to the end of a block."""
    isolation.prepare(None, "misdeeds.py", "before")
    fork = os.fork()
    if fork:
        os.waitpid(fork, 0)
    isolation.end_a_fork()


def warn(folder: Path) -> str:
    """Warn as Sphinx and its extensions do."""
    logging.getLogger("sphinx_gallery").warning("mind the step", type="a", subtype="b")
    return "warned"


def answer_and_end(folder: Path) -> str:
    """End the process as soon as the answer is sent."""
    Thread(target=lambda: (time.sleep(0.5), os._exit(5)), daemon=True).start()
    return "answered"


def answer_at_length(folder: Path) -> str:
    """Return more than a pipe holds."""
    return "x" * 10**7
