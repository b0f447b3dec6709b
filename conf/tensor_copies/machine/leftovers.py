"""What a lesson leaves behind: threads, processes, files, functions that it replaced.

A thread or process that goes on would disturb the lessons and measurements after it
and could keep the build from ending; a file would be taken for a lesson, or for a
part of the repository; a function of torch that it has replaced would be another one
for the lessons after it. What it wrote past ``sys.stdout`` would be on no page.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, Any

from tensor_copies.machine.progress import CHANNEL, NOISE

try:
    import psutil
except ImportError:  # to record takes less than to build, which has looked already
    psutil = None

SECONDS_TO_END = 1.0  # what was told to end may take so long
# Made by Python for the whole process when a lesson uses multiprocessing.
NOT_A_LESSON = "multiprocessing.resource_tracker"
# Where a lesson must not replace a function, by the module that has it.
OWNERS = {
    "builtins": ("builtins",),
    "numpy": ("numpy",),
    "torch": (
        *("torch", "torch:Tensor", "torch.autograd", "torch.cuda", "torch.nn"),
        *("torch.nn:Module", "torch.nn.functional", "torch.optim"),
    ),
}


@dataclass(frozen=True)
class Before:
    """What there was before a lesson ran."""

    folders: tuple[Path, ...]
    threads: frozenset[threading.Thread]
    processes: frozenset[psutil.Process]
    files: dict[Path, int]
    functions: dict[str, dict[str, Any]]
    output: _Output | None


def before_a_lesson(folders: Iterable[Path]) -> Before:
    """Note what there is before a lesson, which must not leave files in folders."""
    there = tuple(folders)
    return Before(
        there,
        frozenset(threading.enumerate()),
        frozenset(_children()),
        _files(there),
        _functions(),
        # Plain sphinx-build has a log of its own there.
        _Output() if CHANNEL in os.environ else None,
    )


def left_since(before: Before) -> list[str]:
    """End the processes that came since and go on; return in words what was left.

    A function that was replaced is put back. A process whose parent has ended is found
    where it became a child of this one (see processes.py).
    """
    gc.collect()  # an executor that nothing refers to ends its threads
    until = time.monotonic() + SECONDS_TO_END
    threads, processes = _running(before)
    while (threads or processes) and time.monotonic() < until:
        time.sleep(0.02)
        threads, processes = _running(before)
    left = [f"the thread {thread.name!r} running" for thread in threads]
    for process, name in processes.items():
        left.append(f"the process {name!r} running")
        with suppress(psutil.Error):  # it has ended by itself
            process.kill()
            process.wait()
    now = _files(before.folders)
    left += [
        f"the file {path.parent.name}/{path.name}"
        for path in now
        # A script may be edited while another one runs.
        if path not in before.files
        or (path.suffix not in (".py", ".rst") and before.files[path] != now[path])
    ]
    left += [f"the function {name} replaced" for name in _put_back(before.functions)]
    if before.output is not None and (text := before.output.end()):
        left.append(f"{text[:60]!r} past sys.stdout, where no page shows it")
    return left


class _Output:
    """What is written to the process's own output, past ``sys.stdout``."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        _flush()
        self._output = os.dup(1)
        os.dup2(self._file.fileno(), 1)

    def end(self) -> str:
        """Give the process its output back; return what went past it."""
        _flush()
        os.dup2(self._output, 1)
        os.close(self._output)
        with self._file:
            self._file.seek(0)
            lines = self._file.read().decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if not NOISE.match(line))


def _flush() -> None:
    sys.__stdout__.flush()
    if os.name == "posix":  # what code in C has printed
        ctypes.CDLL(None).fflush(None)


def _functions() -> dict[str, dict[str, Any]]:
    """Return what a lesson must not replace, by its owner and its name there."""
    return {
        owner: {
            name: value
            for name, value in vars(resolve_name(owner)).items()
            if callable(value) or hasattr(value, "__get__")
        }
        for module, owners in OWNERS.items()
        if module in sys.modules
        for owner in owners
    }


def _is_wrapped_by_its_own(now: Any, before: Any, owner: Any) -> bool:
    """Whether a library has only wrapped a function of its own, as torch's compiler."""
    if now is None or inspect.unwrap(now) is not inspect.unwrap(before):
        return False
    package = getattr(owner, "__module__", owner.__name__).partition(".")[0]
    code = getattr(now, "__code__", None)
    where = getattr(sys.modules[package], "__file__", None)
    return None not in (code, where) and (
        Path(where).parent in Path(code.co_filename).parents
    )


def _put_back(functions: dict[str, dict[str, Any]]) -> list[str]:
    """Put back the functions that are others now; return their names."""
    replaced = []
    for owner, before in functions.items():
        there = resolve_name(owner)
        for name, value in before.items():
            now = vars(there).get(name)
            if now is not value and not _is_wrapped_by_its_own(now, value, there):
                replaced.append(f"{owner.replace(':', '.')}.{name}")
                setattr(there, name, value)
    return replaced


def _running(
    before: Before,
) -> tuple[list[threading.Thread], dict[psutil.Process, str]]:
    threads = [
        thread
        for thread in threading.enumerate()
        # One that Python has not started belongs to a library, autograd's for example.
        if thread not in before.threads and not thread.name.startswith("Dummy-")
    ]
    children = _children().items()
    return threads, {one: name for one, name in children if one not in before.processes}


def _children() -> dict[psutil.Process, str]:
    """Return the names of the processes that this one has started and that run."""
    found = {}
    for process in psutil.Process().children() if psutil else ():
        with suppress(psutil.Error):  # it has ended meanwhile
            program, *arguments = process.cmdline() or [process.name()]
            # Without its folder: what tells it from others are its arguments.
            command = " ".join([Path(program).name, *arguments])
            ended = process.status() == psutil.STATUS_ZOMBIE
            if not ended and NOT_A_LESSON not in command:
                found[process] = command[:60]
    return found


def _files(folders: Iterable[Path]) -> dict[Path, int]:
    """Return when each file was last written, but for those of editors and Python."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if any(part.startswith((".", "__pycache__")) for part in inside.parts):
                continue
            if path.is_file() and not path.name.endswith("~"):
                found[path] = path.stat().st_mtime_ns
    return found
