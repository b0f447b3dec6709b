"""Steps of lessons and of pairs of mistakes: they are kept, and light.

What a watched lesson prints is what it prints alone: test_downloads.py compares them.
"""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT
from running import problems_of_data
from tensor_copies.errors import watched_cells
from tensor_copies.figures import steps as kept_steps
from tensor_copies.recordings.cells import cells
from tensor_copies.run import kernels
from tensor_maps import Steps

LESSONS = sorted((ROOT / "examples").glob("*/*.py"))
WATCHED = [script for script in LESSONS if kept_steps.is_watched(script)]


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
        assert [*problems_of_data(data)] == []
        assert data["title"] == script.stem
        assert "sphinx_gallery_" not in "\n".join(data["code"])
        statements = ast.parse("\n".join(data["code"])).body
        first = {step["first"] for step in data["steps"]}
        simple = {node.lineno for node in statements if not hasattr(node, "body")}
        assert simple <= first, script.stem


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
        assert [*problems_of_data(data)] == []
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
    assert [*problems_of_data(both)] == []
    assert both["code"][0] == "# Wrong" and both["code"][5] == "# Right"
    assert [step["first"] for step in both["steps"]] == [2, 3, 4, 7, 8, 9]
    assert both["steps"][1]["drawing"] == both["steps"][4]["drawing"]
