"""How the gallery's pages look: actions under the title, lists instead of cards.

On a lesson the gallery puts a note before the title ("Go to the end to download
...") and three boxes at the end; two links in one row under the title take their
place. On an overview it puts cards with pictures; a list of titles, each with its
lesson's first sentences, takes theirs.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LABELS = {".py": "Download the script", ".ipynb": "Download the notebook"}
INTRODUCTION = re.compile(r'tooltip="([^"]*)"')


def change_page(app: Sphinx, doctree: nodes.document) -> None:
    """Rewrite a page of the gallery; leave every other page as it is."""
    _move_downloads(doctree)
    for section in list(doctree.findall(nodes.section)):
        _list_lessons(section)


def _move_downloads(doctree: nodes.document) -> None:
    found: dict[str, addnodes.download_reference] = {}
    for only in list(doctree.findall(addnodes.only)):
        for link in only.findall(addnodes.download_reference):
            for ending, label in LABELS.items():
                if link["reftarget"].endswith(ending):
                    found[ending] = link
                    link.clear()
                    link += nodes.inline(text=label)
        classes = {
            name for node in only.findall(nodes.Element) for name in node["classes"]
        }
        if classes & {"sphx-glr-download-link-note", "sphx-glr-footer"}:
            only.parent.remove(only)
    title = next(doctree.findall(nodes.title), None)
    if not found or title is None:
        return
    row = nodes.container(classes=["lesson-actions"])
    for ending in LABELS:
        row += nodes.paragraph("", "", found[ending])
    section = title.parent
    section.insert(section.index(title) + 1, row)


def _list_lessons(section: nodes.section) -> None:
    lessons = nodes.definition_list(classes=["lesson-list"])
    introduction = ""
    for node in list(section.children):
        if isinstance(node, nodes.raw) and re.search("sphx-glr-|sg-tag", str(node)):
            if found := INTRODUCTION.search(node.astext()):
                introduction = unescape(found[1])
            section.remove(node)
        elif isinstance(node, nodes.raw) and node.astext().strip() == "</div>":
            section.remove(node)
        elif isinstance(node, addnodes.only) and introduction:
            (link,) = node.findall(addnodes.pending_xref)
            if not lessons.children:
                section.insert(section.index(node), lessons)
            lessons += nodes.definition_list_item(
                "",
                nodes.term("", "", link),
                nodes.definition("", nodes.paragraph(text=introduction)),
            )
            section.remove(node)
            introduction = ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect before Sphinx collects the files and pictures of a page (500)."""
    app.connect("doctree-read", change_page, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
