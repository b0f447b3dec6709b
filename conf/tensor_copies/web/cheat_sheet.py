"""The cheat sheet: the calls that matter, pictures, messages and rules, on one A4.

Signs come from the Atlas, pictures from the explorer, messages and cures from the
error index. The page names what it shows; nothing of what a run gives stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar

from docutils import nodes
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tensor_copies.atlas.data import live_atlas as live_atlas
from tensor_copies.atlas.data import note_use
from tensor_copies.atlas.page import PLAIN, Drawing
from tensor_copies.atlas.words import DEVICE_NAMES, breakable, one_line, sign_of
from tensor_copies.errors.messages import BestCure, best_cures, families
from tensor_copies.errors.search import known_messages
from tensor_copies.explorer.chains import CALLS, chain_of
from tensor_copies.explorer.kept import live_explorer as live_explorer
from tensor_copies.explorer.page import still
from tensor_copies.explorer.signs import sheet
from tensor_copies.gallery.machine import this_machine
from tensor_copies.markup import TEMPLATES
from tensor_copies.web.foot import in_words

OTHER = "view"  # the kind of x whose memory is laid out in another order
LONGEST = 125  # characters of a message
WRITE = re.compile(r"; x\[0\] = 7$")  # what a picture may show after the call
Record = dict[str, Any]


class SheetCalls(SphinxDirective):
    """A matrix of calls in signs (``{sheet-calls}``); a line is the id of a row."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the table, with the drawings of its signs."""
        drawing = Drawing(self.env.app, self.env.docname)
        if unknown := set(self.content) - set(drawing.rows):
            raise self.error(f"the Atlas has no operation {', '.join(sorted(unknown))}")
        rows = [_row(drawing, drawing.rows[name]) for name in self.content]
        cells = [cell for row in rows for cell in row["cells"]]
        parts = {part: [part] for cell in cells for part in cell["signs"]}
        columns = ["Memory", "Gradient"]
        if drawing.away:
            columns.append(f"x on another device{drawing.which()}")
        markup = TEMPLATES.get_template("web/sheet_calls.html").render(
            rows=rows,
            signs=sheet(parts),
            x=live_atlas()["states"][PLAIN],
            columns=columns,
        )
        return [nodes.raw("", markup, format="html")]


def _row(drawing: Drawing, row: Record) -> Record:
    """Return what the template draws of one call."""
    here = drawing.on_cpu(row, PLAIN)
    if here is None:
        raise ExtensionError(f"the Atlas has not seen {row['code']} of a {PLAIN}")
    memory, *gradient = sign_of(here)
    other = row["values"] and memory == "copies"
    note = "other values" if other else _if_transposed(drawing, row, memory)
    cells = [_cell([memory], note), _cell(gradient)]
    if drawing.away:
        there = drawing.on_another(row, PLAIN)
        parts = [] if there is None else sign_of(there)
        note = ""
        if there is not None and there["result_device"] not in (None, there["device"]):
            note = f"to {DEVICE_NAMES[there['result_device']]}"
        cells.append(_cell(parts, note, in_words=False))
    uri = f"{drawing.app.builder.get_relative_uri(drawing.page, 'atlas')}#{row['id']}"
    code = Markup(breakable(one_line(row["code"])))
    return {"code": code, "uri": uri, "cells": cells}


def _cell(signs: list[str], note: str = "", *, in_words: bool = True) -> Record:
    return {"signs": signs, "note": note, "in_words": in_words}


def _if_transposed(drawing: Drawing, row: Record, memory: str) -> str:
    """Say what a transposed x gives, if that is another thing; a raise is none.

    Where the plain x raises, a constant may not: only shares and copies are compared.
    """
    record = drawing.on_cpu(row, OTHER) if OTHER in row["states"] else None
    if record is None or memory == "raises":
        return ""
    (other, *_) = sign_of(record)
    return "" if other == memory else f"{other} if transposed"


