"""The page of a lesson as data: read once from what the gallery made, written once.

Where sphinx-gallery puts a block's code and outputs is its own business and may change
with its version. So each page is checked: one that is not as expected is refused,
rather than left without recordings, questions and folds.
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

from tensor_copies.figures import samples, tables
from tensor_copies.recordings.format import keys
from tensor_copies.recordings.live import LiveBlock

ACTIONS, LEAD = "lesson-actions", "lesson-lead"  # classes
LINES = re.compile(r"GENERATED FROM PYTHON SOURCE LINES (\d+)-\d+")
# What ends the outputs of a block, and the text that follows them.
ENDS = nodes.comment | nodes.section | addnodes.only | nodes.target
FILES = (".py", ".ipynb")


class UnknownPage(ExtensionError):
    """A page is not as the gallery made it so far; the message says what it lacks."""

    def __init__(self, name: str, lacks: str) -> None:
        super().__init__(
            f"{name}: {lacks}. This is not how this site knows the pages of "
            f"sphinx-gallery: it has {sphinx_gallery.__version__}"
        )


@dataclass(kw_only=True)
class PageBlock(LiveBlock):
    """A code block with the text that follows it, up to the next heading or block.

    ``fold`` takes the place of the code, if there is one. ``place`` is the gallery's
    comment before the block: it stands for the block until the page is written.
    """

    words: list[nodes.Node]
    place: nodes.comment
    fold: nodes.Element | None = None

    def write(self) -> None:
        """Put the block into its place."""
        below = [*self.outputs, *self.samples, *self.words]
        self.place.replace_self([self.fold or self.code, *below])


@dataclass
class LessonPage:
    """A lesson's page: links to its files, the row of actions, the blocks of code."""

    script: Path
    title: nodes.title
    files: dict[str, addnodes.download_reference]
    blocks: list[PageBlock]
    actions: list[nodes.Node] = field(default_factory=list)

    def write(self) -> None:
        """Put everything into its place on the page."""
        for block in self.blocks:
            block.write()
        section = self.title.parent
        for lead in (block.lead for block in self.blocks if block.lead):
            answer = next((n for n in section if type(n) is nodes.paragraph), None)
            if answer is None:
                raise UnknownPage(self.script.stem, "no paragraph is under its title")
            opening = nodes.container("", *lead, classes=[LEAD])
            section.insert(section.index(answer) + 1, opening)
        row = nodes.container("", *self.actions, classes=[ACTIONS])
        section.insert(section.index(self.title) + 1, row)


def read(doctree: nodes.document, script: Path) -> LessonPage:
    """Take a lesson's page apart.

    Raises
    ------
    UnknownPage
        If the page lacks a part, or has what is no known output.
    """
    name = script.stem
    title, files = next(doctree.findall(nodes.title), None), _take_files(doctree)
    if title is None or set(files) != set(FILES):
        raise UnknownPage(name, "it has not a title and two files to download")
    lines = list(keys(script))
    comments = {
        comment: int(numbers[1])
        for comment in doctree.findall(nodes.comment)
        if (numbers := LINES.match(comment.astext()))
    }
    for line in lines:
        if line not in comments.values():
            lacks = f"no comment stands before the block on line {line}"
            raise UnknownPage(name, lacks)
    of_text = [comment for comment in comments if comments[comment] not in lines]
    blocks = [
        _take_block(name, comment, line, of_text)
        for comment, line in comments.items()
        if line in lines
    ]
    return LessonPage(script, title, files, blocks)


def _take_files(doctree: nodes.document) -> dict[str, addnodes.download_reference]:
    """Take the gallery's notes on downloads off the page; return the links by ending.

    One stands above the title, one at the end.
    """
    found = {}
    for only in list(doctree.findall(addnodes.only)):
        links = list(only.findall(addnodes.download_reference))
        found |= {Path(link["reftarget"]).suffix: link for link in links}
        if links or only.parent is doctree:
            only.parent.remove(only)
    return {ending: link for ending, link in found.items() if ending in FILES}


def _take_block(
    name: str, place: nodes.comment, line: int, of_text: list[nodes.comment]
) -> PageBlock:
    """Take a block and the text that follows it off the page, but for its place."""
    parent = place.parent
    after = parent[parent.index(place) + 1 :]
    if not after or not isinstance(after[0], nodes.literal_block):
        raise UnknownPage(name, f"no code follows the comment on line {line}")
    code, *after = after
    outputs, links, words = [], [], []
    given = list(takewhile(lambda node: not isinstance(node, ENDS), after))
    for node in given:
        if _is_box(node, samples.CLASS):
            links.append(node)
        elif isinstance(node, nodes.literal_block | nodes.raw) or _is_box(
            node, tables.CLASS
        ):
            outputs.append(node)
        else:
            lacks = f"a {type(node).__name__} follows the block on line {line}"
            raise UnknownPage(name, lacks)
    rest = after[len(given) :]
    if rest and rest[0] in of_text:
        words = list(takewhile(lambda node: not isinstance(node, ENDS), rest[1:]))
    for node in (code, *given, *words):
        parent.remove(node)
    return PageBlock(
        line=line, code=code, outputs=outputs, samples=links, words=words, place=place
    )


def _is_box(node: nodes.Node, name: str) -> bool:
    return isinstance(node, nodes.container) and name in node["classes"]
