#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.5"]
# ///
"""Tasks of the site: ``nox -s docs`` builds it, ``nox -s tests`` proves it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import nox
from packaging.requirements import Requirement  # nox brings it

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["docs"]

OLDEST_PYTHON = (3, 11)
if sys.version_info < OLDEST_PYTHON:  # said before an environment of it is kept
    oldest = ".".join(map(str, OLDEST_PYTHON))
    sys.exit(f"Run nox with Python {oldest} or newer: python3.X -m venv --clear .venv")

QUALITY = "BENCHMARK_QUALITY"
TORCH = "TESTS_TAKE_TORCH"
# One worker a core; the sites that the tests of a file share are built once. A worker
# that has ended, as where a test hangs, would begin with that test again.
WORKERS = ("--numprocesses=auto", "--dist=loadfile", "--max-worker-restart=0")
# nox gives each session an environment of its own, and torch takes gigabytes. So the
# tasks make none: they require `environment`, and install and run in that session.
task = partial(nox.session, requires=["environment"], venv_backend="none")
shared: nox.Session | None = None


@nox.session(reuse_venv=True)
def environment(session: nox.Session) -> None:
    """Make the one environment that all tasks share (each of them asks for it)."""
    global shared
    shared = session


def install(session: nox.Session, group: str) -> Callable[..., Any]:
    """Install a dependency group of ``pyproject.toml``; return what runs Python."""
    if shared is None:
        session.error("run it without --no-dependencies and --allow-parallel")
    if shared.venv_backend == "none":
        shared.log("--no-venv: using the packages of this Python as they are")
        return partial(shared.run, sys.executable)
    groups = nox.project.load_toml("pyproject.toml")
    requirements = nox.project.dependency_groups(groups, group)
    # uv asks the driver and takes a CPU build of torch where there is no GPU; pip
    # takes what its index has (the README says what to do on Linux).
    env = {"UV_TORCH_BACKEND": os.environ.get("UV_TORCH_BACKEND", "auto")}
    shared.install(*requirements, env=env)
    install_package(shared, env)
    python = partial(shared.run, "python")
    return python


def install_package(session: nox.Session, env: dict[str, str | None]) -> None:
    """Install tensor_maps as it lies here: an edit counts at once."""
    built = ("--no-deps", "--no-build-isolation", "--editable", "conf/tensor_maps")
    session.install(*built, env=env)


@task()
def docs(session: nox.Session) -> None:
    """Build the whole site into build/html; arguments go to sphinx-build."""
    python = install(session, "docs")
    python("conf/build_site.py", *session.posargs)


@task()
def live(session: nox.Session) -> None:
    """Serve the site, reload it on every change; arguments go to sphinx-autobuild."""
    python = install(session, "live")
    watch = ("--watch", "examples", "--watch", "conf")
    made = ("--re-ignore", r"docs[\\/]auto_examples|__pycache__")
    where = ("-c", "conf", "docs", "build/live")
    python("-m", "sphinx_autobuild", *watch, *made, *session.posargs, *where)


@task()
def tests(session: nox.Session) -> None:
    """Build the site strictly, then run all tests on it; arguments go to pytest."""
    python = install(session, "tests")
    prove(python, session.posargs)


def prove(python: Callable[..., Any], arguments: list[str]) -> None:
    """Build the site strictly and run all tests on it."""
    python("conf/build_site.py")
    python("-m", "pytest", *WORKERS, *arguments)


@nox.session(name="tests-oldest", reuse_venv=True)
def tests_oldest(session: nox.Session) -> None:
    """Run the tests with the oldest packages that pyproject.toml allows."""
    prove_with(session, "torch-oldest", oldest)


@nox.session(name="tests-newest", reuse_venv=True)
def tests_newest(session: nox.Session) -> None:
    """Run the tests with the newest packages that there are."""
    prove_with(session, "torch-newest", str)


def prove_with(
    session: nox.Session, torch: str, chosen: Callable[[Requirement], str]
) -> None:
    """Run the tests in an environment of the session's own.

    Parameters
    ----------
    session
        Its arguments go to pytest.
    torch
        The group that says which torch. pip on Linux takes CUDA packages for any but
        the CPU build that is at hand, so with pip torch stays what everybody has.
    chosen
        Returns for a requirement of ``pyproject.toml`` what to install.
    """
    if session.venv_backend == "none":
        session.error("it needs an environment of its own: leave out --no-venv")
    groups = nox.project.load_toml("pyproject.toml")
    wanted = nox.project.dependency_groups(groups, "tests")
    wanted = [chosen(one) for one in map(Requirement, wanted) if one.name != "torch"]
    other_torch = session.venv_backend == "uv" or TORCH in os.environ
    wanted += nox.project.dependency_groups(groups, torch if other_torch else "torch")
    if not other_torch:
        session.log(f"with pip, torch stays {wanted[-1]}; {TORCH}=1 takes {torch}'s")
    backend = os.environ.get("UV_TORCH_BACKEND", "auto")
    # What is pinned for hosts does not count here.
    env = {"UV_TORCH_BACKEND": backend, "PIP_CONSTRAINT": None}
    session.install("--upgrade", *wanted, env=env)
    install_package(session, env)
    python = partial(session.run, "python")
    prove(python, session.posargs)


def oldest(requirement: Requirement) -> str:
    """Return a requirement of the oldest version that it allows."""
    (bound,) = (one.version for one in requirement.specifier if one.operator == ">=")
    return f"{requirement.name}=={bound}"


@task()
def unit(session: nox.Session) -> None:
    """Run the tests that take seconds and need no site; arguments go to pytest."""
    python = install(session, "tests")
    python("-m", "pytest", *WORKERS, "-m", "unit", *session.posargs)


@task()
def record(session: nox.Session) -> None:
    """Record what this machine sees; ``-- --only LESSON``, ``-- --stand-in``."""
    python = install(session, "docs")
    python("conf/record.py", *session.posargs)


@task(name="record-benchmarks")
def record_benchmarks(session: nox.Session) -> None:
    """Record the benchmarks alone, timed long; ``-- --only LESSON`` for one of them."""
    python = install(session, "docs")
    scripts = sorted(Path("examples").glob("*/*.py"))
    timed = [path for path in scripts if QUALITY in path.read_text(encoding="utf-8")]
    only = [f"--only={path.stem}" for path in timed]
    env = {QUALITY: os.environ.get(QUALITY, "long")}
    python("conf/record.py", *(session.posargs or only), env=env)


@task()
def bench(session: nox.Session) -> None:
    """Measure builds beside their floor; ``-- --rounds 5 --write`` (hours: alone)."""
    python = install(session, "tests")
    python("tests/measure_build.py", *session.posargs)


@task()
def lint(session: nox.Session) -> None:
    """Check style and format with ruff, and the workflows; arguments go to ruff."""
    python = install(session, "lint")
    python("-m", "ruff", "check", *session.posargs, ".")
    python("-m", "ruff", "format", "--check", ".")
    here = shared.venv_backend == "none"
    shared.run("zizmor", "--offline", "--quiet", ".github", external=here)


@task()
def lock(session: nox.Session) -> None:
    """Write constraints.txt, what a hosted build takes; arguments go to uv."""
    python = install(session, "hosted")
    groups = [f"--group={group}" for group in ("tests", "live", "lint", "hosted")]
    what = "# Made by `nox -s lock` from the groups of pyproject.toml: do not edit.\n"
    made = ("--universal", "--no-header", "--no-annotate", "--no-emit-index-url")
    written = python(
        *("-m", "uv", "pip", "compile", "pyproject.toml", "--quiet", *groups, *made),
        *("--python-version", ".".join(map(str, OLDEST_PYTHON)), *session.posargs),
        silent=True,
    )
    Path("constraints.txt").write_text(what + written, encoding="utf-8")


@task()
def links(session: nox.Session) -> None:
    """Ask every linked page of the web whether it is there (needs the network)."""
    python = install(session, "docs")
    python("conf/build_site.py", "-b", "linkcheck", *session.posargs)


if __name__ == "__main__":
    nox.main()
