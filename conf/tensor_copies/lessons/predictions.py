"""Predict, then reveal: what a block shows waits behind the reader's own answer.

A code block of a lesson asks with a comment that neither page nor notebook shows::

    # sphinx_gallery_predict = "What does ``w`` hold now?"

On its page everything that answers stands in a native ``<details>`` under that
question: the outputs of every machine, the tensor map, the assertions at the end of
the block, and the text that follows, to the next heading or cell. The script, the
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

import ast
import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tensor_copies.lessons.answers import choices_for, key, normal
from tensor_copies.lessons.questions import ASK, Question, questions_of
from tensor_copies.machine.code_keys import key_of
from tensor_copies.machine.fingerprint import fingerprint
from tensor_copies.machine.folds import fold, fold_words
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.recordings.comparing import on_one_device
from tensor_copies.recordings.live import code_blocks, set_text
from tensor_copies.recordings.provenance import output_head, short

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


def add_predictions(app: Sphinx, doctree: nodes.document) -> None:
    """Put the answers of a page's questions out of sight."""
    asked = questions_of(app, app.env.docname)
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        hidden = [
            _hide_cell(app.env.docname, cell)
            for cell in list(doctree.findall(nodes.container))
            if "tag_predict" in cell["classes"]
        ]
    else:
        lines = {one.line: one.words for one in asked}
        hidden = [
            _hide_answer(script.name, block.code, lines[block.line])
            for block in code_blocks(doctree, set(lines))
        ]
    if len(hidden) != len(asked):
        raise ExtensionError(
            f"{app.env.docname}: {len(asked)} cells are tagged `predict`, the page "
            f"shows {len(hidden)} of them"
        )
    for number, (one, box) in enumerate(zip(asked, hidden, strict=True), 1):
        if not one.exchanges:
            continue
        live, elsewhere = _printed(box)
        if offered := choices_for(one, app.answers[key(one)], live, elsewhere):
            notes = [f"On {short(fingerprint())}."] if elsewhere else []
            (right,) = (lines for lines, _, is_right in offered if is_right)
            if " ".join(right).split() != normal(live).split():
                notes.append("Only what differs is shown.")
            made = _choices(one, offered, f"predict-{number}", " ".join(notes))
            box.parent.insert(box.parent.index(box), made)


def _printed(box: fold) -> tuple[str, list[str]]:
    """Return what the live machine printed for an answer, and others, if it differs."""
    live: list[str] = []
    elsewhere: list[str] = []
    for text in box.findall(nodes.literal_block):
        above = text
        while above is not box and not {"variant", "cell_input"} & set(
            above["classes"]
        ):
            above = above.parent
        if above is not box and "recorded" in above["classes"]:
            elsewhere.append(text.astext())
        elif PRINTED & set(text["classes"]) and "cell_input" not in above["classes"]:
            live.append(text.astext())
    whole = "\n".join(live)
    return whole, [
        text for text in elsewhere if on_one_device(text) != on_one_device(whole)
    ]


def _choices(
    asked: Question, offered: list[tuple[list[str], str, bool]], name: str, note: str
) -> choices:
    """Return answers as radio buttons, and the place for what is said of them."""
    words = "".join(
        f"<code>{escape(piece)}</code>" if place % 2 else escape(piece)
        for place, piece in enumerate(CODE.split(asked.words))
    )
    note = note and f" <span>{escape(note)}</span>"
    texts = ["\n".join(lines) for lines, *_ in offered]
    number = key_of(asked.blocks[-1], *texts)[:8]
    markup = (
        f'<fieldset class="predict-choices" data-key="{number}">'
        f"<legend>{words}{note}</legend>\n"
    )
    for text, (_, said, is_right) in zip(texts, offered, strict=True):
        told = escape(said.replace("``", "`"), quote=True)
        markup += (
            f'<label><input type="radio" name="{name}" autocomplete="off" '
            f'data-said="{told}"{" data-right" if is_right else ""}>'
            f"<code>{escape(text)}</code></label>\n"
        )
    markup += '<p class="predict-said" role="status"></p></fieldset>\n'
    return choices("", markup, format="html", words=asked.words)


def _hide_answer(lesson: str, code: nodes.literal_block, words: str) -> fold:
    """Hide what follows a lesson's block, to the next heading or cell."""
    parent = code.parent
    answer: list[nodes.Node] = []
    comments = 0
    for node in parent[parent.index(code) + 1 :]:
        # One comment of the gallery is for the text that follows; the second one is
        # for the next cell.
        comments += isinstance(node, nodes.comment)
        if comments == 2 or isinstance(node, nodes.section):
            break
        answer.append(node)
    if comments < 2 and answer and isinstance(answer[-1], nodes.comment):
        answer.pop()
    if all(isinstance(node, nodes.comment) for node in answer):
        raise ExtensionError(f"{lesson}: a block asks {words!r} and shows nothing")
    kinds = nodes.literal_block | nodes.raw | nodes.container | output_head
    outputs = [node for node in answer if isinstance(node, kinds)]
    others = [node for node in answer if node not in outputs]
    place = parent.index(answer[0])
    for node in answer:
        parent.remove(node)
    hidden = _reveal(words, [*outputs, *_take_proof(code), *others])
    parent.insert(place, hidden)
    return hidden


def _take_proof(code: nodes.literal_block) -> list[nodes.literal_block]:
    """Cut the assertions at the end of a block off it; return them, if it has some."""
    text = code.astext()
    first = None
    for statement in reversed(ast.parse(text).body):
        if not isinstance(statement, ast.Assert):
            break
        first = statement.lineno
    if first in (None, 1):
        return []
    lines = text.splitlines(keepends=True)
    proof = code.deepcopy()
    set_text(code, "".join(lines[: first - 1]).rstrip() + "\n")
    set_text(proof, "".join(lines[first - 1 :]))
    return [proof]


def _hide_cell(page: str, cell: nodes.container) -> fold:
    """Hide the output of a page's cell and what follows it in its section."""
    outputs = [
        node
        for node in cell.children
        if isinstance(node, nodes.container) and "cell_output" in node["classes"]
    ]
    if not outputs:
        raise ExtensionError(f"{page}: a cell tagged `predict` shows nothing")
    section = cell.parent
    rest = section[section.index(cell) + 1 :]
    for node in outputs:
        cell.remove(node)
    for node in rest:
        section.remove(node)
    # The style of outputs is that of a cell's outputs.
    hidden = _reveal(ASK, [nodes.container("", *outputs, classes=["cell"]), *rest])
    section += hidden
    return hidden


def _reveal(words: str, answer: list[nodes.Node]) -> fold:
    """Return a fold: in sight is the question, which opens its answer."""
    # The style sheet adds what to do, and leaves the question to the choices.
    asked = nodes.inline(classes=["predict-question"])
    say(asked, words)
    line = fold_words("", "", asked)
    begin, end = _html('<div class="predict-answer">\n'), _html("</div>\n")
    return fold("", line, begin, *answer, end, kind=PREDICT)


def _html(markup: str) -> nodes.raw:
    return nodes.raw("", markup, format="html")


def say(node: nodes.TextElement, words: str) -> None:
    """Add words to a line; what stands between double backticks is code."""
    for place, piece in enumerate(CODE.split(words)):
        node += nodes.literal(text=piece) if place % 2 else nodes.Text(piece)
