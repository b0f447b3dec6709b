"""What is begun with the first lesson, because pages will ask for it.

The gallery runs one lesson after the other, while a core is idle. What the Atlas and
the explorer show comes from other processes, takes as long as many lessons, and is
kept. So where it is missing it is begun with the first lesson, in one process, and
found as kept by whoever asks for it later. And if no page has run yet, the Python that
is to fork their kernels imports torch meanwhile.

If it fails nothing is said here: who asks finds nothing kept, runs it once more, and
says what is wrong.

On a machine with a GPU all waits its turn: probes see there how long a queue is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tensor_copies.machine import background, kernels
from tensor_copies.machine.fingerprint import fingerprint
from tensor_copies.machine.freshness import run_path
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.processes import beside_others
from tensor_copies.machine.progress import CHANNEL

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

FEW_LESSONS = 8  # beside fewer there is little to win


@dataclass(frozen=True)
class _Work:
    """A module whose ``keep_ready`` keeps what pages with a directive will ask for."""

    module: str
    directive: str
    is_kept: Callable[[], bool]


_works: list[_Work] = []


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
    if not Path(app.config.nb_execution_cache_path).exists():  # all pages will run
        kernels.begin_forks(pages)
    wanted = [
        work.module
        for work in _works
        if f"{{{work.directive}" in pages and not work.is_kept()
    ]
    if wanted:
        keep_ready(wanted)


def read_last(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Have the pages that ask for it read after all others.

    Where several processes read, these cannot wait for it: it is waited for here.
    """
    if app.parallel > 1:
        background.finish()

    def asks(page: str) -> bool:
        path = Path(env.doc2path(page))
        if path.suffix != ".md":
            return False
        text = path.read_text(encoding="utf-8")
        return any(f"{{{work.directive}" in text for work in _works)

    pages.sort(key=asks)


def keep_ready(modules: list[str]) -> None:
    """Have the ``keep_ready`` of modules called in a process beside this one."""
    environment = beside_others(os.environ)
    environment.pop(CHANNEL, None)  # what it says is for nobody
    background.start([sys.executable, "-m", __name__, *modules], environment)


def main() -> None:
    """Keep what these modules keep; end early when the build has ended."""
    from tensor_copies.machine.sphinx_process import when_the_parent_ends

    # With all that this process, which leads its group, has started.
    when_the_parent_ends(lambda: os.killpg(0, signal.SIGKILL))
    for module in sys.argv[1:]:
        import_module(module).keep_ready()


if __name__ == "__main__":
    main()
