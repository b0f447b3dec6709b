"""Predict, then reveal: what a block shows waits behind the reader's own answer.

A code block of a lesson asks with a comment that neither page nor notebook shows::

    # sphinx_gallery_predict = "What does ``w`` hold now?"

On its page everything that answers stands in a native ``<details>`` under that
question: the outputs of every machine, the tensor map, the folded proof (checked.py),
and the text that follows, to the next heading or cell. The script, the
notebook and the recordings stay as they are.

On a page that computes, a cell tagged ``predict`` asks with the text above it. Its
output and the rest of its section are the answer.

Above that stand three answers to choose from (answers.py), if the author names what is
exchanged in the program for the two wrong ones::

    # sphinx_gallery_predict_instead = "w.detach() -> w.detach().clone()"
    # sphinx_gallery_predict_instead_2 = "w.detach() -> w raises"

and on a page with the options ``:predict_instead:`` of the cell. The script
(static/predict.js) opens the answer when one is chosen. Without it they are not shown,
and the answer is opened by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tensor_copies.gallery.kept import key_of
from tensor_copies.gallery.machine import this_machine
from tensor_copies.lessons.answers import answers_of, choices_for, normal
from tensor_copies.lessons.lesson_page import LessonPage
from tensor_copies.lessons.questions import (
    ASK,
    Question,
    questions_of,
    source_of,
)
from tensor_copies.machines.comparing import same_text
from tensor_copies.markup import TEMPLATES, fold

PREDICT = "predict"
CODE = re.compile(r"``(.+?)``")
# The classes of what a lesson's block or a page's cell has printed.
PRINTED = {"output", "sphx-glr-script-out"}


class choices(nodes.raw):
    """The answers to choose from, with the question's ``words``."""


class Score(SphinxDirective):
    """The reader's score on this page (``{score}``), kept in the reader's browser."""

    def run(self) -> list[nodes.Node]:
        """Return the place for it, which only the script shows."""
        return [_html('<div class="predict-score" hidden></div>\n')]


def ask(app: Sphinx, page: LessonPage) -> None:
    """Put the answers of a lesson's questions out of sight."""
    blocks = {block.line: block for block in page.blocks}
    for number, asked in enumerate(questions_of(page.script), 1):
        block = blocks[asked.line]
        shown = [*block.outputs]
        if not shown and not block.words:
            raise ExtensionError(
                f"{page.script.name}: a block asks {asked.words!r} and shows nothing"
            )
        offered = _choices(app, asked, number, block.printed, block.elsewhere)
        answer = [*shown, *block.below, *block.proof, *block.words]
        block.outputs = [*offered, _reveal(asked.words, answer)]
        block.below, block.proof, block.words = [], [], []


def ask_in_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Put the answers of the questions of a page that computes out of sight."""
    asked = questions_of(source_of(app))
    cells = [
        cell
        for cell in doctree.findall(nodes.container)
        if "tag_predict" in cell["classes"]
    ]
    if len(cells) != len(asked):
        raise ExtensionError(
            f"{app.env.docname}: {len(asked)} cells are tagged `predict`, the page "
            f"shows {len(cells)} of them"
        )
    for number, (one, cell) in enumerate(zip(asked, cells, strict=True), 1):
        outputs = [node for node in cell if "cell_output" in node["classes"]]
        if not outputs:
            raise ExtensionError(
                f"{app.env.docname}: a cell tagged `predict` shows nothing"
            )
        printed = [
            text.astext()
            for output in outputs
            for text in output.findall(nodes.literal_block)
            if "output" in text["classes"]
        ]
        section = cell.parent
        rest = section[section.index(cell) + 1 :]
        for node in (*outputs, *rest):
            node.parent.remove(node)
        # The style of outputs is that of a cell's outputs.
        answer = [nodes.container("", *outputs, classes=["cell"]), *rest]
        section += _choices(app, one, number, "\n".join(printed), [])
        section += _reveal(ASK, answer)


def _choices(
    app: Sphinx, asked: Question, number: int, live: str, others: Sequence[str]
) -> list[choices]:
    """Return the answers to choose from, if there are any.

    ``live`` is what the program prints here, ``others`` what it prints elsewhere.
    """
    if not asked.exchanges:
        return []
    others = [one for one in others if not same_text(one, live)]
    offered = choices_for(asked, answers_of(source_of(app), asked), live, others)
    if not offered:
        return []
    notes = [f"On {this_machine().in_sentence}."] if others else []
    (right,) = (lines for lines, _, is_right in offered if is_right)
    if " ".join(right).split() != normal(live).split():
        notes.append("Only the differences are shown.")
    shown = ["\n".join(lines) for lines, *_ in offered]
    markup = TEMPLATES.get_template("lessons/choices.html").render(
        words=asked.words.replace("``", "`"),
        note=" ".join(notes),
        key=key_of(asked.blocks[-1], *shown)[:8],
        name=f"predict-{number}",
        offered=[
            (text, said.replace("``", "`"), is_right)
            for text, (_, said, is_right) in zip(shown, offered, strict=True)
        ],
    )
    return [choices("", markup, format="html", words=asked.words)]


def _reveal(words: str, answer: list[nodes.Node]) -> nodes.admonition:
    """Return a fold: in sight is the question, which opens its answer."""
    # The style sheet adds what to do, and leaves the question to the choices.
    asked = nodes.inline(classes=["predict-question"])
    set_words(asked, words)
    begin, end = _html('<div class="predict-answer">\n'), _html("</div>\n")
    return fold(nodes.title("", "", asked), begin, *answer, end, kind=PREDICT)


def _html(markup: str) -> nodes.raw:
    return nodes.raw("", markup, format="html")


def set_words(node: nodes.TextElement, words: str) -> None:
    """Add words to a line; what stands between double backticks is code."""
    for place, piece in enumerate(CODE.split(words)):
        node += nodes.literal(text=piece) if place % 2 else nodes.Text(piece)
