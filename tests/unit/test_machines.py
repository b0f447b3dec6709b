"""What other machines give: run, kept, compared with ours, put below it."""

import os
import re
import textwrap
import tomllib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from pytest_regressions.file_regression import FileRegressionFixture
from reading import LESSONS, ROOT
from sites import lesson
from tensor_copies import record
from tensor_copies.figures import drawn_figure, figures_of
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.machine import Machine
from tensor_copies.machines import below, comparing, others, recording
from tensor_copies.machines.recording import Block, Recording, keyed_blocks
from tensor_copies.machines.runner import run_lesson
from tensor_copies.web import frame, machines

CUDA = Machine("cuda", "Test Card 9", "2.11.0+cu128", "2.4.0", "3.12.3")
INTEL = Machine("cpu", "Core(TM) i7 @ 2.60GHz", "2.13.0+cpu", "2.1.0", "3.11.14")
APPLE = Machine("cpu", "Apple M9", "2.13.0", "2.5.1", "3.13.0rc1")
NO_GPU = {"device_kind": "simulated", "device_name": "no GPU"}
COMPARED = tomllib.loads(Path(__file__).with_name("compared.toml").read_text("utf-8"))


def test_what_is_said_of_machines_as_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    """Their names; the list of them; what the foot of a page says of this one."""
    recorded = Recording(CUDA, "2026-01-02"), Recording(APPLE, "2025-12-31")
    lines = []
    for one in (CUDA, INTEL, APPLE, replace(INTEL, **NO_GPU)):
        lines += [one.name, f"  {one.label}", f"  on {one.in_sentence}", f"  {one}"]
    for module in (frame, machines, recording):
        monkeypatch.setattr(module, "this_machine", lambda: INTEL)
    assert recording.simulated_machine() == replace(INTEL, **NO_GPU)
    for among in ((), recorded):
        for shown in (True, False):
            monkeypatch.setattr(machines, "recordings", lambda among=among: among)
            monkeypatch.setattr(machines, "shows_simulated", lambda shown=shown: shown)
            items = machines.Machines.run(None)[0]
            lines += ["", *(f"- {item.astext()}" for item in items)]
    note = tmp_path / "lesson.py.md5"
    note.touch()
    os.utime(note, (noon := 1_767_268_800, noon))  # on the first day of 2026
    pages = {"lesson": {}, "cells": {}, "atlas": {"atlas_probed": "2025-02-03"}}
    pages |= {"plain": {}}
    ran = {"cells": {"exec_data": {"mtime": noon + 86400 * 40}}}
    env = SimpleNamespace(metadata=pages, nb_metadata=ran)
    app = SimpleNamespace(env=env, srcdir=tmp_path)
    lines += ["", *(f"{page}: {frame._stamp(app, page)}" for page in pages)]
    file_regression.check("\n".join(lines) + "\n")


def test_a_recording_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "RECORDINGS", tmp_path / "recordings")
    blocks = [asdict(Block("1f", "x is 2", [{"map": {"tensors": []}}]))]
    calls = {"outcomes": [{"result_device": "cuda"}]}
    other = Recording(CUDA, "2026-01-01", {"clone": blocks}, calls)
    assert recording.load(other.save()) == other
    Recording(recording.this_machine(), "2026-01-01").save()
    assert recording.recordings.__wrapped__() == (other,)  # ours is on the page


def test_what_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "RECORDINGS", tmp_path / "recordings")
    monkeypatch.setattr(record, "CONF", tmp_path / "conf")
    monkeypatch.setattr(record, "scripts", lambda: [Path("1_first/clone.py")])

    def ran(function: Callable, *asked: Any) -> list[str]:
        return [function.__name__, str(asked[0])]

    monkeypatch.setattr(record, "in_fresh_process", ran)
    record.main()
    (written,) = (tmp_path / "recordings").glob("*.json")
    seen = recording.load(written)
    assert seen.machine == recording.this_machine()
    assert seen.lessons == {"clone": ["run_lesson", "1_first/clone.py"]}
    assert seen.calls == ["probe_all", "False"]


def keys_of(folder: Path, text: str) -> list[str]:
    (folder / "a.py").write_text(text)
    return [key for key, _ in keyed_blocks(folder / "a.py")]


def test_a_key_changes_with_code_and_maps_not_with_prose(tmp_path: Path) -> None:
    first, second = before = keys_of(tmp_path, lesson("A", "x = 1", "print(x)"))
    asking = "x = 1\n# sphinx_gallery_predict = 'What is x?'"
    assert keys_of(tmp_path, lesson("B", asking, "print(x)")) == before
    code = keys_of(tmp_path, lesson("A", "x = 2", "print(x)"))
    assert first != code[0] and second != code[1]
    later = keys_of(tmp_path, lesson("A", "x = 1", "print(x + 1)"))
    assert later[0] == first and later[1] != second
    drawing = "x = 1\n# sphinx_gallery_tensor_map = 'x'"  # its picture is compared
    assert first not in keys_of(tmp_path, lesson("A", drawing, "print(x)"))