class SheetPictures(SphinxDirective):
    """Pictures of calls (``{sheet-pictures}``).

    A line is ``title: code``, with ``; x[0] = 7`` behind it for the picture after that
    write.
    """

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return a figure for each line."""
        data = live_explorer()
        figures = []
        for line in self.content:
            title, _, code = line.partition(": ")
            chain = chain_of(WRITE.sub("", code))
            if chain is None:
                raise self.error(f"the explorer has no chain {code!r}")
            if len(data.devices) < 2 and any(CALLS[one].needs_device for one in chain):
                continue
            picture, said = still(data, chain, "x" if WRITE.search(code) else "")
            figures.append(
                {"title": title, "code": code, "said": said, "picture": Markup(picture)}
            )
        template = TEMPLATES.get_template("web/sheet_pictures.html")
        return [nodes.raw("", template.render(figures=figures), format="html")]


class sheet_part(nodes.General, nodes.Element):
    """The place of a part that is made when all pages have been read."""


class SheetMessages(SphinxDirective):
    """Messages and their first cures (``{sheet-messages}``); a line is an anchor."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the place of the messages."""
        for family in families(Path(self.env.srcdir)):
            self.env.note_dependency(str(family))
        return [sheet_part(anchors=list(self.content))]


class SheetFoot(SphinxDirective):
    """Who saw it, when, and where the site is (``{sheet-foot}``)."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the foot: another address reads no page again."""
        note_use(self.env.app, self.env.docname)
        return [sheet_part()]


def fill_sheet(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put messages and foot into their places."""
    for place in list(doctree.findall(sheet_part)):
        made = foot_of(app, page)
        if "anchors" in place:
            found = _messages(app, page, place["anchors"])
            classes = ["sheet-messages", "simple"]
            made = nodes.definition_list("", *found, classes=classes)
        place.replace_self(made)


def _messages(app: Sphinx, page: str, anchors: list[str]) -> Iterator[nodes.Node]:
    """Yield each message, a link to its entry, with what to write instead."""
    known = {entry["anchor"]: entry for entry in known_messages(app.env)}
    cures: dict[str, BestCure] = {}
    for family in families(Path(app.srcdir)):
        cures |= best_cures(family)
    for anchor in anchors:
        if anchor not in known or anchor not in cures:
            raise ExtensionError(
                f"the cheat sheet shows {anchor}, of which the error index has no "
                "message, or no cure"
            )
        # Without its type, and of a long one the beginning.
        line = " ".join(
            known[anchor]["texts"][0].splitlines()[-1].partition(": ")[2].split()
        )
        message = nodes.literal(text=shorten(line, LONGEST, placeholder=" …"))
        uri = app.builder.get_relative_uri(page, known[anchor]["page"])
        uri = f"{uri}#{anchor}"
        link = nodes.reference("", "", message, refuri=uri, internal=True)
        yield nodes.definition_list_item(
            "", nodes.term("", "", link), nodes.definition("", _said(cures[anchor]))
        )


def foot_of(app: Sphinx, page: str) -> nodes.paragraph:
    """Return who saw what the sheet shows, when, and the sheet's address if known."""
    day = in_words(live_atlas()["day"])
    name, torch = app.config.project, this_machine().torch
    said = f"{name}, cheat sheet. Seen on {day} with torch {torch}. "
    foot = nodes.paragraph("", said, classes=["sheet-foot"])
    if base := app.config.html_baseurl:
        uri = base + app.builder.get_target_uri(page)
        foot += nodes.reference("", uri, refuri=uri)
    return foot


def _said(cure: BestCure) -> nodes.paragraph:
    """Return a cure as a paragraph: its code, then its words with code in backticks."""
    lines = [line.strip() for line in cure.code.splitlines()]
    code = re.sub(r":; ", ": ", "; ".join(lines))
    paragraph = nodes.paragraph("", "", nodes.literal(text=code), nodes.Text("  "))
    for number, words in enumerate(cure.words.split("`")):
        paragraph += nodes.literal(text=words) if number % 2 else nodes.Text(words)
    return paragraph
