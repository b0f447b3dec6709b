#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.5"]
# ///
"""Tasks of the site: ``nox -s docs`` builds it, ``nox -s tests`` proves it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["docs"]

OLDEST_PYTHON = (3, 11)


def install(session: nox.Session, group: str) -> str:
    """Install a dependency group of ``pyproject.toml``; return the Python to run."""
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        session.error(f"Python {oldest} or newer is needed: run nox with a newer one")
    if session.venv_backend == "none":
        session.log("--no-venv: using the packages of this Python as they are")
        return sys.executable
    groups = nox.project.load_toml("pyproject.toml")
    requirements = nox.project.dependency_groups(groups, group)
    # uv asks the driver and takes a CPU build of torch where there is no GPU; pip
    # takes what its index has (the README says what to do on Linux).
    env = {"UV_TORCH_BACKEND": os.environ.get("UV_TORCH_BACKEND", "auto")}
    session.install(*requirements, env=env)
    return "python"


@nox.session(reuse_venv=True)
def docs(session: nox.Session) -> None:
    """Build the whole site into build/html; arguments go to sphinx-build."""
    python = install(session, "docs")
    session.run(python, "conf/build_site.py", *session.posargs)


@nox.session(reuse_venv=True, default=False)
def live(session: nox.Session) -> None:
    """Serve the site and reload it on every change."""
    python = install(session, "live")
    watch = ("--watch", "examples", "--watch", "conf")
    made = ("--re-ignore", "docs/auto_examples/|__pycache__")
    where = ("-c", "conf", "docs", "build/live")
    session.run(
        python, "-m", "sphinx_autobuild", *watch, *made, *session.posargs, *where
    )


@nox.session(reuse_venv=True, default=False)
def tests(session: nox.Session) -> None:
    """Build the site strictly, then run all tests on it; arguments go to pytest."""
    python = install(session, "tests")
    session.run(python, "conf/build_site.py")
    # One worker a core; a long test at the end is not waited for by an idle one.
    workers = ("--numprocesses", "auto", "--dist", "worksteal")
    session.run(python, "-m", "pytest", *workers, *session.posargs)


@nox.session(reuse_venv=True, default=False)
def record(session: nox.Session) -> None:
    """Record what this machine sees; ``-- --only LESSON`` for one lesson."""
    python = install(session, "docs")
    session.run(python, "conf/record.py", *session.posargs)


@nox.session(reuse_venv=True, default=False)
def lint(session: nox.Session) -> None:
    """Check style and format with ruff, and the workflows; arguments go to ruff."""
    python = install(session, "lint")
    session.run(python, "-m", "ruff", "check", *session.posargs, ".")
    session.run(python, "-m", "ruff", "format", "--check", ".")
    here = session.venv_backend == "none"
    session.run("zizmor", "--offline", "--quiet", ".github", external=here)


@nox.session(reuse_venv=True, default=False)
def lock(session: nox.Session) -> None:
    """Write constraints.txt: the versions that a hosted build takes."""
    session.install("uv")
    groups = [f"--group={group}" for group in ("tests", "live", "lint", "hosted")]
    what = "# Made by `nox -s lock` from the groups of pyproject.toml: do not edit.\n"
    made = ("--universal", "--no-header", "--no-annotate", "--no-emit-index-url")
    written = session.run(
        *("uv", "pip", "compile", "pyproject.toml", "--quiet", *groups, *made),
        *("--python-version", ".".join(map(str, OLDEST_PYTHON)), *session.posargs),
        silent=True,
    )
    Path("constraints.txt").write_text(what + written, encoding="utf-8")


@nox.session(reuse_venv=True, default=False)
def links(session: nox.Session) -> None:
    """Ask every linked page of the web whether it is there (needs the network)."""
    python = install(session, "docs")
    session.run(python, "conf/build_site.py", "-b", "linkcheck", *session.posargs)


if __name__ == "__main__":
    nox.main()
