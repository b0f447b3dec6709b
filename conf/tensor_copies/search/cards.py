"""The answer cards of the search: what each call of the Atlas does, in a few words.

A query that names calls is answered by their cards before any section is listed. Each
fact is the Atlas's; which calls a query names is decided in ``static/search/calls.js``.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from sphinx.application import Sphinx

from tensor_copies.atlas.lanes import SUBJECTS
from tensor_copies.atlas.page import PLAIN, Drawing
from tensor_copies.atlas.words import one_line, sign_of
from tensor_copies.explorer.page import address_of
from tensor_copies.explorer.signs import SIGNS, sheet
from tensor_copies.gallery.lessons import lesson_scripts

ATLAS = "atlas"
NO_GRAD_NEEDED = "constant"  # the x of a call that a leaf does not allow
OTHER_ORDER = "view"
COMPUTED = "nonleaf"
TENSORS = ("x", "z")  # what has a version counter
VERSION = "version"  # the mark of a fact without a sign
MEMORY = {
    "shares": "shares {x}'s memory",
    "itself": "returns {x} itself",
    "copies": "copies",
    "moves": "returns {x} itself, moved",
}
Record = dict[str, Any]


def cards(app: Sphinx) -> dict[str, Any]:
    """Return a card for each row of the Atlas, and the drawings of their signs.

    A card: the row's anchor, its code and tensor, facts (each a sign and its words:
    memory, gradient, new bytes, version counter), notes, the lesson, and the call's
    name in an address of the explorer, empty if it has none.
    """
    if ATLAS not in app.env.found_docs:
        return {}
    root = app.config.root_doc
    drawing = Drawing(app, ATLAS)
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"][0]
    made = []
    for row in drawing.rows.values():
        facts, notes = _facts(drawing, row)
        lesson = f"{gallery}/{row['lesson']}"
        known = lesson in lesson_scripts(app)
        made.append([
            row["id"], one_line(row["code"]), row["subject"], facts, notes,
            app.builder.get_target_uri(lesson) if known else "",
            _in_explorer(address_of(app, root, row["code"])) or _as_lane(row),
        ])  # fmt: skip
    return {
        "cards": made,
        "signs": str(sheet({f"card-{sign}": [sign] for sign in SIGNS})),
    }


def _as_lane(row: Record) -> str:
    """Return how the explorer's address names a call that is no chain of its own."""
    return row["code"] if row["subject"] in SUBJECTS else ""


def _in_explorer(address: str | None) -> str:
    return parse_qs(urlsplit(address).query)["y"][0] if address else ""


def _facts(drawing: Drawing, row: Record) -> tuple[list[list[str]], list[str]]:
    """Return what a call does for the first x that it takes, and where that differs."""
    x, states = row["subject"], row["states"]
    state = PLAIN if PLAIN in states else states[0]
    seen, notes = drawing.on_cpu(row, state), []
    if seen is None:
        return [], ["needs a second device"]
    if seen["error"] is not None and NO_GRAD_NEEDED in states:
        plain = drawing.on_cpu(row, NO_GRAD_NEEDED)
        if plain is not None and plain["error"] is None:
            notes.append(f"{_raised(seen)} if {x} requires grad")
            seen, state = plain, NO_GRAD_NEEDED
    facts = _of(seen, x)
    if row["values"] and facts[0][0] == "copies":
        facts[0][1] = "new memory, other values"
    if seen["error"] is not None:
        return facts, notes
    if COMPUTED in states and state == PLAIN:
        computed = drawing.on_cpu(row, COMPUTED)
        if computed is not None and computed["error"] is not None:
            notes.append(f"{_raised(computed)} if {x} is the result of an operation")
    if OTHER_ORDER in states and state != OTHER_ORDER:
        note = _other(drawing.on_cpu(row, OTHER_ORDER), seen, x)
        notes += [f"{note} if {x} is transposed"] if note else []
    away = drawing.on_another(row, state)
    note = _other(away, seen, x)
    notes += [f"{note} if {x} is on a GPU{drawing.which()}"] if note else []
    return facts, notes


def _of(seen: Record, x: str) -> list[list[str]]:
    if seen["error"] is not None:
        return [["raises", _raised(seen)]]
    memory, *gradient = sign_of(seen)
    facts = [[memory, MEMORY[memory].format(x=x)]]
    facts += [[sign, SIGNS[sign]] for sign in gradient]
    if (size := seen["new_bytes"]) is not None:
        facts.append(["", f"{size} new bytes"])
    if (said := _version(seen, x)) is not None:
        facts.append([VERSION, said])
    return facts


def _version(seen: Record, x: str) -> str | None:
    """Say whether autograd can notice a write: this one, or one into the result."""
    if x not in TENSORS:
        return None
    if seen["writes_x"]:
        raised, who = bool(seen["version_raised"]), ""
    elif seen["shares_memory"] and not seen["same_object"]:
        raised, who = seen["shares_version"], "a write to it "
    else:
        return None
    if raised is None:
        return None
    does = "increments" if raised else "doesn't increment"
    return f"{who}{does} {x}'s version counter"


def _other(other: Record | None, seen: Record, x: str) -> str:
    """Say what another x does to memory, if that differs."""
    if other is None:
        return ""
    ours, theirs = (_of(one, x)[0] for one in (seen, other))
    return "" if ours == theirs else theirs[1]


def _raised(seen: Record) -> str:
    return f"raises {seen['error'].partition(':')[0]}"
