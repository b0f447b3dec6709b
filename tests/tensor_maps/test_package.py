"""The package as people meet it: names, wrong calls, README, a shell and its wheel."""

import doctest
import inspect
import json
import os
import runpy
import shutil
import zipfile
from pathlib import Path

import pytest
import tensor_maps as tm
from running import SOURCES, python
from tensor_maps.__main__ import main

PROJECT = SOURCES.parent
# The words of a command, and what it says of them.
WRONG_COMMANDS = [
    (["none.py", "-o", "a.html"], "none.py cannot be read"),
    (["program.py", "-o", "a.txt"], "is no name of a page, as steps.html"),
]
SCRIPT = """
import sys
import torch
print(sys.argv, sys.path[0], __name__)
a = torch.ones(2)
b = a[1:]
if "fails" in sys.argv:
    1 / 0
if "exits" in sys.argv:
    sys.exit(3)
"""
NO_NUMPY = """
import sys, tensor_maps
import tensor_maps.pen, tensor_maps.words, tensor_maps.steps, tensor_maps.steps.viewer
print(sorted({'torch', 'numpy', 'IPython'} & set(sys.modules)))
sys.modules['numpy'] = None
import torch
w = torch.ones(2, requires_grad=True)
tensor_maps.tensor_map(w=w, z=w.detach())._repr_html_()
seen = tensor_maps.Steps().run('v = w[:1]', {'w': w})
print(bool(tensor_maps.sharing(w, w.detach())), seen[1].said)
"""
ALONE = """
import pathlib, sys, tensor_maps
assert pathlib.Path(tensor_maps.__file__).is_relative_to(sys.argv[1]), tensor_maps
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
tensor_maps.tensor_map(w).save("map.svg")
z = w.detach()
"""


def test_public_names_are_all_there_and_documented() -> None:
    for name in {*tm.__all__} - {"__version__"}:
        assert inspect.getdoc(getattr(tm, name)) and name in dir(tm), name
    with pytest.raises(AttributeError, match="shraing"):
        tm.shraing  # noqa: B018


def test_what_it_imports_and_that_it_works_where_there_is_no_numpy() -> None:
    done = python("-c", NO_NUMPY)
    shared = "True v shares w's memory, and a gradient flows back to w."
    assert done.stdout == f"[]\n{shared}\n", done.stderr[-800:]


def test_a_wrong_call_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile("wrong.txt").failed == 0
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "program.py").write_text(SCRIPT)
    for words, said in WRONG_COMMANDS:
        with pytest.raises(SystemExit, match="2"):
            main(words)
        heard = capsys.readouterr().err
        assert said in heard and heard.count("\n") == 2


@pytest.mark.parametrize(("word", "status"), [("x", 0), ("fails", 1), ("exits", 3)])
def test_a_script_is_run_as_python_runs_it(
    word: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(SCRIPT)
    words = ["program.py", word, "--lr", "3"]
    done = python("-m", "tensor_maps", *words, "-o", "page.html", cwd=tmp_path)
    assert done.returncode == status
    assert done.stdout == f"{words} {tmp_path.resolve()} __main__\n"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "b shares a's memory" in page
    fails = [word == "fails"] * 2
    assert ["ZeroDivisionError" in done.stderr, "line 8" in done.stderr] == fails
    assert ("It raises ZeroDivisionError." in page) == fails[0]


def test_the_code_of_the_readme_runs_and_draws_its_pictures() -> None:
    pictures = runpy.run_path(str(PROJECT / "readme_pictures.py"))["readme_pictures"]()
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 70
    for name, picture in pictures.items():
        assert f"]({name})" in readme
        # Drawn anew by `python conf/tensor_maps/readme_pictures.py`.
        assert picture == (PROJECT / name).read_text(encoding="utf-8"), name


@pytest.mark.slow
def test_a_wheel_has_all_files_and_works_alone(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("dist"))
    done = python("-m", "hatchling", "build", "-t", "wheel", cwd=folder)
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if ".dist-info/" not in name}
        metadata = next(n for n in opened.namelist() if n.endswith("METADATA"))
        lines = opened.read(metadata).decode().splitlines()
    files = (path for path in (SOURCES / "tensor_maps").rglob("*") if path.is_file())
    names = {path.relative_to(SOURCES).as_posix() for path in files}
    assert held == {name for name in names if "__pycache__" not in name}
    needs = [one for one in lines if one.startswith(("Version:", "Requires-"))]
    asked = ["Requires-Python: >=3.11", "Requires-Dist: torch>=2.6"]
    assert needs == [f"Version: {tm.__version__}", *asked]
    target = tmp_path / "installed"
    options = ["--no-deps", "--no-index", "--no-compile", "--target", target]
    assert python("-m", "pip", "-q", "install", *options, wheel).returncode == 0
    variables = {**os.environ, "PYTHONPATH": str(target)}
    (tmp_path / "alone.py").write_text(ALONE)
    words = ("-m", "tensor_maps", "alone.py", target, "-o", "steps.html")
    done = python(*words, cwd=tmp_path, env=variables)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "z shares w" in (tmp_path / "steps.html").read_text(encoding="utf-8")
    command = ("-m", "tensor_maps.atlas", "x.detach()[:1]")
    probed = json.loads(python(*command, cwd=tmp_path, env=variables).stdout)
    assert (probed["shares_memory"], probed["gradient_flows"]) == (True, False)
