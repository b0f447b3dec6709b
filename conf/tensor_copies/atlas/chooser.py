"""The chooser of the home page: what a reader wants, and the line that does it.

A line is a row of the Atlas or a chain of the explorer's calls; which wish it answers
is taken from what was seen of it. Without scripts all lines stand in a table.
"""

from __future__ import annotations

from typing import ClassVar

from docutils import nodes
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.atlas.page import PLAIN, Drawing
from tensor_copies.atlas.words import FLOWS, RESULT, SHARES, Record, breakable, sign_of
from tensor_copies.explorer.chains import CALLS, chain_of
from tensor_copies.explorer.kept import live_explorer
from tensor_copies.explorer.signs import STYLE, sheet
from tensor_copies.markup import TEMPLATES

SWITCHES = {
    "memory": ("Memory", {"share": "shared with x", "own": "its own"}),
    "gradient": (
        "Gradient",
        {"stops": "stops", "flows": "flows back to x", "leaf": "a new leaf to train"},
    ),
    "where": (
        "Where",
        {
            "same": "where x is",
            "cpu": "on the CPU",
            "gpu": "on the GPU",
            "array": "a NumPy array",
        },
    ),
}
REFUSED = "numpy"  # the row that raises where an array would need a gradient


class Choice(Drawing):
    """The Atlas, and the explorer's chains as rows of it."""

    def chain_row(self, code: str) -> Record | None:
        """Return a chain of the explorer as a row; None for what is no chain here.

        Its lesson is that of its last call.
        """
        chain = chain_of(code)
        if chain is None or ("cpu", PLAIN, chain) not in live_explorer():
            return None
        last = f"x{CALLS[chain[-1]].code}"
        by_code = {row["code"]: row for row in self.rows.values()}
        more = {"id": code, "code": code, "given": "", "needs": "", "chain": chain}
        return {**by_code.get(last, self.rows["detach"]), **more}

    def on_cpu(self, row: Record, state: str) -> Record | None:
        """Return the record of an x on the CPU."""
        seen = self._of_chain(row, state, away=False)
        return seen if "chain" in row else super().on_cpu(row, state)

    def on_another(self, row: Record, state: str) -> Record | None:
        """Return the record of an x on another device."""
        seen = self._of_chain(row, state, away=True)
        return seen if "chain" in row else super().on_another(row, state)

    @staticmethod
    def _of_chain(row: Record, state: str, *, away: bool) -> Record | None:
        data = live_explorer()
        on, *others = sorted(data.devices, key=lambda kind: (kind == "cpu") == away)
        key = on, state, row.get("chain")
        if key not in data or (away and on == "cpu"):
            return None
        seen = data.seen(*key)
        there = others[0] if seen["moved"] else on
        return {**seen, "device": on, "result_device": there}

    def wish(self, row: Record) -> dict[str, str]:
        """Return which wish a row answers, by the switches."""
        here, away = self.on_cpu(row, PLAIN), self.on_another(row, PLAIN)
        gradient = "flows" if here["gradient_flows"] else "stops"
        if gradient == "stops" and here["requires_grad"] and here["is_leaf"]:
            gradient = "leaf"
        where = "same"
        if here["requires_grad"] is None:
            where = "array"
        elif here["result_device"] != "cpu":
            where = "gpu"
        elif away is not None and away["result_device"] == "cpu":
            where = "cpu"
        memory = "share" if here["shares_memory"] else "own"
        return {"memory": memory, "gradient": gradient, "where": where}

    def reasons(self) -> list[Record]:
        """Return why some wishes have no answer, as far as something was seen."""
        found = [
            {
                "where": "gpu",
                "memory": "share",
                "gradient": "",
                "why": "A GPU has its own memory, so PyTorch copies an x that is on "
                "the CPU. If x is on the GPU already, choose “where x is”.",
                "raised": "",
            }
        ]
        record = REFUSED in self.rows and self.on_cpu(self.rows[REFUSED], PLAIN)
        if record and record["error"] is not None:
            why = (
                "NumPy doesn't record operations, so no gradient flows back through an "
                "array."
            )
            wish = {"where": "array", "memory": "", "gradient": "flows leaf"}
            found.append({**wish, "why": why, "raised": record["error"]})
        return found


class AtlasCalls(SphinxDirective):
    """Switches for a wish, and the line that does it (``{atlas-calls}``).

    Each line of the content is ``id of a row: what the reader wants``; a chain of the
    explorer's calls may stand in the place of an id.
    """

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return switches and table; raise an error for a row that there is not."""
        drawing = Choice(self.env.app, self.env.docname)
        columns = (FLOWS, SHARES, RESULT)
        rows = []
        for line in self.content:
            name, _, want = line.partition(": ")
            row = drawing.rows.get(name) or drawing.chain_row(name)
            if row is None and chain_of(name) is None:
                raise self.error(f"the Atlas has no operation {name!r}")
            if row is None or drawing.on_cpu(row, PLAIN) is None:
                continue  # here is no second device
            rows.append(
                {
                    "want": want,
                    "code": Markup(breakable(row["code"])),
                    "lesson": drawing.lesson_link(row)["uri"],
                    "picture": drawing.picture(row),
                    "named": f"Picture of {row['code']}",
                    "cells": [drawing.cell(row, column) for column in columns],
                    "wish": drawing.wish(row),
                    "sign": "-".join(sign_of(drawing.on_cpu(row, PLAIN))),
                }
            )
        parts = [
            sign_of(record)
            for row in drawing.rows.values()
            for look in (drawing.on_cpu, drawing.on_another)
            for state in drawing.kinds
            if (record := look(row, state)) is not None
        ]
        markup = TEMPLATES.get_template("atlas/calls.html").render(
            sheet=sheet({"-".join(one): one for one in parts}),
            switches=SWITCHES,
            reasons=drawing.reasons(),
            columns=columns,
            rows=rows,
            away=drawing.source(in_short=True) if drawing.away else "",
        )
        self.env.metadata[self.env.docname]["has_chooser"] = True
        return [nodes.raw("", markup, format="html")]


def add_script(app: Sphinx, page: str, *_: object) -> None:
    """Load the signs' style and the script on the page that has the chooser."""
    if app.env.metadata.get(page, {}).get("has_chooser"):
        app.add_css_file(STYLE)
        app.add_js_file("chooser.js", loading_method="defer")
