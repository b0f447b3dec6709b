"""The kernels that run the cells of pages: plain, of this very Python, without TCP.

MyST-NB runs a page when it reads it. Left to itself, its kernel takes what the person
who builds has made of IPython and of kernels named python3. And it talks over TCP: it
warns that this is not encrypted, and without a loopback device it cannot start. So
:func:`_run` gives each kernel a folder of its own, with no profile, a kernel that is
this Python, and the sockets. MyST-NB and jupyter-cache have no option for it: their
function that runs a notebook is replaced.

A kernel needs seconds to start: two pages run at a time, ahead of Sphinx's reading.

A kernel may also watch cells with certain tags (:func:`watch`), by an extension of
IPython. What it writes is kept in the folder of the cache: with the page's outputs it
is found again, or made again.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache as once
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tensor_copies.run import kept_json, processes, progress
from tensor_copies.run.clocks import takes_times
from tensor_copies.run.code_keys import key_of
from tensor_copies.run.sources import UnfitSource, nothing_left

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

# The name of a socket has at most 103 bytes: a folder for temporary files may be deep.
SHORT = "/tmp" if os.name == "posix" and os.access("/tmp", os.W_OK) else None
# The environment variable that names the folder of a kernel's watched cells.
WATCH = "TENSOR_COPIES_WATCH"
KERNEL = [
    *(sys.executable, "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}"),
    "--InteractiveShellApp.ignore_cwd=True",  # a scratch file there is no module
]
MOST = 2_000_000  # characters of a page, whose text is coloured and searched
AT_A_TIME = 2
_tags: dict[str, str] = {}
_pool = ThreadPoolExecutor(AT_A_TIME)
_runs: dict[str, Future[NotebookNode]] = {}  # of notebooks, by their code


def take_over(app: Sphinx, config: Config) -> None:
    """Let pages run as :func:`run_pages` has begun it, and keep them in any folder."""
    from jupyter_cache.cache import db
    from jupyter_cache.executors import utils
    from sqlalchemy import URL, create_engine

    # It would say for each page that its kernel is called python3, as soon as anyone
    # lets the log of the whole process show more than warnings.
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    cache = Path(config.nb_execution_cache_path)
    _forget_what_is_damaged(cache)
    _folder()
    utils.executenb = partial(_wait_for, app)
    # In a folder whose name has a question mark its own address is of another file.
    where = URL.create("sqlite", database=str(cache / db.DB_NAME))
    db.create_engine = lambda address: create_engine(where)


def _forget_what_is_damaged(cache: Path) -> None:
    """Remove the pages that are kept if one cannot be read: they run again."""
    try:
        with closing(sqlite3.Connection(cache / "global.db")) as database:
            keys = database.execute("SELECT hashkey FROM nbcache").fetchall()
    except sqlite3.Error:  # also where none is kept
        keys = [("none",)]
    kept = (cache / "executed" / key / "base.ipynb" for (key,) in keys)
    if None in map(kept_json.load, kept):
        shutil.rmtree(cache, ignore_errors=True)


def watch(tag: str, extension: str) -> None:
    """Have the cells with a tag watched by an extension of IPython.

    It finds their sources, a list, in ``wanted.json`` in the folder that the variable
    :data:`WATCH` names, and writes ``NUMBER.json`` beside it, for each of the list.
    """
    _tags[tag] = extension


def kept_of(cache: Path, sources: list[str]) -> Path:
    """Return where what was seen of a page is kept, by the code of all its cells."""
    return cache / "watched" / f"{key_of(*map(str.strip, sources))}.json"


def run_pages(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Begin to run the pages that are not kept: those that take times first, alone."""
    from jupyter_cache import get_cache
    from myst_nb.core.read import create_nb_reader

    later = []
    for page in pages:
        path = Path(env.doc2path(page))
        text = path.read_text("utf-8") if path.suffix == ".md" else ""
        options = env.myst_config, env.mystnb_config
        if not text or (reader := create_nb_reader(str(path), *options, text)) is None:
            continue
        notebook = reader.read(text)
        try:
            get_cache(app.config.nb_execution_cache_path).match_cache_notebook(notebook)
        except KeyError:
            if takes_times(text):
                _runs[_key(notebook)] = run = _begin(app, notebook, page)
                run.exception()  # waits; who reads the page raises it
            else:
                later.append((notebook, page))
    _runs.update((_key(one), _begin(app, one, page)) for one, page in later)


def stop() -> None:
    """End the kernels, and what they have written."""
    _pool.shutdown(wait=False, cancel_futures=True)
    processes.end_children()
    _folder().cleanup()


