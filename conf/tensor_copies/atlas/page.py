"""What pages show of the Atlas: the table, the home page's choice, the columns.

Everything here is a view of atlas_data: words for what a record says, side by side
for the states of ``x`` and for the machines. No fact stands in this file.
"""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

from tensor_copies.atlas.data import (
    ABOUT_MACHINE,
    ACCELERATOR,
    STAND_IN,
    View,
    live_atlas,
    note_use,
    views,
)
from tensor_copies.explorer.page import address_of
from tensor_copies.explorer.signs import SIGNS, STYLE, sheet
from tensor_copies.run.lesson_list import lesson_scripts
from tensor_copies.run.short_titles import short_title
from tensor_copies.run.templates import TEMPLATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
Record = dict[str, Any]
FLOWS, SHARES, RESULT = "Gradients flow back", "Shares memory", "Result"
NOTHING = "\N{EN DASH}"
ERRORS = "errors"  # the page of the error index
PLAIN = "leaf"  # the state of x that is shown first
# What a reader calls a kind of device.
DEVICE_NAMES = {"cpu": "CPU", "cuda": "CUDA", "standin": "simulated device"}
PLACES = ("x on the CPU", "x on another device")
COLUMNS = {"nonleaf": "non-leaf"}  # the heading of a state, if not its name
CHIPS = ("shares", "itself", "copies", "raises", "flows", "stops")
YES_NO = {True: "yes", False: "no", None: None}


def cell_text(record: Record | None, column: str) -> str:
    """Say what a record says in one column of the table of the home page."""
    if record is None:
        return NOTHING
    error = record["error"]
    if column != RESULT:
        known = {FLOWS: "gradient_flows", SHARES: "shares_memory"}
        said = None if error is not None else YES_NO[record[known[column]]]
        return said or NOTHING
    if error is not None:
        name = error.partition(": ")[0]
        return error if name == "Python ended" else f"raises {name}"
    kind = "tensor" if record["requires_grad"] is not None else record["result"]
    where = DEVICE_NAMES.get(record["result_device"])
    if kind in ("tensor", "ndarray"):
        return f"{kind.removeprefix('nd')}, {where}"
    return f"Python {kind}"


def sign_of(record: Record) -> list[str]:
    """Return the signs of a record, keys of ``SIGNS``: memory first, then gradient."""
    if record["error"] is not None:
        return ["raises"]
    if record["same_object"]:
        memory = "moves" if record["new_bytes"] else "itself"
    else:
        memory = "shares" if record["shares_memory"] else "copies"
    gradient = {True: ["flows"], False: ["stops"], None: []}
    return [memory, *gradient[record["gradient_flows"]]]


def fact_cells(record: Record, subject: str = "x") -> dict[str, str | None]:
    """Return all that a record says, by the titles of the columns of a row's facts."""
    size, asked = record["new_bytes"], record["cuda_bytes"]
    result = "x itself" if record["same_object"] else record["result"]
    away = record["result_device"] not in (None, record["device"])
    if away:
        result = f"{result}, {DEVICE_NAMES[record['result_device']]}"
    if record["changes_x"]:
        result += ", changed" if record["same_object"] else "; changes x"
    if record["result_device"] != "cpu" and asked == size:
        asked = None  # no temporary tensor
    own = {True: f"that of {subject}", False: "its own", None: None}
    return {
        "Result": result,
        "New bytes": None if size is None else str(size),
        "Memory": own[record["shares_memory"]],
        "Version counter": own[record["shares_version"]],
        "Gradient flows": YES_NO[record["gradient_flows"]],
        "requires_grad": YES_NO[record["requires_grad"]],
        "Leaf": YES_NO[record["is_leaf"]],
        "grad_fn": record["grad_fn"],
        "Strides of x": YES_NO[record["strides_kept"]],
        "Asked of the device": f"{asked} bytes" if asked else None,
        "Waits": YES_NO[record["waits"]],
        "Warning": record["warning"],
    }


def other_facts(record: Record, other: Record) -> list[str]:
    """Return the facts of another machine's record that differ from ours."""
    if other["error"] is not None:
        return [other["error"]] if other["error"] != record["error"] else []
    ours, theirs = fact_cells(record), fact_cells(other)
    return [
        f"{title}: {said or NOTHING}"
        for title, said in theirs.items()
        if said != ours[title]
    ]


