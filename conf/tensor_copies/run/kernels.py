"""The kernels that run the cells of pages: plain, of this very Python, without TCP.

MyST-NB runs a page when it reads it. Left to itself, its kernel takes what the person
who builds has made of IPython and of kernels named python3. And it talks over TCP: it
warns that this is not encrypted, and without a loopback device it cannot start. So
:func:`_run` gives each kernel a folder of its own, with no profile, a kernel that is
this Python, and the sockets. MyST-NB and jupyter-cache have no option for it: their
function that runs a notebook is replaced.

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
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tensor_copies.run import kept_json, progress
from tensor_copies.run.clocks import takes_times
from tensor_copies.run.code_keys import ROOT, key_of
from tensor_copies.run.sources import UnfitSource, files_of, what_changed

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

# The name of a socket has at most 103 bytes: a folder for temporary files may be deep.
SHORT = "/tmp"
# The environment variable that names the folder of a kernel's watched cells.
WATCH = "TENSOR_COPIES_WATCH"
KERNEL = {
    "argv": [
        *(sys.executable, "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}"),
        "--InteractiveShellApp.ignore_cwd=True",  # a scratch file there is no module
    ],
    "display_name": "Python 3",
    "language": "python",
}
MOST = 2_000_000  # characters of a page, whose text is coloured and searched
_tags: dict[str, str] = {}


def take_over(app: Sphinx, config: Config) -> None:
    """Let pages run as :func:`_execute` does, and keep them in any folder."""
    from jupyter_cache.cache import db
    from jupyter_cache.executors import utils
    from sqlalchemy import URL, create_engine

    # It would say for each page that its kernel is called python3, as soon as anyone
    # lets the log of the whole process show more than warnings.
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    cache = Path(config.nb_execution_cache_path)
    _forget_what_is_damaged(cache)
    utils.executenb = partial(_execute, cache, app)
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


def run_timed(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Run the pages that take times, before anything runs beside pages.

    MyST-NB then finds them in its cache, or runs one that failed and says so.
    """
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from jupyter_cache.executors.utils import single_nb_execution
    from myst_nb.core.read import create_nb_reader

    for path in (Path(env.doc2path(page)) for page in pages):
        if path.suffix != ".md" or not takes_times(text := path.read_text("utf-8")):
            continue
        options = env.myst_config, env.mystnb_config
        if (reader := create_nb_reader(str(path), *options, text)) is None:
            continue
        cache = get_cache(app.config.nb_execution_cache_path)
        notebook = reader.read(text)
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            limit = app.config.nb_execution_timeout
            page = env.path2doc(path)
            done = single_nb_execution(notebook, path.parent, limit, False, page=page)
            if done.err is None:
                took = {"execution_seconds": done.time}
                bundle = CacheBundleIn(notebook, str(path), data=took)
                cache.cache_notebook_bundle(bundle, check_validity=False)


def _execute(
    cache: Path, app: Sphinx, notebook: NotebookNode, page: str = "", **options: Any
) -> NotebookNode:
    """Run the cells of a page; refuse what would be no page or changes others."""
    from nbclient.exceptions import DeadKernelError

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    page, began, before = page or app.env.docname, monotonic(), files_of(ROOT)
    with _watching(code, cache) as arguments:
        try:
            _run(notebook, extra_arguments=arguments, **options)
            problem = _too_much(code) or what_changed(ROOT, before)
        except DeadKernelError:
            problem = "a cell ended the process in which it ran"
        if problem:
            raise UnfitSource(f"{page}: {problem}")
    progress.say_time("page", page, monotonic() - began)
    return notebook


@contextmanager
def _watching(code: list[NotebookNode], cache: Path) -> Iterator[list[str]]:
    """Give the arguments of a kernel that watches tagged cells; keep what it saw."""
    tagged = [(one.source, _tags.keys() & one.metadata.get("tags", ())) for one in code]
    wanted = [source for source, tags in tagged if tags]
    extensions = {_tags[tag] for _, tags in tagged for tag in tags}
    with tempfile.TemporaryDirectory() as name:
        kept_json.save(Path(name, "wanted.json"), wanted)
        with patch.dict(os.environ, {WATCH: name} if wanted else {}):
            yield [f"--ext={extension}" for extension in sorted(extensions)]
        if wanted:
            files = (Path(name, f"{at}.json") for at in range(len(wanted)))
            seen = [*map(kept_json.load, files)]
            kept_json.save(kept_of(cache, [source for source, _ in tagged]), seen)


def _run(notebook: NotebookNode, **options: Any) -> None:
    """Run a notebook in place, its kernel in a folder of its own."""
    from nbclient import execute
    from traitlets.config import Config as Traits

    posix = os.name == "posix" and os.access(SHORT, os.W_OK)
    with tempfile.TemporaryDirectory(
        prefix="kernel-", dir=SHORT if posix else None
    ) as name:
        kept_json.save(Path(name, "jupyter/kernels/python3/kernel.json"), KERNEL)
        traits = {"transport": "ipc", "ip": f"{name}/socket"} if posix else {}
        own = {"IPYTHONDIR": f"{name}/ipython", "JUPYTER_PATH": f"{name}/jupyter"}
        with patch.dict(os.environ, own):
            config = Traits({"KernelManager": traits})
            execute(notebook, config=config, **options)


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
