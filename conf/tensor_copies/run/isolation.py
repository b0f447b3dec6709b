"""What a lesson finds beside torch: seeds, the size of figures, strict warnings.

All else it finds as a new Python has it, since it runs in one (apart.py).
"""

from __future__ import annotations

import io
import os
import random
import warnings
from contextlib import redirect_stderr

# On these hang the ticks of a chart, of which the page draws the data.
FIGURE = {"figure.figsize": (5.0, 3.9), "font.size": 11}
_lessons: set[int] = set()  # the processes in which they have begun


def prepare(gallery_conf: object, lesson: str, when: str) -> None:
    """Prepare what is about to run (a ``reset_modules`` hook)."""
    if when != "before":
        return
    _lessons.add(os.getpid())
    import matplotlib.pyplot
    import numpy
    import perfplot  # noqa: F401  its first import changes matplotlib's settings
    import torch

    if torch.version.cuda and not torch.cuda.is_available():
        # It says that it found a CUDA toolkit and no GPU; torch's timers import it.
        with redirect_stderr(io.StringIO()):
            import torch.utils.cpp_extension
    # What must not vary a lesson seeds itself: two forks of one Python must not draw
    # the same numbers by chance.
    torch.seed()
    random.seed()
    numpy.random.seed()
    torch.set_warn_always(True)  # of a page all warnings are seen, not the first
    matplotlib.pyplot.close("all")
    matplotlib.rcdefaults()
    matplotlib.use("agg")
    matplotlib.rcParams.update(FIGURE)
    warnings.resetwarnings()
    warnings.simplefilter("error")
    # A lesson ends with `plt.show()` for the reader's own run; here nothing is
    # shown, and matplotlib says so wherever there is a display.
    warnings.filterwarnings("ignore", r".*is non-interactive, and thus cannot")


def end_a_fork(*_: object) -> str:
    """End a process that the code of a block has forked (the first image scraper).

    It would go on with the lesson, and write another page over it.
    """
    if os.getpid() not in _lessons:
        os.write(2, b"a process that the lesson forked went on")
        os._exit(1)
    return ""


def seed_everything() -> None:
    """Begin all random numbers anew, from a fixed seed.

    What is watched shows all values: so they are the same in each build.
    """
    import numpy
    import torch

    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
