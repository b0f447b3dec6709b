"""Parts of a lesson's page: assertions, tables, lists, downloads, questions."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from tensor_copies.figures.tables import is_code, with_tables
from tensor_copies.lessons import downloads, page, predict
from tensor_copies.lessons.listing import plain
from tensor_copies.markup import beginning


@pytest.mark.parametrize("code", ["assert x\nassert 1", "for x in y:\n    assert x"])
def test_a_block_that_only_asserts_stays_in_sight(code: str) -> None:
    assert page.take_assertions(nodes.literal_block(code, code)) == []


def test_a_comment_above_an_assertion_is_folded_with_it() -> None:
    code = "x = 1\n# It is one.\nassert x\n"
    block = nodes.literal_block(code, code)
    ((_, proof),) = page.take_assertions(block)
    assert block.astext() == "x = 1\n" and proof.astext() == "# It is one.\nassert x\n"


# Tables


def test_printed_rows_are_a_table() -> None:
    text = "before\ncall | time\nx + 1 | 3 ms\ny | 12\nafter\n"
    box = nodes.literal_block(text=text, classes=["sphx-glr-script-out"])
    first, table, last = with_tables(box)
    assert (first.astext(), last.astext()) == ("before", "after")
    cells = [one.astext() for one in table.findall(nodes.entry)]
    assert cells == ["call", "time", "x + 1", "time 3 ms", "y", "time 12"]
    numbers = [one for one in table.findall(nodes.entry) if "number" in one["classes"]]
    assert [one.astext() for one in numbers] == ["time", "time 3 ms", "time 12"]
    assert [one.astext() for one in table.findall(nodes.literal)] == ["x + 1", "y"]


def test_code_in_a_table_is_known_from_words() -> None:
    code = ["x.exp()", "x + 1", "a[::-1]", "w", "rows += 7", "if x.sum() > 1:", "x=y"]
    words = ["read-only", "yes", "3 MiB", "(4, 1)", "save, load", "grad in A", "-2.0"]
    assert [text for text in code + words if is_code(text)] == code


# Lists and downloads


def test_a_row_has_the_first_sentences_of_an_answer() -> None:
    text = "Call ``x.t()``. It copies nothing. " + "It is long. " * 20
    (paragraph,) = publish_doctree(text)
    said = plain(paragraph, len(beginning(paragraph.astext())))
    words = "".join(one.astext() for one in said)
    assert words.startswith("Call x.t(). It copies") and words.endswith("long.")
    assert 100 < len(words) <= 160
    assert [one.astext() for one in said if isinstance(one, nodes.literal)] == ["x.t()"]


ASKED = """# %%
# .. predict:: What is ``w``
#     now?
#
#     - ``1``
#     - ``2`` with
#       ``w = 2``
#
# Words.
# sphinx_gallery_lead = True
"""


def test_a_reader_of_a_script_finds_no_marks_and_no_answers() -> None:
    said = downloads.offered_script(ASKED)
    assert said == "# %%\n# **What is ``w`` now?**\n#\n# Words.\n"


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
