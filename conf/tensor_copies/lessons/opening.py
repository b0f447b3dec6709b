"""The first screen of a lesson: the answer, the picture, what is to be seen, the setup.

The first paragraph of a lesson's docstring is its answer in one sentence. After it
comes the figure of the block that asks to open the page (see machine/markers.py), with
what other machines saw of it. The block that is the lesson's setup is folded; it stays
where it is in the script, the notebook and what "Copy all to here" copies.
"""

from __future__ import annotations

import ast
from itertools import takewhile

from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies.lessons.predictions import say
from tensor_copies.machine.folds import fold, fold_words
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.markers import setup_line
from tensor_copies.recordings.live import UnknownPage, code_blocks
from tensor_copies.recordings.shown import LEAD_CLASS

SETUP = "setup"


def open_page(app: Sphinx, doctree: nodes.document) -> None:
    """Put the lead of a lesson under its answer, and fold its setup."""
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        return
    boxes = list(doctree.findall(nodes.container))
    for lead in (box for box in boxes if LEAD_CLASS in box["classes"]):
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


def _fold(code: nodes.literal_block) -> None:
    """Put a block of code and its outputs, to the next comment, behind one line."""
    parent = code.parent
    ends = nodes.comment | nodes.section | nodes.target
    following = parent[parent.index(code) :]
    folded = list(takewhile(lambda node: not isinstance(node, ends), following))
    line = fold_words()
    say(line, f"Setup: {described(code.astext())}")
    box = fold("", line, kind=SETUP)
    parent.insert(parent.index(code), box)
    for node in folded:
        parent.remove(node)
        box += node


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
