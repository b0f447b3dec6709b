"""Each lesson starts with the settings of a new Python, and ends within its time.

sphinx-gallery runs all lessons in one process. :func:`reset` is its hook before
and after each lesson: it puts back the settings that a lesson may have changed, turns
every Python warning into an error, ends a lesson that hangs, and refuses one that
leaves a thread, a process, a file or a function that it has replaced (leftovers.py).

What no hook can put back stays: modules that a lesson has imported, attributes that it
has added to them, the number of torch's threads between operations, memory that the
allocators keep. A lesson must not hang on these.
"""

from __future__ import annotations

import decimal
import faulthandler
import gc
import locale
import logging
import os
import random
import signal
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError

from tensor_copies.machine import leftovers
from tensor_copies.machine.fingerprint import UnusableGPU
from tensor_copies.machine.outcome import has_failed, noted_as_passed
from tensor_copies.machine.time_limit import LessonTimeout

if TYPE_CHECKING:
    from types import FrameType

    from sphinx.application import Sphinx
    from sphinx.config import Config

# How a figure looks that a lesson draws with matplotlib.
STYLE = Path(__file__).with_name("figure.mplstyle")
# A lesson that catches the exception at its limit is asked again each second; one
# that is stuck outside Python, or swallows them all, takes the process with it.
SECONDS_OF_GRACE = 10
# What watches a lesson (figures/steps.py) takes any exception for one of its own.
WATCHER = "tensor_maps"
SECONDS_OF_A_LOOK = 0.01
# Settings of torch's backends that have no function to put them back.
SWITCHES = (
    ("cudnn", "enabled"),
    ("cudnn", "benchmark"),
    ("cudnn", "deterministic"),
    ("mkldnn", "enabled"),
)
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class LessonLeft(ExtensionError):
    """A lesson left what disturbs the others or is not shown; the message says what."""


@dataclass
class _Start:
    """The state in which Python, torch, NumPy and matplotlib were first found."""

    environment: dict[str, str]
    torch_threads: int
    torch_switches: dict[tuple[str, str], bool]
    numpy_print_options: dict[str, Any]
    numpy_error_state: dict[str, str]
    decimal_context: decimal.Context
    locale: str
    signal_handlers: dict[signal.Signals, Any]
    recursion_limit: int
    gc_threshold: tuple[int, int, int]
    umask: int


_start: _Start | None = None
_figure_settings: dict[str, Any] | None = None
_seconds = 0
_filters: list[Any] = []
_before: list[leftovers.Before] = []


