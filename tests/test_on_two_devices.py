"""Everything that the site runs, runs on two devices: here on the stand-in device.

What cannot be true of that device is left out of its recording. The list of it has
what it needs to have, and no more.

A recording is written when all blocks of a lesson have run. So a lesson that this torch
has run, with the code that it has now, to make the recording in the repository, is not
run again, but for a few: the first of each section, those that time, and those of which
a recording leaves out something. ``TEST_EVERYTHING=1`` runs all.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from conftest import PATIENCE, ROOT, TinySite, lesson
from reading import EVERYTHING, NAMES, SCRIPTS, soup
from recording import OTHER, OTHER_NAME, record
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from tensor_copies import stand_in
from tensor_copies.machine.fingerprint import Fingerprint
from tensor_copies.recordings import check
from tensor_copies.recordings import format as recordings
from tensor_copies.stand_in import scripts

PAGES = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
# Where a time comes from, and what keeps a device busy.
CLOCKS = {"timings_s", "timeit", "elapsed_time", "perf_counter", "check_output"}
BUSY = {"_sleep"}
SHOWING = {"print", "errorbar", "barh"}
COMMITTED = ROOT / "docs" / "recordings"
FIRST = {script.parent: script.stem for script in reversed(SCRIPTS)}.values()
ALWAYS = {
    *FIRST,
    *stand_in.LEFT_OUT,  # never recorded
    "copy_between_devices",  # times and streams, by clocks of its own
    "lists_into_a_tensor",  # times, by torch's
    "memory_of_a_copy",  # what they leave out is read below
    "out_of_memory",
}


def run_before(script: Path) -> str:
    """Return what a lesson printed when this torch ran it as it is for a recording."""
    for path in COMMITTED.glob(f"stand-in-*/{script.stem}.json"):
        recording = check.load(path)
        code = [block.key for block in recording.blocks]
        here = recording.machine.torch == torch.__version__
        if here and code == list(recordings.keys(script).values()):
            return "".join(block.output for block in recording.blocks)
    return ""


def to_run() -> list[str]:
    """Return the lessons that are to run here."""
    return [
        script.stem
        for script in SCRIPTS
        if EVERYTHING or script.stem in ALWAYS or not run_before(script)
    ]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where all that ran on the stand-in has been recorded."""
    return tmp_path_factory.mktemp("two_devices")


@pytest.fixture(scope="session")
def wrong(stand_in_variables: dict[str, str], folder: Path) -> dict[str, str]:
    """Run it, once; return what went wrong with each lesson and page that ran."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "two_devices.py", folder, *to_run()],
        env=stand_in_variables, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def outputs(folder: Path, lesson: str) -> list[str]:
    """Return what each block of a lesson printed on the stand-in."""
    (path,) = folder.glob(f"recordings/*/{lesson}.json")
    return [block.output for block in check.load(path).blocks]


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_lesson_runs_on_the_stand_in(
    script: Path, wrong: dict[str, str], folder: Path
) -> None:
    problem = wrong.get(f"lesson {script.stem}")
    if problem is None:
        printed = run_before(script)
    else:
        printed = "" if problem else "".join(outputs(folder, script.stem))
    runs = "This lesson runs on: standin" in printed
    if script.stem in stand_in.LEFT_OUT:
        assert not runs, "it need not be left out"
    else:
        assert runs, problem


@pytest.mark.parametrize("name", [*(f"page {name}" for name in PAGES), "messages"])
def test_a_page_runs_on_the_stand_in(wrong: dict[str, str], name: str) -> None:
    assert wrong[name] == ""


def code_of(script: Path) -> list[str]:
    """Return the code of each block of a lesson."""
    blocks = split_code_and_text_blocks(str(script))[1]
    return [block.content for block in blocks if block.type == "code"]


def names_in(node: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names that a statement uses, and those that it gives a value."""
    used, given, own = set(), set(), set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            used.add(part.attr)
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            given |= {name.id for name in ast.walk(part) if isinstance(name, ast.Name)}
        elif isinstance(part, ast.Name):
            (used if isinstance(part.ctx, ast.Load) else given).add(part.id)
        elif isinstance(part, ast.arg):
            own.add(part.arg)
    if isinstance(node, ast.FunctionDef):
        return used - own - given, {node.name}
    return used, given - {"_"}


def showing(code: list[str], sources: set[str]) -> Iterator[int]:
    """Yield the numbers of the blocks that show what comes from these sources."""
    known, functions = set(sources), set()
    for number, block in enumerate(code):
        shows = False
        for statement in ast.parse(block).body:
            used, given = names_in(statement)
            if isinstance(statement, ast.FunctionDef):
                functions |= given if used & known else set()
            elif used & known and used & (SHOWING | functions):
                shows = True
            if used & known:
                known |= given
        if shows:
            yield number


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_what_is_left_out_shows_times_or_streams(script: Path) -> None:
    if script.stem in stand_in.LEFT_OUT:
        assert script.stem not in stand_in.BLOCKS_LEFT_OUT
        return
    code = code_of(script)
    for piece in stand_in.BLOCKS_LEFT_OUT.get(script.stem, {}):
        assert sum(piece in block for block in code) == 1, piece
    reasons = [stand_in.left_out(script.stem, block) for block in code]
    for sources, reason in ((CLOCKS, scripts.TIMES), (BUSY, scripts.STREAMS)):
        listed = [number for number, why in enumerate(reasons) if why == reason]
        assert list(showing(code, sources)) == listed


