"""What a lesson may do to its process; test_build.py has each run apart."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Batch:
    """One task as joblib hands it over."""

    def __init__(self, task: tuple[Any, ...]) -> None:
        self.items = [task]


def leave(folder: Path) -> None:
    """End the process."""
    os._exit(3)


def crash(folder: Path) -> None:
    """Read where nothing is."""
    ctypes.string_at(0)


def hang(folder: Path) -> None:
    """Go on for ever."""
    while True:
        pass


def grow(folder: Path) -> None:
    """Take a gigabyte."""
    taken = bytearray(b"1") * 10**9
    time.sleep(30 if taken else 0)


def stop(folder: Path) -> None:
    """Ask Python to end."""
    sys.exit(4)


def write(folder: Path) -> None:
    """Leave a file."""
    (folder / "left.txt").write_text("left")


def print_past(folder: Path) -> None:
    """Print where no page shows it."""
    os.write(1, b"hello\n")


def start_and_hang(folder: Path) -> None:
    """Start a process that goes on in a session of its own."""
    subprocess.Popen(["sleep", "4173"], start_new_session=True)
    (folder / ".started").touch()
    hang(folder)
