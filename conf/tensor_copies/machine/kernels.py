"""The kernels that run the cells of pages: no network, no noise, whole lines.

By default a kernel talks over TCP: it warns that this is not encrypted, and without a
loopback device, as in some sandboxes, it cannot start. Over sockets in a folder of its
own it needs neither. MyST-NB and jupyter-cache have no option for it, so their
function that runs a page gets a configuration. And their cache would not open where a
folder's name has a ``%`` or a ``?``, since it puts the path into an address as it is.
"""

from __future__ import annotations

import logging
import os
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sqlalchemy import Engine

# The name of a socket has at most 103 bytes: a folder for temporary files may be deep.
SHORT = "/tmp"


def take_over(app: Sphinx, config: Config) -> None:
    """Let pages run as :func:`_execute` does."""
    from jupyter_cache.cache import db
    from jupyter_cache.executors import utils

    # It would say for each page that its kernel is called python3, as soon as anyone
    # lets the log of the whole process show more than warnings.
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    utils.executenb = _execute
    db.create_engine = _open


def _open(address: str) -> Engine:
    """Open the file of an address of SQLite, whatever its name has in it."""
    from sqlalchemy import URL, create_engine

    path = address.removeprefix("sqlite:///")
    return create_engine(URL.create("sqlite", database=path))


def _execute(notebook: NotebookNode, **options: Any) -> NotebookNode:
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
