"""The tasks of noxfile.py, the pages that name them, and the week's versions."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from reading import ROOT
from tensor_copies.run.fingerprint import OLDEST_PYTHON, OLDEST_TORCH

TASKS = ["docs", "live", "tests", "unit", "lint", "record", "lock", "links"]
TASKS += ["bench", "clean"]
PATHS = re.compile(r"`((?:\.github|conf|docs|examples|tests)/[\w./-]*)`")


def nox(*arguments: str, folder: Path = ROOT) -> tuple[int, str]:
    """Run nox without an environment of its own; return its status and words."""
    command = [sys.executable, "-m", "nox", "--no-venv", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_nox_lists_ten_tasks_with_their_purpose() -> None:
    _, listed = nox("--list")
    found = re.findall(r"(?m)^[-*] ([\w-]+) -> \S", listed)
    assert found == ["environment", *TASKS]


def test_what_pytest_does_not_know_is_said_before_a_build() -> None:
    status, said = nox("-s", "tests", "--", "--nonsense")
    assert status and "aborted: unrecognized arguments: --nonsense" in said
    assert "build_site" not in said


def test_clean_spares_the_site_and_the_lock_of_a_build(tmp_path: Path) -> None:
    shutil.copy(ROOT / "noxfile.py", tmp_path)
    spared = {"build/html/index.html", "build/lock", "docs/index.md"}
    for name in (*spared, "build/pages/a/b", "build/a.json", "docs/auto_examples/a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for task in ("clean", "lock"):
        status, said = nox("-s", task, "--", "x", folder=tmp_path)
        assert status and "it takes no arguments: leave out x" in said
    assert (tmp_path / "build/pages/a/b").exists()
    assert nox("-s", "clean", folder=tmp_path)[0] == 0
    files = (path for path in tmp_path.glob("[bd]*/**/*") if path.is_file())
    assert {path.relative_to(tmp_path).as_posix() for path in files} == spared


def test_the_readme_is_short_and_what_it_names_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs" / "maintainers").glob("*.md")]
    assert len(pages[0].read_text(encoding="utf-8").splitlines()) <= 120
    for page in pages:
        text = page.read_text(encoding="utf-8")
        missing = [name for name in PATHS.findall(text) if not (ROOT / name).exists()]
        for link in re.findall(r"\]\((?!http)([^)\s]+)\)", text):
            missing += [] if (page.parent / link).exists() else [link]
        assert not missing, f"{page.name}: {missing}"
        assert set(re.findall(r"nox -s ([\w-]+)", text)) <= set(TASKS)


def test_the_ends_of_what_is_supported_are_tried_each_week() -> None:
    text = (ROOT / ".github" / "workflows" / "weekly.yml").read_text(encoding="utf-8")
    job = yaml.load(text, Loader=yaml.BaseLoader)["jobs"]["check"]
    tried = {one["name"]: one for one in job["strategy"]["matrix"]["include"]}
    oldest, newest = tried["oldest"], tried["newest"]
    assert oldest["session"] == newest["session"] == "tests"
    assert oldest["python"] == ".".join(map(str, OLDEST_PYTHON))
    assert oldest["torch"] == f"torch=={'.'.join(map(str, OLDEST_TORCH))}.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    ((pin,),) = (
        Requirement(t).specifier for t in project["dependency-groups"]["torch"]
    )
    assert newest["torch"].startswith("torch>=")
    assert Requirement(newest["torch"]).specifier.contains(pin.version)
    (run,) = (step for step in job["steps"] if "nox -s" in step.get("run", ""))
    assert "matrix.name == 'oldest' && 'lowest-direct'" in run["env"]["UV_RESOLUTION"]
    assert '"$TORCH" > "$UV_OVERRIDE"' in run["run"]
    assert {one["session"] for one in tried.values()} <= set(TASKS)
