"""The kernels that run the cells of pages: no network, no word of their own.

By default a kernel talks over TCP: it warns that this is not encrypted, and without a
loopback device, as in some sandboxes, it cannot start. Over sockets in a folder of its
own it needs neither. MyST-NB and jupyter-cache have no option for it, so their
function that runs a page gets a configuration.
"""

from __future__ import annotations

import logging
import os
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config

# The name of a socket has at most 103 bytes: a folder for temporary files may be deep.
SHORT = "/tmp"


def talk_over_files(app: Sphinx, config: Config) -> None:
    """Let the kernel of each page talk over sockets in a folder of its own."""
    from jupyter_cache.executors import utils

    # It would say for each page that its kernel is called python3, as soon as anyone
    # lets the log of the whole process show more than warnings.
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    if os.name == "posix" and os.access(SHORT, os.W_OK):
        utils.executenb = _execute


def _execute(notebook: NotebookNode, **options: Any) -> NotebookNode:
    from nbclient import execute
    from traitlets.config import Config as Traits

    with tempfile.TemporaryDirectory(prefix="kernel-", dir=SHORT) as folder:
        traits = {"transport": "ipc", "ip": f"{folder}/socket"}
        return execute(notebook, config=Traits({"KernelManager": traits}), **options)
