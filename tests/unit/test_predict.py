"""Questions: what is read of their answers, and what the build holds them against."""

import re
from types import SimpleNamespace

import pytest
from tensor_copies.lessons import predict

RIGHT, WRONG = ("w = 2", ""), ("w = 1", " With `z = w.clone()` it prints that.")
PRINTED = (
    "w = tensor([2.,\n        3.], device='cuda:0')\nw = 2\nError: no gradient there"
)


@pytest.mark.parametrize(
    ("answer", "is_there"),
    [
        ("w = 2", True),
        ("w = tensor([2., 3.])", True),
        ("w = 2\nError: no…", True),
        ("Error: no", False),
        ("w = 2\nw = 3", False),
    ],
)
def test_lines_are_looked_for_in_what_was_printed(answer: str, is_there: bool) -> None:
    assert predict.is_printed(answer, PRINTED) is is_there


@pytest.mark.parametrize(("device", "answers"), [("cpu", 2), ("cuda", 0)])
def test_answers_that_hold_elsewhere_are_not_offered(
    device: str, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SimpleNamespace(device_kind=device)
    monkeypatch.setattr(predict, "this_machine", lambda: machine)
    place = predict.question(words="What?", answers=[RIGHT, WRONG])
    printed = "w = 2" if device == "cpu" else "w = 3"
    offered = predict._choices(place, 1, printed)
    said = "".join(one.astext() for one in offered)
    assert said.count("<input") == answers
    told = re.findall(r'data-said="(\w+)\..*?<code>(.+?)<', said)
    assert told == [("No", "w = 1"), ("Right", "w = 2")][:answers]
