"""How the gallery's pages look: actions under the title, cards with words.

On a lesson the gallery puts a note before the title ("Go to the end to download
...") and three boxes at the end; two links in one row under the title take their
place. On an overview it puts cards that show a title and nothing else; a list takes
theirs: the title, the lesson's first picture in the reader's colours, and the first
sentences.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from pictures import COLOURS, size_of
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
    cards = nodes.bullet_list(classes=["lesson-cards"])
    introduction = ""
    for node in list(section.children):
        if isinstance(node, nodes.raw) and re.search("sphx-glr-|sg-tag", str(node)):
            if found := INTRODUCTION.search(node.astext()):
                introduction = unescape(found[1])
            section.remove(node)
        elif isinstance(node, nodes.raw) and node.astext().strip() == "</div>":
            section.remove(node)
        elif isinstance(node, addnodes.only) and introduction:
            if not cards.children:
                section.insert(section.index(node), cards)
            cards += _card(node, introduction)
            section.remove(node)
            introduction = ""


def _card(made: addnodes.only, introduction: str) -> nodes.list_item:
    """Make a card of a lesson: title, picture, and what the reader will see."""
    (link,) = made.findall(addnodes.pending_xref)
    (thumbnail,) = made.findall(nodes.image)
    item = nodes.list_item("", nodes.paragraph("", "", link))
    name = thumbnail["uri"].rpartition("_thumb.")[0]
    source = made.document.settings.env.srcdir
    for scheme in COLOURS:
        uri = f"{name}_{scheme}.svg"
        if (picture := Path(source, uri.lstrip("/"))).exists():
            # What it shows, the page says; here the title beside it is the link.
            image = nodes.image(
                uri=uri, alt="", classes=[f"only-{scheme}", "no-scaled-link"]
            )
            image["width"], image["height"] = size_of(picture)
            image["loading"] = "lazy"
            item += image
    item += nodes.paragraph(text=introduction)
    return item


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect before Sphinx collects the files and pictures of a page (500)."""
    app.connect("doctree-read", change_page, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
