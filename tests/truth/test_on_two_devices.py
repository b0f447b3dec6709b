"""Everything that the site runs, runs on two devices: here on the stand-in device.

What cannot be true of that device is left out of its recording: the device says so, and
a second account of the lessons' code, made here, agrees.

A recording is written when all blocks of a lesson have run. So a lesson that this torch
has run, with the code that it has now, to make the recording in the repository, is not
run again, but for a few: the first of each section, and those of which a recording
leaves out something. ``TEST_EVERYTHING=1`` runs all.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import record
import two_devices
from conftest import PATIENCE, ROOT
from reading import EVERYTHING, NAMES, SCRIPTS
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from tensor_copies import stand_in
from tensor_copies.recordings import check, recorder
from tensor_copies.recordings import format as recordings
from tensor_copies.run.fingerprint import version_of
from tensor_copies.stand_in import torch_standin
from torch.utils.data import dataloader

DOCS = ROOT / "docs"
PAGES = [
    page.relative_to(DOCS).with_suffix("").as_posix()
    for page in two_devices.pages_that_run()
]
# A DataLoader asks for any accelerator, in torch 2.6 for CUDA.
PINS_FOR_CUDA = "torch.accelerator" not in inspect.getsource(dataloader)
# Where a time comes from, what keeps a device busy, what counts what CUDA reserves.
# The name of a list of samples that a block offers as CSV.
OFFERED = re.compile(r'sphinx_gallery_benchmark_data = "(\w+)"')
CLOCKS = {
    *("timings_s", "timeit", "blocked_autorange"),
    *("elapsed_time", "perf_counter", "check_output"),
}
BUSY, RESERVED = {"_sleep"}, {"memory_reserved"}
SHOWING = {"print", "errorbar", "barh", "loglog"}
COMMITTED = ROOT / "docs" / "recordings"
FIRST = {script.parent: script.stem for script in reversed(SCRIPTS)}.values()
ALWAYS = {
    *FIRST,
    "copy_between_devices",  # times and streams, by clocks of its own
    "memory_of_a_copy",
    "out_of_memory",
}


def stem(path: Path) -> str:
    return path.stem


def asks_for_a_device(script: Path) -> bool:
    return "cuda" in script.read_text()


def blocks_recorded(script: Path, folder: Path) -> list[recordings.Block]:
    """Return what a stand-in of this torch saw of the code that a lesson has now."""
    for path in folder.glob(f"stand-in-*/{script.stem}.json"):
        seen = check.load_recording(path)
        code = [block.key for block in seen.blocks]
        current = code == list(recordings.keys(script).values())
        if current and seen.machine.torch == version_of("torch"):
            return seen.blocks
    return []


def to_run() -> list[str]:
    """Return the lessons that are to run here."""
    return [
        script.stem
        for script in filter(asks_for_a_device, SCRIPTS)
        if EVERYTHING or script.stem in ALWAYS or not blocks_recorded(script, COMMITTED)
    ]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where all that ran on the stand-in has been recorded."""
    return tmp_path_factory.mktemp("two_devices")


@pytest.fixture(scope="session")
def wrong(stand_in_variables: dict[str, str], folder: Path) -> dict[str, str]:
    """Run it, once; return what went wrong with each lesson and page that ran."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("two_devices.py"), folder, *to_run()],
        env=stand_in_variables, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_lesson_runs_on_the_stand_in(
    script: Path, wrong: dict[str, str], folder: Path
) -> None:
    if script.stem == "batches_and_workers" and PINS_FOR_CUDA:
        pytest.skip("this DataLoader pins for CUDA only")
    problem = wrong.get(f"lesson {script.stem}")
    there = COMMITTED if problem is None else folder / "recordings"
    assert not problem
    blocks = blocks_recorded(script, there)
    assert bool(blocks) == asks_for_a_device(script)
    before = blocks_recorded(script, COMMITTED)
    if before:  # what is committed is what comes out today
        assert blocks == before


@pytest.mark.parametrize("name", [*(f"page {name}" for name in PAGES), "messages"])
def test_a_page_runs_on_the_stand_in(wrong: dict[str, str], name: str) -> None:
    if name == "page questions/devices" and PINS_FOR_CUDA:
        pytest.skip("this DataLoader pins for CUDA only")
    assert wrong[name] == ""


def names_in(node: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names that a statement uses, and those that it gives a value."""
    used, given, own = set(), set(), set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            used.add(part.attr)
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            given |= {name.id for name in ast.walk(part) if isinstance(name, ast.Name)}
        elif isinstance(part, ast.Call) and ast.unparse(part.func).endswith(".append"):
            given.add(ast.unparse(part.func).partition(".")[0])
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
        shows = shows or any(name in known for name in OFFERED.findall(block))
        if shows:
            yield number


@pytest.mark.parametrize("script", [*filter(asks_for_a_device, SCRIPTS)], ids=stem)
def test_what_shows_times_or_streams_is_left_out_and_nothing_else(script: Path) -> None:
    """Followed from name to name through the code; the device judges while it runs."""
    blocks = split_code_and_text_blocks(str(script))[1]
    code = [block.content for block in blocks if block.type == "code"]
    seen = blocks_recorded(script, COMMITTED)
    if not seen:
        pytest.skip("this torch has not recorded it")
    packs = (
        script.stem == "memory_of_a_copy"
    )  # only the device sees which slice has gaps
    known = {
        recorder.TIMES: [*showing(code, CLOCKS)],
        torch_standin.STREAMS: [*showing(code, BUSY)],
        torch_standin.KEPT: [*showing(code, RESERVED)],
        torch_standin.PACKED: [code.index(one) for one in code if "[::2]" in one]
        * packs,
    }
    left_out = {why: [] for why in known}
    for number, block in enumerate(seen):
        if block.left_out:
            left_out[block.left_out].append(number)
    assert left_out == known


@pytest.mark.parametrize("path", [*COMMITTED.glob("stand-in-*/*.json")], ids=stem)
def test_the_recording_is_no_ones_but_the_stand_ins(path: Path) -> None:
    """A number of a time, or the name of another device, would be no one's."""
    data = json.loads(path.read_text())
    if "blocks" in data:
        label = check.load_recording(path).machine.label
        assert label.startswith("simulated device, ")
    for block in data.get("blocks", []):
        printed = "\n".join(block.get("output", ()))
        assert "CUDA" not in printed and "cuda" not in printed
        assert not ("left_out" in block and {"output", "figures"} & set(block))


def test_recording_on_it_takes_a_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(*_: object) -> None:
        raise stand_in.NoCompiler

    monkeypatch.setattr(stand_in, "environment", none)
    assert record.main(["--stand-in"]) == 2
    assert capsys.readouterr().err == f"record: {stand_in.NoCompiler()}\n"
