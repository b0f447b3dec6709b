"""Draw the cheat sheet's matrix of calls and its pictures.

Signs come from the Atlas, pictures from the explorer. The page names what it shows.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from markupsafe import Markup
from sphinx.util.docutils import SphinxDirective

from tensor_copies.atlas.page import PLAIN, Drawing
from tensor_copies.atlas.words import DEVICE_NAMES, breakable, one_line, sign_of
from tensor_copies.explorer.chains import CALLS, chain_of
from tensor_copies.explorer.kept import live_explorer
from tensor_copies.explorer.page import still
from tensor_copies.explorer.signs import sheet
from tensor_copies.markup import TEMPLATES

TRANSPOSED = "view"  # the kind of x whose memory is laid out in another order
WRITE = "; x[0] = 7"  # what a picture may show after the call
Record = dict[str, Any]


class SheetCalls(SphinxDirective):
    """A matrix of calls in signs (``{sheet-calls}``); a line is the id of a row."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the table, with the drawings of its signs."""
        drawing = Drawing(self.env.app, self.env.docname)
        rows = [_row(drawing, drawing.rows[name]) for name in self.content]
        used = {sign for row in rows for cell in row["cells"] for sign in cell[0]}
        markup = TEMPLATES.get_template("web/sheet_calls.html").render(
            rows=rows,
            signs=sheet({sign: [sign] for sign in sorted(used)}),
            x=drawing.atlas["states"][PLAIN],
            away=drawing.which() if drawing.away else None,
        )
        return [nodes.raw("", markup, format="html")]


def _row(drawing: Drawing, row: Record) -> Record:
    """Return what the template draws of a call: each cell has signs and a note."""
    memory, *gradient = sign_of(drawing.on_cpu(row, PLAIN))
    other = TRANSPOSED in row["states"] and drawing.on_cpu(row, TRANSPOSED)
    note = ""
    if row["values"] and memory == "copies":
        note = "other values"
    # Where the plain x raises, a transposed one may not: it is a constant.
    elif other and memory not in ("raises", sign_of(other)[0]):
        note = f"{sign_of(other)[0]} if transposed"
    cells = [([memory], note), (gradient, "")]
    if drawing.away:
        there = drawing.on_another(row, PLAIN)
        to = there and there["result_device"]
        moves = to and to != there["device"]
        note = f"to {DEVICE_NAMES[to]}" if moves else ""
        cells.append((sign_of(there) if there else [], note))
    uri = f"{drawing.app.builder.get_relative_uri(drawing.page, 'atlas')}#{row['id']}"
    code = Markup(breakable(one_line(row["code"])))
    return {"code": code, "uri": uri, "cells": cells}


class SheetPictures(SphinxDirective):
    """Pictures of calls (``{sheet-pictures}``).

    A line is ``title: code``, with ``; x[0] = 7`` behind it for the picture after that
    write. What needs another device is left out where there is none.
    """

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return a figure for each line."""
        data, figures = live_explorer(), []
        for line in self.content:
            title, _, code = line.partition(": ")
            chain = chain_of(code.removesuffix(WRITE))
            if len(data.devices) < 2 and any(CALLS[one].needs_device for one in chain):
                continue
            drawn, said = still(data, chain, "x" if code.endswith(WRITE) else "")
            figures.append((title, code, Markup(drawn), said))
        template = TEMPLATES.get_template("web/sheet_pictures.html")
        return [nodes.raw("", template.render(figures=figures), format="html")]
