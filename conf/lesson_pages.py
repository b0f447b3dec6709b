"""How a lesson's page looks: its downloads in one row under the title.

The gallery puts a note before the title ("Go to the end to download ...") and
three boxes at the end. Both go; two links in one quiet row take their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LABELS = {".py": "Download the script", ".ipynb": "Download the notebook"}


def move_downloads(app: Sphinx, doctree: nodes.document) -> None:
    """Replace the gallery's note and footer by a row of links under the title."""
    found: dict[str, addnodes.download_reference] = {}
    for only in list(doctree.findall(addnodes.only)):
        for link in only.findall(addnodes.download_reference):
            for ending, label in LABELS.items():
                if link["reftarget"].endswith(ending):
                    found[ending] = link
                    link.clear()
                    link += nodes.inline(text=label)
        classes = {name for node in only.findall(nodes.Element) for name in node["classes"]}
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


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect before Sphinx collects the files that a page offers (500)."""
    app.connect("doctree-read", move_downloads, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
