"""Tasks of the site: ``nox -s docs`` builds it, ``nox -s tests`` proves it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["docs"]

OLDEST = (3, 11)
if sys.version_info < OLDEST:  # said before an environment of it is kept
    sys.exit("Run nox with Python 3.11 or newer: python3.X -m venv --clear .venv")

# One worker a core; the sites that the tests of a file share are built once. A worker
# that has ended, as where a test hangs, would begin with that test again.
WORKERS = ("--numprocesses=auto", "--dist=loadfile", "--max-worker-restart=0")
SPARED = ("html", "html.old", "lock")  # in build/: the site, and a running build's lock
# nox gives each session an environment of its own, and torch takes gigabytes. So the
# tasks make none: they require `environment`, and install and run in that session.
task = partial(nox.session, requires=["environment"], venv_backend="none")
shared: nox.Session | None = None


@nox.session(reuse_venv=True)
def environment(session: nox.Session) -> None:
    """Make the one environment that all tasks share (each of them asks for it)."""
    global shared
    shared = session


def install(session: nox.Session, group: str) -> partial:
    """Install a dependency group of ``pyproject.toml``; return what runs Python."""
    if shared is None:
        session.error("run it without --no-dependencies and --allow-parallel")
    if shared.venv_backend == "none":
        shared.log("--no-venv: using the packages of this Python as they are")
        return partial(shared.run, sys.executable)
    groups = nox.project.load_toml("pyproject.toml")
    # uv asks the driver which torch it wants; for pip see docs/maintainers/cuda.md.
    env = {"UV_TORCH_BACKEND": os.environ.get("UV_TORCH_BACKEND", "auto")}
    shared.install(*nox.project.dependency_groups(groups, group), env=env)
    if group in ("docs", "live", "tests"):  # they bring hatchling, which builds it
        editable = ("--no-deps", "--no-build-isolation", "--editable")
        shared.install(*editable, "conf/tensor_maps", env=env)
    return partial(shared.run, "python")


def install_tests(session: nox.Session) -> partial:
    """Install what tests need; refuse arguments that pytest does not know."""
    python = install(session, "tests")
    ask = ("-m", "pytest", "--markers", *session.posargs)
    said = session.posargs and python(*ask, silent=True, success_codes=(0, 4))
    if problem := re.search("error: (.+)", said or ""):
        session.error(problem[1])
    return python


def refuse_arguments(session: nox.Session) -> None:
    """End a task that takes no arguments, where some are given."""
    if session.posargs:
        session.error(f"it takes no arguments: leave out {' '.join(session.posargs)}")


@task()
def docs(session: nox.Session) -> None:
    """Build the whole site into build/html; arguments go to conf/build_site.py."""
    install(session, "docs")("conf/build_site.py", *session.posargs)


@task()
def live(session: nox.Session) -> None:
    """Serve the site, reload it on every change; arguments go to sphinx-autobuild."""
    python = install(session, "live")
    watch = ("--watch", "examples", "--watch", "conf")
    made = ("--re-ignore", r"docs[\\/]auto_examples|__pycache__")
    where = (*session.posargs, "-c", "conf", "docs", "build/live")
    python("-m", "sphinx_autobuild", *watch, *made, *where, interrupt_timeout=60)


@task()
def tests(session: nox.Session) -> None:
    """Build the site strictly, then run all tests on it; arguments go to pytest."""
    python = install_tests(session)
    python("conf/build_site.py")
    python("-m", "pytest", *WORKERS, *session.posargs)


@task()
def unit(session: nox.Session) -> None:
    """Run the tests that take seconds and need no site; arguments go to pytest."""
    python = install_tests(session)
    python("-m", "pytest", *WORKERS, "-m", "unit", *session.posargs)


@task()
def lint(session: nox.Session) -> None:
    """Check style and format with ruff, and the workflows; arguments go to ruff."""
    python = install(session, "lint")
    python("-m", "ruff", "check", *session.posargs, ".")
    python("-m", "ruff", "format", "--check", ".")
    shared.run("zizmor", "--offline", "--quiet", ".github", external=True)


@task()
def record(session: nox.Session) -> None:
    """Record what this machine sees; ``-- --only LESSON``, ``-- --stand-in``."""
    install(session, "docs")("conf/record.py", *session.posargs)


@task()
def lock(session: nox.Session) -> None:
    """Write constraints.txt, what a hosted build takes."""
    refuse_arguments(session)
    python = install(session, "hosted")
    groups = [f"--group={group}" for group in ("tests", "live", "lint", "hosted")]
    what = "# Made by `nox -s lock` from the groups of pyproject.toml: do not edit.\n"
    made = ("--universal", "--no-header", "--no-annotate", "--no-emit-index-url")
    uv = ("-m", "uv", "pip", "compile", "pyproject.toml", "--quiet")
    oldest = f"--python-version={OLDEST[0]}.{OLDEST[1]}"
    written = python(*uv, oldest, *groups, *made, silent=True)
    Path("constraints.txt").write_text(what + written, encoding="utf-8")


@task()
def links(session: nox.Session) -> None:
    """Ask every linked page of the web whether it is there (needs the network)."""
    install(session, "docs")("conf/build_site.py", "-b", "linkcheck", *session.posargs)


@task()
def bench(session: nox.Session) -> None:
    """Measure builds beside their floor; ``-- --rounds 5 --write`` (hours: alone)."""
    install(session, "tests")("tests/measure_build.py", *session.posargs)


@nox.session(venv_backend="none")
def clean(session: nox.Session) -> None:
    """Remove what builds keep, but for the published site; the next runs everything."""
    refuse_arguments(session)
    for path in (Path("docs/auto_examples"), *Path("build").glob("*")):
        if path.name not in SPARED:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
