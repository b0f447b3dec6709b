"""Run each lesson in a fresh process, so that no lesson changes what another prints.

sphinx-gallery runs all scripts in the process that builds. Here its function that makes
one page runs in a process of its own. On Linux that is a fork of a server that has
imported what lessons need, and nothing else: a lesson starts within milliseconds.

Two processes run at once: the lessons that take no times, and what other rooms have
begun (:mod:`tensor_copies.gallery.kept`). A lesson that takes times runs alone, after
them.
"""

import faulthandler
import gc
import random
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_gallery import gen_rst
from sphinx_gallery.utils import get_md5sum

from tensor_copies.gallery.lessons import lesson_scripts, takes_times

PROCESSES = get_context("forkserver" if sys.platform == "linux" else "spawn")
PRELOADED = (
    *("torch", "matplotlib.backends.backend_agg", "matplotlib.pyplot", "perfplot"),
    "torch.utils.benchmark",  # with a compiler of CUDA and no GPU it says so, once
    *("sphinx_gallery.gen_gallery", "tensor_copies.machines.below"),
    *(f"tensor_copies.figures.{name}" for name in ("maps", "plots", "steps")),
    *("tensor_maps.steps.watch", __name__),
)
# Any optimizer imports it, for two seconds: worth it for more processes than a few.
COMPILER, FEW = "torch._dynamo", 5
AT_ONCE = 2
TIME_LIMIT = 600  # seconds for one process
STYLE = Path(__file__).parents[1] / "figures" / "charts.mplstyle"

_pool = ThreadPoolExecutor(AT_ONCE)
_begun: list[Future[Any]] = []
_pages: dict[Path, Future[Any]] = {}  # of lessons, by their script


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own; return what it returns.

    All is pickled on its way. Raises what the function raises, and
    ``BrokenProcessPool`` if the process ends early or takes longer than
    :data:`TIME_LIMIT`: then Python's own words say where it was.
    """
    with ProcessPoolExecutor(1, PROCESSES, _begin_process) as pool:
        return pool.submit(function, *arguments).result()


def _begin_process() -> None:
    gc.freeze()  # no collection goes through what the server has imported
    faulthandler.enable()
    faulthandler.dump_traceback_later(TIME_LIMIT, exit=True)


def begin(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Call a function in a fresh process, beside at most one other."""
    _begun.append(_pool.submit(in_fresh_process, function, *arguments))
    return _begun[-1]


def cancel() -> None:
    """Cancel what has not begun; wait for what runs."""
    _pool.shutdown(cancel_futures=True)


def use_fresh_processes(app: Sphinx) -> None:
    """Let the gallery make the page of a lesson that has to run in a fresh process.

    It is called before the first process begins.
    """
    waiting = {
        script: folder
        for page, script in lesson_scripts(app).items()
        if not _is_kept(script, folder := Path(app.srcdir, page).parent)
    }
    for script, folder in waiting.items():  # if it fails, its page is no result
        (folder / f"{script.name}.md5").unlink(missing_ok=True)
    generate_here = gen_rst.generate_file_rst
    compiler = [COMPILER] if len(waiting) > FEW else []
    PROCESSES.set_forkserver_preload([*PRELOADED, *compiler])

    def make_page(
        lesson: str, target: str, source: str, conf: dict[str, Any]
    ) -> tuple[Any, ...]:
        if (script := Path(source, lesson).resolve()) not in waiting:
            return generate_here(lesson, target, source, conf)
        if not _pages:
            # The gallery notes in `conf` while this copy is pickled.
            copy = {**conf, "titles": {}, "failing_examples": {}}
            for one, folder in waiting.items():
                if not takes_times(one.read_text(encoding="utf-8")):
                    folder.mkdir(parents=True, exist_ok=True)
                    asked = one.name, folder, one.parent, copy
                    _pages[one] = begin(_generate, *asked)
        try:
            if script in _pages:
                return _pages[script].result()
            wait(_begun)
            return in_fresh_process(_generate, lesson, target, source, conf)
        except BaseException as error:
            cancel()
            if isinstance(error, BrokenProcessPool):
                said = "ended its process or took too long: see above"
                raise ExtensionError(f"{script.name} {said}") from None
            raise

    gen_rst.generate_file_rst = make_page


def _generate(*asked: Any) -> tuple[Any, ...]:
    return gen_rst.generate_file_rst(*asked)  # in the fresh process it is the gallery's


def _is_kept(script: Path, folder: Path) -> bool:
    note = folder / f"{script.name}.md5"
    return note.exists() and note.read_text() == get_md5sum(script, "t")


def stop_if_lessons_failed(app: Sphinx) -> None:
    """Name all lessons that failed, before any page is read."""
    failed = app.config.sphinx_gallery_conf["failing_examples"].items()
    if problems := [f"{Path(script).name} failed:\n{why}" for script, why in failed]:
        cancel()
        raise ExtensionError("\n".join(problems))


def prepare(gallery_conf: object, lesson: str, when: str = "before") -> None:
    """Prepare what a lesson finds: seeds, warnings, figures (``reset_modules``)."""
    if when != "before":
        return
    import matplotlib.pyplot
    import perfplot  # noqa: F401  its first import changes matplotlib's settings
    import torch

    seed_everything()
    torch.set_warn_always(True)  # of a page all warnings are seen, not the first
    matplotlib.rcdefaults()
    matplotlib.use("agg")
    matplotlib.pyplot.style.use(STYLE)
    warnings.simplefilter("error")
    # A lesson ends with `plt.show()` for the reader's own run; here nothing is
    # shown, and matplotlib says so wherever there is a display.
    warnings.filterwarnings("ignore", r".*is non-interactive, and thus cannot")


def seed_everything() -> None:
    """Begin all random numbers anew: of what is watched all values are shown."""
    import numpy
    import torch

    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
