"""The explorer's pictures: scenes of tensor_maps, drawn once of what the probes saw.

The probes hand over cells and which of them a name holds; here that becomes an
observation, as a look at live tensors would give it, as far as scenes are drawn of it.
The reader's browser gets each mark of SVG once, and each picture as numbers of marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import ceil, floor, prod
from typing import Any
from xml.sax.saxutils import quoteattr

from tensor_maps.pen import TEXT
from tensor_maps.scene import Drawing, draw_scene

from tensor_copies.explorer.data import FIRST_LETTER, SEVEN, Explorer, Numbers

WIDTH = 360.0
ITEM = 4  # bytes of an element: all are float32
SHAPE = [2, 3]  # of x
DEVICES = ("cpu", "device")  # what the explorer calls them

Row = list[float]


def picture(
    seen: dict[str, Any], memory_of_x: Row, places: tuple[str, str], write: str
) -> Drawing:
    """Return the picture of what a chain did.

    Parameters
    ----------
    seen
        What a chain did, from :meth:`Explorer.seen`.
    memory_of_x
        The memory of ``x`` before the call, shown where the chain raises.
    places
        What the devices of ``x`` and ``y`` are called.
    write
        ``"x"`` or ``"y"`` for the picture after the write through that name, else
        the empty string.
    """
    scene, raises = seen["scene"], {}
    if scene is None:
        # Read in order, the values of every x rise.
        held = sorted(range(len(memory_of_x)), key=memory_of_x.__getitem__)
        scene = {"cells": [memory_of_x], "holds": [held], "shape": SHAPE}
        raises = {"y": seen["error"].partition(":")[0]}
    changed = write and scene["writes"][write]["changed"]
    made = changed or [[]] * len(scene["cells"])
    observed = _observation(seen, scene, made, places)
    copies = [("x", "y")] if len(scene["cells"]) > 1 else []
    return draw_scene(observed, None, WIDTH, raises, copies, True, True)


def _observation(
    seen: dict[str, Any],
    scene: dict[str, Any],
    changed: list[list[int]],
    places: tuple[str, str],
) -> dict[str, Any]:
    """Return what the probes saw as ``observe`` of tensor_maps would tell it.

    Of the graph it has that a gradient flows from ``y`` to ``x``, where it does.
    """
    cells, holds = scene["cells"], scene["holds"]
    flows = seen["gradient_flows"]  # None: x did not require grad, none is drawn
    tensors = [
        _named_tensor("x", 0, requires_grad=flows is not None, is_leaf=not flows)
    ]
    if seen["same_object"]:
        tensors[0]["names"].append("y")
    elif len(holds) > 1:
        needs = flows is not None and bool(seen["requires_grad"])
        leaf = bool(seen["is_leaf"])
        own = _named_tensor("y", len(cells) - 1, requires_grad=needs, is_leaf=leaf)
        if seen["requires_grad"] is None:
            own["kind"] = "array" if holds[1] else "number"
        tensors.append(own | {"node": 1, "reaches": [0] if flows else []})
    shapes = [SHAPE, scene["shape"]]
    storages = [
        {
            "bytes": ITEM * len(row),
            "device": places[number],
            "addressed": number == 0 or tensors[-1]["kind"] != "number",
            "cells": [
                f"{SEVEN if at in new else cell:g}" for at, cell in enumerate(row)
            ],
            "changed": bool(new),
            "changed_cells": new,
            "windows": [
                {"tensor": at} | _cells_held(holds[at], shapes[at], len(row))
                for at, tensor in enumerate(tensors)
                if tensor["storage"] == number
            ],
        }
        for number, (row, new) in enumerate(zip(cells, changed, strict=True))
    ]
    nodes = [
        {"kind": "leaf", "label": "", "tensors": [0]},
        {"kind": "operation", "label": "", "tensors": [1]},
    ]
    flow = {"result": 1, "input": 0, "output": 0}
    return {
        "tensors": tensors,
        "storages": storages,
        "nodes": nodes[: len(tensors)],
        "edges": [flow] if flows and len(tensors) > 1 else [],
    }


def _named_tensor(name: str, storage: int, **autograd: bool) -> dict[str, Any]:
    return {
        "names": [name],
        "kind": "tensor",
        "dtype": "float32",
        "gradient": None,
        "version": 0,
        "node": 0,
        "storage": storage,
        "memory": "",
        "reaches": [],
        **autograd,
    }


def _cells_held(held: list[int], shape: list[int], length: int) -> dict[str, Any]:
    """Return which cells of a row a name holds, and in which shape."""
    held = held or [0]
    # How far it is to the next row, and to the next element.
    steps = [prod(shape[place + 1 :]) for place in range(len(shape))]
    strides = [held[step] - held[0] if step < len(held) else 1 for step in steps]
    ordered = sorted(held)
    begins = [at for at in ordered if at - 1 not in held]
    ends = [at + 1 for at in ordered if at + 1 not in held]
    return {
        "offset": held[0],
        "offset_bytes": ITEM * held[0],
        "shape": shape,
        "strides": strides,
        "runs": [[ITEM * one for one in run] for run in zip(begins, ends, strict=True)],
        "covers_all": len(held) == length,
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
    marks, rows, pictures, strong, other = (Numbers() for _ in range(5))
    tops, ends = [], []

    def number_of(drawing: Drawing) -> int:
        tops.append(drawing.top)
        ends.append(drawing.top + drawing.height)
        parts = [
            # A row is told from a mark by its sign.
            -1 - rows.number(tuple(map(marks.number, part)))
            if len(part) > 1
            else marks.number(part[0])
            for part in _in_rows(drawing.marks)
        ]
        return pictures.number((round(drawing.width), *parts))

    def pair(kind: Numbers, old: Drawing, new: Drawing) -> None:
        for one, another in zip(old.marks, new.marks, strict=True):
            if one != another:
                kind.number((marks.number(one), marks.number(another)))

    drawn = []
    for seen in data.outcomes:
        if seen["scene"] is None:
            continue
        places = DEVICES if seen["moved"] else (DEVICES[0],) * 2
        plain = picture(seen, [], places, "")
        drawn.append(number_of(plain))
        for write in "xy":
            if seen["scene"]["writes"][write]["changed"]:
                pair(strong, plain, picture(seen, [], places, write))
        if seen["moved"]:
            pair(other, plain, picture(seen, [], places[::-1], ""))
    raising: dict[str, dict[str, int]] = {}
    for device, state, chain in data:
        seen, memory = data.seen(device, state, chain), data.memory_of_x(device, state)
        if seen["scene"] is None:
            row = str(data.packed["lists"].index(memory))
            error = str(data.packed["texts"].index(seen["error"]))
            if error not in raising.setdefault(row, {}):
                made = picture(seen, memory, (DEVICES[0],) * 2, "")
                raising[row][error] = number_of(made)
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


def _in_rows(marks: list[str]) -> Iterator[list[str]]:
    """Go through marks: those of a row of cells, from opening to end, as one."""
    row: list[str] = []
    for mark in marks:
        row.append(mark)
        if not row[0].startswith('<g class="tm-row"') or mark == "</g>":
            yield row
            row = []
