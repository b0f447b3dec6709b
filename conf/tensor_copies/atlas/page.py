"""What pages show of the Atlas: the table, the columns, the files.

Everything here is a view of atlas_data: what ``words`` says of a record, side by side
for the states of ``x`` and for the machines. No fact stands in this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from docutils import nodes
from markupsafe import Markup
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

from tensor_copies.atlas.data import (
    ABOUT_MACHINE,
    ACCELERATOR,
    SIMULATED,
    View,
    live_atlas,
    note_use,
    views,
)
from tensor_copies.atlas.words import (
    DEVICE_NAMES,
    Record,
    breakable,
    cell_text,
    differs,
    fact_cells,
    meaning,
    name_of,
    other_facts,
    sign_of,
)
from tensor_copies.explorer.page import address_of
from tensor_copies.explorer.signs import SIGNS
from tensor_copies.gallery.lessons import lesson_scripts, short_titles
from tensor_copies.markup import TEMPLATES

logger = logging.getLogger(__name__)
ERRORS = "errors"  # the folder of the pages of messages
LABEL = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
PLAIN = "leaf"  # the state of x that is shown first
PLACES = ("x on the CPU", "x on another device")
HERE, THERE = "here", "there"  # the classes of what is said of each place
# What a reader calls a kind of x.
STATE_NAMES = {
    "leaf": "requires grad",
    "constant": "plain",
    "nonleaf": "result of an op",
    "view": "transposed",
    "no_grad": "in no_grad",
    "slice": "slice",
    "leaf_view": "view of a leaf",
    "expanded": "expanded",
}
OTHER_PLACE = "differs on the other device"
LETTERS = 33  # of a call on one line of the table, about
# The facts that the sentence of an open row says.
TOLD = ("Memory", "Version counter", "Gradient flows", "Pinned")
# And those of a result that is x, which are no news.
OF_X = (
    *("Result", "New bytes", "requires_grad", "Leaf", "grad_fn"),
    *("Keeps the strides of x", "Version of x"),
)


class Drawing:
    """The Atlas as one page shows it."""

    def __init__(self, app: Sphinx, page: str) -> None:
        self.app, self.page = app, page
        self.atlas = live_atlas()
        seen = views(app)
        on_cpu = [view for view in seen if view.device == "cpu"]
        self.here, *others = on_cpu
        self.others = [view for view in others if view.source != SIMULATED]
        # x on another device: a GPU's answers before those of the simulated device.
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
        links = (
            self.lesson_link(row), self.reference(row), self.message_link(row),
            self.picture(row),
        )  # fmt: skip
        named = f"{what} {row['message']}" if what else row["group"]
        found = (row["code"], row["api"], named, links[0]["text"])
        return {
            **row,
            "what": what,
            "name": name_of(row["code"]),
            "line": Markup(breakable(name_of(row["code"]))),
            "folded": len(name_of(row["code"])) // LETTERS,
            "find": " ".join(found).lower(),
            "cells": [
                self.signs(row, state)
                for state in (row["states"][:1] if what else self.kinds)
            ],
            "facts": self.facts(row),
            "elsewhere": list(self.elsewhere(row)),
            "links": [link for link in links if link],
        }

    def signs(self, row: Record, state: str) -> Record:
        """Return the cell of a kind of x: what is said of it here and there.

        What is the same in both places is said once.
        """
        here, there = (look(row, state) for look in (self.on_cpu, self.on_another))
        if self.what(row):
            there = here
        others = (self.record(view, row, state) for view in self.others)
        said = [self.said(row, record) for record in (here, there)]
        classes = []
        if here and there and sign_of(here) != sign_of(there):
            classes.append("elsewise")
        if here and any(sign_of(one) != sign_of(here) for one in others if one):
            classes.append("differs")
        if said[0] == said[1]:
            classes += said[0]["parts"]
            return {"classes": " ".join(classes), "words": said[0]["words"]}
        places = zip((HERE, THERE), said, strict=True)
        parts = [{**of, "place": place} for place, of in places]
        return {"classes": " ".join(classes), "of": parts}

    def said(self, row: Record, record: Record | None) -> Record:
        """Return the parts of the sign of a record and its words."""
        if record is None:
            return {"parts": [], "words": ""}
        parts = sign_of(record)
        words = [SIGNS[part] for part in parts]
        if record["error"] is not None:
            words.append(record["error"].partition(":")[0])
        if self.what(row) and record["warning"] is not None:
            words.append("warns")
        return {"parts": parts, "words": ", ".join(words)}

    def what(self, row: Record) -> str:
        """Return what takes the place of x in a row that stands apart, or nothing."""
        if row["needs"] not in self.atlas["libraries"]:
            return ""
        return self.atlas["subjects"][row["subject"]]

    def facts(self, row: Record) -> list[Record]:
        """Return what an open row says of each kind of x, in words and in terms.

        Kinds of x of which the same is true share a paragraph.
        """
        found: dict[tuple[str, str, str], dict[str, list[str]]] = {}
        for place, look in zip(PLACES, (self.on_cpu, self.on_another), strict=True):
            for state in row["states"]:
                if (record := look(row, state)) is None:
                    continue
                error = record["error"] or ""
                told = fact_cells(record, row["subject"])
                known = TOLD
                if record["same_object"] and not record["changes_x"]:
                    known += OF_X
                terms = [
                    f"{title}: {value}"
                    for title, value in told.items()
                    if value and title not in known
                ]
                said = "" if error else meaning(record, row["subject"])
                kinds = found.setdefault((error, said, "\n".join(terms)), {})
                where = place.removeprefix("x ")
                kinds.setdefault(STATE_NAMES[state], []).append(where)
        return [
            {
                "x": self.what(row) or _together(kinds),
                "error": error,
                "said": said,
                "terms": "" if error else terms,
            }
            for (error, said, terms), kinds in found.items()
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
        if target not in lesson_scripts(self.app):
            logger.warning("the Atlas links to %s, which there is not", target)
        name = short_titles().get(target.rpartition("/")[2], target)
        uri = self.app.builder.get_relative_uri(self.page, target)
        return {"uri": uri, "text": f"Lesson: {name}", "kind": ""}

    @cached_property
    def entries(self) -> dict[str, str]:
        """The page of each message, by its anchor."""
        found = {}
        for page in sorted(Path(self.app.srcdir, ERRORS).glob("[!.]*.md")):
            self.app.env.note_dependency(str(page))
            labels = LABEL.findall(page.read_text(encoding="utf-8"))
            found |= dict.fromkeys(labels, f"{ERRORS}/{page.stem}")
        return found

    def message_link(self, row: Record) -> Record | None:
        """Return the link to what the subject of a row raises, if the row names it."""
        if row["message"] not in self.entries:
            return None
        page = self.entries[row["message"]]
        uri = self.app.builder.get_relative_uri(self.page, page)
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
        text = f"Machine for x on the CPU: {self.here.label}."
        if self.others:
            text += f" Underlined: {_labels(self.others)} saw a different result."
        return f"{text} {self.source()}"

    def which(self) -> str:
        """Say in a word which other device it is."""
        if not self.away:
            return ": none here"
        return f" ({DEVICE_NAMES[self.away[0].device]})"

    def places(self) -> list[str]:
        """Say where x can be, as a reader chooses it."""
        away = {"standin": "a GPU (simulated here)"}
        if not self.away:
            return ["x on the CPU", "x on a GPU: not seen here"]
        kind = self.away[0].device
        return ["x on the CPU", f"x on {away.get(kind, DEVICE_NAMES.get(kind, kind))}"]

    def differing(self) -> str:
        """Say of which versions of torch an answer differs."""
        versions = sorted({view.machine.torch for view in self.others})
        return f"torch {', '.join(versions)} differs"

    def source(self, *, in_short: bool = False) -> str:
        """Say who saw what happens to an x on another device."""
        if not self.away:
            return "No machine here has a second device, so x is only on the CPU."
        text = f"Machine for x on another device: {_labels(self.away)}."
        if not in_short and all(view.source == SIMULATED for view in self.away):
            text += (
                " It is CPU memory that PyTorch treats as a device. PyTorch itself "
                "decides what is copied, what raises and where results are. Code that "
                "names cuda was run with its name, standin."
            )
        return text


def _labels(machines: list[View]) -> str:
    return "; ".join(dict.fromkeys(view.label for view in machines))


def _state_names(states: Iterable[str]) -> str:
    return ", ".join(STATE_NAMES[state] for state in states)


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
        seen = {
            part
            for row in rows
            for cell in row["cells"]
            for one in (cell, *cell.get("of", ()))
            for part in (*one.get("classes", "").split(), *one.get("parts", ()))
        }
        chips = {**SIGNS, "elsewise": OTHER_PLACE, "differs": drawing.differing()}
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
            chips={part: words for part, words in chips.items() if part in seen},
            places=dict(zip((HERE, THERE), drawing.places(), strict=True)),
            states={
                state: (STATE_NAMES[state], words)
                for state, words in drawing.atlas["states"].items()
            },
            count=len(rows),
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
        for name, words in {**ABOUT_MACHINE, **live_atlas()["columns"]}.items():
            said = nodes.definition("", nodes.paragraph(text=f"{words}."))
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
        return [nodes.raw("", f'<p class="actions">{links}</p>', format="html")]


def add_script(app: Sphinx, page: str, *_: object) -> None:
    """Load the style and the filters' script on the page that has the table."""
    if app.env.metadata.get(page, {}).get("has_atlas"):
        app.add_css_file("atlas.css")
        app.add_js_file("atlas.js", loading_method="defer")
