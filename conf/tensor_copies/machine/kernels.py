"""The kernels that run the cells of pages: side by side, no network, whole lines.

By default a kernel talks over TCP: it warns that this is not encrypted, and without a
loopback device, as in some sandboxes, it cannot start. Over sockets in a folder of its
own it needs neither. MyST-NB and jupyter-cache have no option for it, so their
function that runs a page gets a configuration. And their cache would not open where a
folder's name has a ``%`` or a ``?``, since it puts the path into an address as it is.

MyST-NB runs a page when it reads it, one after the other. Here they are run before:
first those that measure time, each alone, then the others, as many at once as there are
processors, while pages are read. MyST-NB then finds the outputs of the very cells that
it asks for.

A kernel may also watch cells with certain tags (:func:`watch`), by an extension of
IPython. What it writes is kept in the folder of the cache: with the page's outputs it
is found again, or made again.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tensor_copies.machine import background, progress
from tensor_copies.machine.clocks import takes_times
from tensor_copies.machine.code_keys import key_of
from tensor_copies.machine.late_imports import imported_late

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment
    from sqlalchemy import Engine

# The name of a socket has at most 103 bytes: a folder for temporary files may be deep.
SHORT = "/tmp"

# The environment variable that names the folder of a kernel's watched cells: of one
# kernel at a time, since the variables are those of the whole process.
WATCH = "TENSOR_COPIES_WATCH"
_watching = Lock()
_tags: dict[str, str] = {}
_ahead: dict[str, Future[NotebookNode]] = {}
_at_end = ExitStack()


def take_over(app: Sphinx, config: Config) -> None:
    """Let pages run as :func:`_execute` does."""
    from jupyter_cache.cache import db
    from jupyter_cache.executors import utils

    # It would say for each page that its kernel is called python3, as soon as anyone
    # lets the log of the whole process show more than warnings.
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    cache = Path(config.nb_execution_cache_path)
    utils.executenb = partial(_take_or_execute, cache)
    db.create_engine = _open


def run_ahead(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Start to run those of the pages that are to be read and that have not run."""
    waiting = []
    for page in pages:
        path = Path(env.doc2path(page))
        if path.suffix == ".md" and (notebook := _to_run(app, path)) is not None:
            waiting.append((page, notebook, str(path.parent)))
    if len(waiting) < 2:  # there is nothing that could run beside it
        return
    begin_forks("\n".join(_code(notebook) for _, notebook, _ in waiting))
    timed = [one for one in waiting if takes_times(_code(one[1]))]
    pool = ThreadPoolExecutor(max(1, os.cpu_count() or 1))
    _at_end.callback(pool.shutdown, wait=False, cancel_futures=True)
    for page, notebook, folder in timed:
        progress.tell("begun", kind="page", name=page)
        with background.stopped():
            done = pool.submit(_timed, app, page, copy.deepcopy(notebook), folder)
            _ahead[_key(notebook, folder)] = done
            done.exception()  # waits
        progress.tell("passed", kind="page", name=page)
    for page, notebook, folder in [one for one in waiting if one not in timed]:
        done = pool.submit(_timed, app, page, copy.deepcopy(notebook), folder)
        _ahead[_key(notebook, folder)] = done
    if app.parallel > 1:  # the processes that read pages see nothing of our threads
        for done in _ahead.values():
            done.exception()


def begin_forks(code: str) -> None:
    """Have the kernels that run this code forked from now on, until the build ends."""
    from tensor_copies.machine import forked_kernels  # not needed where no page runs

    if forked_kernels.begin(imported_late(code)):
        _at_end.callback(forked_kernels.end)
        background.soon_over.append(forked_kernels.wait)


def stop(app: Sphinx, exception: Exception | None) -> None:
    """Begin no other page: the build has ended."""
    _at_end.close()
    _ahead.clear()


def _to_run(app: Sphinx, path: Path) -> NotebookNode | None:
    """Return the cells of a page that have not run as they are, if there are any."""
    from jupyter_cache import get_cache
    from myst_nb.core.read import create_nb_reader

    text = path.read_text(encoding="utf-8")
    options = app.env.myst_config, app.env.mystnb_config
    reader = create_nb_reader(str(path), *options, text)
    if reader is None:
        return None
    notebook = reader.read(text)
    try:
        get_cache(app.config.nb_execution_cache_path).match_cache_notebook(notebook)
    except KeyError:
        return notebook
    return None


