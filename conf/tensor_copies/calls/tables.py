"""Draw tables of calls and pictures of calls, on the home page and the cheat sheet."""

from typing import ClassVar

from docutils import nodes
from markupsafe import Markup
from sphinx.util.docutils import SphinxDirective
from tensor_maps.atlas.calls import STATES

from tensor_copies.calls.explorer import address_of
from tensor_copies.calls.facts import Facts, facts
from tensor_copies.calls.pictures import sheet
from tensor_copies.calls.words import Record, breakable, headline, one_line, signs
from tensor_copies.markup import TEMPLATES

PLAIN, TRANSPOSED = "leaf", "view"  # kinds of x: the first, one in another layout


class CallsTable(SphinxDirective):
    """Calls in signs (``{calls-table}``): memory, gradient, and x on another device.

    A line is the id of a row of the Atlas, or a chain of calls, and may say what it is
    for: ``detach: the values, without a copy``. At home the calls lead to the explorer.
    """

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the table, with the drawings of its signs."""
        app, page, seen = self.env.app, self.env.docname, facts()
        atlas, rows = app.builder.get_relative_uri(page, "atlas"), []
        for line in self.content:
            name, _, want = line.partition(": ")
            call = seen.calls.get(name)
            code, kinds = (call.code, call.states) if call else (name, STATES)
            state = PLAIN if PLAIN in kinds else kinds[0]  # an array is of none
            if (record := seen.record(code, state)) is None:
                if "device" in name:
                    continue  # there is no second one here
                raise self.error(f"no call {name!r} was seen")
            uri = (want and address_of(app, page, code)) or f"{atlas}#{name}"
            words = Markup(breakable(one_line(code)))
            rows.append((want, words, uri, _cells(seen, code, record)))
        used = {sign for *_, cells in rows for parts, _ in cells for sign in parts}
        markup = TEMPLATES.get_template("calls/calls_table.html").render(
            sheet=sheet({sign: [sign] for sign in sorted(used)}),
            wants=any(want for want, *_ in rows),
            rows=rows,
            x=STATES[PLAIN],
            away=seen.devices.get("device"),
        )
        self.env.metadata[page]["atlas_probed"] = seen.here["day"]
        return [nodes.raw("", markup, format="html")]


def _cells(seen: Facts, code: str, record: Record) -> list[tuple[list[str], str]]:
    """Return signs and a note for memory, gradient, and x on another device."""
    memory, *gradient = signs(record)
    other, note = seen.record(code, TRANSPOSED), _place(record)
    if record["other_values"] and memory == "copies":
        note = "other values"
    # Where the plain x raises, a transposed one may not: it is a constant.
    elif other and memory not in ("raises", signs(other)[0]):
        note = f"{signs(other)[0]} if transposed"
    cells = [([memory], note), (gradient, "")]
    if "device" in seen.devices:
        there = seen.record(code, away=True)
        cells.append((signs(there), _place(there)) if there else ([], ""))
    return cells


def _place(record: Record) -> str:
    """Say where the result is, if it is not where x is."""
    to = "CPU" if record["where"] == "cpu" else "GPU"
    return f"to {to}" if record["moved"] else ""


class CallPictures(SphinxDirective):
    """Pictures of calls (``{call-pictures}``); a line is ``title: y = code``."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return a figure for each line whose device is there."""
        seen, figures = facts(), []
        for line in self.content:
            title, _, code = line.partition(": y = ")
            if (record := seen.record(code)) is not None:
                figures.append((title, code, record["picture"], headline(record)))
        template = TEMPLATES.get_template("calls/pictures.html")
        return [nodes.raw("", template.render(figures=figures), format="html")]
