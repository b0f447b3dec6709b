"""Build the site aside, publish it only when it is whole.

``python conf/build_site.py [sphinx-build options]`` is what ``nox -s docs`` runs.
The HTML is built in ``build/staging`` and takes the place of ``build/html`` at the
end, so that a build that fails leaves the last good site as it was. With another
builder (``-b linkcheck``) the result goes to ``build/<builder>``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from tensor_copies.machine.fingerprint import UnfitMachine, check
from tensor_copies.machine.kept import Kept

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
# A whole build with its caches takes about 30 MB.
NEEDED_BYTES = 100 * 2**20


class BuildProblem(Exception):
    """The build cannot start or be published; the message says how to mend it."""


def build(arguments: list[str]) -> int:
    """Run sphinx-build with the site's options and ``arguments``.

    Returns
    -------
    int
        The exit status: 0 when the site stands and, for HTML, is published.

    Raises
    ------
    BuildProblem
        If an argument is unknown, a folder cannot be written or the disk is full.
    """
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("-b", "--builder", default="html")
    builder = options.parse_known_args(arguments)[0].builder
    html = builder == "html"
    out = BUILD / ("staging" if html else builder)
    command = ["-b", builder, "-n", "-W", "--keep-going", "-c", str(ROOT / "conf")]
    # Each builder has a memory of its own of what it read and warned about.
    memory = BUILD / "doctrees" / builder
    command += ["-d", str(memory), *arguments, str(ROOT / "docs"), str(out)]

    _refuse_unknown(command)
    _require_room()
    kept = Kept(builder, out, arguments)
    published = BUILD / "html"
    if html and (said := kept.unchanged(published)) is not None:
        print("Nothing has changed since the last build.", *said, sep="\n")
        print(f"The site stands. Open {(published / 'index.html').as_uri()}")
        return 0
    kept.begin()
    status = _sphinx_build(command)
    if status == 0:
        if html:
            publish(out, published)
        kept.trust(published if html else None)
    if status == 0 and html:
        print(f"The site stands. Open {(BUILD / 'html' / 'index.html').as_uri()}")
    elif status != 0:
        # Sphinx warns about a page when it reads it, and would keep silent about
        # the same page in the next build. So the next build reads all anew.
        shutil.rmtree(memory, ignore_errors=True)
        if html and (BUILD / "html").exists():
            print("The build failed: build/html is still the last good site.")
    return status


def publish(built: Path, published: Path) -> None:
    """Put a copy of ``built`` in the place of ``published``, whole or not at all."""
    new, old = (published.with_name(published.name + end) for end in (".new", ".old"))
    try:
        if old.exists() and not published.exists():  # an earlier one was killed here
            old.rename(published)
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)
        shutil.copytree(built, new)
        if published.exists():
            published.rename(old)
        new.rename(published)
    except (OSError, shutil.Error) as error:
        if old.exists() and not published.exists():
            old.rename(published)
        shutil.rmtree(new, ignore_errors=True)
        raise BuildProblem(f"The site was built but not published: {error}") from None
    shutil.rmtree(old, ignore_errors=True)


def _sphinx_build(command: list[str]) -> int:
    import sphinx._cli.util.errors as errors
    from myst_nb.core.execute.base import ExecutionError
    from sphinx.cmd.build import main
    from sphinx.errors import SphinxError

    # Sphinx answers every mistake with its versions, the loaded extensions, a
    # traceback and a request for a bug report. Its own errors, the disk's and a
    # page's (whose traceback stands above already) are said in one line; anything
    # else is a defect and keeps the whole report.
    report = errors.handle_exception

    def say(exception: BaseException, /, **context: Any) -> None:
        if isinstance(exception, ExecutionError):
            print(f"build_site: this page failed: {exception}", file=sys.stderr)
        elif isinstance(exception, SphinxError | OSError):
            kind = getattr(exception, "category", type(exception).__name__)
            print(f"build_site: {kind}: {exception}", file=sys.stderr)
        else:
            report(exception, **context)

    errors.handle_exception = say
    try:
        return main(command)
    finally:
        errors.handle_exception = report


def _refuse_unknown(command: list[str]) -> None:
    from sphinx.cmd.build import get_parser

    def refuse(message: str) -> NoReturn:
        raise BuildProblem(f"{message}. `sphinx-build --help` lists all options.")

    parser = get_parser()
    parser.error = refuse
    parser.parse_args(command)


def _require_room() -> None:
    for folder in (ROOT / "docs", BUILD):
        try:
            folder.mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"\0" * 4096)
        except OSError as error:
            raise BuildProblem(
                f"Cannot write to the folder {folder.name}: {error.strerror}. "
                "Make it writable, or build in a copy of the repository."
            ) from None
    free = shutil.disk_usage(BUILD).free
    if free < NEEDED_BYTES:
        raise BuildProblem(
            f"Only {free // 2**20} MB are free on the disk: the build needs "
            f"{NEEDED_BYTES // 2**20} MB. Free some space."
        )


def main() -> int:
    """Build with the command line's arguments; say a problem in one line."""
    try:
        check()
        return build(sys.argv[1:])
    except (BuildProblem, UnfitMachine) as problem:
        print(f"build_site: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