@once
def _folder() -> tempfile.TemporaryDirectory:
    """Make the folder in which the kernels of this build have theirs."""
    return tempfile.TemporaryDirectory(
        prefix="kernels-", dir=SHORT, ignore_cleanup_errors=True
    )


def _code_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _key(notebook: NotebookNode) -> str:
    return key_of(*(cell.source for cell in _code_of(notebook)))


def _wait_for(
    app: Sphinx, notebook: NotebookNode, cwd: str, timeout: int, **options: Any
) -> NotebookNode:
    """Give a notebook the outputs of its run; run it if it has changed since."""
    run = _runs.pop(_key(notebook), None) or _begin(app, notebook, app.env.docname)
    for cell, other in zip(_code_of(notebook), _code_of(run.result()), strict=True):
        cell.outputs, cell.execution_count = other.outputs, other.execution_count
    notebook.metadata.update(run.result().metadata)
    return notebook


def _begin(app: Sphinx, notebook: NotebookNode, page: str) -> Future[NotebookNode]:
    cache, limit = app.config.nb_execution_cache_path, app.config.nb_execution_timeout
    folder = Path(app.env.doc2path(page)).parent
    return _pool.submit(_execute, Path(cache), notebook, page, folder, limit)


def _execute(
    cache: Path, notebook: NotebookNode, page: str, cwd: Path, timeout: int
) -> NotebookNode:
    """Run the cells of a page; refuse what would be no page or changes others."""
    from nbclient.exceptions import DeadKernelError
    from nbformat import ValidationError

    began, code = perf_counter(), _code_of(notebook)
    with (
        nothing_left(page),
        tempfile.TemporaryDirectory(dir=_folder().name) as name,
        _watching(code, cache, Path(name)) as arguments,
    ):
        try:
            _run(notebook, Path(name), cwd, timeout, arguments)
            problem = _too_much(code)
        except DeadKernelError:
            problem = "a cell ended the process in which it ran"
        except ValidationError as error:
            problem = f"a cell shows what is no text: {error.message}"
        if problem:
            raise UnfitSource(f"{page}: {problem}")
    progress.say_time("page", page, perf_counter() - began)
    return notebook


@contextmanager
def _watching(code: list[NotebookNode], cache: Path, own: Path) -> Iterator[list[str]]:
    """Give the arguments of a kernel that watches tagged cells; keep what it saw."""
    tagged = [(one.source, _tags.keys() & one.metadata.get("tags", ())) for one in code]
    wanted = [source for source, tags in tagged if tags]
    extensions = {_tags[tag] for _, tags in tagged for tag in tags}
    kept_json.save(own / "wanted.json", wanted)
    yield [f"--ext={extension}" for extension in sorted(extensions)]
    if wanted:
        seen = [kept_json.load(own / f"{at}.json") for at in range(len(wanted))]
        kept_json.save(kept_of(cache, [source for source, _ in tagged]), seen)


def _run(
    notebook: NotebookNode, own: Path, cwd: Path, timeout: int, arguments: list[str]
) -> None:
    """Run a notebook in place, its kernel in a folder of its own."""
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec
    from nbclient import NotebookClient
    from traitlets.config import Config as Traits

    class OfThisPython(AsyncKernelManager):
        kernel_spec = KernelSpec(argv=KERNEL, language="python")

    sockets = {"transport": "ipc", "ip": f"{own}/socket"} if SHORT else {}
    client = NotebookClient(
        notebook,
        config=Traits({"KernelManager": sockets}),
        kernel_manager_class=OfThisPython,
        resources={"metadata": {"path": str(cwd)}},
        timeout=timeout,
        extra_arguments=arguments,
    )
    variables = {"IPYTHONDIR": f"{own}/ipython", WATCH: str(own)}
    client.execute(env=os.environ | variables)


def _too_much(code: list[NotebookNode]) -> str:
    """Make one output of what a cell printed in a row; say if all is too long.

    On a busy machine a line reaches us in pieces. MyST-NB takes each for a line of its
    own. (nbclient joins them too, but a long line takes it hours.)
    """
    for cell in code:
        joined: list[NotebookNode] = []
        for output in cell.outputs:
            last = joined[-1] if joined else {}
            if output.output_type == "stream" and last.get("name") == output.name:
                last.text += output.text
            else:
                joined.append(output)
        cell.outputs = joined
    size = len(str(code))
    return f"its cells print {size} characters, {MOST} at most" if size > MOST else ""
