"""Build the site aside, publish it when it is whole.

``python conf/build_site.py [options]`` is what ``nox -s docs`` runs. Sphinx builds in a
process of its own (:mod:`tensor_copies.run.sphinx_process`), with ``-W`` and in a
plain environment, into ``build/staging``; a copy takes the place of ``build/html`` at
the end, by renames. So a build that fails or is stopped leaves the site as it was. The
result of another builder of Sphinx (``-b linkcheck``) is ``build/<builder>``.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # of this folder nothing is imported that has Python's own names

import argparse
import json
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from sysconfig import get_path
from typing import NoReturn, TextIO

CONF = Path(__file__).resolve().parent
for path in (*CONF.glob("*.py"), *CONF.glob("*/__init__.py")):
    named = path.stem if path.parent == CONF else path.parent.name
    if PathFinder.find_spec(named, [get_path("stdlib"), get_path("purelib")]):
        sys.exit(f"build_site: {path} hides Python's module {named}: move it away")
sys.path[:0] = [str(CONF)]
if not (CONF / "tensor_maps" / "pyproject.toml").is_file():
    sys.exit("build_site: conf/tensor_maps is missing: check it out again")

try:
    sys.dont_write_bytecode = True  # on a full disk Python keeps half a file
    for path in CONF.rglob("[!.]*.py"):  # else a process that it ends says much
        SourceFileLoader("", str(path)).get_code("")
    from tensor_copies.run import fingerprint, processes, progress
except (SyntaxError, OSError) as error:
    sys.exit(f"build_site: {error.filename}: {error}")

BUILD = CONF.parent / "build"
STAGING, SITE = BUILD / "staging", BUILD / "html"
SOURCES = {".md", ".py", ".rst", ".toml"}
SPHINX = (sys.executable, "-P", "-m", "tensor_copies.run.sphinx_process")
ENVIRONMENT = {
    # Pages are read as UTF-8, and so is what is printed.
    "PYTHONIOENCODING": "utf-8:backslashreplace",
    "PYTHONUTF8": "1",
    # MyST-NB notes in UTC when cells ran, and reads it as local time.
    "TZ": "UTC",
}


class BuildProblem(Exception):
    """The build cannot start or be published; the message says how to mend it."""


def build(options: argparse.Namespace) -> int:
    """Build and publish; return 0 when the site stands, 2 when it is as it was."""
    from filelock import FileLock, Timeout  # torch brings it

    if found := {os.pathsep, "{", "}"} & set(str(CONF.parent)):
        raise BuildProblem(
            f"{CONF.parent} has a {found.pop()} in its path, which Python or the "
            "gallery takes for more than a letter: build in another folder."
        )
    if (CONF.parent / (os.environ.get("TMPDIR") or "/tmp")).resolve() == CONF.parent:
        raise BuildProblem("temporary files would be among the sources: set TMPDIR.")
    try:
        fingerprint.fingerprint()
    except fingerprint.UnusableGPU as gpu:
        say(f"build_site: {gpu.said}: this build runs on the CPU.", sys.stdout)
        os.environ[fingerprint.VISIBLE] = ""
    if (made := CONF.parent / "docs" / "auto_examples").is_file():
        raise BuildProblem(f"{made} is a file: remove it, it is the gallery's.")
    os.umask(os.umask(0) & 0o022)  # whoever serves the site may read it
    BUILD.mkdir(exist_ok=True)
    try:
        with FileLock(BUILD / "lock").acquire(timeout=0):
            recover(SITE)
            made = STAGING if options.builder == "html" else BUILD / options.builder
            finished = BUILD / f"finished.{options.builder}"
            # Of pages that a build has not finished nobody would be warned again, and
            # those that somebody has changed since would be taken for its own.
            if not finished.is_file() or finished.read_text("utf-8") != _state(made):
                for folder in (BUILD / "doctrees" / options.builder, made):
                    shutil.rmtree(folder, ignore_errors=True)
            finished.unlink(missing_ok=True)
            sources = _sources()
            if status := _sphinx(options):
                return status
            finished.write_text(_state(made), encoding="utf-8")
            if options.builder == "html":
                publish(STAGING, SITE)
                page = (SITE / "index.html").as_uri()
                say(f"The site stands. Open {page}", sys.stdout)
            for path, when in _sources().items():
                if sources.get(path) != when:  # by a lesson, or by a person
                    say(f"{path} changed while this ran: build again.", sys.stdout)
            return 0
    except Timeout:
        raise BuildProblem(
            "another build runs in this folder. Wait for it, or build in a copy."
        ) from None


def _sphinx(options: argparse.Namespace) -> int:
    """Let Sphinx build; return its status, 0 or 2, when nothing of it runs any more."""
    processes.adopt_orphans()
    environment = processes.with_our_packages(os.environ) | ENVIRONMENT
    with subprocess.Popen(
        (*SPHINX, json.dumps(vars(options))),
        cwd=CONF.parent,
        env=environment,
        stdin=subprocess.PIPE,  # closes with this process, which ends the other
    ) as child:
        try:
            if (status := child.wait()) < 0:
                ended = signal.Signals(-status).name
                say(f"build_site: {ended} ended the process that builds", sys.stderr)
            return 2 if status else 0
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):  # a second Ctrl+C
                signal.signal(number, signal.SIG_IGN)
            processes.end_children()


def _state(folder: Path) -> str:
    """Return what is another as soon as anybody writes a file in a folder."""
    files = sorted(path for path in folder.resolve().rglob("*") if path.is_file())
    found = ((path.relative_to(folder.resolve()), path.stat()) for path in files)
    return "\n".join(f"{name} {s.st_size} {s.st_mtime_ns}" for name, s in found)


def _sources() -> dict[str, int]:
    """Return when each source of the site was last written to."""
    found = {}
    for folder in ("docs", "examples"):
        for path in (CONF.parent / folder).rglob("*.*"):
            if path.suffix in SOURCES and "auto_examples" not in path.parts:
                with suppress(OSError):  # an editor's own, which comes and goes
                    found[str(path.relative_to(CONF.parent))] = path.stat().st_mtime_ns
    return found


def recover(site: Path) -> None:
    """Put the old site back where a build was killed between two renames."""
    site = site.resolve()  # a link to a folder that is served stays one
    old = site.with_name(f"{site.name}.old")
    if old.exists() and not site.exists():
        old.rename(site)


def publish(built: Path, site: Path) -> None:
    """Put a copy of what was built in the place of the site, whole or not at all."""
    site = site.resolve()
    new, old = (site.with_name(f"{site.name}.{end}") for end in ("new", "old"))
    for page in built.rglob("*.html"):
        if not page.stat().st_size:
            raise BuildProblem(f"{page} is empty: look at conf/templates, build again.")
    for path in (new, old):
        try:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        except OSError as error:
            raise BuildProblem(f"{path}: {error.strerror}: remove it.") from None
    shutil.copytree(built, new)
    if site.exists():
        site.rename(old)
    new.rename(site)
    shutil.rmtree(old, ignore_errors=True)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BuildProblem(f"{message}. `--help` lists the options.")


def _parse() -> argparse.Namespace:
    parser = _Parser(description="Build the site.", allow_abbrev=False)
    add = parser.add_argument
    add("-b", "--builder", default="html", choices=("html", "linkcheck"))
    add("-a", "--write-all", action="store_true", help="write all pages")
    add("-E", "--fresh-env", action="store_true", help="read all pages anew")
    add("-D", dest="settings", action="append", default=[], metavar="NAME=VALUE",
        help="override an option of conf.py")  # fmt: skip
    add("-v", "--verbose", action="count", default=0, help="show Sphinx's log too")
    options = parser.parse_args()
    for setting in options.settings:
        if "=" not in setting:
            parser.error(f"{setting!r} is not NAME=VALUE")
    return options


def say(text: str, stream: TextIO | None) -> None:
    """Print a line; from the first that cannot be written on, print no more."""
    try:
        print(text, file=stream, flush=True)
    except OSError:  # a pipe that nobody reads, a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2 if stream is sys.stderr else 1)


def open_streams() -> None:
    """Give the place of a standard stream that is closed to the null device.

    Else the next file that is opened takes it, and is written to as the stream.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It takes the first place that is free.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def main() -> int:
    """Build with the command line's arguments; say a problem in one line."""
    open_streams()
    before, status = "", 2
    for name in ("SIGTERM", "SIGHUP"):  # as Ctrl+C does, but for nohup
        number = getattr(signal, name, signal.SIGTERM)
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    # Where who started this ignores it, nobody hears that what failed has failed.
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):  # else what ends is never heard of
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        before = _state(SITE)  # RuntimeError where it is a link to itself
        fingerprint.check()
        status = build(_parse())
    except OSError as problem:
        say(f"build_site: {progress.of_file(problem)}", sys.stderr)
    except (BuildProblem, fingerprint.UnfitMachine, RuntimeError) as problem:
        say(f"build_site: {problem}", sys.stderr)
    except KeyboardInterrupt:
        say("build_site: interrupted", sys.stderr)
    if status and before and before != _state(SITE):
        say("The build failed, and wrote into build/html: build again.", sys.stdout)
    elif status and SITE.exists():
        say("The build failed: build/html is still the last good site.", sys.stdout)
    return status


if __name__ == "__main__":
    os._exit(main())  # PYTHONINSPECT would wait for a person
