"""The events of a few tensors: which are told, and which leads to their picture."""

from __future__ import annotations

import re

import torch
from tensor_maps import Steps
from tensor_maps.observe import observe

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


def told(source: str, *about: object) -> tuple[list[int], int | None]:
    """Return the lines of the events that are told, and the line of the one that leads.

    ``about`` is what ``data()`` is told.
    """
    data = Steps("a").run(source).data(4, *about)
    steps = data["steps"]
    lead = data.get("lead")
    lines = [step["first"] for step in steps if step["event"]]
    return lines, None if lead is None else steps[lead]["first"]


def test_what_concerns_the_names_is_told_and_of_others_what_matters() -> None:
    # Its memory has another name before, `net.weight`. The head of a loop hands names
    # on, and of five turns one is told. Told is what makes `other` and `y`, which are
    # used; not what `alias` is.
    wanted = [2, 3, 5, 6, 9, 11, 12, 14, 17, 18]
    assert told(PROGRAM, ["w", "z"], LEADING) == (wanted, 6)
    everything, _ = told(PROGRAM)
    assert {4, 7, 19} <= set(everything)


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
    seen = Steps("a").run(PROGRAM)
    data = seen.data(2, ["w", "z"], LEADING)
    drawn = {
        step["first"]: data["drawings"][step["drawing"]]
        for step in data["steps"]
        if step["event"]
    }
    for line in (6, 11):
        tags = TAG.findall(drawn[line])
        # The head of the loop gave one of them another name, which is not told.
        assert [tag.removesuffix(", name") for tag in tags] == ["w", "z"]
    assert 'data-name="other' in drawn[9]


def test_names_that_are_not_used_again_leave_the_picture() -> None:
    source = """import torch
w = torch.ones(1, requires_grad=True)
z = w.detach()
z += 1
w = torch.zeros(1, requires_grad=True)
y = w * 2
y.backward()
"""
    data = Steps("a").run(source).data(4, ["w", "z"], (3, 3))
    steps = [step for step in data["steps"] if step["event"]]
    tags = [TAG.findall(data["drawings"][step["drawing"]]) for step in steps]
    wanted = [["w"], ["w", "z"], ["w", "z"], ["w"], ["w", "y"], ["w", "y"]]
    assert tags == wanted


def test_a_storage_keeps_its_colour() -> None:
    source = """import torch
a = torch.zeros(2)
b = torch.ones(2)
del a
c = b[:1]
d = b.clone()
b = c
"""
    seen = Steps("a").run(source)
    colour = {}
    data = seen.data()
    for drawing in data["drawings"]:
        for part in drawing.split('class="tm-row"')[1:]:
            ink = re.search(r"--line-\d", part)[0]
            for name in TAG.findall(part.split('class="tm-row"')[0]):
                colour.setdefault(name, set()).add(ink)
    assert colour["b, c"] == colour["c"] == {"--line-2"} == colour["b"]
    assert len(colour["d"]) == 1 and colour["d"] != colour["b"]
    # A map that is drawn on the way has these colours, and so has what is drawn later.
    fresh = Steps("b").run(source)
    d = torch.ones(2)
    painted = fresh.colour(observe({"d": d, "b": torch.ones(2), "x": torch.ones(2)}))
    assert [one.get("colour") for one in painted["storages"]] == [0, 1, None]
    first = next(one for one in fresh.data()["drawings"] if 'data-name="d"' in one)
    assert "--line-1" in first.split('data-name="d"')[1]
