"""A process beside the lessons and pages, which is stopped while one takes times.

What it does is begun in early_work.py; whoever needs it waits here until it is done.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

from tensor_copies.machine.blocks import script_of
from tensor_copies.machine.clocks import takes_times

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SECONDS_BETWEEN_LOOKS = 0.02
_process: subprocess.Popen[bytes] | None = None
# What else runs beside the lessons is soon over: these wait for its end.
soon_over: list[Callable[[], None]] = []


def start(command: list[str], environment: dict[str, str]) -> None:
    """Start it, as the leader of a group, to be stopped with all that it starts.

    In the session of this process: if this one ends while the group is stopped, the
    system ends the group. In a session of its own it would stay for ever.
    """
    global _process
    _process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        process_group=0,
    )


def wait_for(path: Path) -> None:
    """Wait until there is a file, or all is done that was begun."""
    while _process is not None and not path.exists():
        if _process.poll() is not None:
            _close()
        sleep(SECONDS_BETWEEN_LOOKS)


def finish() -> None:
    """Wait until all is done that was begun."""
    if _process is not None:
        _close()


def _close() -> None:
    global _process
    _process.wait()
    _process.stdin.close()
    _process = None


def stop(app: Sphinx, exception: Exception | None) -> None:
    """End what nobody has waited for: the build has ended."""
    soon_over.clear()
    if _process is not None:
        _send(signal.SIGKILL)
        _close()


def make_room(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
    """Stop while a lesson takes times (a ``reset_modules`` hook)."""
    script = script_of(gallery_conf, lesson)
    if script is None or not takes_times(script.read_text(encoding="utf-8")):
        return
    if when == "before":
        for wait in soon_over:
            wait()
    _send(signal.SIGSTOP if when == "before" else signal.SIGCONT)


@contextmanager
def stopped() -> Iterator[None]:
    """Stop for a while."""
    _send(signal.SIGSTOP)
    try:
        yield
    finally:
        _send(signal.SIGCONT)


def _send(number: int) -> None:
    if _process is not None:
        with suppress(OSError):  # it has ended
            os.killpg(_process.pid, number)
