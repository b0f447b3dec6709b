"""A lesson's first screen, and what its page folds: setup, code that times or draws.

The block that is the lesson's setup is folded with its outputs. It stays where it is in
the script, the notebook and what "Copy up to here" copies. Of a block that asks with a
comment only the code is folded; what it printed or drew stays in sight::

    # sphinx_gallery_folded = "The code that timed it"
"""

from __future__ import annotations

import ast
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.figures.lead import LEAD, file_of, lead_line
from tensor_copies.gallery.lessons import blocks_of, markers_of
from tensor_copies.lessons.blocks import LiveBlock
from tensor_copies.lessons.lesson_page import LessonPage
from tensor_copies.lessons.predictions import set_words
from tensor_copies.markup import fold

SETUP = "setup"
FIGURES = Path(__file__).resolve().parents[2] / "figures"
FOLDED = "folded"  # the class of the fold, and the marker that asks for it


def setup_line(script: Path) -> int | None:
    """Return the line of the block that is the setup of a lesson, if one is."""
    return next((line for line, asked in markers_of(script) if asked.get(SETUP)), None)


def open_with_figure(page: LessonPage) -> None:
    """Let the first figure of the block that is marked open the page."""
    line = lead_line(page.script)
    for block in (one for one in page.blocks if one.line == line):
        block.lead = [_first_figure(page, block)]
        block.outputs.remove(block.lead[0])


def _first_figure(page: LessonPage, block: LiveBlock) -> nodes.raw:
    for node in block.outputs:
        if isinstance(node, nodes.raw):
            return node
    raise ExtensionError(
        f"{page.script.stem}: the block on line {block.line} is to open the page and "
        f"draws nothing: put sphinx_gallery_{LEAD} into a block with a map or a chart"
    )


def open_with_file(page: LessonPage) -> None:
    """Let the file of conf/figures that a block asks for open the page."""
    if found := file_of(page.script):
        line, name = found
        markup = (FIGURES / name).read_text(encoding="utf-8")
        for block in (one for one in page.blocks if one.line == line):
            block.lead = [nodes.raw("", markup, format="html")]


def label_documents(doctree: nodes.document) -> None:
    """Set links that say what document a fact is from as labels."""
    for link in doctree.findall(nodes.reference):
        if link.astext().startswith("From "):
            link["classes"].append("from-document")


def fold_setup(page: LessonPage) -> None:
    """Fold the block that is the setup, with its outputs."""
    setup = setup_line(page.script)
    for block in (one for one in page.blocks if one.line == setup):
        line = nodes.title()
        set_words(line, f"Setup: {described(block.code.astext())}")
        folded = (block.code, *block.outputs)
        block.fold = fold(line, *folded, kind=SETUP)
        block.outputs = []


def fold_code(page: LessonPage) -> None:
    """Fold the code of the blocks that ask for it."""
    asked = {
        block.lineno: extract_file_config(block.content).get(FOLDED)
        for block in blocks_of(page.script)
        if block.type == "code"
    }
    for block in page.blocks:
        if words := asked[block.line]:
            block.fold = fold(str(words), block.code, kind=FOLDED)


def described(code: str) -> str:
    """Return in words what a block of code defines: imports, names, functions."""
    said = []
    for statement in ast.parse(code).body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                said.append("imports")
            case ast.FunctionDef(name=name):
                said.append(f"``{name}()``")
            case ast.ClassDef(name=name):
                said.append(f"``{name}``")
            case ast.Assign(targets=targets):
                nodes = [node for target in targets for node in ast.walk(target)]
                names = [node.id for node in nodes if isinstance(node, ast.Name)]
                said += [
                    "the device" if name == "device" else f"``{name}``"
                    for name in names
                ]
    return ", ".join(dict.fromkeys(said))
