"""The live outputs on a page: found where the gallery puts them, bounded, inert.

Recordings, predictions and marks stand or fall with the places where sphinx-gallery
puts a block's code and outputs. These are its own business and may change with its
version, so each page is checked: one that is not as expected is refused, rather than
left without what other machines saw.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sphinx_gallery
from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util import logging

from tensor_copies.figures import samples as csv_links
from tensor_copies.figures import tables
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.recordings.format import (
    LONGEST_OUTPUT,
    TooLong,
    inert,
    keys,
    require_fitting,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
CUT = 1000  # characters that remain of what is too long, on a page that is refused
# Characters of a lesson's page, with all outputs: what is longer is not even read.
LONGEST_PAGE = 20 * LONGEST_OUTPUT
LINES = re.compile(r"GENERATED FROM PYTHON SOURCE LINES (\d+)-\d+")
# What the gallery has after the outputs of a block: the next one, or the page's end.
NO_OUTPUT = nodes.comment | nodes.section | addnodes.only | nodes.target


class UnknownPage(ExtensionError):
    """A page is not as the gallery made it so far; the message says what it lacks."""

    def __init__(self, name: str, lacks: str) -> None:
        super().__init__(
            f"{name}: {lacks}. This is not how this site knows the pages of "
            f"sphinx-gallery: it has {sphinx_gallery.__version__}"
        )


@dataclass(frozen=True)
class CodeBlock:
    """A code block of a lesson's page, by the line of the script that it begins on."""

    line: int
    code: nodes.literal_block


@dataclass(frozen=True)
class LiveBlock(CodeBlock):
    """A code block with what it gave: texts, drawings, tables and links to samples."""

    outputs: list[nodes.Element]
    samples: list[nodes.container]


def code_blocks(doctree: nodes.document, lines: set[int]) -> list[CodeBlock]:
    """Return the code blocks that begin on these lines of the script, in order.

    Raises
    ------
    UnknownPage
        If the page lacks one of them.
    """
    found = []
    for comment in doctree.findall(nodes.comment):
        numbers = LINES.match(comment.astext())
        if numbers and int(numbers[1]) in lines:
            after = comment.next_node(descend=False, siblings=True)
            if not isinstance(after, nodes.literal_block):
                lacks = f"no code follows the comment on line {numbers[1]}"
                raise UnknownPage(_name(doctree), lacks)
            found.append(CodeBlock(int(numbers[1]), after))
    if missing := sorted(lines - {block.line for block in found}):
        lacks = f"no comment stands before the block on line {missing[0]}"
        raise UnknownPage(_name(doctree), lacks)
    return found


def live_blocks(doctree: nodes.document, lines: set[int]) -> list[LiveBlock]:
    """Return code blocks with their outputs, as long as nothing is added to these.

    Raises
    ------
    UnknownPage
        If the page lacks a block, or has what is no known output.
    """
    found = []
    for block in code_blocks(doctree, lines):
        outputs, samples = [], []
        parent = block.code.parent
        for node in parent[parent.index(block.code) + 1 :]:
            if isinstance(node, NO_OUTPUT):
                break
            if _is_box(node, csv_links.CLASS):
                samples.append(node)
            elif isinstance(node, nodes.literal_block | nodes.raw) or _is_box(
                node, tables.CLASS
            ):
                outputs.append(node)
            else:
                lacks = f"a {type(node).__name__} follows the block on line"
                raise UnknownPage(_name(doctree), f"{lacks} {block.line}")
        found.append(LiveBlock(block.line, block.code, outputs, samples))
    return found


def _is_box(node: nodes.Node, name: str) -> bool:
    return isinstance(node, nodes.container) and name in node["classes"]


def _name(doctree: nodes.document) -> str:
    return Path(doctree.get("source", "")).stem


def require_readable(app: Sphinx, page: str, source: list[str]) -> None:
    """Raise :class:`TooLong` for a lesson that would take minutes to be read."""
    script = lesson_scripts(app).get(page)
    if script is not None and len(source[0]) > LONGEST_PAGE:
        raise TooLong(
            f"{script.name} prints so much that its page has {len(source[0])} "
            f"characters, {LONGEST_PAGE} at most"
        )


def bound_outputs(app: Sphinx, doctree: nodes.document) -> None:
    """Make the printed outputs of a page inert; warn of those that are too long."""
    page = app.env.docname
    script = lesson_scripts(app).get(page)
    if script is None:
        for output in doctree.findall(lambda node: _is_box(node, "cell_output")):
            first = output.parent.astext().strip().partition("\n")[0]
            texts = list(output.findall(nodes.literal_block))
            # Sphinx colours what the escapes of a terminal ask for.
            _bound(f"{page}: the cell with `{first:.60}`", texts, keep="\n\t\x1b")
        return
    blocks = live_blocks(doctree, set(keys(script)))
    if not any(block.outputs for block in blocks):
        logger.warning("%s shows nothing: print what its code does", script.name)
    for block in blocks:
        texts = [
            node for node in block.outputs if isinstance(node, nodes.literal_block)
        ]
        _bound(f"{script.name}: the block on line {block.line}", texts, keep="\n")


def _bound(what: str, blocks: list[nodes.literal_block], keep: str) -> None:
    longest = None
    try:
        whole = "\n".join(block.astext() for block in blocks)
        require_fitting(what, whole.strip("\n"))
    except TooLong as too_long:
        logger.warning("%s", too_long, type="outputs")
        longest = CUT
    for block in blocks:
        text = inert(block.astext()[:longest], keep)
        if text != block.astext():
            set_text(block, text)


def set_text(block: nodes.literal_block, text: str) -> None:
    """Give a block of code or output another text, to be highlighted as before."""
    # Sphinx highlights a block only if its source is its text.
    block.rawsource = text
    block.children = []
    block += nodes.Text(text)