def _timed(app: Sphinx, page: str, notebook: NotebookNode, cwd: str) -> NotebookNode:
    begun = perf_counter()
    _execute(
        Path(app.config.nb_execution_cache_path),
        notebook,
        cwd=cwd,
        timeout=app.config.nb_execution_timeout,
        allow_errors=app.config.nb_execution_allow_errors,
        record_timing=False,
    )
    progress.ran_ahead[page] = perf_counter() - begun
    return notebook


def _code(notebook: NotebookNode) -> str:
    return "\n".join(cell.source for cell in _cells(notebook))


def _cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _key(notebook: NotebookNode, cwd: str) -> str:
    cells = [[cell.source, cell.metadata.get("tags")] for cell in _cells(notebook)]
    return json.dumps([os.path.realpath(cwd), cells])


def _take_or_execute(
    cache: Path, notebook: NotebookNode, **options: Any
) -> NotebookNode:
    """Give a notebook the outputs that it has if it ran ahead; else run it."""
    done = _ahead.pop(_key(notebook, options["cwd"]), None)
    if done is None:
        return _execute(cache, notebook, **options)
    ran = done.result()
    for cell, other in zip(_cells(notebook), _cells(ran), strict=True):
        cell.outputs, cell.execution_count = other.outputs, other.execution_count
    notebook.metadata.update(ran.metadata)
    return notebook


def _open(address: str) -> Engine:
    """Open the file of an address of SQLite, whatever its name has in it."""
    from sqlalchemy import URL, create_engine

    path = address.removeprefix("sqlite:///")
    return create_engine(URL.create("sqlite", database=path))


def watch(tag: str, extension: str) -> None:
    """Have the cells with a tag watched by an extension of IPython.

    It finds their sources, a list, in ``wanted.json`` in the folder that the variable
    :data:`WATCH` names, and writes ``NUMBER.json`` beside it, for each of the list.
    """
    _tags[tag] = extension


def kept_of(cache: Path, sources: list[str]) -> Path:
    """Return where what was seen of a page is kept, by the code of all its cells."""
    return cache / "watched" / f"{key_of(*map(str.strip, sources))}.json"


def _execute(cache: Path, notebook: NotebookNode, **options: Any) -> NotebookNode:
    code = _cells(notebook)
    wanted, extensions = [], set()
    for cell in code:
        for tag in set(cell.metadata.get("tags", ())) & set(_tags):
            wanted.append(cell.source)
            extensions.add(_tags[tag])
    if not wanted:
        return _run(notebook, **options)
    with ExitStack() as stack:
        stack.enter_context(_watching)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "wanted.json").write_text(json.dumps(wanted), encoding="utf-8")
        os.environ[WATCH] = str(folder)
        stack.callback(os.environ.pop, WATCH)
        arguments = [f"--ext={name}" for name in sorted(extensions)]
        result = _run(notebook, extra_arguments=arguments, **options)
        seen = []
        for number in range(len(wanted)):
            path = folder / f"{number}.json"
            text = path.read_text(encoding="utf-8") if path.exists() else "null"
            seen.append(json.loads(text))
    path = kept_of(cache, [cell.source for cell in code])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(seen), encoding="utf-8")
    return result


def _run(notebook: NotebookNode, **options: Any) -> NotebookNode:
    """Run a notebook, its outputs whole, its kernel talking over files.

    On a busy machine a line reaches us in pieces. MyST-NB takes each for a line of its
    own, unless they are put together before.
    """
    from nbclient import execute
    from traitlets.config import Config as Traits

    run = partial(execute, notebook, coalesce_streams=True, **options)
    if os.name != "posix" or not os.access(SHORT, os.W_OK):
        return run()
    with tempfile.TemporaryDirectory(prefix="kernel-", dir=SHORT) as folder:
        traits = {"transport": "ipc", "ip": f"{folder}/socket"}
        return run(config=Traits({"KernelManager": traits}))