def reset(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
    """Prepare for ``lesson`` or clean up after it (a ``reset_modules`` hook).

    Parameters
    ----------
    gallery_conf
        The gallery's configuration (unused, part of the hook's signature).
    lesson
        File name of the script, without its folder.
    when
        ``"before"`` or ``"after"``.

    Raises
    ------
    LessonLeft
        If the lesson left a thread, a process, a file or a function that it has
        replaced, or wrote what no page shows.
    UnusableGPU
        If torch sees a GPU and its first use fails.
    """
    source = Path(gallery_conf.get("src_dir", "."))
    if when == "before":
        _put_back()
        # Around a lesson garbage is collected twice: of what was there before, which
        # stays, none is looked for. It takes longer than most lessons.
        gc.freeze()
        folders = gallery_conf.get("examples_dirs", ())
        _before[:] = [
            leftovers.before_a_lesson((source / name).resolve() for name in folders)
        ]
        _guard(lesson)
    else:
        stop_clock()
        if _filters:
            warnings.resetwarnings()
            warnings.filters[:] = _filters.pop()
        _put_back()
        left = leftovers.left_since(_before.pop()) if _before else []
        # Of one that has failed there is more to say.
        if left and not has_failed(gallery_conf, lesson):
            for noted in noted_as_passed(gallery_conf, lesson):
                noted.unlink()
            raise LessonLeft(f"{lesson} left {' and '.join(left)}")


def set_up(program: str) -> None:
    """Prepare as :func:`reset` does, but for what looks at what is left afterwards."""
    _put_back()
    _guard(program)


def _guard(lesson: str) -> None:
    """Turn warnings into errors, and start the clock."""
    _filters[:] = [warnings.filters[:]]
    warnings.resetwarnings()
    warnings.simplefilter("error")
    # A lesson ends with `plt.show()` for the reader's own run; here nothing is
    # shown, and matplotlib says so wherever there is a display.
    warnings.filterwarnings("ignore", r".*is non-interactive, and thus cannot")
    _start_clock(lesson)


def _put_back() -> None:
    """Give every setting the value that a newly started Python has."""
    global _start, _figure_settings
    # Else torch's profiler says in the log when it starts and stops.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    import matplotlib.pyplot
    import numpy
    import perfplot  # noqa: F401  its first import changes matplotlib's settings
    import torch

    if _start is None:
        if torch.cuda.is_available():
            try:
                torch.ones(1, device="cuda").item()
            except Exception as error:  # whatever a driver that does not fit says
                raise UnusableGPU(str(error)) from None
        _start = _Start(
            environment=dict(os.environ),
            torch_threads=torch.get_num_threads(),
            torch_switches={
                (backend, name): getattr(getattr(torch.backends, backend), name)
                for backend, name in SWITCHES
            },
            numpy_print_options=numpy.get_printoptions(),
            numpy_error_state=numpy.geterr(),
            decimal_context=decimal.getcontext().copy(),
            locale=locale.setlocale(locale.LC_ALL),
            signal_handlers={number: signal.getsignal(number) for number in SIGNALS},
            recursion_limit=sys.getrecursionlimit(),
            gc_threshold=gc.get_threshold(),
            umask=_umask(),
        )
    if dict(os.environ) != _start.environment:
        os.environ.clear()
        os.environ.update(_start.environment)
    if hasattr(time, "tzset"):  # not on Windows
        time.tzset()
    locale.setlocale(locale.LC_ALL, _start.locale)
    os.umask(_start.umask)
    gc.enable()
    gc.set_threshold(*_start.gc_threshold)
    sys.setrecursionlimit(_start.recursion_limit)
    decimal.setcontext(_start.decimal_context.copy())
    logging.disable(logging.NOTSET)
    # Not what it was: a package of styles has set up a log of its own by now.
    logging.root.setLevel(logging.WARNING)
    logging.root.handlers.clear()
    for number, handler in _start.signal_handlers.items():
        signal.signal(number, handler)

    if torch.empty(0).device.type != "cpu":
        torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)
    # Asked for even if it is off, this imports torch's compiler, for two seconds.
    if torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    torch.set_flush_denormal(False)
    for (backend, name), value in _start.torch_switches.items():
        setattr(getattr(torch.backends, backend), name, value)
    torch.set_num_threads(_start.torch_threads)
    torch.set_printoptions(profile="default", sci_mode=None)
    # A new process draws its seeds: what must not vary, a lesson seeds itself.
    torch.seed()
    random.seed()
    numpy.random.seed()
    # A warning that an earlier lesson has shown must not be silent in this one.
    torch.set_warn_always(True)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    numpy.set_printoptions(**_start.numpy_print_options)
    numpy.seterr(**_start.numpy_error_state)

    matplotlib.pyplot.close("all")
    # To set what is set already takes longer than many programs.
    if _figure_settings != dict.copy(matplotlib.rcParams):
        matplotlib.rcdefaults()
        matplotlib.use("agg")
        matplotlib.style.use(STYLE)
        _figure_settings = dict.copy(matplotlib.rcParams)


def _umask() -> int:
    """Return the mask of new files, which can be read only by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _start_clock(lesson: str) -> None:
    def ask_to_stop(signum: int, frame: FrameType | None) -> None:
        # The gallery's own code must not be interrupted, only the lesson's.
        while frame is not None:
            if frame.f_globals.get("__name__", "").partition(".")[0] == WATCHER:
                signal.setitimer(signal.ITIMER_REAL, SECONDS_OF_A_LOOK, 1)
                return
            if Path(frame.f_code.co_filename).name == lesson:
                raise LessonTimeout(f"{lesson} ran longer than {_seconds} seconds")
            frame = frame.f_back

    if hasattr(signal, "setitimer"):  # not on Windows
        signal.signal(signal.SIGALRM, ask_to_stop)
        signal.setitimer(signal.ITIMER_REAL, _seconds, 1)
    faulthandler.dump_traceback_later(
        _seconds + SECONDS_OF_GRACE, exit=True, file=sys.__stderr__
    )


def stop_clock() -> None:
    """Let what runs after a lesson take its time."""
    faulthandler.cancel_dump_traceback_later()
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def set_time_limit(seconds: int) -> None:
    """End a lesson that runs longer than ``seconds``."""
    global _seconds
    _seconds = seconds


def take_time_limit(app: Sphinx, config: Config) -> None:
    """Take ``lesson_time_limit``, in whole seconds, from the options."""
    set_time_limit(config.lesson_time_limit)
