"""The kernels that run the cells of pages: no network, no noise, whole lines.

By default a kernel talks over TCP: it warns that this is not encrypted, and without a
loopback device, as in some sandboxes, it cannot start. Over sockets in a folder of its
own it needs neither. MyST-NB and jupyter-cache have no option for it, so their
function that runs a page gets a configuration.

A kernel may also watch cells with certain tags (:func:`watch`), by an extension of
IPython. What it writes is kept in the folder of the cache: with the page's outputs it
is found again, or made again.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensor_copies.machine.code_keys import key_of

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config

# The name of a socket has at most 103 bytes: a folder for temporary files may be deep.
SHORT = "/tmp"
# The environment variable that names the folder of a kernel's watched cells.
WATCH = "TENSOR_COPIES_WATCH"
_tags: dict[str, str] = {}


def take_over(app: Sphinx, config: Config) -> None:
    """Let pages run as :func:`_execute` does."""
    from jupyter_cache.executors import utils

    # It would say for each page that its kernel is called python3, as soon as anyone
    # lets the log of the whole process show more than warnings.
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    utils.executenb = partial(_execute, Path(config.nb_execution_cache_path))


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
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    wanted, extensions = [], set()
    for cell in code:
        for tag in set(cell.metadata.get("tags", ())) & set(_tags):
            wanted.append(cell.source)
            extensions.add(_tags[tag])
    if not wanted:
        return _run(notebook, **options)
    with ExitStack() as stack:
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
