"""What a lesson's page keeps in sight, and what it doesn't ask."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from tensor_copies.lessons import page, predict


@pytest.mark.parametrize("code", ["assert x\nassert 1", "for x in y:\n    assert x"])
def test_a_block_that_only_asserts_stays_in_sight(code: str) -> None:
    assert page.take_assertions(nodes.literal_block(code, code)) == []


RIGHT, WRONG = ("w = 2", ""), ("w = 1", " With `z = w.clone()` it prints that.")


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
