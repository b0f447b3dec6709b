"""The explorer's pictures: scenes of tensor_maps, drawn once of what the probes saw.

The probes hand over cells and which of them a name holds; here that becomes an
observation, as a look at live tensors would give it. The reader's browser gets each
mark of SVG once, and each picture as numbers of marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import ceil, floor
from typing import Any
from xml.sax.saxutils import quoteattr

from tensor_maps.draw import scene
from tensor_maps.pen import TEXT
from tensor_maps.scene import Drawing

from tensor_copies.explorer.data import FIRST_LETTER, SEVEN, Explorer

WIDTH = 360.0
ITEM = 4  # bytes of an element: all are float32
DEVICES = ("cpu", "device")  # what the explorer calls them

Seen = dict[str, Any]
Row = list[float]


def picture(seen: Seen, row_of_x: Row, places: tuple[str, str], write: str) -> Drawing:
    """Return the picture of what a chain did.

    Parameters
    ----------
    seen
        What a chain did, from :meth:`Explorer.seen`.
    row_of_x
        The memory of ``x`` before the call, shown where the chain raises.
    places
        What the devices of ``x`` and ``y`` are called.
    write
        ``"x"`` or ``"y"`` for the picture after the write through that name, else
        the empty string.
    """
    found = seen["scene"]
    if found is None:
        held = list(range(len(row_of_x)))
        rows, holds, changed = [row_of_x], [held], None
    else:
        rows, holds = found["cells"], found["holds"]
        changed = found["writes"][write]["changed"] if write else None
    raised = {} if found else {"y": seen["error"].partition(":")[0]}
    observed = observation(seen, rows, holds, changed, places)
    copies = [("x", "y")] if len(rows) > 1 else []
    return scene(
        observed, width=WIDTH, raises=raised, copies=copies, graph=False, steady=True
    )


def observation(
    seen: Seen,
    rows: list[Row],
    holds: list[list[int]],
    changed: list[list[int]] | None,
    places: tuple[str, str],
) -> dict[str, Any]:
    """Return what the probes saw as ``observe`` of tensor_maps would tell it.

    Of the graph it has that a gradient flows from ``y`` to ``x``, where it does.
    """
    flows = seen["gradient_flows"]  # None: x did not require grad, none is drawn
    first = _tensor("x", 0, requires_grad=flows is not None, is_leaf=not flows)
    tensors, storages = [first], []
    nodes = [{"kind": "leaf", "label": "", "tensors": [0]}]
    if seen["same_object"]:
        first["names"].append("y")
    elif len(holds) > 1:
        needs = flows is not None and bool(seen["requires_grad"])
        leaf = bool(seen["is_leaf"])
        own = _tensor("y", len(rows) - 1, requires_grad=needs, is_leaf=leaf)
        if seen["requires_grad"] is None:
            own["kind"] = "array" if holds[1] else "number"
        tensors.append(own | {"node": 1})
        label = seen["grad_fn"] or ""
        nodes.append({"kind": "operation", "label": label, "tensors": [1]})
    for number, row in enumerate(rows):
        new = changed[number] if changed else []
        cells = [f"{SEVEN if at in new else cell:g}" for at, cell in enumerate(row)]
        storages.append(
            {
                "bytes": ITEM * len(row),
                "device": places[number],
                "dtype": "float32",
                "mapped": 1,
                "addressed": tensors[-1]["kind"] != "number" or number == 0,
                "cells": cells,
                "changed": bool(new),
                "changed_cells": new,
                "windows": [
                    _window(tensor, holds[tensor], row, rows[0], holds[0])
                    for tensor, one in enumerate(tensors)
                    if one["storage"] == number
                ],
            }
        )
    if flows == 1 and len(tensors) > 1:
        tensors[1]["reaches"] = [0]
    edges = [{"result": 1, "input": 0, "output": 0}] if flows == 1 else []
    for node in nodes:
        node |= {"inputs_without_gradient": 0, "hidden_inputs": 0}
    return {
        "format": 2,
        "tensors": tensors,
        "nodes": nodes[: len(tensors)],
        "edges": edges[: len(tensors) - 1],
        "hidden_nodes": 0,
        "hidden_to": [],
        "storages": storages,
        "notes": [],
        "walk_ended": False,
    }


def _tensor(name: str, storage: int, **autograd: bool) -> dict[str, Any]:
    return {
        "names": [name],
        "kind": "tensor",
        "shape": [],
        "dtype": "float32",
        "device": "cpu",
        "values": None,
        "digest": None,
        "retains_grad": False,
        "inference": False,
        "gradient": None,
        "version": 0,
        "node": 0,
        "output": 0,
        "storage": storage,
        "memory": "",
        "reaches": [],
        "reaches_unnamed": 0,
        "reaches_more": False,
        "parameter": False,
        **autograd,
    }


def _window(
    tensor: int, held: list[int], row: Row, row_of_x: Row, held_by_x: list[int]
) -> dict[str, Any]:
    """Return which cells of a row a name holds, and in which shape.

    ``x`` is a matrix of 2 × 3; the calls turn it, take its first row, or copy it.
    """
    held = held or [0]
    shape, strides = [len(held)], [held[1] - held[0] if len(held) > 1 else 1]
    if len(held) == len(held_by_x):
        values = [row[at] for at in held]
        turned = tensor and values != [row_of_x[at] for at in held_by_x]
        shape = [3, 2] if turned else [2, 3]
        strides = [held[shape[1]] - held[0], held[1] - held[0]]
    elif len(held) == 1:
        shape, strides = [], []
    runs: list[list[int]] = []
    for at in sorted(held):
        if runs and runs[-1][1] == ITEM * at:
            runs[-1][1] += ITEM
        else:
            runs.append([ITEM * at, ITEM * (at + 1)])
    return {
        "tensor": tensor,
        "offset": held[0],
        "offset_bytes": ITEM * held[0],
        "shape": shape,
        "strides": strides,
        "stride_bytes": [ITEM * step for step in strides],
        "runs": runs,
        "covers_all": len(held) == len(row),
    }


def framed(data: Explorer, drawing: Drawing, label: str) -> str:
    """Return a picture as SVG, in the middle of the frame that all pictures have."""
    width, top, height = pack_pictures(data)["frame"]
    left = (round(drawing.width) - width) / 2
    return (
        f'<svg viewBox="{left:g} {top} {width:g} {height}" role="img" '
        f"aria-label={quoteattr(label)} "
        f'fill="currentColor" font-size="{TEXT:g}">{"".join(drawing.marks)}</svg>'
    )


@cache
def pack_pictures(data: Explorer) -> dict[str, Any]:
    """Return all pictures as numbers of marks.

    ``marks`` are texts, each written once; the ``rows`` of cells are lists of numbers
    of marks, and so are ``pictures``, in which a row has the numbers behind those of
    the marks. A picture begins with its width. ``strong`` has for a cell's mark that
    of the same cell after a write: the cells that change are in the scenes. Where ``y``
    is moved, the picture is that of an ``x`` on the CPU, and ``other`` has for the mark
    of a device that of the other one. ``drawn`` has a letter for each outcome that has
    a picture; ``raising`` are the pictures of what raises, by the row of ``x`` and the
    error.
    """
    marks, rows, pictures, strong, other = (_Numbers() for _ in range(5))
    tops, ends = [], []

    def number_of(drawing: Drawing) -> int:
        tops.append(drawing.top)
        ends.append(drawing.top + drawing.height)
        parts = [
            # A row is told from a mark by its sign.
            -1 - rows.number(tuple(map(marks.number, part)))
            if len(part) > 1
            else marks.number(part[0])
            for part in _parts(drawing.marks)
        ]
        return pictures.number((round(drawing.width), *parts))

    def pair(kind: _Numbers, olds: Drawing, news: Drawing) -> None:
        for old, new in zip(olds.marks, news.marks, strict=True):
            if old != new:
                kind.number((marks.number(old), marks.number(new)))

    drawn = []
    for seen in data.outcomes():
        if seen["scene"] is None:
            continue
        places = places_of(seen)
        plain = picture(seen, [], places, "")
        drawn.append(number_of(plain))
        for write in "xy":
            pair(strong, plain, picture(seen, [], places, write))
        if seen["moved"]:
            pair(other, plain, picture(seen, [], places[::-1], ""))
    raising: dict[str, dict[str, int]] = {}
    for row, error, seen in _raised(data):
        made = picture(seen, data.packed["lists"][row], (DEVICES[0],) * 2, "")
        raising.setdefault(str(row), {})[str(error)] = number_of(made)
    # In this order what is alike stands side by side: so it is packed best.
    ordered = sorted(marks)
    at = {marks[mark]: place for place, mark in enumerate(ordered)}
    return {
        "marks": ordered,
        "rows": [[at[mark] for mark in row] for row in rows],
        "pictures": [
            [width, *(len(at) - 1 - one if one < 0 else at[one] for one in parts)]
            for width, *parts in pictures
        ],
        "strong": [[at[old], at[new]] for old, new in strong],
        "other": [[at[old], at[new]] for old, new in other],
        "frame": [WIDTH, floor(min(tops)), ceil(max(ends)) - floor(min(tops))],
        "drawn": "".join(chr(FIRST_LETTER + one) for one in drawn),
        "raising": raising,
    }


class _Numbers(dict):
    """Things that are written once, each with its number."""

    def number(self, thing: Any) -> int:
        return self.setdefault(thing, len(self))


def _parts(marks: list[str]) -> Iterator[list[str]]:
    """Go through marks: those of a row of cells, from opening to end, as one."""
    row: list[str] = []
    for mark in marks:
        if row or mark.startswith('<g class="tm-row"'):
            row.append(mark)
            if mark == "</g>":
                yield row
                row = []
        else:
            yield [mark]


def places_of(seen: Seen) -> tuple[str, str]:
    """Return where x and y are: without a move the picture names no device."""
    return DEVICES if seen["moved"] else (DEVICES[0],) * 2


def _raised(data: Explorer) -> Iterator[tuple[int, int, Seen]]:
    """Go through the rows of x with the errors that were raised for them."""
    met = set()
    for device, state, chain in data:
        seen = data.seen(device, state, chain)
        if seen["scene"] is not None:
            continue
        row = data.row_of_x(device, state)
        error = data.packed["texts"].index(seen["error"])
        if (row, error) not in met:
            met.add((row, error))
            yield row, error, seen
