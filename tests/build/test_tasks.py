"""The tasks of noxfile.py, and the pages that name them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from reading import ROOT

TASKS = {"docs", "live", "tests", "unit", "lint", "record", "lock", "links", "clean"}
PATHS = re.compile(r"`((?:\.github|conf|docs|examples|tests)/[\w./-]*)`")


def nox(*arguments: str, folder: Path = ROOT) -> str:
    """Run nox without an environment of its own; return what it said."""
    command = [sys.executable, "-m", "nox", "--no-venv", *arguments]
    return subprocess.check_output(command, cwd=folder, text=True)


def test_each_task_says_what_it_does() -> None:
    found = re.findall(r"(?m)^[-*] ([\w-]+) -> \S", nox("--list"))
    assert {*found} == TASKS | {"environment"}


def test_a_live_build_waits_for_no_file_that_it_writes() -> None:
    ignored = re.search(r'"--re-ignore", r"(.+?)"', (ROOT / "noxfile.py").read_text())
    for path in ("docs/auto_examples/1_basics/a.rst", "conf/__pycache__/conf.pyc"):
        assert re.search(ignored[1], path), path


def test_clean_spares_the_published_site(tmp_path: Path) -> None:
    shutil.copy(ROOT / "noxfile.py", tmp_path)
    spared = {"build/html/index.html", "docs/index.md"}
    for name in (*spared, "build/kept/a.json", "docs/auto_examples/1_basics/a.rst"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    nox("-s", "clean", folder=tmp_path)
    files = (path for path in tmp_path.glob("[bd]*/**/*") if path.is_file())
    assert {path.relative_to(tmp_path).as_posix() for path in files} == spared


def test_what_the_readme_and_the_pages_for_maintainers_name_exists() -> None:
    for page in (ROOT / "README.md", *ROOT.glob("docs/maintainers/*.md")):
        text = page.read_text(encoding="utf-8")
        missing = [name for name in PATHS.findall(text) if not (ROOT / name).exists()]
        for link in re.findall(r"\]\((?!http)([^)\s#]+)\)", text):
            missing += [] if (page.parent / link).exists() else [link]
        assert not missing, page.name
        assert {*re.findall(r"nox -s ([\w-]+)", text)} <= TASKS
