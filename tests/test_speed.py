"""What a build does not do: import, run, read or hold more than it needs.

How long anything takes hangs on the machine and is measured by ``nox -s bench``. These
tests count instead.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import measure_build
import pytest
from conftest import TinySite, lesson, new_tiny_site

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows does not count what these tests count"
)
IMPORTED = re.compile(r"^import time:.*\| +([\w.]+)$", re.MULTILINE)
SECTION = Path("examples", "1_first")
# Counts what Sphinx reads and writes, and how much the process came to hold, in kB.
COUNTED = """

def setup(app):
    import json, os, resource

    seen = {"read": [], "written": []}
    app.connect("source-read", lambda app, page, text: seen["read"].append(page))
    app.connect(
        "html-page-context", lambda app, page, *rest: seen["written"].append(page)
    )

    def say(app, exception):
        seen["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with open(os.environ["COUNTED"], "w") as file:
            json.dump(seen, file)

    app.connect("build-finished", say)
"""
NUMBERED = """import torch
x = torch.full(({number},), 1.0)
print(x.detach().sum().item())
# sphinx_gallery_tensor_map = "x" """.rstrip()


def site_of(number: int, folder: Path) -> TinySite:
    """Return a site of so many lessons, not built."""
    site = new_tiny_site(folder)
    with (folder / "conf" / "conf.py").open("a") as conf:
        conf.write(COUNTED)
    site.write_lessons(
        {
            f"number_{n:02}.py": lesson(f"Number {n}", NUMBERED.format(number=n))
            for n in range(1, number + 1)
        }
    )
    return site


def counted(site: TinySite) -> dict:
    """Build, which must go well, and return what was counted."""
    file = site.folder / "counted.json"
    file.unlink(missing_ok=True)
    done = site.build(env={**os.environ, "COUNTED": str(file)})
    assert done.status == 0, done.output
    if not file.exists():
        return {"lessons": done.lessons, "read": [], "written": []}
    return {"lessons": done.lessons, **json.loads(file.read_text())}


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> tuple[TinySite, dict]:
    """Return a built site of five lessons, and what its clean build counted."""
    site = site_of(5, tmp_path_factory.mktemp("five") / "tiny")
    return site, counted(site)


def imports(output: str) -> set[str]:
    """Return what Python says that it has imported (``-X importtime``)."""
    return {name.partition(".")[0] for name in IMPORTED.findall(output)}


def test_nothing_changed_imports_nothing_that_is_slow(good_site: TinySite) -> None:
    every = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = good_site.build_alone(env=every)
    assert "Nothing has changed" in done.output, done.output
    assert "argparse" in imports(done.output)  # they are listed
    assert imports(done.output).isdisjoint({"sphinx", "torch", "numpy", "matplotlib"})


def test_an_edit_of_prose_imports_no_torch(good_site: TinySite, tmp_path: Path) -> None:
    site = good_site.copy_to(tmp_path / "with a space, it's so")
    index = site.folder / "docs" / "index.md"
    index.write_text(index.read_text() + "\nMore words.\n")
    done = site.build_alone(env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    assert done.status == 0, done.output
    assert "More words." in (site.html / "index.html").read_text()
    assert "sphinx" in imports(done.output)
    assert imports(done.output).isdisjoint({"torch", "perfplot"})


@pytest.mark.slow
def test_one_edited_lesson_runs_alone_and_its_page_is_read_alone(
    five: tuple[TinySite, dict],
) -> None:
    site, clean = five
    assert clean["lessons"] == "Lessons: 5 of 5 ran, 0 kept from earlier builds."
    page = "auto_examples/1_first/number_03"
    assert page in clean["read"]
    script = site.folder / SECTION / "number_03.py"
    written = site.published()
    overviews = {"auto_examples/1_first/index", "auto_examples/index"}
    for old, new, also in (
        ("print(x", 'print("sum", x', set()),
        ("A lesson of", "One of", overviews),  # cards have this sentence
    ):
        text = script.read_text()
        assert old in text
        script.write_text(text.replace(old, new, 1))
        again = counted(site)
        assert again["lessons"] == "Lessons: 1 of 5 ran, 4 kept from earlier builds."
        assert set(again["read"]) == {page} | also
        lessons = {name for name in again["written"] if "/number_" in name}
        assert lessons == {page}
    assert {
        name
        for name, digest in site.published().items()
        if name.endswith(".html") and "/number_" in name and digest != written[name]
    } == {f"{page}.html"}


@pytest.mark.slow
def test_another_style_writes_all_pages_and_reads_none(
    five: tuple[TinySite, dict],
) -> None:
    site = five[0]
    style = site.folder / "conf" / "static" / "site.css"
    style.write_text(f"{style.read_text()}\n.edited {{ color: teal; }}\n")
    again = counted(site)
    assert again["read"] == []
    assert set(again["written"]) >= set(five[1]["read"])
    files = site.published()
    assert "teal" in (site.html / "_static" / "site.css").read_text()
    for made in ("doctrees", "staging", "html", "kept"):
        shutil.rmtree(site.folder / "build" / made)
    assert len(counted(site)["read"]) == len(five[1]["read"])
    assert site.published() == files


@pytest.mark.slow
def test_work_and_memory_grow_no_faster_than_the_lessons(
    five: tuple[TinySite, dict], tmp_path: Path
) -> None:
    small = five[1]
    large = counted(site_of(20, tmp_path / "tiny"))
    for what in ("read", "written"):
        for counts in (small, large):  # each page once
            assert len(counts[what]) == len(set(counts[what]))
        assert len(large[what]) - len(small[what]) == 20 - 5
    # Fifteen lessons more, of a few kilobytes each: what one leaves is not kept.
    assert large["memory"] < 1.1 * small["memory"]


# The table of ``nox -s bench``


def case(name: str, *processors: float) -> measure_build.Case:
    """Return a case with the seconds of each round, twice as many on the clock."""
    costs = [measure_build.Cost(2 * one, one, 100) for one in processors]
    return measure_build.Case(name, (), costs=costs)


def test_the_table_has_medians_and_ratios_to_the_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = [
        case(measure_build.CLEAN, 11, 90, 10),
        case(measure_build.NOTHING, 1, 1, 1),
        case(measure_build.BARE, 6, 6, 6),
        case(measure_build.SPHINX, 4, 1, 5),
        case(measure_build.SPHINX_AGAIN, 2, 2, 2),
        case(measure_build.ASIDE, 10, 90, 1),
    ]
    grown = {
        number: [case(f"{number} lessons", seconds), case("again", 1)]
        for number, seconds in ((10, 3.0), (50, 7.0))
    }
    text = measure_build.table(site, grown, 3)
    assert "| clean build | 22.0 | 11.0 | 1.10 / 1.10 | 100 MB |" in text
    assert "| nothing changed | 2.0 | 1.0 | 0.50 / 0.50 | 100 MB |" in text
    assert "is 0.55 times the floor, of processors 0.55 times." in text
    assert "50 lessons (100 ms of processors for each more than 10)" in text
    page = tmp_path / "speed.md"
    first, last = measure_build.MARKS
    there = measure_build.PAGE.read_text("utf-8")
    assert first in there and last in there
    page.write_text(f"Before\n{first}old\n{last}After\n")
    monkeypatch.setattr(measure_build, "PAGE", page)
    measure_build.write(text)
    measure_build.write(text)  # it finds its place again
    assert page.read_text() == f"Before\n{first}\n{text}\n{last}After\n"


def test_what_fails_while_it_is_measured_is_shown(tmp_path: Path) -> None:
    fails = (sys.executable, "-c", "raise SystemExit('no such lesson')")
    with pytest.raises(SystemExit, match="no such lesson"):
        measure_build.measure(fails, tmp_path)
    passes = measure_build.measure(
        (sys.executable, "-c", "bytes(50_000_000)"), tmp_path
    )
    assert passes.memory > 50
    assert passes.wall > 0
