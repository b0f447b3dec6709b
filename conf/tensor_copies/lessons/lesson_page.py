"""The page of a lesson as data: read once from what the gallery made, written once.

Its first screen has the title, the answer (the first paragraph), the picture of the
answer, one row of actions, in this order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from tensor_copies.lessons.blocks import LiveBlock, UnknownPage, read_blocks

ACTIONS, LEAD = "lesson-actions", "lesson-lead"  # classes
FILES = (".py", ".ipynb")


@dataclass
class LessonPage:
    """A lesson's page: links to its files, the row of actions, the blocks of code."""

    script: Path
    title: nodes.title
    files: dict[str, addnodes.download_reference]
    blocks: list[LiveBlock]
    actions: list[nodes.Node] = field(default_factory=list)

    def write(self) -> None:
        """Put everything into its place on the page."""
        for block in self.blocks:
            block.write()
        section = self.title.parent
        answer = next((n for n in section if type(n) is nodes.paragraph), None)
        if answer is None:
            raise UnknownPage(self.script.stem, "no paragraph is under its title")
        leads = (block.lead for block in self.blocks if block.lead)
        first = [nodes.container("", *lead, classes=[LEAD]) for lead in leads]
        first.append(nodes.container("", *self.actions, classes=[ACTIONS]))
        place = section.index(answer) + 1
        section[place:place] = first


def read(doctree: nodes.document, script: Path) -> LessonPage:
    """Take a lesson's page apart.

    Raises
    ------
    UnknownPage
        If the page lacks a part, or has what is no known output.
    """
    title, files = next(doctree.findall(nodes.title), None), _take_files(doctree)
    if title is None or set(files) != set(FILES):
        raise UnknownPage(script.stem, "it has not a title and two files to download")
    return LessonPage(script, title, files, read_blocks(doctree, script))


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