def differs(record: Record | None, other: Record, column: str) -> bool:
    """Whether another machine's record says another thing in a column.

    A tensor that is where ``x`` is, here on the CPU and there on CUDA, is no other
    result.
    """
    if record is None or cell_text(record, column) == cell_text(other, column):
        return record is None
    return column != RESULT or not all(
        one["requires_grad"] is not None and one["result_device"] == one["device"]
        for one in (record, other)
    )


def one_line(code: str) -> str:
    """Return the code of a row on one line."""
    return re.sub(r":\n\s+", ": ", code).replace("\n", "; ")


def breakable(code: str) -> str:
    """Return code as HTML whose lines may end before a call, not within a name."""
    return "<wbr>.".join(escape(code).split("."))


class Drawing:
    """The Atlas as one page shows it."""

    def __init__(self, app: Sphinx, page: str) -> None:
        self.app, self.page = app, page
        self.atlas = live_atlas()
        seen = views(app)
        on_cpu = [view for view in seen if view.device == "cpu"]
        self.here, *others = on_cpu
        self.others = [view for view in others if view.source != STAND_IN]
        # x on another device: a GPU's answers before the stand-in's.
        self.away = [view for view in seen if view.device != "cpu"]
        self.from_cpu = [view for view in on_cpu if view.machine.device_kind != "cpu"]
        self.rows = {row["id"]: row for row in self.atlas["operations"]}
        self.kinds = list(self.atlas["states"])
        note_use(app, page)

    def record(self, view: View, row: Record, state: str) -> Record | None:
        """Return a record; an array stands in every state as it is in its first."""
        if state not in row["states"] and row["subject"] == "a":
            state = row["states"][0]
        return view.records.get((row["id"], state))

    def on_cpu(self, row: Record, state: str) -> Record | None:
        """Return the record of an x on the CPU, live unless it needs a device."""
        goes = row["needs"] == ACCELERATOR
        views = [*self.from_cpu, self.here] if goes else [self.here]
        found = (self.record(view, row, state) for view in views)
        return next(filter(None, found), None)

    def on_another(self, row: Record, state: str) -> Record | None:
        """Return the record of an x on another device, a GPU's if there is one."""
        found = (view.records.get((row["id"], state)) for view in self.away)
        return next(filter(None, found), None)

    def cell(self, row: Record, column: str) -> Record:
        """Return what the template draws of a cell of the home page's table."""
        here, away = self.on_cpu(row, PLAIN), self.on_another(row, PLAIN)
        others = {view.label: self.record(view, row, PLAIN) for view in self.others}
        said = {
            label: cell_text(other, column)
            for label, other in {"": away, **others}.items()
            if other is not None and differs(here, other, column)
        }
        return {
            "title": column,
            "here": cell_text(here, column),
            "away": said.pop("", ""),
            "others": said,
        }

    def row(self, row: Record) -> Record:
        """Return what the template draws of one row.

        A row of another library stands apart: its ``x`` is not of the kinds that are
        columns of the matrix, and it has one cell.
        """
        what = self.what(row)
        kinds = [(place, state) for place in range(len(PLACES)) for state in self.kinds]
        kinds = [(0, row["states"][0])] if what else kinds
        cells = [self.sign(row, state, place) for place, state in kinds]
        lesson = self.lesson_link(row)
        links = (
            lesson, self.reference(row), self.message_link(row), self.picture(row),
        )  # fmt: skip
        titles, said = self.facts(row)
        has = {part for cell in cells for part in cell["parts"]}
        named = f"{what} {row['message']}" if what else row["group"]
        found = (row["code"], row["api"], named, lesson["text"])
        return {
            **row,
            "what": what,
            "line": one_line(row["code"]),
            "find": " ".join(found).lower(),
            "has": " ".join(sorted(has | ({"itself"} if "moves" in has else set()))),
            "cells": cells,
            "titles": titles,
            "facts": said,
            "elsewhere": list(self.elsewhere(row)),
            "links": [link for link in links if link],
        }

    def sign(self, row: Record, state: str, place: int) -> Record:
        """Return the sign of a cell, what it has and its words."""
        record = (self.on_cpu, self.on_another)[place](row, state)
        edge = "edge" if place and state == self.kinds[0] else ""
        if record is None:
            return {"sign": "", "parts": [], "words": "", "classes": edge}
        parts = sign_of(record)
        others = (self.record(view, row, state) for view in self.others)
        differing = not place and any(sign_of(one) != parts for one in others if one)
        words = [SIGNS[part] for part in parts]
        if record["error"] is not None:
            words.append(record["error"].partition(":")[0])
        if self.what(row) and record["warning"] is not None:
            words.append("warns")
        return {
            "sign": "-".join(parts),
            "parts": parts,
            "words": ", ".join(words),
            "classes": " ".join(filter(None, [edge, "differs" if differing else ""])),
        }

    def what(self, row: Record) -> str:
        """Return what takes the place of x in a row that stands apart, or nothing."""
        if row["needs"] not in self.atlas["libraries"]:
            return ""
        return self.atlas["subjects"][row["subject"]]

    def facts(self, row: Record) -> tuple[list[str], list[Record]]:
        """Return the columns that say something, and a line for each kind of x.

        Kinds of x of which the same is true share a line.
        """
        lines: dict[tuple[str | None, ...], dict[str, list[str]]] = {}
        for place, look in zip(PLACES, (self.on_cpu, self.on_another), strict=True):
            for state in row["states"]:
                if (record := look(row, state)) is not None:
                    told = fact_cells(record, row["subject"])
                    kinds = lines.setdefault((record["error"], *told.values()), {})
                    where = place.removeprefix("x ")
                    kinds.setdefault(_state_names([state]), []).append(where)
        titles = list(fact_cells(dict.fromkeys(self.atlas["columns"])))
        columns = zip(*(told for _, *told in lines), strict=True)
        used = [number for number, told in enumerate(columns) if any(told)]
        return [titles[number] for number in used], [
            {
                "x": self.what(row) or _together(kinds),
                "error": error,
                "cells": [told[number] or NOTHING for number in used],
            }
            for (error, *told), kinds in lines.items()
        ]

    def elsewhere(self, row: Record) -> Iterator[Record]:
        """Yield the facts that other machines saw otherwise, with x on the CPU."""
        for view in self.others:
            equal: dict[str, list[str]] = {}
            for state in row["states"]:
                other = view.records.get((row["id"], state))
                if other and (parts := other_facts(self.on_cpu(row, state), other)):
                    equal.setdefault(", ".join(parts), []).append(state)
            for said, of in equal.items():
                x = self.what(row) or _state_names(of)
                yield {"x": x, "facts": said, "label": view.label}

    def lesson_link(self, row: Record) -> Record:
        """Return the link to the lesson of a row."""
        target = f"auto_examples/{row['lesson']}"
        script = lesson_scripts(self.app).get(target)
        if script is None:
            logger.warning("the Atlas links to %s, which there is not", target)
        name = short_title(script) if script else target
        uri = self.app.builder.get_relative_uri(self.page, target)
        return {"uri": uri, "text": f"Lesson: {name}", "kind": ""}

    def message_link(self, row: Record) -> Record | None:
        """Return the link to what the subject of a row raises, if the row names it."""
        if not row["message"] or ERRORS not in self.app.env.found_docs:
            return None
        uri = self.app.builder.get_relative_uri(self.page, ERRORS)
        text = f"Error index: {row['message'].replace('-', ' ')}"
        return {"uri": f"{uri}#{row['message']}", "text": text, "kind": "message"}

    def picture(self, row: Record) -> Record | None:
        """Return the link to the call in the explorer, if it is one of its chains."""
        link = address_of(self.app, self.page, row["code"])
        if row["given"] or link is None:
            return None
        return {"uri": link, "text": "Its picture", "kind": "in-explorer"}

    def reference(self, row: Record) -> Record:
        """Return the link to the page of the operation in its project's reference."""
        name = row["api"]
        if name.endswith(".html"):
            base = self.app.config.intersphinx_mapping["torch"][1][0]
            uri, name = f"{base}/{name}", name.removesuffix(".html")
        else:
            found = (of.get(name) for of in self.app.env.intersphinx_inventory.values())
            if (item := next(filter(None, found), None)) is None:
                logger.warning("%s is not in conf/inventories", name)
                return {}
            uri = item.uri
        return {"uri": uri, "text": name, "kind": "reference external"}

    def note(self) -> str:
        """Say whose facts these are, and what no machine has seen."""
        text = f"x on the CPU: seen by {self.here.label}."
        if self.others:
            text += f" Underlined: {_labels(self.others)} saw something else; "
            text += "the row says what."
        return f"{text} {self.source()}"

    def which(self) -> str:
        """Say in a word which other device it is."""
        if not self.away:
            return ": none here"
        return f" ({DEVICE_NAMES[self.away[0].device]})"

    def source(self, *, in_short: bool = False) -> str:
        """Say who saw what happens to an x on another device."""
        if not self.away:
            return "No machine here has a second device: there x is on the CPU alone."
        text = f"x on another device: seen by {_labels(self.away)}."
        if not in_short and all(view.source == STAND_IN for view in self.away):
            text += (
                " It is host memory that PyTorch takes for a device: what is copied, "
                "refused and where results are is PyTorch's own doing. Code that names "
                "cuda was run with its name, standin."
            )
        return text


