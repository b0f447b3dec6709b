"""The package as people meet it: names, wrong calls, README, a shell and its wheel."""

import doctest
import inspect
import json
import os
import re
import runpy
import shutil
import zipfile
from pathlib import Path

import pytest
import tensor_maps as tm
from pytest_regressions.file_regression import FileRegressionFixture
from recorded import check
from running import SOURCES, python

PROJECT = SOURCES.parent
# What follows `python -m tensor_maps`: a script ends, raises or exits; what is wrong.
COMMANDS = [
    *(f"program.py {word} --lr 3 -o page.html" for word in ("x", "fails", "exits")),
    *("program.py --out a.html", "none.py -o a.html", "latin.py -o a.html"),
    *("program.py -o a.txt", "program.py --output none/a.html"),
]
# The Atlas, of few calls and where only pandas is installed, answers what is asked.
ATLAS = """
import json, sys
from tensor_maps.atlas import __main__ as atlas, calls, probe
few = ("assignment", "detach", "clone", "numpy", "to-list"), ("leaf", "view")
plan = [one for one in atlas.plan() if one[0].id in few[0] and one[1] in few[1]]
atlas.plan, probe.accelerator = lambda: plan, lambda: None
calls.metadata.version = lambda name: {"pandas": "3"}.get(name) or missing()
def missing():
    raise calls.metadata.PackageNotFoundError
for words in json.loads(sys.argv[1]):
    print("$", *words)
    sys.argv[1:] = words
    atlas.main()
"""
WARNS = "__import__('warnings').warn(' a\\nplace 0x7f of /a/b/c.py' + ' and' * 200)"
RAISES = "y = x; raise ValueError('it is so.\\n\\nSay no more')"
ASKED = [[], ["--json"], ["x[:1] * 2", "--state", "nonleaf"], [WARNS], [RAISES]]
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile("wrong.txt").failed == 0
    assert list(tmp_path.iterdir()) == []


def test_what_commands_print_and_write_is_recorded(
    tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    """A script is run as Python runs it; of its page there is what has no script."""
    (tmp_path / "program.py").write_text(SCRIPT)
    (tmp_path / "latin.py").write_bytes(b"# \xff")
    told, page = [], tmp_path / "page.html"
    for words in COMMANDS:
        done = python("-m", "tensor_maps", *words.split(), cwd=tmp_path)
        wrong = re.sub(r"Trace[^$]+?File (?=\"pro)|\n +[~^]+", "", done.stderr)
        told += [f"$ {words}", done.stdout + wrong, f"ends with {done.returncode}\n"]
        if page.exists():
            html = page.read_text(encoding="utf-8")
            told.append(re.sub(r"(?s)(<(style|script).*?>).*?(</\2>)", r"\1\3", html))
            page.unlink()
    done = python("-c", ATLAS, json.dumps(ASKED))
    told += [done.stdout.replace("}, {", "},\n{"), done.stderr]
    text = "\n".join(told).replace(str(tmp_path.resolve()), "FOLDER")
    check(text, file_regression)


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
