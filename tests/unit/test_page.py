"""Parts of a lesson's page: assertions, tables, lists, downloads, questions."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from tensor_copies.figures.tables import is_code
from tensor_copies.lessons import page, predict
from tensor_copies.lessons.listing import plain
from tensor_copies.markup import beginning


@pytest.mark.parametrize("code", ["assert x\nassert 1", "for x in y:\n    assert x"])
def test_a_block_that_only_asserts_stays_in_sight(code: str) -> None:
    assert page.take_assertions(nodes.literal_block(code, code)) == []


# Tables


def test_code_in_a_table_is_known_from_words() -> None:
    code = ["x.exp()", "x + 1", "a[::-1]", "w", "rows += 7", "if x.sum() > 1:", "x=y"]
    words = ["read-only", "yes", "3 MiB", "(4, 1)", "save, load", "grad in A", "-2.0"]
    assert [text for text in code + words if is_code(text)] == code


# Lists


def test_a_row_has_the_first_sentences_of_an_answer() -> None:
    text = "Call ``x.t()``. It copies nothing. " + "It is long. " * 20
    (paragraph,) = publish_doctree(text)
    said = plain(paragraph, len(beginning(paragraph.astext())))
    words = "".join(one.astext() for one in said)
    assert words.startswith("Call x.t(). It copies") and words.endswith("long.")
    assert 100 < len(words) <= 160
    assert [one.astext() for one in said if isinstance(one, nodes.literal)] == ["x.t()"]


# Questions

RIGHT, WRONG = ("w = 2", ""), ("w = 1", " With `z = w.clone()` it prints that.")
PRINTED = "w = tensor([2.,\n        3.], device='cuda:0')\nw = 2\nError: no gradient"


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
