"""Runs scripts in forks of one process that has imported what nearly all import.

A build of a tiny site starts two Pythons, and most of its time is their imports: torch,
Sphinx, matplotlib. Here ``python tests/forks.py`` imports them once. For each request,
a line of JSON on its standard input with ``script``, ``arguments``, ``folder``,
``environment`` and the files ``output`` and ``errors`` (which may be one), it forks;
the fork runs the script in that folder as Python does, and where a build starts the
process that builds, it is a fork too. The answer is a line with the exit status.

Nothing of the site itself is imported here: a fork imports it from its own folder. What
ends a build, and how that is judged, is tested with true processes (test_judge.py).
"""

from __future__ import annotations

import io
import json
import os
import runpy
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

SPHINX = [sys.executable, "-m", "tensor_copies.machine.sphinx_process"]
TrueProcess = subprocess.Popen


# What every build imports, and nothing that changes a setting.
IMPORTED = (
    "docutils.parsers.rst",
    "furo",
    "IPython.core.interactiveshell",
    "jupyter_cache",
    "matplotlib.pyplot",
    "myst_nb.sphinx_ext",
    "numpy.random",
    "PIL.Image",
    "sphinx.application",
    "sphinx.builders.html",
    "sphinx_gallery.gen_gallery",
    "torch",
)


def as_python(run: Callable[[], Any]) -> NoReturn:
    """Run something as a Python's whole work, and end this process as Python does."""
    status: Any = 1
    try:
        run()
        status = 0
    except SystemExit as ended:
        status = ended.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


def reopen(output: int, errors: int, unbuffered: bool = False) -> None:
    """Write all output of this process, also that of C, to the numbers of files."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for name, number in (("stdout", 1), ("stderr", 2)):
        # Without closefd=False the next one here would close what it is to write to.
        raw = io.FileIO(number, "w", closefd=False)
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
            write_through=unbuffered,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


class ForkedProcess:
    """The part of :class:`subprocess.Popen` that a build uses, of a fork."""

    def __init__(self, command: list[str], env: dict[str, str], **_: Any) -> None:
        said, written = os.pipe()
        waiting, alive = os.pipe()  # closes with this process, as a true one's input
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            for number in (said, alive):
                os.close(number)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.dup2(waiting, 0)
            os.environ.clear()
            os.environ.update(env)
            reopen(written, written, unbuffered=True)
            sys.path[:0] = env["PYTHONPATH"].split(os.pathsep)
            sys.argv[:] = command[2:]
            for name in [n for n in sys.modules if n.startswith("tensor_copies")]:
                del sys.modules[name]
            as_python(lambda: runpy.run_module(command[2], None, "__main__", True))
        os.close(written)
        os.close(waiting)
        self.stdin = os.fdopen(alive, "wb")
        self.stdout = os.fdopen(said, "rb")

    def poll(self) -> int | None:
        """Return the status of the process, None as long as it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended, at most ``timeout`` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(SPHINX, timeout)
            time.sleep(0.005)
        return self.returncode


def start(command: Any, *rest: Any, **options: Any) -> Any:
    """Start a process: the one that builds is forked, any other a true one."""
    if isinstance(command, (list, tuple)) and list(command[:3]) == SPHINX:
        return ForkedProcess(list(command), **options)
    return TrueProcess(command, *rest, **options)


def run(
    script: str, arguments: list[str], folder: str, environment: dict[str, str]
) -> None:
    """Run a script in a folder as Python does."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    subprocess.Popen = start
    runpy.run_path(script, run_name="__main__")


def main() -> None:
    """Answer requests until there are no more."""
    for name in IMPORTED:
        import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    for line in sys.stdin:
        request = json.loads(line)
        files = [os.open(request.pop(name), new) for name in ("output", "errors")]
        pid = os.fork()
        if not pid:
            answers.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            reopen(*files)
            as_python(lambda request=request: run(**request))
        for number in files:
            os.close(number)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(json.dumps(status), file=answers, flush=True)


if __name__ == "__main__":
    main()
