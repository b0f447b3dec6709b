"""The wheel of tensor_maps: twice the same bytes, and installed it works alone."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, ROOT

PROJECT = ROOT / "conf" / "tensor_maps"
# 2020-01-01: a zip holds no time before 1980.
EPOCH = "1577836800"
pytestmark = pytest.mark.slow
ALONE = """
import pathlib, sys
import tensor_maps
assert pathlib.Path(tensor_maps.__file__).is_relative_to(sys.argv[1]), tensor_maps
assert "torch" not in sys.modules
import torch
from tensor_maps import steps, tensor_map, sharing, groups, flows
from tensor_maps.testing import assert_gradient_reaches, assert_no_sharing

w = torch.tensor([1.0, 2.0], requires_grad=True)
z = w.detach()
tensor_map(w, z).save("map.svg")
tensor_map(w, z).save("map.html")
with steps("alone") as seen:
    y = (w * 2).sum()
    y.backward()
seen.save("steps.html")
assert not seen.failed, seen.failed
assert len(seen) == 2 and seen._repr_html_()
assert sharing(w, z) and groups(w=w, z=z) == [["w", "z"]]
assert flows(y, w=w) == {"w": True}
assert_no_sharing(w, torch.ones(2))
assert_gradient_reaches(y, w)
try:
    assert_no_sharing(w, z)
except AssertionError as error:
    print(error)
"""


def python(*arguments: str | Path, **options: Any) -> str:
    """Run a Python; return what it says."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout[-800:] + done.stderr[-1500:]
    return done.stdout


def built(folder: Path, epoch: str = EPOCH) -> Path:
    """Build the wheel of a copy of the project, with no file of an earlier run."""
    unwanted = shutil.ignore_patterns("__pycache__", "dist", "*.egg-info")
    shutil.copytree(PROJECT, folder, ignore=unwanted)
    variables = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    python("-m", "hatchling", "build", "-t", "wheel", cwd=folder, env=variables)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("built") / "first")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a folder of its own, without a network."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-index", "--no-compile", "--target", target]
    python("-m", "pip", "--isolated", "install", "-q", *options, wheel)
    return target


def alone(installed: Path) -> dict[str, Any]:
    """Return the variables of a Python that finds the installed package only."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return {**variables, "PYTHONPATH": str(installed)}


def test_it_is_the_same_from_two_folders(wheel: Path, tmp_path: Path) -> None:
    again = built(tmp_path / "of another name")
    assert again.name == wheel.name
    hashes = [hashlib.sha256(one.read_bytes()).hexdigest() for one in (wheel, again)]
    assert hashes[0] == hashes[1]
    later = built(tmp_path / "later", epoch=str(int(EPOCH) + 86400))
    assert later.read_bytes() != wheel.read_bytes()


def test_it_holds_all_files_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if ".dist-info/" not in name}
        metadata = next(n for n in opened.namelist() if n.endswith("METADATA"))
        text = opened.read(metadata).decode()
    source = PROJECT / "src"
    there = {
        str(path.relative_to(source).as_posix())
        for path in (source / "tensor_maps").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == there
    endings = {Path(name).suffix for name in held}
    assert endings >= {".py", ".typed", ".css", ".js", ".toml", ".html"}
    version = wheel.name.split("-")[1]
    assert f"\nVersion: {version}\n" in text and "\nName: tensor-maps\n" in text
    assert "\nRequires-Python: >=3.11\n" in text
    assert [x for x in text.splitlines() if x.startswith("Requires-Dist:")] == [
        "Requires-Dist: torch>=2.6"
    ]
    assert f'__version__ = "{version}"' in (
        source / "tensor_maps" / "__init__.py"
    ).read_text(encoding="utf-8")


def test_no_file_is_longer_than_500_lines() -> None:
    sources = [*(PROJECT / "src").rglob("*.py"), *(PROJECT / "src").rglob("*.[jch]*s*")]
    long = {
        path.name: lines
        for path in sources
        if "__pycache__" not in path.parts
        and (lines := len(path.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert long == {}


def test_installed_it_draws_steps_and_tests(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "alone.py"
    program.write_text(ALONE)
    said = python(program, installed, cwd=tmp_path, env=alone(installed))
    assert "w" in said and "z" in said, "what an assertion says names both"
    svg = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg") and "prefers-color-scheme" in svg
    page = (tmp_path / "steps.html").read_text(encoding="utf-8")
    assert "<script" in page and "</html>" in page
    assert "src=" not in page.replace("srcdoc=", ""), "it needs nothing else"


def test_installed_it_runs_as_programs(installed: Path, tmp_path: Path) -> None:
    variables = alone(installed)
    said = python("-m", "tensor_maps.atlas", "x.detach()", cwd=tmp_path, env=variables)
    assert '"shares_memory": true' in said and '"gradient_flows": false' in said
    program = tmp_path / "script.py"
    program.write_text("import torch\nw = torch.ones(2)\nv = w[:1]\nprint('ran')\n")
    options = ["-m", "tensor_maps", program, "-o", "steps.html"]
    said = python(*options, cwd=tmp_path, env=variables)
    assert "ran" in said
    page = (tmp_path / "steps.html").read_text(encoding="utf-8")
    assert "v = w[:1]" in page
