"""What the explorer says of a call that is no chain of its own: the Atlas's facts.

They are written to ``_static/explorer_calls.js``, which the explorer's script loads
with the first touch, packed as its own data are: each outcome once, named by a letter.
"""

from __future__ import annotations

import json
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tensor_copies.atlas.page import Drawing
from tensor_copies.atlas.words import Record, memory_meaning
from tensor_copies.explorer.data import FACTS, FIRST_LETTER, Numbers
from tensor_copies.explorer.page import CALLS_DATA, renew_script

SUBJECTS = ("x", "a")  # a tensor, and an array that shares with one


def write_calls(app: Sphinx, _: BuildEnvironment) -> list[str]:
    """Write the calls; return the pages to write again, as their address is new."""
    metadata = app.env.metadata
    pages = [page for page in metadata if "has_explorer" in metadata[page]]
    if app.builder.format != "html" or not pages:
        return []
    packed = pack_calls(Drawing(app, pages[0]))
    text = json.dumps(packed, ensure_ascii=False, separators=(",", ":"))
    return pages if renew_script(app, CALLS_DATA, f"explorerCalls={text};\n") else []


def pack_calls(drawing: Drawing) -> dict[str, Any]:
    """Return the rows by their code: for each device a letter for each kind of x."""
    outcomes, rows = Numbers(), {}

    def letter(row: Record, record: Record | None) -> str:
        if record is None:
            return " "
        there = record["result_device"]
        moved = None if there is None else there != record["device"]
        known = {**record, "moved": moved}
        values = tuple(
            int(known[name]) if isinstance(known[name], bool) else known[name]
            for name in FACTS
        )
        if record["error"] is None:
            values += (memory_meaning(record, row["subject"]),)
        return chr(FIRST_LETTER + outcomes.number(values))

    for row in drawing.rows.values():
        if row["subject"] not in SUBJECTS:
            continue
        looks = drawing.on_cpu, drawing.on_another
        seen = [
            "".join(letter(row, look(row, kind)) for kind in drawing.kinds)
            for look in looks
        ]
        rows[row["code"]] = {
            "subject": row["subject"],
            "given": row["given"],
            "other": int(row["values"] == "other"),
            "says": f"{row['says']} ({row['source']['name']}.)" if row["says"] else "",
            "lesson": drawing.lesson_link(row)["uri"],
            "seen": seen,
        }
    return {
        "facts": [*FACTS, "means"],
        "states": drawing.kinds,
        "records": list(outcomes),
        "rows": rows,
    }
