"""The first screen of a lesson: the answer, the picture, what is to be seen, the setup.

The first paragraph of a lesson's docstring is its answer in one sentence. After it
comes the figure of the block that asks to open the page (see machine/markers.py), with
what other machines saw of it. The block that is the lesson's setup is folded; it stays
where it is in the script, the notebook and what "Copy all to here" copies.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from docutils import nodes

from tensor_copies.lessons.predictions import say
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.markers import setup_line
from tensor_copies.recordings.live import UnknownPage, code_blocks
from tensor_copies.recordings.shown import LEAD_CLASS

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


class setup_fold(nodes.General, nodes.Element):
    """What prepares a lesson, folded: a native element of the browser."""


class setup_words(nodes.General, nodes.TextElement):
    """What the folded code defines: always in sight."""


def open_page(app: Sphinx, doctree: nodes.document) -> None:
    """Put the lead of a lesson under its answer, and fold its setup."""
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        return
    for lead in list(doctree.findall(_is_lead)):
        title = next(doctree.findall(nodes.title))
        opening = title.parent
        answer = next((n for n in opening if type(n) is nodes.paragraph), None)
        if answer is None:
            raise UnknownPage(script.stem, "no paragraph stands under its title")
        lead.parent.remove(lead)
        opening.insert(opening.index(answer) + 1, lead)
    line = setup_line(script)
    for block in code_blocks(doctree, {line} if line is not None else set()):
        _fold(block.code)


def _is_lead(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and LEAD_CLASS in node["classes"]


def _fold(code: nodes.literal_block) -> None:
    """Put a block of code and its outputs, to the next comment, behind one line."""
    parent = code.parent
    folded: list[nodes.Node] = []
    for node in parent[parent.index(code) :]:
        if isinstance(node, nodes.comment | nodes.section | nodes.target):
            break
        folded.append(node)
    summary = setup_words()
    say(summary, f"Setup: {described(code.astext())}")
    fold = setup_fold("", summary)
    parent.insert(parent.index(code), fold)
    for node in folded:
        parent.remove(node)
        fold += node


def described(code: str) -> str:
    """Return in words what a block of code defines: imports, names, functions."""
    said: dict[str, None] = {}  # each once, in order
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            said["imports"] = None
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            called = "()" if isinstance(statement, ast.FunctionDef) else ""
            said[f"``{statement.name}{called}``"] = None
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        device = name.id == "device"
                        said["the device" if device else f"``{name.id}``"] = None
    return ", ".join(said)


def visit_setup_fold(self: HTML5Translator, node: setup_fold) -> None:
    """Open the native element."""
    self.body.append('<details class="setup">\n')


def depart_setup_fold(self: HTML5Translator, node: setup_fold) -> None:
    """Close it."""
    self.body.append("</details>\n")


def visit_setup_words(self: HTML5Translator, node: setup_words) -> None:
    """Begin the line that stays in sight."""
    self.body.append("<summary>")


def depart_setup_words(self: HTML5Translator, node: setup_words) -> None:
    """End it."""
    self.body.append("</summary>\n")