@pytest.mark.parametrize("what", ["texts", "figures", "measured"])
def test_one_device_may_have_another_name_and_times_vary(what: str) -> None:
    compare = {
        "texts": comparing.same_text,
        "figures": comparing.same_figure,
        "measured": comparing.is_measured,
    }
    for row in COMPARED[what]:
        *two, same = row.values()
        assert compare[what](*two) is same, row
        if what != "measured":
            assert compare[what](*two[::-1]) is same, row


def given(script: Path, simulated: bool) -> list[Block]:
    return [Block(**one) for one in run_lesson(script, figures_of, simulated=simulated)]


def test_random_numbers_are_those_of_the_run_before(tmp_path: Path) -> None:
    script = tmp_path / "chance.py"
    script.write_text(lesson("A", "import random", "print(random.random())"))
    once, again = (in_fresh_process(given, script, False) for _ in range(2))
    assert once == again and float(once[-1].text) > 0


def test_a_warning_that_no_lesson_catches_ends_it(tmp_path: Path) -> None:
    script = tmp_path / "warns.py"
    script.write_text(lesson("A", "import warnings", "warnings.warn('an old call')"))
    with pytest.raises(UserWarning, match="an old call"):
        in_fresh_process(given, script, False)


def test_a_lesson_gives_what_the_gallery_has_of_it(site: Path) -> None:
    """One with texts, a map and a table."""
    script = LESSONS["what_moves"].script
    (rest,) = ROOT.glob("docs/auto_examples/*/what_moves.rst")
    blocks = in_fresh_process(given, script, False)
    figures = [
        drawn_figure(figure, f"what_moves-{block.lineno}")
        for (_, block), one in zip(keyed_blocks(script), blocks, strict=True)
        for figure in one.figures
    ]
    for head, found in {
        r"script-out\n\n \.\. code-block:: none\n\n": [one.text for one in blocks],
        r":class: figure\n\n": figures,
    }.items():
        kept = re.findall(rf"{head}((?:    .*\n|\n)+)", rest.read_text())
        texts = [textwrap.dedent(text).strip("\n") for text in kept]
        assert [text for text in found if text] == texts and texts


DEVICE = 'import torch\nd = "cuda" if torch.cuda.is_available() else "cpu"\nprint(d)'
NOT_THERE = "print('untrue')\n# sphinx_gallery_not_simulated = True"
TIMED = "from time import perf_counter\nprint('timed')"


def test_a_simulated_run_ends_at_timing(tmp_path: Path, simulated_device: None) -> None:
    script, parts = tmp_path / "a.py", (NOT_THERE, "print('then')", TIMED, "print(1)")
    script.write_text(lesson("A", DEVICE, "\n# %%\n# Then\n\n".join(parts)))
    texts = [block.text for block in in_fresh_process(given, script, True)]
    assert texts == ["standin", "then"]


def test_what_differs_is_below_as_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    script = tmp_path / "a.py"
    rows = COMPARED["blocks"]
    first, *rest = (row["code"] for row in rows)
    script.write_text(lesson("A", first, "\n# %%\n# Then\n\n".join(rest)))
    drawn = [[one.split() for one in row.get("drawn", ["", ""])] for row in rows]
    blocks, lines, given = keyed_blocks(script), [], []
    for (key, _), row, (_, there) in zip(blocks, rows, drawn, strict=True):
        figures = [{"chart": f"<svg>{one}</svg>"} for one in there]
        given.append(asdict(Block(row.get("key", key), row["there"], figures)))
    recorded = Recording(CUDA, "2026-01-01", {"a": given}), Recording(APPLE, "2026")
    without = SimpleNamespace(value=lambda: given)
    monkeypatch.setattr(others, "recordings", lambda: recorded)
    monkeypatch.setattr(others, "simulated_machine", lambda: replace(INTEL, **NO_GPU))
    monkeypatch.setattr(below, "lesson_scripts", lambda app: {"a": script})
    monkeypatch.setattr(below, "_simulated", lambda script: without)
    elsewhere = below.Elsewhere(SimpleNamespace(env=SimpleNamespace(docname="a")))
    for (_, block), row, (charts, _) in zip(blocks, rows, drawn, strict=True):
        printed = [nodes.literal_block(text=one) for one in [row["here"]] if one]
        here = [nodes.raw("", f"<svg>{one}</svg>", format="html") for one in charts]
        boxes = elsewhere.boxes(block.lineno, block.content, printed, here)
        lines += [f"{row}", *(box.pformat("  ") for box in boxes)]
    file_regression.check("\n".join(lines) + "\n")


def test_cuda_is_not_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others.simulated, "is_wanted", lambda: True)
    asks, does_not = tmp_path / "a.py", tmp_path / "b.py"
    asks.write_text("x.cuda()")
    does_not.write_text("x.cpu()  # CUDA")
    on_cpu = replace(CUDA, device_kind="cpu", device_name="Other")
    for machine, is_shown in ((None, True), (on_cpu, True), (CUDA, False)):
        recorded = () if machine is None else (Recording(machine, "2026-01-01"),)
        monkeypatch.setattr(others, "recordings", lambda recorded=recorded: recorded)
        kept = others.simulated_run("what", (), given, asks)
        assert (kept is not None) is is_shown
        assert others.simulated_run("what", (), given, does_not) is None
        found = others.given_elsewhere(lambda one: one.day, None)
        assert list(found) == [(one.machine, one.day) for one in recorded]
