"""The process that builds: Sphinx without its own log, a failure in one line.

``build_site.py`` starts it. When that ends early, this process ends, and all that it
has started. What it imports at first ``build_site.py`` has imported too.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import threading
import traceback

from tensor_copies.run import processes, progress
from tensor_copies.run.fingerprint import CONF


def _build(
    builder: str, write_all: bool, fresh_env: bool, settings: list[str], verbose: int
) -> int:
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    from tensor_copies.run import kept_json

    build = CONF.parent / "build"
    with patch_docutils(CONF), docutils_namespace():
        app = Sphinx(
            srcdir=CONF.parent / "docs",
            confdir=CONF,
            outdir=build / ("staging" if builder == "html" else builder),
            # Each builder has a memory of its own of what it read and warned about.
            doctreedir=build / "doctrees" / builder,
            buildername=builder,
            confoverrides=dict(one.split("=", 1) for one in settings),
            status=sys.stdout if verbose else None,
            warning=sys.stderr,
            freshenv=fresh_env,
            warningiserror=True,
            verbosity=verbose,
        )
        app.build(force_all=write_all)
    for kept in ("pages", "atlas", "explorer"):
        kept_json.prune(build / kept)
    return app.statuscode


def _in_a_line(error: BaseException) -> str:
    """Say what ended the build; a defect of ours keeps its traceback."""
    from sphinx.errors import SphinxError

    error = getattr(error, "orig_exc", None) or error  # of a handler of an event
    if type(error).__name__ == "ExecutionError":  # of a page: its traceback was shown
        return f"this page failed: {error}"
    if isinstance(error, (SphinxError, SyntaxError)):
        return str(error)
    if isinstance(error, OSError):
        return progress.of_file(error)
    traceback.print_exception(error)
    while error.__cause__:  # such as a full disk, behind what keeps the pages
        error = error.__cause__
    return (
        f"{type(error).__name__}: {error}\n"
        "Where sources and disk are right, `nox -s clean` and another build mend it."
    )


def _end_with_the_parent() -> None:
    """Wait for the end of our standard input, which is a pipe from the parent."""
    os.read(0, 1)  # sys.stdin has a lock, which Python wants at its end
    processes.end_children()
    os._exit(2)


def main() -> int:
    """Build with the options of build_site.py, as JSON; return 0 or 2."""
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    processes.adopt_orphans()
    logging.raiseExceptions = False  # a log that nobody reads is no reason to stop
    gc.set_threshold(100_000)  # it finds little, and takes half a second at the start
    try:
        return 2 if _build(**json.loads(sys.argv[1])) else 0
    except KeyboardInterrupt:
        return 2  # the parent says it
    except BaseException as error:
        print(f"build_site: {_in_a_line(error)}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    status = main()
    if status and (kernels := sys.modules.get("tensor_copies.run.kernels")):
        kernels.stop()
        os._exit(status)  # the threads that wait for kernels would have much to say
    sys.exit(status)
