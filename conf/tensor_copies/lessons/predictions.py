"""Predict, then reveal: what a block shows waits behind the reader's own answer.

A code block of a lesson asks with a comment that neither page nor notebook shows::

    # sphinx_gallery_predict = "What does ``w`` hold now?"

On its page everything that answers stands in a native ``<details>`` under that
question: the outputs of every machine, the tensor map, the assertions at the end of
the block, and the text that follows, to the next heading or cell. The script, the
notebook and the recordings stay as they are.

On a page that computes, a cell tagged ``predict`` asks with the text above it. Its
output and the rest of its section are the answer.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import (
    extract_file_config,
    split_code_and_text_blocks,
)

from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.recordings.format import PREDICT
from tensor_copies.recordings.live import code_blocks, set_text
from tensor_copies.recordings.provenance import output_head

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

ASK = "What does it print?"  # on a page that computes
CODE = re.compile(r"``(.+?)``")


class reveal(nodes.General, nodes.Element):
    """What is hidden until the reader opens it."""


class question(nodes.General, nodes.TextElement):
    """What the reader answers before that: always in sight, opens the rest."""


def add_predictions(app: Sphinx, doctree: nodes.document) -> None:
    """Put the answers of a page's questions out of sight."""
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        for cell in list(doctree.findall(nodes.container)):
            if "tag_predict" in cell["classes"]:
                _hide_cell(app.env.docname, cell)
        return
    asked = {}
    for kind, content, line in split_code_and_text_blocks(str(script))[1]:
        if kind == "code" and re.search(PREDICT, content, re.MULTILINE):
            asked[line] = extract_file_config(content).get("predict")
            if not isinstance(asked[line], str) or not asked[line].strip():
                raise ExtensionError(
                    f"{script.name}: the block on line {line} has a prediction "
                    'without a question: write sphinx_gallery_predict = "What ...?"'
                )
    for block in code_blocks(doctree, set(asked)):
        _hide_answer(script.name, block.code, asked[block.line])


def _hide_answer(lesson: str, code: nodes.literal_block, words: str) -> None:
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
    shown = [node for node in answer if not isinstance(node, nodes.comment)]
    if not shown:
        raise ExtensionError(f"{lesson}: a block asks {words!r} and shows nothing")
    hidden = _reveal(words)
    parent.insert(parent.index(answer[0]), hidden)
    outputs = [node for node in answer if _is_output(node)]
    for node in answer:
        parent.remove(node)
    hidden += outputs
    proof = _take_proof(code)
    if proof is not None:
        hidden += proof
    hidden += [node for node in answer if node not in outputs]


def _is_output(node: nodes.Node) -> bool:
    kinds = nodes.literal_block | nodes.raw | nodes.container | output_head
    return isinstance(node, kinds)


def _take_proof(code: nodes.literal_block) -> nodes.literal_block | None:
    """Cut the assertions at the end of a block off it and return them."""
    text = code.astext()
    first = None
    for statement in reversed(ast.parse(text).body):
        if not isinstance(statement, ast.Assert):
            break
        first = statement.lineno
    if first in (None, 1):
        return None
    lines = text.splitlines(keepends=True)
    proof = code.deepcopy()
    set_text(code, "".join(lines[: first - 1]).rstrip() + "\n")
    set_text(proof, "".join(lines[first - 1 :]))
    return proof


def _hide_cell(page: str, cell: nodes.container) -> None:
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
    hidden = _reveal(ASK)
    for node in outputs:
        cell.remove(node)
    for node in rest:
        section.remove(node)
    # The style of outputs is that of a cell's outputs.
    hidden += nodes.container("", *outputs, classes=["cell"])
    hidden += rest
    section += hidden


def _reveal(words: str) -> reveal:
    asked = question()
    say(asked, words)
    return reveal("", asked)


def say(node: nodes.TextElement, words: str) -> None:
    """Add words to a line; what stands between double backticks is code."""
    for place, piece in enumerate(CODE.split(words)):
        node += nodes.literal(text=piece) if place % 2 else nodes.Text(piece)


def visit_reveal(self: HTML5Translator, node: reveal) -> None:
    """Open the native element."""
    self.body.append('<details class="predict">\n')


def depart_reveal(self: HTML5Translator, node: reveal) -> None:
    """Close it."""
    self.body.append("</div>\n</details>\n")


def visit_question(self: HTML5Translator, node: question) -> None:
    """Begin the line that stays in sight."""
    # The style sheet adds what to do.
    self.body.append("<summary>")


def depart_question(self: HTML5Translator, node: question) -> None:
    """End it; begin the answer."""
    self.body.append('</summary>\n<div class="predict-answer">\n')