def test_what_else_is_left_out_is_untrue(wrong: dict[str, str], folder: Path) -> None:
    """CUDA packs the 4 MiB of this slice on the device; no stand-in does."""
    others = {
        (lesson, piece)
        for lesson, pieces in stand_in.BLOCKS_LEFT_OUT.items()
        for piece, why in pieces.items()
        if why not in (scripts.TIMES, scripts.STREAMS)
    }
    assert others == {
        ("memory_of_a_copy", "gaps = "),
        ("out_of_memory", "memory_reserved()"),
    }
    assert not wrong["lesson memory_of_a_copy"]
    said = "Peak for a slice with gaps: 0 MiB"
    assert said in outputs(folder, "memory_of_a_copy")
    # CUDA's allocator reserves more, and keeps it when a tensor is deleted.
    assert not wrong["lesson out_of_memory"]
    (said,) = (text for text in outputs(folder, "out_of_memory") if "one float" in text)
    counted = re.findall(r"\((\d+), (\d+)\)", said)
    assert len(counted) == 2 and all(held == kept for held, kept in counted)


def test_every_lesson_that_is_left_out_is_there() -> None:
    assert {*stand_in.LEFT_OUT, *stand_in.BLOCKS_LEFT_OUT} <= set(NAMES)


def recorded() -> list[Path]:
    """Return the recordings of lessons that stand-in devices made."""
    files = COMMITTED.glob("stand-in-*/*.json")
    return sorted(path for path in files if "." not in path.stem)


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
def test_the_recording_is_no_ones_but_the_stand_ins(path: Path) -> None:
    if path.stem == "atlas":
        assert check.load_atlas(path).machine.device_kind == "stand-in"
        return
    recording = check.load(path)
    assert recording.machine.label.startswith("stand-in device (no GPU), torch ")
    for block in recording.blocks:
        # A number of a time, or the name of another device, would be no one's.
        assert "CUDA" not in block.output and "cuda" not in block.output
        assert not (block.left_out and (block.output or block.figures))


def test_recording_on_it_takes_a_compiler(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print(1)")})
    without = {name: value for name, value in os.environ.items() if name != "CXX"}
    done = record(tiny_site, "--stand-in", env={**without, "PATH": ""})
    assert done.status == 2
    assert done.output == (
        "record: No C++ compiler: the stand-in device is left out. "
        "Install g++ (Debian: apt-get install g++)\n"
    )


def test_is_shown_by_its_name_until_cuda_is(tiny_site: TinySite) -> None:
    device = "device cpu\nsame"
    tiny_site.write_lessons({"a.py": lesson("A", "print('device cpu\\nsame')")})
    docs = tiny_site.folder / "docs"
    (docs / "machines.md").write_text("(stand-in-device)=\n# Machines\n")
    index = (docs / "index.md").read_text()
    (docs / "index.md").write_text(index.replace("/index\n", "/index\nmachines\n"))
    assert record(tiny_site).status == 0
    (here,) = tiny_site.folder.glob("docs/recordings/*/a.json")
    data = json.loads(here.read_text())
    first, last = data["blocks"]
    first["output"] = ["device standin", "same"]
    data["blocks"] = [first, {"key": last["key"], "left_out": "It shows times."}]
    data["machine"] |= {"device_kind": "stand-in", "device_name": "host memory"}
    there = here.parent.with_name(Fingerprint(**data["machine"]).name) / here.name
    there.parent.mkdir()
    there.write_text(json.dumps(data))

    built = tiny_site.build()
    assert built.status == 0, built.output
    page = soup(tiny_site.page("a"))
    (one,) = page.select(".machines-outputs")
    assert one.select_one(".live pre").get_text().strip() == device
    recorded = one.select_one(".recorded")
    assert "stand-in device (no GPU), torch " in recorded.select_one("p").get_text()
    assert recorded.select_one("pre").get_text().strip() == "device standin\nsame"
    # What is left out, and why, stands on the page of machines.
    assert "It shows times." not in page.get_text()
    (note,) = recorded.select(".stand-in-note")
    assert note.get_text().startswith("No GPU: host memory")
    assert note.a["href"].endswith("machines.html#stand-in-device")

    data["machine"] = OTHER
    data["blocks"] = [{**first, "output": ["device cuda", "same"]}]
    cuda = there.parent.with_name(OTHER_NAME) / here.name
    cuda.parent.mkdir()
    cuda.write_text(json.dumps(data))
    assert tiny_site.build().status == 0
    page = soup(tiny_site.page("a"))
    (one,) = page.select(".machines-outputs")
    labels = [label.get_text() for label in one.select(".recorded .variant-label")]
    assert [label.partition(": ")[2] for label in labels] == [
        "CUDA (Test Card 9), torch 2.11.0, Python 3.12"
    ]
    assert "stand-in" not in page.get_text()
