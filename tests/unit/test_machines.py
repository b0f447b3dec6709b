"""What other machines give: run, kept, compared with ours, put below it."""

import re
import textwrap
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from reading import LESSONS, ROOT
from sites import lesson
from tensor_copies.figures import drawn_figure, figures_of
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_copies.gallery.machine import Machine
from tensor_copies.machines import below, comparing, others, recording
from tensor_copies.machines.recording import Block, Recording, keyed_blocks
from tensor_copies.machines.runner import run_lesson

CUDA = Machine("cuda", "Test Card 9", "2.11.0+cu128", "2.4.0", "3.12.3")


def test_a_machine_has_a_name_for_a_file_a_label_and_a_sentence() -> None:
    assert CUDA.name == "cuda-test-card-9-torch-2.11.0-cu128-numpy-2.4.0-py-3.12"
    assert CUDA.label == "CUDA (Test Card 9), torch 2.11.0, Python 3.12"
    assert CUDA.in_sentence == "CUDA (Test Card 9) with torch 2.11.0"
    assert "simulated device" in recording.simulated_machine().in_sentence


def test_a_recording_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "RECORDINGS", tmp_path / "recordings")
    blocks = [asdict(Block("1f", "x is 2", [{"map": {"tensors": []}}]))]
    calls = {"outcomes": [{"result_device": "cuda"}]}
    other = Recording(CUDA, "2026-01-01", {"clone": blocks}, calls)
    assert recording.load(other.save()) == other
    Recording(recording.this_machine(), "2026-01-01").save()
    assert recording.recordings.__wrapped__() == (other,)  # ours is on the page


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


ON_CPU, ON_CUDA = "y tensor([5.])", "y tensor([5.], device='cuda:0')"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (ON_CPU, ON_CUDA, True),
        (f"{ON_CPU}\n{ON_CPU}", f"{ON_CUDA}\n{ON_CPU}", False),  # two devices
        (f"{ON_CPU}{ON_CPU}", f"{ON_CUDA}{ON_CUDA.replace('cuda:0', 'cpu')}", False),
        ("y tensor([5.])", "y tensor([6.], device='cuda:0')", False),
        ("device cpu", "device cuda:0", False),
        ("device meta", "device standin", True),  # each in the place of a GPU
    ],
)
def test_one_device_may_have_another_name(one: str, other: str, same: bool) -> None:
    assert comparing.same_text(one, other) is same


def test_a_figure_of_one_device_may_be_of_another() -> None:
    said = "x is 4 bytes on {}. y is 4 bytes on {}.".format
    assert comparing.same_figure(said("cpu", "cpu"), said("cuda:0", "cuda:0"))
    assert not comparing.same_figure(said("cpu", "cpu"), said("cuda", "cpu"))
    row = '<path stroke="var(--line-{})">'.format
    assert comparing.same_figure(row("1, #0060b0"), row("2, #b84500"))


@pytest.mark.parametrize(
    ("code", "output", "measured"),
    [
        ("start = time.perf_counter()", "", True),
        ("print(seen)", "clone 12 \N{MICRO SIGN}s, 3 ns", True),
        ("print(ratio)", "1.7 times as long", True),
        ("print(seen)", "in microseconds: 4", True),
        ("print(share)", "wait = False, share = 97%", True),
        ("print(z.nbytes)", "4 bytes, 2 storages, sizes 4 MiB", False),
        ("s[0] = 5.0", "s = tensor([5.])", False),
    ],
)
def test_what_was_measured_is_known(code: str, output: str, measured: bool) -> None:
    assert comparing.is_measured(code, output) is measured


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


BLOCKS = {  # code: what it printed here and there
    "# sphinx_gallery_setup = True\nprint(1)": ("on cpu", "on cuda"),
    "print(2)": ("same", "same"),
    "print(3)": ("<b>here</b>", "<b>there</b>"),
    "print(4)": ("took 3 ms", "took 5 ms"),
    "print(5)": ("stale", "of other code"),
}


def test_what_differs_is_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "a.py"
    first, *rest = BLOCKS
    script.write_text(lesson("A", first, "\n# %%\n# Then\n\n".join(rest)))
    blocks, prints = keyed_blocks(script), BLOCKS.values()
    theirs = [
        asdict(Block("old" if here == "stale" else key, there))
        for (key, _), (here, there) in zip(blocks, prints, strict=True)
    ]
    recorded = Recording(CUDA, "2026-01-01", {"a": theirs})
    monkeypatch.setattr(others, "recordings", lambda: (recorded,))
    monkeypatch.setattr(below, "lesson_scripts", lambda app: {"a": script})
    app = SimpleNamespace(env=SimpleNamespace(docname="a"))
    elsewhere, boxes = below.Elsewhere(app), []
    for (_, block), (here, _) in zip(blocks, prints, strict=True):
        text = nodes.literal_block(text=here)
        boxes.append(elsewhere.boxes(block.lineno, block.content, [text], []))
    # The setup is none of those that a page asks for (lessons/page.py).
    (box,) = boxes[2]
    label, output = (node.astext() for node in box)
    assert label == "On CUDA (Test Card 9) with torch 2.11.0"
    assert output == "<b>there</b>"
    assert boxes[1] == boxes[3] == boxes[4] == []


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