def _labels(machines: list[View]) -> str:
    return "; ".join(dict.fromkeys(view.label for view in machines))


def _state_names(states: Iterable[str]) -> str:
    words = {"nonleaf": "non-leaf", "no_grad": "under no_grad", "view": "transposed"}
    return ", ".join(words.get(state, state) for state in states)


def _together(places: dict[str, list[str]]) -> str:
    """Join kinds of x with the places of each, a place once for each that has some."""
    said: dict[str, list[str]] = {}
    for state, of in places.items():
        where = "on both devices" if len(of) == len(PLACES) else of[0]
        said.setdefault(where, []).append(state)
    return "; ".join(f"{', '.join(of)} {place}" for place, of in said.items())


class AtlasTable(SphinxDirective):
    """The table of all operations with its filters (``{atlas}``)."""

    def run(self) -> list[nodes.Node]:
        """Return an index entry for each row, the form and the table."""
        drawing = Drawing(self.env.app, self.env.docname)
        rows = [drawing.row(row) for row in drawing.rows.values()]
        entries = [
            ("single", " ".join(row["code"].split()), row["id"], "", None)
            for row in rows
        ]
        cells = [cell for row in rows for cell in row["cells"] if cell["sign"]]
        drawn = {cell["sign"]: cell["parts"] for cell in cells}
        has = {part for parts in drawn.values() for part in parts}
        legend = {part: words for part, words in SIGNS.items() if part in has}
        groups, apart = [], []
        for name, found in groupby(rows, itemgetter("group")):
            of = list(found)
            if not of[0]["what"]:
                groups.append((name, of))
                continue
            place = name.lower().replace(" ", "-")
            apart.append((place, name, of))
            self.env.domains.standard_domain.note_hyperlink_target(
                place, self.env.docname, place, name
            )
        markup = TEMPLATES.get_template("atlas/table.html").render(
            sheet=sheet(drawn | {part: [part] for part in legend}),
            chips=[part for part in legend if part in CHIPS],
            legend=legend,
            places=[PLACES[0], f"{PLACES[1]}{drawing.which()}"],
            states={
                state: (COLUMNS.get(state, state), words)
                for state, words in drawing.atlas["states"].items()
            },
            groups=groups,
            apart=apart,
            note=drawing.note(),
            libraries=drawing.atlas["libraries"],
        )
        self.env.metadata[self.env.docname]["has_atlas"] = True
        raw = nodes.raw("", markup, format="html")
        return [addnodes.index(entries=entries), raw]


