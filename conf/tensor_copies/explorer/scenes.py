"""The explorer's pictures: scenes of tensor_maps, drawn once of what the probes saw.

The probes hand over cells and which of them a name holds; here that becomes an
observation, as a look at live tensors would give it, as far as scenes are drawn of it.
The reader's browser gets each mark of SVG once, and each picture as numbers of marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import ceil, floor, prod
from typing import Any
from xml.sax.saxutils import quoteattr

from tensor_maps.pen import TEXT
from tensor_maps.scene import Drawing, draw_scene

from tensor_copies.explorer.data import FIRST_LETTER, SEVEN, Explorer, Numbers

WIDTH = 360.0
ONE_ROW = 216.0  # pixels: in which memories stand under each other
ITEM = 4  # bytes of an element: all are float32
SHAPE = [2, 3]  # of x
DEVICES = ("cpu", "device")  # what the explorer calls them
NEEDS = "requires_grad", "is_leaf"

Row = list[float]


def elsewhere(place: str) -> str:
    """Return the other device."""
    return DEVICES[place == DEVICES[0]]


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
    *on_the_way, _ = scene.get("between") or [None]
    names = ["x", *(one["code"] for one in on_the_way), "y"]
    copies = list(pairwise(names)) if len(scene["cells"]) > 1 else []
    width = ONE_ROW if on_the_way else WIDTH
    return draw_scene(observed, None, width, raises, copies, True, True)


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
    tensors = [_named_tensor("x", 0, requires_grad=flows is not None, is_leaf=True)]
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
        _storage(row, new, place)
        for row, new, place in zip(cells, changed, places, strict=False)
    ]
    for at, tensor in enumerate(tensors):
        row = storages[tensor["storage"]]
        row["windows"].append({"tensor": at} | _cells_held(holds[at], shapes[at], row))
    storages[-1]["addressed"] = tensors[-1]["kind"] != "number"
    flow = {"result": 1, "input": 0, "output": 0}
    observed = {
        "tensors": tensors,
        "storages": storages,
        "edges": [flow] if flows and len(tensors) > 1 else [],
    }
    if between := scene.get("between"):
        _put_between(observed, between, places[0])
    kinds = ["leaf"] + ["operation"] * (len(observed["tensors"]) - 1)
    observed["nodes"] = [
        {"kind": kind, "label": "", "tensors": [at]} for at, kind in enumerate(kinds)
    ]
    return observed


def _put_between(
    observed: dict[str, Any], between: list[dict[str, Any]], place: str
) -> None:
    """Put the memories that a chain makes on its way between those of x and y."""
    (x, y), (mine, own) = observed["tensors"], observed["storages"]
    *on_the_way, last = between
    tensors, storages = [x], [mine]
    for at, one in enumerate(on_the_way, 1):
        made = _named_tensor(one["code"], at, **{key: bool(one[key]) for key in NEEDS})
        made["kind"] = "array" if one["requires_grad"] is None else "tensor"
        tensors.append(made | {"reaches": [at - 1] if one["flows"] else []})
        row = _storage(one["cells"], [], elsewhere(place) if one["moved"] else place)
        held = _cells_held(one["holds"], one["shape"], row)
        storages.append(row | {"windows": [{"tensor": at} | held]})
    at = len(tensors)
    tensors.append(y | {"storage": at, "node": at, "reaches": []})
    if last["flows"]:
        tensors[at]["reaches"] = [at - 1]
    own["windows"][0]["tensor"] = at
    observed |= {"tensors": tensors, "storages": [*storages, own], "edges": []}


def _storage(cells: Row, changed: list[int], place: str) -> dict[str, Any]:
    return {
        "bytes": ITEM * len(cells),
        "device": place,
        "addressed": True,
        "cells": [
            f"{SEVEN if at in changed else cell:g}" for at, cell in enumerate(cells)
        ],
        "changed": bool(changed),
        "changed_cells": changed,
        "windows": [],
    }


def _named_tensor(name: str, storage: int, **autograd: bool) -> dict[str, Any]:
    return {
        "names": [name],
        "kind": "tensor",
        "dtype": "float32",
        "gradient": None,
        "version": 0,
        "node": storage,
        "storage": storage,
        "memory": "",
        "reaches": [],
        **autograd,
    }


def _cells_held(
    held: list[int], shape: list[int], storage: dict[str, Any]
) -> dict[str, Any]:
    """Return which cells of a memory a name holds, and in which shape."""
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
        "covers_all": len(held) == len(storage["cells"]),
        "is_low": True,  # all pictures stand in one frame
    }


def framed(frame: tuple[int, int, int], drawing: Drawing, label: str) -> str:
    """Return a picture as SVG, in the middle of the frame that all pictures have."""
    width, top, height = frame
    height = max(height, ceil(drawing.top + drawing.height) - top)
    left = (round(drawing.width) - width) / 2
    return (
        f'<svg viewBox="{left:g} {top} {width:g} {height}" role="img" '
        f"aria-label={quoteattr(label)} "
        f'fill="currentColor" font-size="{TEXT:g}">{"".join(drawing.marks)}</svg>'
    )


def pack_pictures(data: Explorer) -> dict[str, Any]:
    """Return all pictures as numbers of marks.

    ``marks`` are texts, each written once; the ``rows`` of cells are lists of numbers
    of marks, and so are ``pictures``, in which a row has the numbers behind those of
    the marks. A picture begins with its width and with where it ends, which is 0 for
    all that fit into the frame: not those with memories on the way. ``strong`` has for
    a cell's mark that of the same cell after a write: the cells that change are in the
    scenes. Where something is moved, the picture is that of an ``x`` on the CPU, and
    ``other`` has for the mark of a device that of the other one. ``drawn`` has a letter
    for each outcome that has a picture; ``raising`` are the pictures of what raises, by
    the row of ``x`` and the error.
    """
    marks, rows, pictures, strong, other = (Numbers() for _ in range(5))
    tops, ends = [], []

    def number_of(drawing: Drawing, *, is_tall: bool = False) -> int:
        end = drawing.top + drawing.height
        if not is_tall:
            tops.append(drawing.top)
            ends.append(end)
        parts = [
            # A row is told from a mark by its sign.
            -1 - rows.number(tuple(map(marks.number, part)))
            if len(part) > 1
            else marks.number(part[0])
            for part in _in_rows(drawing.marks)
        ]
        return pictures.number((round(drawing.width), ceil(end) * is_tall, *parts))

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
        between = seen["scene"]["between"]
        drawn.append(number_of(plain, is_tall=bool(between)))
        for write in "xy":
            if seen["scene"]["writes"][write]["changed"]:
                pair(strong, plain, picture(seen, [], places, write))
        if seen["moved"] or any(one["moved"] for one in between):
            away = elsewhere(places[0]), elsewhere(places[1])
            pair(other, plain, picture(seen, [], away, ""))
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
            [wide, end, *(len(at) - 1 - one if one < 0 else at[one] for one in parts)]
            for wide, end, *parts in pictures
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
        if not row[0].startswith('<g class="tm-row"') or mark == "</g></g>":
            yield row
            row = []
