"""Each lesson runs in a process of its own, which ends with all that it has started.

With the option ``parallel`` sphinx-gallery hands each script to joblib, and joblib runs
it by the backend that is registered under the name that the gallery asks for: by
:class:`OneProcessEach`. On Linux the process is a fork of a Python that has imported
torch and has run nothing (multiprocessing's fork server), elsewhere a new Python. So a
lesson finds torch as a reader's own Python has it, whatever ran before. A lesson that
takes times runs alone; of the others two run at once.

Warnings of the gallery come back with the result, so that ``-W`` counts them.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import logging
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context, set_forkserver_preload
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from threading import Lock, Semaphore
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, ClassVar

from joblib import register_parallel_backend
from joblib.parallel import ParallelBackendBase
from sphinx.errors import ExtensionError, SphinxError
from sphinx.util import logging as sphinx_logging

from tensor_copies.run import processes, progress
from tensor_copies.run.clocks import takes_times
from tensor_copies.run.lesson_list import lesson_scripts
from tensor_copies.run.sources import ROOT, nothing_left

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = sphinx_logging.getLogger(__name__)
AT_ONCE = 2
SECONDS_BETWEEN_LOOKS = 1
# Has a process say where it is, also where it is stuck outside of Python.
LAST_WORDS = getattr(signal, "SIGUSR1", None)
SECONDS_FOR_LAST_WORDS = 0.5
SECONDS_TO_BE_ENDED = 60
# What the fork server imports; for more than a few lessons also torch's compiler, which
# any optimizer imports, for two seconds.
FEW, COMPILER = 5, "torch._dynamo"
PRELOADED = (
    *("torch", "numpy", "matplotlib.pyplot", "perfplot"),
    *("sphinx.application", "sphinx_gallery.gen_rst", "sphinx_gallery.gen_gallery"),
    *(f"tensor_copies.figures.{name}" for name in ("maps", "plots", "steps", "tables")),
    "tensor_maps.steps.watch",
    __name__,
)
FRAME = re.compile(r'File ".*?([^/\\"]+)", line (\d+) in ')
# What libraries print past Python's logging, and past any setting of theirs.
NOISE = re.compile(r"USDT:|\[W?.*ProfilerHandler")


class LessonLost(ExtensionError):
    """A lesson ended its process, or left what disturbs others; one line says what."""


@cache
def _context() -> BaseContext:
    # torch's profiler else says in the log when it starts and stops.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    if sys.platform != "linux":  # macOS forbids forks after some of its libraries ran
        return get_context("spawn")
    return get_context("forkserver")


def run_apart(
    name: str,
    function: Callable[..., Any],
    *arguments: Any,
    root: Path = ROOT,
    seconds: float,
    megabytes: float,
) -> Any:
    """Return what a function returns in a process of its own, where all is pickled.

    ``name`` is the file of the lesson, for messages; no source below ``root`` may come
    or go; the limits are of the process and of all that it starts. Raises
    :class:`LessonLost` if the function raises, or the process ends early or is ended.
    """
    here, there = _context().Pipe(duplex=False)
    with nothing_left(name, root), tempfile.TemporaryDirectory() as aside:
        words = Path(aside, "last_words")
        words.touch()
        told = (there, words, name, function, arguments)
        child = _context().Process(target=_answer, args=told)
        try:
            child.start()
        except EOFError:
            raise LessonLost(f"{name}: what forks lessons has ended before") from None
        there.close()
        try:
            if not (problem := _watch(here, child, seconds, megabytes)):
                if not here.poll():  # what it has forked may hold the other end
                    raise EOFError
                result, warned, problem = here.recv()
                for message, about in warned:
                    logger.warning(message, **about)
                if not problem:
                    return result
        except EOFError:
            child.join(SECONDS_TO_BE_ENDED)
            problem = _ended(child.exitcode)
        finally:
            processes.end_all(child.pid)
            child.join()
            here.close()
        frames = FRAME.findall(words.read_text("utf-8", "replace"))
        lines = [f", line {line}" for file, line in frames if file == name]
        raise LessonLost(f"{name}{lines[0] if lines else ''}: {problem}")


def _watch(here: Connection, child: Any, seconds: float, megabytes: float) -> str:
    """Wait for an answer or the end of a process; return what it took too much of."""
    until = monotonic() + seconds
    while not wait([here, child.sentinel], SECONDS_BETWEEN_LOOKS):
        problem = ""
        if monotonic() > until:
            problem = f"it ran longer than {seconds:.0f} seconds (lesson_time_limit)"
        taken = sum(processes.taken_by(child.pid).values()) / 1e6
        if taken > megabytes:
            problem = (
                f"it takes {taken / 1e3:.1f} GB of memory, "
                f"{megabytes / 1e3:.1f} GB at most (memory_limit)"
            )
        if problem:
            if LAST_WORDS is not None:
                os.kill(child.pid, LAST_WORDS)
                child.join(SECONDS_FOR_LAST_WORDS)
            return problem
    return ""


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        number = signal.Signals(-status)
        often = ": often a lack of memory" if number == signal.SIGKILL else ""
        return f"its process was ended by {number.name}{often}"
    return f"it ended its process with status {status}, before its end"


def _hear_no_ctrl_c() -> None:
    if hasattr(os, "setsid"):
        ensure_running()  # of multiprocessing, which would let it through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


# -- In the process of the lesson ------------------------------------------------


def _answer(
    answers: Connection,
    words: Path,
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """Call the function; send its result, what was warned of, and what is wrong."""
    gc.freeze()  # what is never collected is never copied into the fork
    if hasattr(os, "setsid"):
        os.setsid()  # it leads a group, which ends with it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    processes.adopt_orphans()
    processes.end_with_the_parent()
    file = words.open("w", encoding="utf-8")
    faulthandler.enable(file)
    if LAST_WORDS is not None:
        faulthandler.register(LAST_WORDS, file)
    warned = _Warnings(logging.WARNING)
    logging.getLogger(sphinx_logging.NAMESPACE).addHandler(warned)
    # What Python prints goes to the log, or to the page where the gallery takes it.
    sys.stderr = os.fdopen(os.dup(2), "w", 1, "utf-8", "backslashreplace")
    result, problem = None, ""
    with tempfile.TemporaryFile() as past:
        for stream in (1, 2):
            os.dup2(past.fileno(), stream)
        try:
            result = function(*arguments)
        except SphinxError as error:
            problem = str(error)
        except BaseException as error:
            if isinstance(error, OSError):  # as where a person removes its folder
                problem = progress.of_file(error)
            else:
                problem = f"{_line_of(error, name)}{error!r} was raised"
                if isinstance(error, Exception):  # a defect, and not the lesson's
                    traceback.print_exception(error)
        sys.__stdout__.flush()
        if os.name == "posix":  # what code in C has printed
            ctypes.CDLL(None).fflush(None)
        past.seek(0)
        printed = past.read().decode(errors="replace").splitlines()
    printed = [line for line in printed if line.strip() and not NOISE.match(line)]
    if printed:
        problem = problem or (
            f"{printed[0][:60]!r} was printed past sys.stdout and sys.stderr, where no "
            "page shows it"
        )
    sys.stderr.flush()
    answers.send((result, warned.kept, problem))
    sleep(SECONDS_TO_BE_ENDED)  # and with this process all that it has started


class _Warnings(logging.Handler):
    """Keeps what the loggers of Sphinx warn of, but for a lesson that fails."""

    kept: ClassVar[list[tuple[str, dict[str, Any]]]] = []  # by this one process

    def emit(self, record: logging.LogRecord) -> None:
        about = {key: getattr(record, key, None) for key in ("type", "subtype")}
        if about["subtype"] != "example_error":  # settle() says it
            self.kept.append((record.getMessage(), about))


def _line_of(error: BaseException, name: str) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [one.lineno for one in frames if Path(one.filename).name == name]
    return f"line {lines[-1]}: " if lines else ""


# -- For sphinx-gallery -----------------------------------------------------------


class OneProcessEach(ParallelBackendBase):
    """Runs each script of the gallery apart, where the script has to run."""

    seconds = megabytes = 0  # of the options

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return how many lessons run at once."""
        return AT_ONCE

    def start_call(self) -> None:
        """Begin a section of lessons."""
        # The fork server, which a thread starts, would print where Ctrl+C meets it.
        self._pool = ThreadPoolExecutor(AT_ONCE, initializer=_hear_no_ctrl_c)
        self._places, self._turn = Semaphore(AT_ONCE), Lock()
        # Two threads that parse at once can fail: python/cpython issue 106905.
        self._parsing = Lock()

    def stop_call(self) -> None:
        """End a section of lessons, also where one of them was lost."""
        self._pool.shutdown(cancel_futures=True)

    def submit(
        self, func: Any, callback: Callable[[Future[Any]], None] | None = None
    ) -> Future[Any]:
        """Run a lesson as soon as there is room for it."""
        done = self._pool.submit(self.run, *func.items[0][:2])
        if callback is not None:
            done.add_done_callback(callback)
        return done

    def retrieve_result(self, out: Future[Any], timeout: float | None = None) -> Any:
        """Wait for a lesson, and return what the gallery asked for."""
        return out.result()

    def run(self, generate: Callable[..., Any], asked: tuple[Any, ...]) -> list[Any]:
        """Run a lesson apart when nothing may disturb it, or take what is kept."""
        lesson, target, source, _ = asked
        if Path(target, f"{lesson}.md5").exists():  # freshness.py found it as it was
            with self._parsing:
                return [generate(*asked)]
        with self._parsing:
            alone = takes_times(Path(source, lesson).read_text(encoding="utf-8"))
        places = AT_ONCE if alone else 1
        with self._turn:
            for _ in range(places):
                self._places.acquire()
        try:
            limits = {"seconds": self.seconds, "megabytes": self.megabytes}
            result = run_apart(lesson, generate, *asked, **limits)
        finally:
            for _ in range(places):
                self._places.release()
        progress.say_time("lesson", lesson, result[2][0])
        return [result]


def begin(app: Sphinx) -> None:
    """Take the limits from the options, and the place of joblib's own backend."""
    OneProcessEach.seconds = app.config.lesson_time_limit
    OneProcessEach.megabytes = app.config.memory_limit
    register_parallel_backend("loky", OneProcessEach)
    waiting = [
        page
        for page in lesson_scripts(app)
        if not Path(app.srcdir, f"{page}.py.md5").exists()
    ]
    late = [COMPILER] if len(waiting) > FEW else []
    set_forkserver_preload([*PRELOADED, *late])
