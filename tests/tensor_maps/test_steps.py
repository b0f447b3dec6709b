"""Steps of lessons and of pairs of mistakes: they are kept, light, and not felt."""

from __future__ import annotations

import ast
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import tensor_maps
from bs4 import BeautifulSoup
from conftest import PATIENCE, ROOT, TinySite, lesson
from reading import EVERYTHING
from tensor_copies.errors import watched_cells
from tensor_copies.figures import steps as kept_steps
from tensor_copies.recordings.cells import cells
from tensor_copies.run import kernels
from tensor_maps import Steps

LESSONS = sorted((ROOT / "examples").glob("*/*.py"))
SOURCES = Path(tensor_maps.__file__).parents[1]
WATCHED = [script for script in LESSONS if kept_steps.is_watched(script)]


@pytest.mark.slow
def test_lessons_do_the_same_when_watched() -> None:
    """A sample has all that lessons do; all are taken with TEST_EVERYTHING."""
    scripts = WATCHED if EVERYTHING else WATCHED[::4]
    done = subprocess.run(
        [
            sys.executable,
            Path(__file__).with_name("watching.py"),
            *map(str, scripts),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["lesson"] for one in found] == [script.stem for script in scripts]
    assert not any(one["wrong"] for one in found), [o["wrong"] for o in found]


# The data ----------------------------------------------------------------------------


def check_data(data: dict[str, Any]) -> None:
    """Check what the viewer relies on."""
    assert data["format"] == 2 and data["steps"]
    assert len(data["drawings"]) == len(data["captions"])
    used = {step["drawing"] for step in data["steps"]}
    assert used - {None} == set(range(len(data["drawings"])))
    for drawing in data["drawings"]:
        svg = ElementTree.fromstring(drawing)
        assert svg.get("role") == "img" and svg.get("aria-label")
        assert svg.get("id") is None
    for step in data["steps"]:
        assert 1 <= step["first"] <= step["last"] <= len(data["code"])
        assert data["code"][step["first"] - 1].strip()
        assert step["said"].endswith(".") and "\n" not in step["said"]
        assert all(1 <= turn <= turns for turn, turns in step["turn"])


# Lessons -----------------------------------------------------------------------------


def test_what_is_timed_is_not_watched() -> None:
    out = {script.stem for script in LESSONS} - {script.stem for script in WATCHED}
    for script in LESSONS:
        text = script.read_text()
        timed = ("BENCHMARK_QUALITY", "perf_counter", "timeit", "perfplot")
        assert (script.stem in out) == any(word in text for word in timed), script.stem
    for name in ("detach", "what_stays_alive", "logging_without_leaking"):
        assert name not in out


@pytest.mark.parametrize(
    ("code", "watched"),
    [
        ("x = 1", True),
        ("import time\nt = time.perf_counter()", False),
        ("from timeit import repeat", False),
        ("def f():\n    with profile() as p:\n        g()", True),
        ("with profile() as p:\n    g()", False),
        ("with torch.profile() as p:\n    g()", False),
        ("from torch.profiler import profile", True),
        ("no python", False),
    ],
)
def test_which_lesson_is_watched(code: str, watched: bool, tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    script.write_text(code)
    assert kept_steps.is_watched(script) == watched


def test_the_steps_of_each_lesson_are_kept_and_light(site: Path) -> None:
    docs = ROOT / "docs"
    for script in LESSONS:
        page = f"auto_examples/{script.parent.name}/{script.stem}"
        path = kept_steps.steps_file(docs, page, script)
        assert (path is not None) == (script in WATCHED), script.stem
        if path is None:
            continue
        data = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(data, ensure_ascii=False)
        assert len(gzip.compress(text.encode(), 9)) <= 12_000
        check_data(data)
        assert data["title"] == script.stem
        assert "sphinx_gallery_" not in "\n".join(data["code"])
        statements = ast.parse("\n".join(data["code"])).body
        first = {step["first"] for step in data["steps"]}
        simple = {node.lineno for node in statements if not hasattr(node, "body")}
        assert simple <= first, script.stem


def test_steps_are_kept_and_made_again_with_the_lesson(tiny_site: TinySite) -> None:
    def kept() -> tuple[Path, Path]:
        (seen,) = tiny_site.folder.rglob("docs/**/*_steps.pickle")
        (drawn,) = tiny_site.folder.rglob("docs/**/*_steps.*.json")
        return seen, drawn

    first = "import torch\nx = torch.ones(2)\ny = x[:1]"
    timed = "import time\nbegan = time.perf_counter()"
    lessons = {"good.py": lesson("Good", first), "timed.py": lesson("Timed", timed)}
    tiny_site.write_lessons(lessons)
    assert tiny_site.build().status == 0
    seen, drawn = kept()
    assert seen.name == "sphx_glr_good_steps.pickle"
    before, data = seen.read_bytes(), json.loads(drawn.read_bytes())
    check_data(data)
    assert data["code"] == [*first.split("\n"), "", "print('end')"]
    assert [step["changed"] for step in data["steps"]] == [[], ["x"], ["y"], []]
    assert data["steps"][-1]["printed"] == "end\n"
    # Another word of the player runs no lesson, and is in the steps all the same.
    package = tiny_site.folder / "conf/tensor_maps/src/tensor_maps/steps"
    words = package / "words.py"
    text = words.read_text("utf-8")
    assert "No named tensor changes" in text
    words.write_text(
        text.replace("No named tensor changes", "All is as it was"),
        "utf-8",
    )
    lessons["timed.py"] = lesson("Timed", f"{timed}\nx = 1")
    tiny_site.write_lessons(lessons)
    again = tiny_site.build()
    assert again.status == 0 and "1 of 2 ran" in again.lessons
    seen, drawn = kept()
    assert seen.read_bytes() == before
    told = json.loads(drawn.read_bytes())["steps"]
    assert (
        [step["said"] for step in told]
        == [
            step["said"].replace("No named tensor changes", "All is as it was")
            for step in data["steps"]
        ]
        != [step["said"] for step in data["steps"]]
    )
    lessons["good.py"] = lesson("Good", first.replace("y = ", "z = "))
    tiny_site.write_lessons(lessons)
    assert tiny_site.build().status == 0
    assert json.loads(kept()[1].read_bytes())["steps"][2]["changed"] == ["z"]


# Pairs of mistakes -------------------------------------------------------------------


def test_pairs_are_watched_in_the_run_that_is_shown(site: Path) -> None:
    page = ROOT / "docs" / "silent_mistakes.md"
    sources = [cell.code for cell in cells(page)]
    pairing = [cell for cell in cells(page) if {"wrong", "right"} & set(cell.tags)]
    name = kernels.kept_of(Path(), sources).name
    # What was built with another quality, or before, may be kept beside it.
    found = (ROOT / "build" / "pages").glob(f"*/watched/{name}")
    path = max(found, key=lambda one: one.stat().st_mtime)
    seen = json.loads(path.read_text())
    assert len(seen) == len(pairing)
    shown = (site / "silent_mistakes.html").read_text()
    text = BeautifulSoup(shown, "html.parser").get_text()
    for cell, data in zip(pairing, seen, strict=True):
        check_data(data)
        assert "\n".join(data["code"]).rstrip() == cell.code.rstrip()
        for step in data["steps"]:
            for line in step["printed"].splitlines():
                assert line.rstrip() in text, (cell.line, line)


def test_a_pair_is_one_program_below_the_other() -> None:
    app = SimpleNamespace(
        env=SimpleNamespace(doc2path=lambda page: str(ROOT / "docs" / f"{page}.md")),
        config=SimpleNamespace(nb_execution_cache_path="nowhere"),
    )
    assert watched_cells.watched_pairs(app, "silent_mistakes") == {}
    wrong = Steps().run("import torch\nx = torch.ones(2)\ny = x\n", {}).data()
    right = Steps().run("import torch\nx = torch.ones(2)\ny = x.clone()\n", {}).data()
    both = watched_cells.one_below_the_other("mine", wrong, right)
    check_data(both)
    assert both["code"][0] == "# Wrong" and both["code"][5] == "# Right"
    assert [step["first"] for step in both["steps"]] == [2, 3, 4, 7, 8, 9]
    assert both["steps"][1]["drawing"] == both["steps"][4]["drawing"]
