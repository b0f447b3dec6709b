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
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import two_devices
from conftest import PATIENCE, ROOT, TinySite, lesson
from reading import EVERYTHING, NAMES, SCRIPTS, soup
from recording import OTHER, OTHER_NAME, record, recorded
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from tensor_copies import stand_in
from tensor_copies.recordings import check, recorder
from tensor_copies.recordings import format as recordings
from tensor_copies.run.fingerprint import Fingerprint, version_of
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


WAITS = """
device = "cuda" if torch.cuda.is_available() else "cpu"
print(torch.ones(1, device=device).device)

# %%
# Waits.
renamed = torch.cuda._sleep
renamed(10)
print("early")

# %%
# After it.
print("late")

# %%
# Times.
import timeit
print(timeit.timeit("1"))

# %%
# Draws.
import matplotlib.pyplot as plt
x = [1.0, 2.0]
plt.errorbar(x, ["a", "b"], xerr=[x, x], fmt="o")
print("drawn")

# %%
# Counts.
print(torch.cuda.memory_reserved())

# %%
# A slice with gaps.
slice = torch.ones(8, device=device)[::2].cpu()
print(torch.cuda.max_memory_allocated())

# %%
# None.
torch.cuda.reset_peak_memory_stats()
full = torch.ones(8, device=device).cpu()
print(torch.cuda.max_memory_allocated() >= 0)
"""


def test_the_device_says_what_it_cannot_answer(
    tiny_site: TinySite, stand_in_variables: dict[str, str]
) -> None:
    """Whatever the names in a lesson are; and a lesson for the CPU is not recorded."""
    tiny_site.write_lessons(
        {
            "a.py": lesson("A", f"import torch\n{WAITS}"),
            "host.py": lesson("Host", "print('cpu')"),
        }
    )
    shutil.copytree(stand_in.CACHE, tiny_site.folder / "build" / "stand_in")
    done = record(tiny_site, "--stand-in")
    assert done.status == 0, done.output
    (seen,) = recorded(tiny_site).values()
    assert [block.get("left_out") or block["output"] for block in seen["blocks"]] == [
        ["standin:0"],
        torch_standin.STREAMS,
        ["late"],
        recorder.TIMES,
        recorder.TIMES,
        torch_standin.KEPT,
        torch_standin.PACKED,
        ["True"],
        ["end"],
    ]


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
    old = {**data, "machine": data["machine"] | {"device_kind": "cpu", "torch": "2.9"}}
    old["blocks"] = [{**first, "output": ["device old", "same"]}]
    older = there.parent.with_name(Fingerprint(**old["machine"]).name) / here.name
    older.parent.mkdir()
    older.write_text(json.dumps(old))

    built = tiny_site.build()
    assert built.status == 0, built.output
    page = soup(tiny_site.page("a"))
    (one,) = page.select(".machines-outputs")
    assert one.select_one(".live pre").get_text().strip() == device
    before, shown = one.select(".recorded")  # each with what its own machine saw
    assert "CPU, torch 2.9, Python" in before.select_one("p").get_text()
    assert before.select_one("pre").get_text().strip() == "device old\nsame"
    assert "simulated device, torch " in shown.select_one("p").get_text()
    assert shown.select_one("pre").get_text().strip() == "device standin\nsame"
    # What is left out, and why, stands on the page of machines.
    assert "It shows times." not in page.get_text()
    (note,) = shown.select(".stand-in-note")
    assert note.get_text().startswith("Not a GPU. PyTorch treats CPU memory")
    assert note.a["href"].endswith("machines.html#stand-in-device")

    data["machine"] = OTHER
    data["blocks"] = [{**first, "output": ["device cuda", "same"]}]
    older.unlink()
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