class AtlasColumns(SphinxDirective):
    """What each column of the published files means (``{atlas-columns}``)."""

    def run(self) -> list[nodes.Node]:
        """Return one definition for each column, that of the state with all states."""
        note_use(self.env.app, self.env.docname)
        listing = nodes.definition_list(classes=["atlas-columns"])
        for name, meaning in {**ABOUT_MACHINE, **live_atlas()["columns"]}.items():
            said = nodes.definition("", nodes.paragraph(text=f"{meaning}."))
            if name == "state":
                said += nodes.bullet_list(
                    "", *map(_state, live_atlas()["states"].items())
                )
            term = nodes.term("", "", nodes.literal(text=name))
            listing += nodes.definition_list_item("", term, said)
        return [listing]


def _state(described: tuple[str, str]) -> nodes.list_item:
    name, words = described
    said = nodes.paragraph("", "", nodes.literal(text=name), nodes.Text(f": {words}"))
    return nodes.list_item("", said)


class AtlasFiles(SphinxDirective):
    """Links to the files that the build writes beside the pages (``{atlas-files}``)."""

    def run(self) -> list[nodes.Node]:
        """Return one link for each file, with what it holds."""
        note_use(self.env.app, self.env.docname)
        here = self.env.app.builder.get_target_uri(self.env.docname)
        links = " ".join(
            f'<a href="{relative_uri(here, name)}" download>{name}</a>'
            for name in ("atlas.json", "atlas.csv")
        )
        return [nodes.raw("", f'<p class="lesson-actions">{links}</p>', format="html")]


def add_script(app: Sphinx, page: str, *_: object) -> None:
    """Load the style and the filters' script on the page that has the table."""
    if app.env.metadata.get(page, {}).get("has_atlas"):
        app.add_css_file(STYLE)
        app.add_css_file("atlas.css")
        app.add_js_file("atlas.js", loading_method="defer")
