"""Questions: what is read of their answers, and what the build holds them against."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from docutils import nodes
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
    assert "".join(one.astext() for one in offered).count("<input") == answers


def test_what_a_block_shows_and_what_follows_is_the_answer() -> None:
    code, output = nodes.literal_block(text="w"), nodes.literal_block(text="w = 2")
    output["classes"] = [predict.OUTPUT]
    place = predict.question(words="What is ``w``?", answers=[RIGHT, WRONG])
    words = nodes.paragraph(text="Because.")
    later = nodes.paragraph(text="Later.")
    section = nodes.section("", code, output, nodes.comment(), place, words)
    section += [nodes.comment(), later]
    document = nodes.document(None, None)
    document += section
    predict.arrange_questions(SimpleNamespace(), document)
    first, offered, fold, _, last = section
    assert (first, last) == (code, later)
    assert "No. With <code>z = w.clone()</code>" not in offered.astext()
    assert "No. With `z = w.clone()` it prints that." in offered.astext()
    assert fold["collapsible"] == "closed" and "predict" in fold["classes"]
    assert [one.astext() for one in fold] == ["What is w?", "w = 2", "Because."]
