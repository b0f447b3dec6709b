"""Draw the Atlas: a row for each call, a column for each kind of x, in signs.

An open row has words for each kind of x. Its picture and its facts come from facts.js,
when static/atlas.js first opens a row.
"""

from collections.abc import Iterator
from itertools import groupby, product
from typing import Any

from docutils import nodes
from markupsafe import Markup
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator
from tensor_maps.atlas import calls
from tensor_maps.atlas.calls import Call

from tensor_copies.calls.explorer import address_of, address_of_file
from tensor_copies.calls.facts import ABOUT_MACHINE, Record, facts
from tensor_copies.calls.words import SIGNS, breakable, meaning, one_line, raised, signs
from tensor_copies.gallery.lessons import short_titles
from tensor_copies.markup import TEMPLATES

logger = logging.getLogger(__name__)
# Where x is: the class of what is said of it there, and words for it.
PLACES = {"here": "on the CPU", "there": "on another device"}
# What heads the column of a kind of x.
KINDS = {name: state["short"] for name, state in calls.TABLE["states"].items()}
LETTERS = 33  # of a call on one line of the table, about


class atlas(nodes.General, nodes.Element):
    """The place of the table, which is drawn when all pages have been read."""


class AtlasTable(SphinxDirective):
    """The table of all calls with its filters (``{atlas}``)."""

    def run(self) -> list[nodes.Node]:
        """Return an index entry for each row, and the place of the table."""
        page, seen = self.env.docname, facts()
        domain, entries = self.env.domains.standard_domain, []
        for call in seen.calls.values():
            entries.append(("single", " ".join(call.code.split()), call.id, "", None))
            if what(call):
                place = nodes.make_id(call.group)
                domain.note_hyperlink_target(place, page, place, call.group)
        told = {"loads_facts": True, "atlas_probed": seen.here["day"]}
        self.env.metadata[page] |= told
        return [addnodes.index(entries=entries), atlas(page=page)]


def visit_atlas(self: HTML5Translator, node: atlas) -> None:
    """Write the table."""
    app, page, seen = self.builder.app, node["page"], facts()
    groups = [
        (group, nodes.make_id(group), [row(app, page, call) for call in some])
        for group, some in groupby(seen.calls.values(), lambda call: call.group)
    ]
    away = seen.devices.get("device", "")
    markup = TEMPLATES.get_template("calls/table.html").render(
        facts=address_of_file(app.builder, page),
        chips=SIGNS | ({"elsewise": "differs on the other device"} if away else {}),
        kinds=calls.TABLE["states"],
        count=len(seen.calls),
        groups=groups,
        libraries=calls.libraries(),
        away=away,
    )
    self.body.append(markup)
    raise nodes.SkipNode


def what(call: Call) -> str:
    """Return what takes the place of x in a row that stands apart, or nothing.

    Such an x is of none of the kinds that have a column, and its row has one cell.
    """
    return calls.SUBJECTS[call.subject] if call.needs in calls.LIBRARIES else ""


def row(app: Sphinx, page: str, call: Call) -> dict[str, Any]:
    """Return what the template draws of one call."""
    # Not the end of statements that only says that y is x.
    name = one_line(call.code.removesuffix("\ny = x"))
    links = list(links_of(app, page, call))
    named = f"{what(call)} {call.message}" if what(call) else call.group
    return {
        "call": call,
        "what": what(call),
        "name": name,
        "line": Markup(breakable(name)),
        "folded": len(name) // LETTERS,
        "find": " ".join((call.code, call.api, named, links[0][1])).lower(),
        "cells": [
            cell(call, kind) for kind in (call.states[:1] if what(call) else KINDS)
        ],
        "said": meanings(call),
        "links": links,
    }


def cell(call: Call, kind: str) -> list[tuple[list[str], str]]:
    """Return what is said of a kind of x in each of both places."""
    seen, mine = facts(), kind
    if call.subject == "a" and kind not in call.states:
        mine = call.states[0]  # an array stands in each column as in its first
    here = seen.record(call.code, mine)
    there = here if what(call) else seen.record(call.code, kind, away=True)
    return [_said(call, record) for record in (here, there)]


def _said(call: Call, record: Record | None) -> tuple[list[str], str]:
    """Return the signs of a record and their words."""
    if record is None:
        return [], ""
    words = [SIGNS[one] for one in signs(record)]
    if record["error"] is not None:
        words.append(raised(record))
    if what(call) and record["warning"] is not None:
        words.append("warns")
    return signs(record), ", ".join(words)


def meanings(call: Call) -> list[tuple[str, str, bool]]:
    """Return what an open row says: of which x, the words, whether it is an error.

    Kinds of x of which the same is true share a line.
    """
    found: dict[tuple[str, bool], dict[str, str]] = {}
    for place, kind in product(PLACES, call.states):
        record = facts().record(call.code, kind, away=place == "there")
        if record is None:
            continue
        said, name = record["error"] or meaning(record, call.subject), KINDS[kind]
        if record["warning"] is not None:
            said += f" Warning: {record['warning']}"
        where = found.setdefault((said, record["error"] is not None), {})
        where[name] = "on both devices" if name in where else PLACES[place]
    return [
        (what(call) or _together(where), said, is_error)
        for (said, is_error), where in found.items()
    ]


def _together(where: dict[str, str]) -> str:
    """Join kinds of x with their places, a place once for all that are there."""
    kinds: dict[str, list[str]] = {}
    for kind, place in where.items():
        kinds.setdefault(place, []).append(kind)
    return "; ".join(f"{', '.join(some)} {place}" for place, some in kinds.items())


def links_of(app: Sphinx, page: str, call: Call) -> Iterator[tuple[str, str, str]]:
    """Yield the links of a row: address, words and class."""
    uri = app.builder.get_relative_uri
    lesson = short_titles().get(call.lesson.rpartition("/")[2], call.lesson)
    yield uri(page, f"auto_examples/{call.lesson}"), f"Lesson: {lesson}", ""
    name = call.api
    if name.endswith(".html"):
        base = app.config.intersphinx_mapping["torch"][1][0]
        yield f"{base}/{name}", name.removesuffix(".html"), "reference external"
    else:
        found = (of.get(name) for of in app.env.intersphinx_inventory.values())
        if (item := next(filter(None, found), None)) is None:
            logger.warning("%s is not in conf/inventories", name)
        else:
            yield item.uri, name, "reference external"
    labels = app.env.domains.standard_domain.anonlabels
    if call.message in labels:
        entry, anchor = labels[call.message]
        words = f"Error index: {call.message.replace('-', ' ')}"
        yield f"{uri(page, entry)}#{anchor}", words, "message"
    if (there := address_of(app, page, call.code)) is not None:
        yield there, "In the explorer", "in-explorer"


class AtlasColumns(SphinxDirective):
    """What each column of the published files means (``{atlas-columns}``)."""

    def run(self) -> list[nodes.Node]:
        """Return one definition for each column, that of the state with all states."""
        states = [
            f"\n  - `{name}`: {words}" for name, words in calls.ALL_STATES.items()
        ]
        told = [
            f"`{name}`\n: {words}.\n{''.join(states) if name == 'state' else ''}\n"
            for name, words in {**ABOUT_MACHINE, **calls.COLUMNS}.items()
        ]
        return self.parse_text_to_nodes("\n".join(told))
