"""What a lesson's player tells: of which lessons, which events, and how drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from reading import SCRIPTS
from tensor_copies.figures import steps as kept
from tensor_copies.figures.about import About
from tensor_maps import Steps
from tensor_maps.observe import observe
from tensor_maps.steps.pictures import as_data

PROGRAM = """import torch
net = torch.nn.Linear(1, 1, bias=False)
other = torch.ones(2)
alias = other
w = net.weight
z = w.detach()
for name in w, z:
    pass
other += 1
for turn in range(5):
    z += 1
    other = other * 2
try:
    other.nothing()
except AttributeError:
    pass
y = w * 2
y.backward()
y = torch.ones(1)
"""
TAG = re.compile(r'class="tm-tag" data-name="(.+?)"')
# Lines of the statements that lead to the names.
LEADING = (5, 8)


def told(
    source: str, names: list[str], lines: tuple[int, int]
) -> tuple[list[int], int | None]:
    """Return the lines of the events that are told, and of the one that leads."""
    about = About(Steps("a").run(source).steps, names, lines)
    lines = [step.place()["first"] for step in about.steps]
    lead = None if about.leads is None else lines[about.leads]
    return [lines[at] for at in sorted(about.told)], lead


def drawn(
    source: str, names: list[str], lines: tuple[int, int], most: int
) -> dict[int, str]:
    """Return the drawing of each event by its line."""
    steps = Steps("a").run(source).steps
    about = About(steps, names, lines)
    data = as_data(about.shown(steps, {}, most, 1e9), "a", [])
    events = [data["steps"][at] for at in sorted(about.told)]
    return {one["first"]: data["drawings"][one["drawing"]] for one in events}


def test_what_concerns_the_names_is_told_and_of_others_what_matters() -> None:
    # Its memory has another name before, `net.weight`. The head of a loop hands names
    # on, and of five turns one is told. Told is what makes `other` and `y`, which are
    # used; not what `alias` is.
    wanted = [2, 3, 5, 6, 9, 11, 12, 14, 17, 18]
    assert told(PROGRAM, ["w", "z"], LEADING) == (wanted, 6)


def test_without_names_all_are_told_and_the_event_before_leads() -> None:
    lines, lead = told(PROGRAM, [], (7, 8))
    assert {3, 4, 17, 19} < set(lines) and 7 not in lines and lead == 6
    assert told("a = 1\n", ["w"], (1, 1)) == ([], None)


def test_at_most_eighteen_are_told_and_the_lead_is_among_them() -> None:
    source = "import torch\nw = torch.ones(1)\n" + "w += 1\n" * 40
    source += "other = torch.ones(1)\nother += 1\nz = w.view(1)\n"
    lines, lead = told(source, ["w", "z"], (43, 45))
    # Repetitions go, and what is far, before what is told once.
    assert lead == 45 and lines == [2, 3, *range(28, 43), 45]


def test_pictures_are_about_the_names() -> None:
    pictures = drawn(PROGRAM, ["w", "z"], LEADING, 2)
    for line in (6, 11):
        # The head of the loop gave one of them another name, which is not told.
        tags = [tag.removesuffix(", name") for tag in TAG.findall(pictures[line])]
        assert tags == ["w", "z"]
    assert 'data-name="other' in pictures[9]


def test_names_that_are_not_used_again_leave_the_picture() -> None:
    source = """import torch
w = torch.ones(1, requires_grad=True)
z = w.detach()
z += 1
w = torch.zeros(1, requires_grad=True)
y = w * 2
y.backward()
"""
    pictures = drawn(source, ["w", "z"], (3, 3), 4).values()
    wanted = [["w"], ["w", "z"], ["w", "z"], ["w"], ["w", "y"], ["w", "y"]]
    assert [*map(TAG.findall, pictures)] == wanted


def test_a_storage_keeps_its_colour(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = """import torch
a = torch.zeros(2)
b = torch.ones(2)
del a
c = b[:1]
d = b.clone()
b = c
"""
    seen = Steps("a").run(source)
    colour: dict[str, set[str]] = {}
    for drawing in seen.data()["drawings"]:
        for part in drawing.split('class="tm-row"')[1:]:
            ink = re.search(r"--line-\d", part)[0]
            for name in TAG.findall(part.split('class="tm-row"')[0]):
                colour.setdefault(name, set()).add(ink)
    assert colour["b, c"] == colour["c"] == {"--line-2"} == colour["b"]
    assert len(colour["d"]) == 1 and colour["d"] != colour["b"]
    # A map that is drawn on the way has these colours, and so has what is drawn later.
    script = tmp_path / "lesson.py"
    marks = '# sphinx_gallery_tensor_map = "b, d"\n# sphinx_gallery_lead = True\n'
    script.write_text(f'"""\nTitle\n=====\n"""\n{source}{marks}')
    fresh = Steps("b")
    monkeypatch.setitem(kept._watching, script.name, fresh)
    fresh.follow(script.read_text(), lambda f: f.f_code.co_filename == str(script))
    exec(compile(script.read_text(), str(script), "exec"), {})
    fresh.stop()
    named = {"d": torch.ones(2), "b": torch.ones(2), "x": torch.ones(2)}
    painted: dict[str, Any] = kept.coloured(observe(named), script)
    assert [one.get("colour") for one in painted["storages"]] == [0, 1, None]
    text = kept.as_json(fresh, script)
    assert "--line-1" in text.split('data-name=\\"d\\"')[1].split("</g>")[0]


# Which lessons are watched ------------------------------------------------------------


def test_what_is_timed_is_not_watched() -> None:
    out = {script.stem for script in SCRIPTS if not kept.is_watched(script)}
    for script in SCRIPTS:
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
    assert kept.is_watched(script) == watched
    script.write_text(code)
    assert not kept.is_watched(script)
