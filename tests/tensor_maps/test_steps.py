"""Steps of lessons: they are kept, and light.

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
from tensor_copies.figures import steps as kept_steps

LESSONS = sorted((ROOT / "examples").glob("*/*.py"))
WATCHED = [script for script in LESSONS if kept_steps.is_watched(script)]


# Lessons -----------------------------------------------------------------------------


def test_what_is_timed_is_not_watched() -> None:
    out = {script.stem for script in LESSONS} - {script.stem for script in WATCHED}
    for script in LESSONS:
        text = script.read_text()
        timed = ("perf_counter", "timeit", "perfplot")
        is_drawn = "sphinx_gallery_tensor_map" in text
        is_out = not is_drawn or any(word in text for word in timed)
        assert (script.stem in out) == is_out, script.stem
    assert not {"detach", "what_stays_alive"} & out


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
    ],
)
def test_which_lesson_is_watched(code: str, watched: bool, tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    script.write_text(f"# sphinx_gallery_tensor_map = 'x'\n{code}")
    assert kept_steps.is_watched(script) == watched
    script.write_text(code)
    assert not kept_steps.is_watched(script)


def test_the_steps_of_each_lesson_are_kept_and_light(site: Path) -> None:
    docs = ROOT / "docs"
    for script in LESSONS:
        page = f"auto_examples/{script.parent.name}/{script.stem}"
        path = kept_steps.steps_file(docs, page)
        is_played = script in WATCHED and kept_steps.opening_of(script) != ()
        assert path.exists() == is_played, script.stem
        shown = soup(site / f"{page}.html").select(".player")
        assert bool(shown) == is_played, script.stem
        if not is_played:
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
