"""Maps, charts and tables of a lesson, put on its page.

The gallery's scrapers leave their data as files, and on the page a directive that names
the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.figures.lead import draw_lead
from tensor_copies.figures.maps import draw_map, framed_map
from tensor_copies.figures.tables import CLASS, table_node


class Placed(SphinxDirective):
    """The place of what a block drew or handed out: the name of the file with its data.

    The node on the page has that name under ``figure``.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        name = self.arguments[0]
        return [figure_node(kept(self.env.app, name), name)]


def kept(app: Sphinx, name: str) -> dict[str, Any]:
    """Return the data that a scraper kept for the page that is read."""
    images = Path(app.srcdir, app.env.docname).parent / "images"
    return json.loads((images / f"{name}.json").read_text(encoding="utf-8"))


def figure_node(data: dict[str, Any], name: str) -> nodes.Element:
    """Return what is drawn of the data; ``name`` begins its ids."""
    if "table" in data:
        table = table_node(data["table"])
        return nodes.container("", table, classes=[CLASS], figure=name)
    if "raises" in data:
        markup = draw_lead(data, name)
    elif "map" in data:
        markup = framed_map(draw_map(data["map"], name, data.get("graph")))
    else:
        markup = data["chart"]
    return nodes.raw("", markup, format="html", figure=name)
