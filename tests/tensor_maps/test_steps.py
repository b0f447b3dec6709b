"""Steps of lessons and of pairs of mistakes: they are kept, and light.

What a watched lesson prints is what it prints alone: test_lesson_pages.py compares.
"""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path

import pytest
from reading import ROOT, soup
from running import problems_of_data
from tensor_copies.errors.watching import TAGS, one_below_the_other
from tensor_copies.figures import steps as kept_steps
from tensor_copies.gallery.pages import cells
from tensor_maps import Steps

LESSONS = sorted((ROOT / "examples").glob("*/*.py"))
WATCHED = [script for script in LESSONS if kept_steps.is_watched(script)]


# Lessons -----------------------------------------------------------------------------


def test_what_is_timed_is_not_watched() -> None:
    out = {script.stem for script in LESSONS} - {script.stem for script in WATCHED}
    for script in LESSONS:
        text = script.read_text()
        timed = ("perf_counter", "timeit", "perfplot")
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
        path = kept_steps.steps_file(docs, page)
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
    text = soup(site / "silent_mistakes.html").get_text()
    halves = []
    for path in (site / "_static" / "steps" / "silent_mistakes").glob("*.js"):
        script = path.read_text(encoding="utf-8")
        data = json.loads(script[script.index("(") + 1 : script.rindex(")")])
        assert [*problems_of_data(data)] == [], path.stem
        halves += "\n".join(data["code"]).removeprefix("# Wrong\n").split("# Right\n")
        for step in data["steps"]:
            for line in step["printed"].splitlines():
                assert line.rstrip() in text, (path.stem, line)
    pairing = [cell for cell in cells(ROOT / "docs" / "silent_mistakes.md")
               if TAGS & {*cell.tags}]  # fmt: skip
    watched = sorted(half.rstrip() for half in halves)
    assert watched == sorted(cell.code.rstrip() for cell in pairing) != []


def test_a_pair_is_one_program_below_the_other() -> None:
    wrong = Steps().run("import torch\nx = torch.ones(2)\ny = x\n", {}).data()
    right = Steps().run("import torch\nx = torch.ones(2)\ny = x.clone()\n", {}).data()
    both = one_below_the_other(wrong, right)
    assert [*problems_of_data(both)] == []
    assert both["code"][0] == "# Wrong" and both["code"][5] == "# Right"
    assert [step["first"] for step in both["steps"]] == [2, 3, 4, 7, 8, 9]
    assert both["steps"][1]["drawing"] == both["steps"][4]["drawing"]
