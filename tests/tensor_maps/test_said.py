"""What steps say, and which of them are events."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import torch
from tensor_maps import Steps
from tensor_maps.steps.events import event_of
from tensor_maps.steps.words import step_words

BASICS = Path(__file__).parents[2] / "examples" / "1_basics"


def ran(program: str) -> Steps:
    seen = Steps()
    with redirect_stdout(io.StringIO()):
        seen.run(program, {"torch": torch, "__name__": "__main__"})
    assert not seen.failed
    return seen


@pytest.mark.parametrize(
    ("statement", "event", "names"),
    [
        ("import math", None, []),
        ("assert True", None, []),
        ("print(w)", None, []),
        ("v = torch.ones(1)", "appears", ["v"]),
        ("v = k[1:]", "shares", ["v", "k"]),
        ("v = w.detach()", "cut", ["v", "w"]),
        ("v = w.detach().clone()", "cut", ["v", "w"]),
        ("k += 1", "written", ["k"]),
        ("w.sum().backward()", "gradient", ["w"]),
        ("k.requires_grad_()", "changes", ["k"]),
        ("try: k.view(7)\nexcept RuntimeError: pass", "raises", ["k"]),
    ],
)
def test_events(statement: str, event: str | None, names: list[str]) -> None:
    begin = "w = torch.ones(2, requires_grad=True)\nk = torch.ones(2)\n"
    found = [event_of(step) for step in ran(begin + statement)._steps[2:]]
    kind, concerned = next((one for one in found if one[0]), (None, []))
    assert kind == event
    assert set(names) <= set(concerned) or event is None


@pytest.mark.parametrize("script", sorted(BASICS.glob("*.py")), ids=lambda p: p.stem)
def test_a_lesson_has_fewer_events_than_steps(script: Path) -> None:
    steps = ran(script.read_text(encoding="utf-8"))._steps
    events = [step for step in steps if event_of(step)[0]]
    assert 1 <= len(events) <= 40 and 2 * len(events) < len(steps)
    assert all(step_words(step)[0].endswith(".") for step in steps)
