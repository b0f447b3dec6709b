"""The blocks of a lesson's page, with what they gave.

Where sphinx-gallery puts a block's code and outputs is its own business and may change
with its version. So each page is checked: one that is not as expected is refused,
rather than left without questions and folds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import sphinx_gallery
from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError

from tensor_copies.figures import tables
from tensor_copies.gallery.lessons import blocks_of

LINES = re.compile(r"GENERATED FROM PYTHON SOURCE LINES (\d+)-\d+")
# What ends the outputs of a block, and the text that follows them.
ENDS = nodes.comment | nodes.section | addnodes.only | nodes.target


class UnknownPage(ExtensionError):
    """A page is not as the gallery made it so far; the message says what it lacks."""

    def __init__(self, name: str, lacks: str) -> None:
        super().__init__(
            f"{name}: {lacks}. This is not how this site knows the pages of "
            f"sphinx-gallery: it has {sphinx_gallery.__version__}"
        )


@dataclass
class LiveBlock:
    """A code block of a lesson's page, taken off the page, with what it gave.

    ``outputs`` are texts, drawings and tables; ``printed`` is what it printed, without
    its tables. ``below`` is what other machines gave, where that differs, of which
    ``elsewhere`` are the texts. ``lead`` is the output that opens the page.
    """

    line: int  # of the script, on which it begins
    place: nodes.comment  # of the gallery: it stands for the block on the page
    code: nodes.literal_block
    outputs: list[nodes.Element] = field(default_factory=list)
    proof: list[nodes.Element] = field(default_factory=list)  # folded below them
    words: list[nodes.Node] = field(default_factory=list)  # the text that follows
    fold: nodes.Element | None = None  # what takes the place of the code
    lead: list[nodes.Element] = field(default_factory=list)
    below: list[nodes.Element] = field(default_factory=list)
    printed: str = ""
    elsewhere: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[nodes.literal_block]:
        """What the block printed."""
        return [node for node in self.outputs if isinstance(node, nodes.literal_block)]

    def name_outputs(self) -> None:
        """Put what was printed behind what was drawn, under a line that names it."""
        texts = self.texts
        if texts:
            head = nodes.paragraph(text="Output", classes=["output-head"])
            drawn = [node for node in self.outputs if node not in texts]
            self.outputs = [*drawn, head, *texts]

    def write(self) -> None:
        """Put the block into its place on the page."""
        given = [*self.outputs, *self.below, *self.proof, *self.words]
        self.place.replace_self([self.fold or self.code, *given])


def read_blocks(doctree: nodes.document, script: Path) -> list[LiveBlock]:
    """Take the blocks of a lesson off its page, but for their places.

    Raises
    ------
    UnknownPage
        If the page lacks a block, or has what is no known output.
    """
    lines = [block.lineno for block in blocks_of(script) if block.type == "code"]
    comments = {
        comment: int(numbers[1])
        for comment in doctree.findall(nodes.comment)
        if (numbers := LINES.match(comment.astext()))
    }
    for line in lines:
        if line not in comments.values():
            lacks = f"no comment stands before the block on line {line}"
            raise UnknownPage(script.stem, lacks)
    of_text = [comment for comment in comments if comments[comment] not in lines]
    return [
        _take_block(script.stem, comment, line, of_text)
        for comment, line in comments.items()
        if line in lines
    ]


def _take_block(
    name: str, place: nodes.comment, line: int, of_text: list[nodes.comment]
) -> LiveBlock:
    """Take a block and the text that follows it, to the next heading or block."""
    parent = place.parent
    after = parent[parent.index(place) + 1 :]
    if not after or not isinstance(after[0], nodes.literal_block):
        raise UnknownPage(name, f"no code follows the comment on line {line}")
    code, *after = after
    block = LiveBlock(line, place, code)
    given = list(takewhile(lambda node: not isinstance(node, ENDS), after))
    for node in given:
        if isinstance(node, nodes.literal_block | nodes.raw) or _is_box(
            node, tables.CLASS
        ):
            block.outputs.append(node)
        else:
            lacks = f"a {type(node).__name__} follows the block on line {line}"
            raise UnknownPage(name, lacks)
    rest = after[len(given) :]
    if rest and rest[0] in of_text:
        block.words += takewhile(lambda node: not isinstance(node, ENDS), rest[1:])
    for node in (code, *given, *block.words):
        parent.remove(node)
    return block


def _is_box(node: nodes.Node, name: str) -> bool:
    return isinstance(node, nodes.container) and name in node["classes"]


def set_text(block: nodes.literal_block, text: str) -> None:
    """Give a block of code or output another text, to be highlighted as before."""
    # Sphinx highlights a block only if its source is its text.
    block.rawsource = text
    block.children = []
    block += nodes.Text(text)
