"""Each lesson starts as a newly started Python would, and ends within its time.

sphinx-gallery runs all lessons in one process. :func:`reset` is its hook before
and after each lesson: it puts back what a lesson may have changed, turns every
Python warning into an error, and ends a lesson that hangs.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

    from sphinx.application import Sphinx
    from sphinx.config import Config

# How a figure looks that a lesson draws with matplotlib.
STYLE = Path(__file__).with_name("figure.mplstyle")
# A lesson that catches the exception at its limit is asked again each second; one
# that is stuck outside Python, or swallows them all, takes the process with it.
SECONDS_OF_GRACE = 10


class LessonTimeout(Exception):
    """A lesson ran longer than ``lesson_time_limit``."""


@dataclass
class _Start:
    """The state in which Python, torch, NumPy and matplotlib were first found."""

    environment: dict[str, str]
    torch_threads: int
    numpy_print_options: dict[str, Any]
    numpy_error_state: dict[str, str]


_start: _Start | None = None
_seconds = 0
_filters: list[Any] = []


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
    """
    if when == "before":
        _put_back()
        _filters[:] = [warnings.filters[:]]
        warnings.resetwarnings()
        warnings.simplefilter("error")
        # A lesson ends with `plt.show()` for the reader's own run; here nothing is
        # shown, and matplotlib says so wherever there is a display.
        warnings.filterwarnings("ignore", r".*is non-interactive, and thus cannot")
        _start_clock(lesson)
    else:
        _stop_clock()
        if _filters:
            warnings.resetwarnings()
            warnings.filters[:] = _filters.pop()
        _put_back()


def _put_back() -> None:
    """Give every setting the value that a newly started Python has."""
    global _start
    import matplotlib.pyplot
    import numpy
    import perfplot  # noqa: F401  its first import changes matplotlib's settings
    import torch

    if _start is None:
        _start = _Start(
            environment=dict(os.environ),
            torch_threads=torch.get_num_threads(),
            numpy_print_options=numpy.get_printoptions(),
            numpy_error_state=numpy.geterr(),
        )
    if dict(os.environ) != _start.environment:
        os.environ.clear()
        os.environ.update(_start.environment)

    if torch.empty(0).device.type != "cpu":
        torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)
    # Asked for even if it is off, this imports torch's compiler, for two seconds.
    if torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
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
    matplotlib.rcdefaults()
    matplotlib.use("agg")
    matplotlib.style.use(STYLE)


def _start_clock(lesson: str) -> None:
    def ask_to_stop(signum: int, frame: FrameType | None) -> None:
        # The gallery's own code must not be interrupted, only the lesson's.
        while frame is not None:
            if Path(frame.f_code.co_filename).name == lesson:
                raise LessonTimeout(f"{lesson} ran longer than {_seconds} seconds")
            frame = frame.f_back

    if hasattr(signal, "setitimer"):  # not on Windows
        signal.signal(signal.SIGALRM, ask_to_stop)
        signal.setitimer(signal.ITIMER_REAL, _seconds, 1)
    faulthandler.dump_traceback_later(
        _seconds + SECONDS_OF_GRACE, exit=True, file=sys.__stderr__
    )


def _stop_clock() -> None:
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
