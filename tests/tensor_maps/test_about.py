"""The events of a few tensors: which are told, and which leads to their picture."""

from __future__ import annotations

import re

from tensor_maps import Steps

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
    # on, and of five turns one is told.
    assert told(PROGRAM, ["w", "z"], LEADING) == ([2, 5, 6, 9, 11, 14, 18], 6)
    everything, _ = told(PROGRAM)
    assert {3, 4, 7, 12, 17, 19} <= set(everything)


def test_without_names_all_are_told_and_the_event_before_leads() -> None:
    lines, lead = told(PROGRAM, [], (7, 8))
    assert {3, 4, 17, 19} < set(lines) and 7 not in lines and lead == 6
    assert told("a = 1\n", ["w"], (1, 1)) == ([], None)


def test_at_most_fifteen_are_told_and_the_lead_is_among_them() -> None:
    source = "import torch\nw = torch.ones(1)\n" + "w += 1\n" * 40
    source += "other = torch.ones(1)\nother += 1\nz = w.view(1)\n"
    lines, lead = told(source, ["w", "z"], (43, 45))
    # Repetitions go, and what is far, before what is told once.
    assert lead == 45 and lines == [2, 3, *range(31, 43), 45]


def test_pictures_are_about_the_names() -> None:
    seen = Steps("a").run(PROGRAM)
    data = seen.data(2, ["w", "z"], LEADING)
    drawn = {
        step["first"]: data["drawings"][step["drawing"]]
        for step in data["steps"]
        if step["event"]
    }
    for line in (6, 11):
        tags = re.findall(r'class="tm-tag" data-name="(.+?)"', drawn[line])
        # The head of the loop gave one of them another name, which is not told.
        assert [tag.removesuffix(", name") for tag in tags] == ["net.weight, w", "z"]
    assert 'data-name="other' in drawn[9]
