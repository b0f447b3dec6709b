"""What runs beside the lessons: probes of their own Python, while one core is idle.

The gallery runs one lesson after the other. What the Atlas and the explorer show comes
from other processes, takes as long as many lessons, and is kept. So where it is missing
it is begun with the first lesson, in one process, and found as kept by whoever asks for
it later. While a lesson takes times this process is stopped: nothing runs beside that.

If it fails nothing is said here: who asks finds nothing kept, runs it once more, and
says what is wrong.

On a machine with a GPU all waits its turn: probes see there how long a queue is.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensor_copies.machine.blocks import script_of
from tensor_copies.machine.fingerprint import CONF, fingerprint
from tensor_copies.machine.freshness import run_path
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.progress import CHANNEL

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What a lesson or a page does that takes times: nothing may run beside it.
TIMES = re.compile(r"\bTimer\(|\bperfplot\.|\bperf_counter\b|\btimeit\b")
FEW_LESSONS = 8  # beside fewer there is little to win


@dataclass(frozen=True)
class _Work:
    """A module whose ``keep_ready`` keeps what pages with a directive will ask for."""

    module: str
    directive: str
    is_kept: Callable[[], bool]


_works: list[_Work] = []
_process: subprocess.Popen[bytes] | None = None


def add(module: str, directive: str, is_kept: Callable[[], bool]) -> None:
    """Have a module's ``keep_ready()`` called beside the lessons, if it is needed.

    Parameters
    ----------
    module
        Its whole name.
    directive
        Pages with directives whose name begins so show what is kept.
    is_kept
        Says whether all is kept already.
    """
    _works.append(_Work(module, directive, is_kept))


def begin(app: Sphinx) -> None:
    """Begin what this build's pages will ask for, where there is a core for it."""
    global _process
    _process = None
    to_run = [page for page in lesson_scripts(app) if not run_path(app, page).exists()]
    if (
        os.name != "posix"
        or (os.cpu_count() or 1) < 2
        or len(to_run) < FEW_LESSONS
        or fingerprint().device_kind != "cpu"
    ):
        return
    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in Path(app.srcdir).glob("*.md")
    )
    wanted = [
        work.module
        for work in _works
        if f"{{{work.directive}" in pages and not work.is_kept()
    ]
    if wanted:
        environment = {**os.environ, "PYTHONPATH": str(CONF)}
        environment.pop(CHANNEL, None)  # what it says is for nobody
        _process = subprocess.Popen(
            [sys.executable, "-m", __name__, *wanted],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # to be stopped with all that it starts
        )


def finish() -> None:
    """Wait until all is kept that was begun."""
    global _process
    if _process is not None:
        _process.wait()
        _process.stdin.close()
        _process = None


def stop(app: Sphinx, exception: Exception | None) -> None:
    """End what nobody has waited for: the build has ended."""
    if _process is not None:
        _send(signal.SIGKILL)
        finish()


def make_room(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
    """Stop while a lesson takes times (a ``reset_modules`` hook)."""
    if _process is None:
        return
    script = script_of(gallery_conf, lesson)
    if script is not None and TIMES.search(script.read_text(encoding="utf-8")):
        _send(signal.SIGSTOP if when == "before" else signal.SIGCONT)


@contextmanager
def stopped() -> Iterator[None]:
    """Stop for a while."""
    if _process is not None:
        _send(signal.SIGSTOP)
    try:
        yield
    finally:
        if _process is not None:
            _send(signal.SIGCONT)


def _send(number: int) -> None:
    with suppress(OSError):  # it has ended
        os.killpg(_process.pid, number)


def main() -> None:
    """Keep what these modules keep; end early when the build has ended."""
    from tensor_copies.machine.sphinx_process import end_with_the_parent

    end_with_the_parent()
    for module in sys.argv[1:]:
        import_module(module).keep_ready()


if __name__ == "__main__":
    main()
