"""The tasks of noxfile.py, and the pages that name them."""

import os
import re
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import nox
import pytest
from pytest_regressions.file_regression import FileRegressionFixture
from reading import ROOT
from recorded import check

TASKS = {"docs", "live", "tests", "unit", "lint", "record", "lock", "links", "clean"}
PATHS = re.compile(r"`((?:\.github|conf|docs|examples|tests)/[\w./-]*)`")
# What a folder has before `nox -s clean`.
FILES = (
    *("build/html/index.html", "build/kept/a.json", "build/staging/a.html"),
    *("build/torch.txt", "docs/auto_examples/1_basics/a.rst", "docs/index.md"),
)


class Told:
    """In the place of a session of nox: it keeps what it is asked to do."""

    def __init__(self, backend: str, *posargs: str) -> None:
        self.venv_backend, self.posargs, self.told = backend, posargs, []

    def install(self, *packages: str) -> None:
        """Tell what is installed."""
        self.told.append(f"  install {' '.join(packages)}")

    def run(self, *command: str, **options: object) -> str:
        """Tell a command; return what it says."""
        words = ["PYTHON" if word == sys.executable else word for word in command]
        self.told.append(f"  {' '.join(words)}".rstrip())
        self.told += [f"    {name}: {value}" for name, value in options.items()]
        return "one==1\n"


def test_what_each_task_does_as_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UV_TORCH_BACKEND", "another")
    monkeypatch.delenv("UV_TORCH_BACKEND")
    groups = "dependency_groups", lambda _, name: [f"(the group {name})"]
    monkeypatch.setattr(nox.project, *groups)
    spec = spec_from_file_location("noxfile", ROOT / "noxfile.py")
    spec.loader.exec_module(tasks := module_from_spec(spec))
    options = nox.options
    lines = [f"by itself: {options.sessions}, {options.default_venv_backend}"]
    lines += [f"UV_TORCH_BACKEND: {os.environ['UV_TORCH_BACKEND']}"]
    for name, task in nox.registry.get().items():
        kind = f"{task.venv_backend}, {task.reuse_venv}, {task.requires}"
        lines += ["", f"{name}: {task.__doc__} ({kind})"]
        for backend, *given in (("uv",), ("uv", "-k", "one"), ("none",)):
            tasks.environment.func(session := Told(backend, *given))
            task.func(session)
            lines += [f" {backend} {given}", *session.told]
    left = sorted(path for path in Path().rglob("*") if path.is_file())
    lines += ["", "After all of them:", *map(str, left)]
    lines += ["", "constraints.txt:", Path("constraints.txt").read_text()]
    check("\n".join(lines).replace(str(tmp_path), "FOLDER"), file_regression)


def test_what_the_readme_and_the_pages_for_maintainers_name_exists() -> None:
    for page in (ROOT / "README.md", *ROOT.glob("docs/maintainers/*.md")):
        text = page.read_text(encoding="utf-8")
        missing = [name for name in PATHS.findall(text) if not (ROOT / name).exists()]
        for link in re.findall(r"\]\((?!http)([^)\s#]+)\)", text):
            missing += [] if (page.parent / link).exists() else [link]
        assert not missing, page.name
        assert {*re.findall(r"nox -s ([\w-]+)", text)} <= TASKS
