"""The steps of a lesson on another machine, as facts: what is kept of them, and how.

A step is kept without words and drawings: the site makes them, from what was seen, by
the same functions as those of its own steps. Much stays from step to step, so each
tensor, node, edge, storage and window that was seen is a row of a table, once, and a
look at them all is lists of the rows' numbers::

    {
      "schema": 1,
      "tables": {"tensors": {"columns": [...], "rows": [...]}, "nodes": ..., ...},
      "looks": [{"tensors": [0, 1], "nodes": [0], ..., "names": 2}],
      "steps": [{"first": 3, "last": 3, "differ": {"x": ["new"]}, "look": 0}]
    }

A step has of :data:`OFTEN_EMPTY` what is not empty.
Lines are those of the code that a reader of the page sees, without prose and markers:
where the keys of all blocks are the same, so are they.
"""

from __future__ import annotations

import json
from typing import Any

from tensor_copies.recordings.format import SCHEMA

TABLES = ("tensors", "nodes", "edges", "storages", "windows")
# What most steps have not, and what they have then.
OFTEN_EMPTY: dict[str, Any] = {
    "turn": [], "collapsed": False, "printed": "", "raised": "", "differ": {},
}  # fmt: skip
OF_LOOK = TABLES[:-1]  # a window is a part of a storage


def packed(facts: list[dict[str, Any]], number_of: dict[int, int]) -> dict[str, Any]:
    """Return what ``Steps.facts()`` returned as it is kept.

    ``number_of`` says for each line of the script, which of those that a reader sees
    it is.
    """
    rows: dict[str, dict[str, int]] = {name: {} for name in TABLES}

    def numbers(table: str, entries: list[dict[str, Any]]) -> list[int]:
        texts = [json.dumps(entry, sort_keys=True) for entry in entries]
        return [rows[table].setdefault(text, len(rows[table])) for text in texts]

    looks: dict[str, int] = {}
    steps = []
    for fact in facts:
        seen = dict(fact["seen"])
        seen["storages"] = [
            storage | {"windows": numbers("windows", storage["windows"])}
            for storage in seen["storages"]
        ]
        seen |= {name: numbers(name, seen[name]) for name in OF_LOOK}
        look = json.dumps(seen | {"names": fact["names"]})
        step = {name: number_of[fact[name]] for name in ("first", "last")}
        step |= {name: fact[name] for name in OFTEN_EMPTY if fact[name]}
        steps.append(step | {"look": looks.setdefault(look, len(looks))})
    return {
        "schema": SCHEMA,
        "tables": {name: _table(list(map(json.loads, rows[name]))) for name in TABLES},
        "looks": [json.loads(look) for look in looks],
        "steps": steps,
    }


def _table(entries: list[dict[str, Any]]) -> dict[str, Any]:
    columns = sorted(entries[0]) if entries else []
    rows = [[entry[name] for name in columns] for entry in entries]
    return {"columns": columns, "rows": rows}


def unpacked(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return kept steps as ``Steps.from_facts()`` takes them.

    Raises
    ------
    IndexError
        If they name a row or a look that there is not.
    """
    entries = {
        name: [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        for name, table in data["tables"].items()
    }
    for storage in entries["storages"]:
        storage["windows"] = [entries["windows"][at] for at in storage["windows"]]
    looks = []
    for look in data["looks"]:
        seen = {name: look[name] for name in look if name != "names"}
        seen |= {name: [entries[name][at] for at in look[name]] for name in OF_LOOK}
        looks.append({"seen": seen, "names": look["names"]})
    return [OFTEN_EMPTY | step | looks[step["look"]] for step in data["steps"]]


def as_text(data: dict[str, Any]) -> str:
    """Return packed steps as the text of their file: a line for each row and step."""

    def lines(items: list[Any]) -> str:
        return "[\n" + ",\n".join(_line(item) for item in items) + "\n]"

    tables = ",\n".join(
        f'"{name}": {{"columns": {_line(table["columns"])}, '
        f'"rows": {lines(table["rows"])}}}'
        for name, table in data["tables"].items()
    )
    return (
        f'{{"schema": {data["schema"]},\n"tables": {{\n{tables}\n}},\n'
        f'"looks": {lines(data["looks"])},\n"steps": {lines(data["steps"])}}}\n'
    )


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
