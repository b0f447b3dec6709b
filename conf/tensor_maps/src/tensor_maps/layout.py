"""Lay out the autograd graph: boxes in rows, and the ways between them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter

from tensor_maps.pen import EDGE, LINE, SAFE, SMALL, text_width
from tensor_maps.words import (
    as_tuple,
    constant_of,
    count_of,
    listing,
    more_of,
)

NARROW = 280.0  # pixels: this wide a graph fits a phone of 320
PADDING, NAME = 7.0, 22.0
BETWEEN_BOXES, BETWEEN_LAYERS, LANE_OF_EDGE = 10.0, 26.0, 2.0


@dataclass(eq=False)
class Box:
    """A tensor or an operation with lines of text, or a bend of an edge past a row.

    A tensor has a ``name`` and the ``colour`` of its memory. ``x`` is the centre,
    ``y`` the top and that of its row, ``row_end`` the foot of the row.
    """

    kind: str
    lines: list[str] = field(default_factory=list)
    name: str = ""
    colour: str = ""
    x: float = 0.0
    y: float = 0.0
    row_end: float = 0.0

    @cached_property
    def width(self) -> float:
        """Pixels across."""
        if self.kind == "bend":
            return LANE_OF_EDGE
        wide = [SAFE * text_width(line, SMALL) for line in self.lines]
        if self.name:
            wide.append(SAFE * text_width(self.name, bold=True) + PADDING)
        return min(NARROW - 2 * EDGE, max(wide, default=0.0) + 2 * PADDING)

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        if self.kind == "bend":
            return 0.0
        lines = len(self.lines) * LINE + 6 * bool(self.lines)
        return lines + (NAME if self.name else 0)


# How often two boxes are joined, from result to input; and all that an edge passes.
_Joins = Counter[tuple[Box, Box]]
_Paths = dict[tuple[Box, Box], list[Box]]


def graph_of(
    observed: dict, colours: dict[int | None, str]
) -> tuple[list[Box], _Joins]:
    """Return a box per node, on an operation those of the tensors that came from it.

    ``colours`` are those of the memories, by number. An edge to an output with a tensor
    passes through the tensor.
    """
    boxes: list[Box] = []
    joins: _Joins = Counter()

    def add(kind: str, lines: list[str], name: str = "", colour: str = "") -> Box:
        boxes.append(Box(kind, lines, name, colour))
        return boxes[-1]

    def add_tensor(seen: dict, kind: str) -> Box:
        name = ", ".join(seen["names"]) or "(no name)"
        colour = colours.get(seen["storage"], "")
        return add(kind, _tensor_lines(seen, kind), name, colour)

    # Of each node its box and, by output, those of its tensors.
    place: list[tuple[Box, dict[int, Box]]] = []
    for node in observed["nodes"]:
        seen = [observed["tensors"][number] for number in node["tensors"]]
        tensors: dict[int, Box] = {}
        if node["kind"] != "operation":
            place.append((add_tensor(seen[0], node["kind"]), tensors))
            continue
        above = [add_tensor(one, "result") for one in seen]
        lines = [node["label"]]
        if number := node["inputs_without_gradient"]:
            lines.append(f"{count_of(number, 'input')} without grad")
        pill = add("operation", lines)
        for one, box in zip(seen, above, strict=True):
            joins[box, pill] += 1
            tensors.setdefault(one["output"], box)
        place.append((pill, tensors))
    for edge in observed["edges"]:
        source, _ = place[edge["result"]]
        below, tensors = place[edge["input"]]
        joins[source, tensors.get(edge["output"], below)] += 1
    if observed["hidden_nodes"]:
        more = add("more", [f"and {more_of(observed)}"])
        for node, (box, _) in zip(observed["nodes"], place, strict=True):
            if node["hidden_inputs"]:
                joins[box, more] = 1
        for number in observed["hidden_to"]:
            joins[more, place[number][0]] = 1
    return boxes, joins


def _tensor_lines(seen: dict, kind: str) -> list[str]:
    value = seen["values"]
    lines = [value if value else f"shape {as_tuple(seen['shape'])}"]
    if kind == "leaf":
        gradient = seen["gradient"]
        lines.append(f"leaf, grad {gradient}" if gradient else "leaf, frozen now")
    elif kind == "constant":
        lines.append(constant_of(seen))
    elif seen["retains_grad"]:
        lines.append(f"grad kept {seen['gradient']}")
    marks = [w for w in seen.get("changed", ()) if w in ("values", "gradient")]
    if marks:
        lines.append(f"{listing(marks)} changed")
    return lines


def lay_out(boxes: list[Box], joins: _Joins) -> tuple[list[list[Box]], _Paths]:
    """Place joined boxes; return the rows, with bends, and the path of each edge."""
    room = NARROW - 2 * EDGE
    rows = _rows(boxes, joins, room)
    paths = _add_bends(rows, joins)
    # Boxes fit; with all that passes between them a row may be wider.
    room = max(room, *(_needed(row, LANE_OF_EDGE) for row in rows))
    pairs = dict.fromkeys(
        pair for path in paths.values() for pair in itertools.pairwise(path)
    )
    above, below = _neighbours(itertools.chain(*rows), pairs)
    _untangle(rows, above, below)
    _set_across(rows, above, below, room)
    top = 0.0
    for row in rows:
        end = top + max(box.height for box in row)
        for box in row:
            box.y, box.row_end = top, end
        top = end + BETWEEN_LAYERS
    return rows, paths


def _rows(boxes: list[Box], joins: _Joins, room: float) -> list[list[Box]]:
    """Give each box a row below all boxes that lead to it, where there is room."""
    room += BETWEEN_BOXES
    above, below = _neighbours(boxes, joins)
    used: Counter[int] = Counter()
    row_of: dict[Box, int] = {}

    def settle(box: Box, row: int) -> None:
        width = box.width + BETWEEN_BOXES
        while used[row] and used[row] + width > room:
            row += 1
        used[row] += width
        row_of[box] = row

    order = list(TopologicalSorter(above).static_order())
    for box in order:
        settle(box, 1 + max((row_of[one] for one in above[box]), default=-1))
    # What leads to a low box only is pulled down to it: the arrow gets short.
    for box in reversed(order):
        lowest = min((row_of[one] for one in below[box]), default=0) - 1
        width = box.width + BETWEEN_BOXES
        fits = used[lowest] + width <= room or not used[lowest]
        if lowest > row_of[box] and len(above[box]) <= len(below[box]) and fits:
            used[row_of[box]] -= width
            settle(box, lowest)
    # Moving can leave a row empty.
    return [
        [box for box in boxes if row_of[box] == row]
        for row in sorted(set(row_of.values()))
    ]


def _neighbours(
    boxes: Iterable[Box], pairs: Iterable[tuple[Box, Box]]
) -> tuple[dict[Box, list[Box]], dict[Box, list[Box]]]:
    above: dict[Box, list[Box]] = {box: [] for box in boxes}
    below: dict[Box, list[Box]] = {box: [] for box in above}
    for source, target in pairs:
        above[target].append(source)
        below[source].append(target)
    return above, below


def _add_bends(rows: list[list[Box]], joins: _Joins) -> _Paths:
    """Put a bend into each row that an edge passes; return the path of each edge.

    Long edges of one box share their bends, so that a box with forty inputs needs
    one lane between the boxes and not forty.
    """
    row_of = {box: number for number, row in enumerate(rows) for box in row}
    long = [(a, b) for a, b in joins if row_of[b] - row_of[a] > 1]
    leaving = Counter(source for source, _ in long)
    arriving = Counter(target for _, target in long)
    bends: dict[tuple[Box, int], Box] = {}
    paths: _Paths = {}
    for source, target in joins:
        shared = target if arriving[target] > leaving[source] else source
        path = [source]
        for row in range(row_of[source] + 1, row_of[target]):
            if (shared, row) not in bends:
                bends[shared, row] = Box("bend")
                rows[row].append(bends[shared, row])
            path.append(bends[shared, row])
        paths[source, target] = [*path, target]
    return paths


def _untangle(rows: list[list[Box]], above: dict, below: dict) -> None:
    """Order each row by where its neighbours stand, down and up a few times."""
    place = {box: at / len(row) for row in rows for at, box in enumerate(row)}

    def order(row: list[Box], beside: dict[Box, list[Box]]) -> None:
        def middle(box: Box) -> float:
            places = [place[other] for other in beside[box]]
            return sum(places) / len(places) if places else place[box]

        middles = {box: middle(box) for box in row}
        row.sort(key=middles.__getitem__)
        place.update({box: (at + 0.5) / len(row) for at, box in enumerate(row)})

    for _ in range(6):
        for row in rows:
            order(row, above)
        for row in reversed(rows):
            order(row, below)


def _set_across(rows: list[list[Box]], above: dict, below: dict, room: float) -> None:
    """Set the centre of each box: near its neighbours, nothing overlapping."""
    for box in above:
        box.x = room / 2
    for turn in range(12):
        for row in rows if turn % 2 == 0 else reversed(rows):
            wanted = []
            for box in row:
                beside = above[box] + below[box]
                wanted.append(sum(one.x for one in beside) / max(1, len(beside)))
            gap = min(BETWEEN_BOXES, (room - _needed(row, 0)) / len(row))
            widths = [box.width for box in row]
            for box, x in zip(row, spread(wanted, widths, gap, room), strict=True):
                box.x = x


def _needed(row: list[Box], gap: float) -> float:
    return sum(box.width for box in row) + gap * (len(row) - 1)


def spread(
    wanted: list[float], widths: list[float], gap: float, room: float
) -> list[float]:
    """Return centres near to ``wanted``, apart by widths and gap, within the room.

    Without the widths of those to the left, centres only have to ascend. Those that
    would not are pushed to the right, and to the left, and set half-way.
    """
    starts = [0.0, *itertools.accumulate(width + gap for width in widths)]
    half = [start + width / 2 for start, width in zip(starts, widths, strict=False)]
    slack = max(0.0, room - (starts[-1] - gap))
    free = [want - at for want, at in zip(wanted, half, strict=True)]
    right = itertools.accumulate(free, max)
    left = [*itertools.accumulate(reversed(free), min)][::-1]
    return [
        at + min(max((one + other) / 2, 0.0), slack)
        for at, one, other in zip(half, right, left, strict=True)
    ]
