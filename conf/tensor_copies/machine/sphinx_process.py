"""The process that builds: Sphinx without its own log, and how it ended.

``build_site.py`` starts ``python -m tensor_copies.machine.sphinx_process OPTIONS``
and judges. The last event that this process sends is its verdict; without one it was
ended by something else: a lesson that calls ``os._exit``, a signal, a lack of memory.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError, SphinxError
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tensor_copies.machine import processes, progress
from tensor_copies.machine.fingerprint import UnusableGPU


def build(options: dict[str, Any]) -> int:
    """Build with the options of :class:`sphinx.application.Sphinx`, and ``write_all``.

    Returns 0 if all is well, 1 if there were warnings.
    """
    write_all = options.pop("write_all")
    with patch_docutils(options["confdir"]), docutils_namespace():
        app = Sphinx(status=None, warning=sys.stderr, **options)
        app.build(force_all=write_all)
    return app.statuscode


def collect_garbage(app: Sphinx) -> None:
    """Let Python look for garbage from now on, but not among what was imported."""
    gc.freeze()
    gc.enable()


def describe(error: BaseException) -> dict[str, Any]:
    """Return what the parent says of an exception that ended the build.

    What Sphinx, a page's code, the disk or a person caused is said in one line;
    anything else is a defect of ours or of an extension and keeps its traceback.
    ``is_known`` says that the lesson or the page is to blame, not what was kept.
    """
    if isinstance(error, SystemExit):
        text = f"sys.exit({'' if error.code is None else repr(error.code)}) was called"
        return {"text": text, "is_known": True}
    if isinstance(error, KeyboardInterrupt):
        return {"text": "interrupted", "is_known": True}
    cause = getattr(error, "orig_exc", None) or error.__cause__ or error
    if isinstance(cause, UnusableGPU):
        return {"text": str(cause), "unusable_gpu": cause.why}
    # MyST-NB's error of a page's code: its traceback stands above already.
    if type(error).__name__ == "ExecutionError":
        return {"text": f"this page failed: {error}", "is_known": True}
    if isinstance(error, SphinxError):
        own = isinstance(error, ConfigError) or cause is error
        kind = error.category
        text = f"{kind}: {error}" if own else f"{kind}: {type(cause).__name__}: {cause}"
        return {"text": text, "is_known": own}
    if not isinstance(error, OSError):
        traceback.print_exception(error)
    return {"text": f"{type(error).__name__}: {error}", "is_known": False}


def _read_as_utf8(options: dict[str, Any]) -> dict[str, Any]:
    """Read paths as this process does, whatever letters the parent's locale has."""
    return {
        name: value.encode("utf-8", "surrogateescape").decode(errors="replace")
        if isinstance(value, str)
        else value
        for name, value in options.items()
    }


def when_the_parent_ends(do: Callable[[], object]) -> None:
    """Do something when the parent is gone: its end of our standard input closes."""

    def wait() -> None:
        os.read(0, 1)  # sys.stdin has a lock, which Python wants at its end
        do()

    threading.Thread(target=wait, daemon=True).start()


def main() -> int:
    """Build with the options given as JSON; send the verdict."""
    when_the_parent_ends(lambda: os._exit(1))
    processes.adopt_orphans()
    gc.disable()  # until all is imported: it finds nothing, and takes half a second
    try:
        status = build(_read_as_utf8(json.loads(sys.argv[1])))
    except BaseException as error:
        progress.tell("failed", **describe(error))
        return 2
    progress.tell("built", status=status)
    return status


if __name__ == "__main__":
    sys.exit(main())
