"""What a lesson's player tells: of which lessons, which events, and how drawn."""

import re
from pathlib import Path

import pytest
import torch
from reading import LESSONS
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
Told = tuple[list[int], int | None, list[str]]


def told(source: str, names: list[str], lines: tuple[int, int]) -> Told:
    """Return the lines of the events told and of the one that leads, and drawings."""
    steps = Steps("a").run(source).steps
    about = About(steps, names, lines)
    data = as_data(about.shown(steps, {}, 4, 1e9), "a", [])
    events = [data["steps"][at] for at in sorted(about.told)]
    lead = None if about.leads is None else data["steps"][about.leads]["first"]
    drawn = [data["drawings"][one["drawing"]] for one in events]
    return [one["first"] for one in events], lead, drawn


def test_what_concerns_the_names_is_told_and_of_others_what_matters() -> None:
    lines, lead, drawn = told(PROGRAM, ["w", "z"], (5, 8))
    # Its memory has another name before, `net.weight`. The head of a loop hands names
    # on, and of five turns one is told. Told is what makes `other` and `y`, which are
    # used; not what `alias` is.
    assert (lines, lead) == ([2, 3, 5, 6, 9, 11, 12, 14, 17, 18], 6)
    # The head of the loop gave one of them another name, which is not told.
    tags = [tag.removesuffix(", name") for tag in TAG.findall(drawn[3])]
    assert tags == ["w", "z"] and 'data-name="other' in drawn[4]


def test_without_names_all_are_told_and_the_event_before_leads() -> None:
    lines, lead, _ = told(PROGRAM, [], (7, 8))
    assert {3, 4, 17, 19} < set(lines) and 7 not in lines and lead == 6
    assert told("a = 1\n", ["w"], (1, 1)) == ([], None, [])


def test_what_made_what_made_a_name_is_told() -> None:
    source = "import torch\nother = torch.ones(1)\na = torch.ones(1)\nb = a * 2\n"
    assert told(f"{source}c = b + 1\n", ["c"], (5, 5))[:2] == ([3, 4, 5], 5)


def test_at_most_eighteen_are_told_and_the_lead_is_among_them() -> None:
    source = "import torch\nw = torch.ones(1)\n" + "w += 1\n" * 40
    source += "other = torch.ones(1)\nother += 1\nz = w.view(1)\n"
    lines, lead, _ = told(source, ["w", "z"], (43, 45))
    # Repetitions go, and what is far, before what is told once.
    assert lead == 45 and lines == [2, 3, *range(28, 43), 45]


def test_names_that_are_not_used_again_leave_the_picture() -> None:
    source = "import torch\nw = torch.ones(1, requires_grad=True)\nz = w.detach()\n"
    source += (
        "z += 1\nw = torch.zeros(1, requires_grad=True)\ny = w * 2\ny.backward()\n"
    )
    pictures = told(source, ["w", "z"], (3, 3))[2]
    wanted = [["w"], ["w", "z"], ["w", "z"], ["w"], ["w", "y"], ["w", "y"]]
    assert [*map(TAG.findall, pictures)] == wanted


def test_colours_are_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    code = "import torch\na = torch.zeros(2)\nb = torch.ones(2)\ndel a\nc = b[:1]\n"
    code += "d = b.clone()\nb = c\n# sphinx_gallery_tensor_map = 'b, d'\n"
    script.write_text(f'"""\nTitle\n=====\n"""\n{code}# sphinx_gallery_lead = True\n')
    seen = Steps("b")
    monkeypatch.setitem(kept._watching, script.name, seen)
    seen.follow(script.read_text(), lambda f: f.f_code.co_filename == str(script))
    exec(compile(script.read_text(), str(script), "exec"), {})
    seen.stop()
    named = {"d": torch.ones(2), "b": torch.ones(2), "x": torch.ones(2)}
    painted = kept.coloured(observe(named), script)["storages"]
    assert [one.get("colour") for one in painted] == [0, 1, None]
    text = kept.as_json(seen, script)
    assert "--line-1" in text.split('data-name=\\"d\\"')[1].split("</g>")[0]
    inks: dict[str, set[str]] = {}
    for drawing in seen.data()["drawings"]:
        for row in drawing.split('class="tm-row"')[1:]:
            for name in TAG.findall(row):
                inks.setdefault(name, set()).add(re.search(r"--line-\d", row)[0])
    assert inks["b, c"] == inks["c"] == inks["b"] == {"--line-2"} != inks["d"]


@pytest.mark.parametrize(
    ("code", "watched"),
    [
        ("x = 1", True),
        ("import time\nt = time.perf_counter()", False),
        ("from timeit import repeat", False),
        ("def f():\n    with profile() as p:\n        g()", True),
        ("with torch.profile() as p:\n    g()", False),
        ("from torch.profiler import profile", True),
    ],
)
def test_what_is_timed_is_not_watched(code: str, watched: bool, tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    script.write_text(f"# sphinx_gallery_tensor_map = 'x'\n{code}")
    assert kept.is_watched(script) == watched
    script.write_text(code)
    assert not kept.is_watched(script)
    for name in ("detach", "what_stays_alive"):
        assert kept.is_watched(LESSONS[name].script)
