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

import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from tensor_copies.run import progress
from tensor_copies.run.clocks import takes_times
from tensor_copies.run.code_keys import ROOT, key_of
from tensor_copies.run.sources import UnfitSource, files_of, what_changed

if TYPE_CHECKING:
    from docutils.nodes import document
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
_ran: dict[str, NotebookNode] = {}
_begun = time()


def take_over(app: Sphinx, config: Config) -> None:
    """Let pages run as :func:`_execute` does."""
    from jupyter_cache.executors import utils

    # It would say for each page that its kernel is called python3, as soon as anyone
    # lets the log of the whole process show more than warnings.
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    utils.executenb = partial(_execute, Path(config.nb_execution_cache_path), app)


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
    """Run the pages that take times, before anything runs beside pages."""
    from jupyter_cache import get_cache
    from myst_nb.core.read import create_nb_reader

    for path in (Path(env.doc2path(page)) for page in pages):
        if path.suffix != ".md" or not takes_times(text := path.read_text("utf-8")):
            continue
        options = env.myst_config, env.mystnb_config
        if (reader := create_nb_reader(str(path), *options, text)) is None:
            continue
        notebook = reader.read(text)
        try:
            get_cache(app.config.nb_execution_cache_path).match_cache_notebook(notebook)
        except KeyError:
            cache = Path(app.config.nb_execution_cache_path)
            key, limit = _key(notebook), app.config.nb_execution_timeout
            where = {"page": path.stem, "cwd": str(path.parent)}
            _ran[key] = _execute(cache, app, notebook, timeout=limit, **where)


def _key(notebook: NotebookNode) -> str:
    return key_of(*(cell.source for cell in notebook.cells if cell.cell_type == "code"))


def report(app: Sphinx, doctree: document) -> None:
    """Say how long a page ran that has just run."""
    facts = getattr(app.env, "nb_metadata", {}).get(app.env.docname, {})
    ran = facts.get("exec_data", {})
    if ran.get("mtime", 0) >= _begun and ran.get("runtime"):
        progress.say_time("page", app.env.docname, ran["runtime"])


def _execute(
    cache: Path, app: Sphinx, notebook: NotebookNode, page: str = "", **options: Any
) -> NotebookNode:
    from nbclient.exceptions import DeadKernelError

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if (ran := _ran.pop(_key(notebook), None)) is not None:
        done = [cell for cell in ran.cells if cell.cell_type == "code"]
        for cell, other in zip(code, done, strict=True):
            cell.outputs, cell.execution_count = other.outputs, other.execution_count
        notebook.metadata.update(ran.metadata)
        return notebook
    tagged = [(cell, set(cell.metadata.get("tags", ())) & set(_tags)) for cell in code]
    wanted = [cell.source for cell, tags in tagged if tags]
    extensions = sorted({_tags[tag] for _, tags in tagged for tag in tags})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wanted.json").write_text(json.dumps(wanted), encoding="utf-8")
        watching = [f"--ext={extension}" for extension in extensions]
        before = files_of(ROOT)
        problem = ""
        with _variables({WATCH: name} if wanted else {}):
            try:
                result = _run(notebook, extra_arguments=watching, **options)
            except DeadKernelError:
                problem = "a cell ended the process in which it ran"
        for cell in code:
            _join_pieces(cell)
        if (size := len(str(notebook.cells))) > MOST:
            problem = f"its cells print {size} characters, {MOST} at most"
        if problem := problem or what_changed(ROOT, before):
            raise UnfitSource(f"{page or app.env.docname}: {problem}")
        if wanted:
            seen = [
                json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
                for path in (folder / f"{at}.json" for at in range(len(wanted)))
            ]
            path = kept_of(cache, [cell.source for cell in code])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(seen), encoding="utf-8")
    return result


def _run(notebook: NotebookNode, **options: Any) -> NotebookNode:
    """Run a notebook, its kernel in a folder of its own."""
    from nbclient import execute
    from traitlets.config import Config as Traits

    posix = os.name == "posix" and os.access(SHORT, os.W_OK)
    with tempfile.TemporaryDirectory(
        prefix="kernel-", dir=SHORT if posix else None
    ) as name:
        kernel = Path(name, "jupyter", "kernels", "python3", "kernel.json")
        kernel.parent.mkdir(parents=True)
        kernel.write_text(json.dumps(KERNEL), encoding="utf-8")
        traits = {"transport": "ipc", "ip": f"{name}/socket"} if posix else {}
        own = {"IPYTHONDIR": f"{name}/ipython", "JUPYTER_PATH": f"{name}/jupyter"}
        with _variables(own):
            config = Traits({"KernelManager": traits})
            return execute(notebook, config=config, **options)


def _join_pieces(cell: NotebookNode) -> None:
    """Make one output of what a cell printed in a row.

    On a busy machine a line reaches us in pieces. MyST-NB takes each for a line of its
    own. (nbclient joins them too, but a long line takes it hours.)
    """
    joined: list[NotebookNode] = []
    for output in cell.outputs:
        last = joined[-1] if joined else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            last.text += output.text
        else:
            joined.append(output)
    cell.outputs = joined


@contextmanager
def _variables(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
