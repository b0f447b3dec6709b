"""Tasks of the site: ``nox -s docs`` builds it, ``nox -s tests`` proves it."""

import os
import shutil
import sys
from functools import partial
from pathlib import Path

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["docs"]

os.environ.setdefault("UV_TORCH_BACKEND", "auto")  # uv asks the driver
WORKERS = ("--numprocesses=auto", "--dist=loadfile", "--max-worker-restart=0")
# torch takes gigabytes: so the tasks share one environment, and run in its session.
task = partial(nox.session, requires=["environment"], venv_backend="none")
shared: nox.Session | None = None


@nox.session(reuse_venv=True)
def environment(session: nox.Session) -> None:
    """Make the one environment that all tasks share (each of them asks for it)."""
    global shared
    shared = session


def install(group: str) -> partial:
    """Install a dependency group of ``pyproject.toml``; return what runs Python."""
    if shared.venv_backend == "none":  # --no-venv: the packages of this Python
        return partial(shared.run, sys.executable)
    groups = nox.project.load_toml("pyproject.toml")
    shared.install(*nox.project.dependency_groups(groups, group))
    if group in ("docs", "live", "tests"):  # they bring hatchling, which builds it
        shared.install("--no-deps", "--no-build-isolation", "-e", "conf/tensor_maps")
    return partial(shared.run, "python")


@task()
def docs(session: nox.Session) -> None:
    """Build the whole site into build/html; arguments go to sphinx-build."""
    install("docs")("conf/build_site.py", *session.posargs)


@task()
def live(session: nox.Session) -> None:
    """Serve the site, reload it on every change; arguments go to sphinx-autobuild."""
    made = ("--re-ignore", r"docs[\\/]auto_examples|__pycache__")
    watch = ("-m", "sphinx_autobuild", "--watch", "examples", "--watch", "conf", *made)
    where = (*session.posargs, "-c", "conf", "docs", "build/live")
    install("live")(*watch, *where, interrupt_timeout=60)


@task()
def tests(session: nox.Session) -> None:
    """Build the site strictly, then run all tests on it; arguments go to pytest."""
    python = install("tests")
    python("conf/build_site.py")
    python("-m", "pytest", *WORKERS, *session.posargs)


@task()
def unit(session: nox.Session) -> None:
    """Run the tests that take seconds and need no site; arguments go to pytest."""
    install("tests")("-m", "pytest", *WORKERS, "-m", "unit", *session.posargs)


@task()
def lint(session: nox.Session) -> None:
    """Check style and format with ruff, and the workflows; arguments go to ruff."""
    python = install("lint")
    python("-m", "ruff", "check", *session.posargs, ".")
    python("-m", "ruff", "format", "--check", ".")
    shared.run("zizmor", "--offline", "--quiet", ".github", external=True)


@task()
def record(session: nox.Session) -> None:
    """Record what this machine gives into docs/recordings."""
    env = {"PYTHONPATH": f"{Path('conf').resolve()}{os.pathsep}conf/tensor_maps/src"}
    install("docs")("-m", "tensor_copies.record", env=env)


@task()
def lock(session: nox.Session) -> None:
    """Write constraints.txt, what a hosted build takes."""
    groups = [f"--group={group}" for group in ("tests", "live", "lint", "hosted")]
    what = "# Made by `nox -s lock` from the groups of pyproject.toml: do not edit.\n"
    made = ("--universal", "--no-header", "--no-annotate", "--no-emit-index-url")
    uv = ("-m", "uv", "pip", "compile", "pyproject.toml", "--python-version=3.11")
    written = install("hosted")(*uv, *groups, *made, "--quiet", silent=True)
    Path("constraints.txt").write_text(what + written, encoding="utf-8")


@task()
def links(session: nox.Session) -> None:
    """Ask every linked page of the web whether it is there (needs the network)."""
    where = ("-b", "linkcheck", "-c", "conf", "docs", "build/linkcheck")
    install("docs")("-m", "sphinx", *session.posargs, *where)


@nox.session(venv_backend="none")
def clean(session: nox.Session) -> None:
    """Remove what builds keep, but not the published site; the next runs everything."""
    for path in (Path("docs/auto_examples"), *Path("build").glob("*")):
        if path.name != "html" and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
