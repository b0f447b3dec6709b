"""What the blocks of a lesson, and the cells of a page, gave here: bounded, inert."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging

from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.recordings.format import (
    LONGEST_OUTPUT,
    TooLong,
    inert,
    require_fitting,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
# Characters of a lesson's page, with all outputs: what is longer is not even read.
LONGEST_PAGE = 20 * LONGEST_OUTPUT


@dataclass(kw_only=True)
class LiveBlock:
    """A code block of a lesson's page, with what it gave.

    ``outputs`` are texts, drawings and tables, with those of other machines once these
    are added; then ``printed`` is what it printed here, ``elsewhere`` what it printed
    on machines where that differs, and ``lead`` the output that opens the page.
    """

    line: int  # of the script, on which it begins
    code: nodes.literal_block
    outputs: list[nodes.Element]
    samples: list[nodes.Element]  # links to them
    lead: list[nodes.Element] = field(default_factory=list)
    printed: str = ""
    elsewhere: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[nodes.literal_block]:
        """What the block printed."""
        return [node for node in self.outputs if isinstance(node, nodes.literal_block)]


def require_readable(app: Sphinx, page: str, source: list[str]) -> None:
    """Raise :class:`TooLong` for a lesson that would take minutes to be read."""
    script = lesson_scripts(app).get(page)
    if script is not None and len(source[0]) > LONGEST_PAGE:
        raise TooLong(
            f"{script.name} prints so much that its page has {len(source[0])} "
            f"characters, {LONGEST_PAGE} at most"
        )


def bound_outputs(script: Path, blocks: Sequence[LiveBlock]) -> None:
    """Make what a lesson printed inert; refuse what is too long, and no output."""
    if not any(block.outputs for block in blocks):
        logger.warning("%s shows nothing: print what its code does", script.name)
    for block in blocks:
        _bound(f"{script.name}: the block on line {block.line}", block.texts, "\n")


def bound_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Make the outputs of a page's cells inert; refuse those that are too long."""
    for output in doctree.findall(nodes.container):
        if "cell_output" in output["classes"]:
            first = output.parent.astext().strip().partition("\n")[0]
            what = f"{app.env.docname}: the cell with `{first:.60}`"
            # Sphinx colours what the escapes of a terminal ask for.
            _bound(what, list(output.findall(nodes.literal_block)), "\n\t\x1b")


def _bound(what: str, texts: list[nodes.literal_block], keep: str) -> None:
    require_fitting(what, "\n".join(text.astext() for text in texts).strip("\n"))
    for text in texts:
        if (shown := inert(text.astext(), keep)) != text.astext():
            set_text(text, shown)


def set_text(block: nodes.literal_block, text: str) -> None:
    """Give a block of code or output another text, to be highlighted as before."""
    # Sphinx highlights a block only if its source is its text.
    block.rawsource = text
    block.children = []
    block += nodes.Text(text)
