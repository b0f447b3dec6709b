"""Walk the autograd graph behind tensors, and draw its operations as boxes in rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import islice, pairwise

import torch

from tensor_maps.pen import (
    EDGE,
    FAINT,
    INK,
    LINE,
    PAPER,
    SAFE,
    SMALL,
    line_mark,
    placed,
    rect,
    spread,
    text_mark,
    text_width,
    tinted,
)
from tensor_maps.reading import see, tried
from tensor_maps.scene import WIDTH, Drawing, draw_scene
from tensor_maps.story import colours_of
from tensor_maps.ways import MOST_WALKED, functions_behind, node_name
from tensor_maps.words import as_tuple, count_of

MOST_OPERATIONS = 40
ROOM = 280.0  # pixels: a graph as wide fits a phone of 320
PADDING, NAME, BETWEEN, BETWEEN_ROWS, DOUBLE = 7.0, 22.0, 10.0, 26.0, 8.0
BESIDE, LEAST_BESIDE = 32.0, 216.0  # between the graph and the memories; room for these


def see_graph(objects: list) -> dict:
    """Return the operations behind some tensors, at most 40, the nearest first.

    Returns
    -------
    dict
        ``nodes``: ``kind`` ("tensor", "operation", "leaf" for one without a name,
        "more"), ``tensor`` (an index in ``objects``, or None) and ``lines`` of text.
        ``edges``: pairs of indices of nodes, from result to input; one that is taken
        twice is there twice.
    """
    nodes: list[dict] = []
    edges: list[list[int]] = []
    place: dict[object, int] = {}  # of tensors and functions, by what finds them again

    def add(key: object, kind: str, lines: Iterable[str] = (), **tensor: int) -> int:
        if key not in place:
            place[key] = len(nodes)
            nodes.append({"kind": kind, "tensor": None, "lines": [*lines]} | tensor)
        return place[key]

    starts = {}
    for at, value in enumerate(objects):
        if isinstance(value, torch.Tensor):
            function = starts[at] = tried(lambda one=value: one.grad_fn)
            key = (id(function), value.output_nr) if function is not None else id(value)
            add(key, "tensor", tensor=at)
    both = functions_behind((one, None) for one in starts.values())
    held = [function for function, _ in islice(both, MOST_WALKED)]
    operations = [one for one in held if node_name(one) != "AccumulateGrad"]
    shown = {id(one): one for one in operations[:MOST_OPERATIONS]}
    for number, function in shown.items():
        missing = sum(one is None for one, _ in function.next_functions)
        without = [f"{count_of(missing, 'input')} without grad"] if missing else []
        add(number, "operation", [node_name(function), *without])
    for at, function in starts.items():
        if id(function) in shown:
            tensor = place[id(function), objects[at].output_nr]
            edges.append([tensor, place[id(function)]])
    hidden = len(operations) - len(shown)
    leaves = []  # are kept until the end: none gets the id of another
    for number, function in shown.items():
        for following, output in function.next_functions:
            leaf = tried(lambda one=following: one.variable)
            if following is None:
                continue
            if leaf is not None:
                leaves.append(leaf)
                end = add(id(leaf), "leaf", _lines_of(see(leaf)))
            else:
                end = place.get((id(following), output), place.get(id(following)))
            if end is None:
                end = add("more", "more", [f"and {count_of(hidden, 'more node')}"])
            edges.append([place[number], end])
    return {"nodes": nodes, "edges": edges}


def _lines_of(seen: dict) -> list[str]:
    lines = [seen["values"] or f"shape {as_tuple(seen['shape'])}"]
    if seen["is_leaf"] and seen["requires_grad"]:
        return [*lines, f"leaf, grad {seen['gradient']}"]
    if not seen["requires_grad"]:
        frozen = "leaf, frozen now" if seen["gradient"] else "does not require grad"
        return [*lines, "is an inference tensor" if seen["inference"] else frozen]
    return lines + [f"grad kept {seen['gradient']}"] * seen["retains_grad"]


@dataclass(eq=False)
class _Box:
    """A node with lines of text, or where an edge bends to pass a row.

    ``x`` is its centre, ``y`` its top.
    """

    kind: str
    lines: list[str]
    name: str = ""
    ink: str = FAINT
    x: float = ROOM / 2
    y: float = 0.0
    above: list[_Box] = field(default_factory=list)
    below: list[_Box] = field(default_factory=list)
    row_height: float = 0.0

    @property
    def width(self) -> float:
        """Pixels across."""
        if self.kind == "bend":
            return 2.0
        wide = [SAFE * text_width(line, SMALL) for line in self.lines]
        wide.append(SAFE * text_width(self.name, bold=True) + PADDING * bool(self.name))
        return min(ROOM - 2 * EDGE, max(wide) + 2 * PADDING)

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        if self.kind == "bend":
            return self.row_height
        return len(self.lines) * LINE + 6 + NAME * bool(self.name)

    def marks(self) -> str:
        """Draw it. Colour is for memory: what a box is, its form says."""
        left, y = self.x - self.width / 2, self.y
        form = 'rx="4"' if self.kind in ("operation", "more") else 'rx="11"'
        form += ' stroke-width="2.5"' if "leaf, grad" in "".join(self.lines) else ""
        is_constant = "does not require grad" in self.lines
        form += ' stroke-dasharray="4 3"' if is_constant or self.kind == "more" else ""
        fill = tinted(self.ink) if self.name else f'fill="{PAPER}"'
        size = left, y, self.width, self.height
        drawn = rect(*size, f'{form.split()[0]} fill="{PAPER}"') if self.name else ""
        drawn += rect(*size, f'{fill} stroke="{self.ink}" {form}')
        if self.name:
            look = f'rx="{NAME / 2:g}" fill="{self.ink}"'
            drawn += rect(left, y, self.width, NAME, look)
            look = {"bold": True, "fill": PAPER, "room": self.width - PADDING}
            drawn += text_mark(self.name, self.x, y + 15.5, **look)
            y += NAME
        for number, line in enumerate(self.lines):
            down = y + 14 + number * LINE
            drawn += text_mark(line, self.x, down, size=SMALL, room=self.width - 8)
        return drawn


_Pair = tuple[_Box, _Box]


def draw_graph(
    observed: dict,
    width: float = WIDTH,
    raises: Mapping[str, str] | None = None,
    copies: Iterable[tuple[str, str]] = (),
) -> Drawing:
    """Draw the graph of an observation, and the memories beside it, or below.

    The parameters are those of :func:`tensor_maps.scene.draw_scene`; ``observed`` has a
    ``graph``.
    """
    boxes, edges = _boxes(observed)
    paths = _place(boxes, edges)
    marks = [
        mark for pair, times in edges.items() for mark in _edge(paths[pair], times)
    ]
    marks += [box.marks() for box in boxes]
    wide = max((box.x + box.width / 2 for box in boxes), default=0.0) + EDGE
    high = max((box.y + box.height for box in boxes), default=0.0) + EDGE
    room = width - wide - BESIDE
    is_beside = room >= LEAST_BESIDE
    room = room if is_beside else width
    made = draw_scene(observed, None, room, raises, copies, arcs=False)
    right, down = (wide + BESIDE, 0.0) if is_beside else (0.0, high + BESIDE / 2)
    place = placed("translate({} {})", right, down - made.top)
    made.marks = [*marks, f'<g transform="{place}">', *made.marks, "</g>"]
    made.width = max(wide, right + made.width)
    made.height = max(high, down + made.height)
    made.top = 0.0
    if edges:
        said = "Gradients flow along the arrows of the graph."
        made.caption, made.words = f"{said} {made.caption}", f"{said} {made.words}"
    return made


def _boxes(observed: dict) -> tuple[list[_Box], Counter[_Pair]]:
    """Return a box per node, and how often two are joined."""
    colours = colours_of(observed, range(len(observed["tensors"])))
    boxes = []
    for node in observed["graph"]["nodes"]:
        box = _Box(node["kind"], node["lines"])
        if node["tensor"] is not None:
            seen = observed["tensors"][node["tensor"]]
            box.name, box.lines = ", ".join(seen["names"]), _lines_of(seen)
            box.ink = colours.get(seen["storage"], FAINT)
        boxes.append(box)
    pairs = observed["graph"]["edges"]
    edges = Counter((boxes[source], boxes[target]) for source, target in pairs)
    for source, target in edges:
        source.below.append(target)
        target.above.append(source)
    return boxes, edges


def _place(boxes: list[_Box], edges: Iterable[_Pair]) -> dict[_Pair, list[_Box]]:
    """Set boxes in rows, each near to what leads to it; return the paths of edges."""
    row_of: dict[_Box, int] = {}
    used: Counter[int] = Counter()
    order = [*TopologicalSorter({box: box.above for box in boxes}).static_order()]
    order.sort(key=lambda box: not (box.above or box.below))  # what is alone comes last
    for box in order:
        is_alone = not (box.above or box.below)
        above = (
            [one for one in row_of if one.below or one.above] if is_alone else box.above
        )
        row = 1 + max((row_of[one] for one in above), default=-1)
        while used[row] and used[row] + box.width > ROOM - 2 * EDGE:
            row += 1
        used[row] += box.width + BETWEEN
        row_of[box] = row
    paths = {}
    for source, target in edges:
        path = paths[source, target] = [source]
        for row in range(row_of[source] + 1, row_of[target]):
            path.append(_Box("bend", [], above=path[-1:]))
            row_of[path[-1]] = row
        path.append(target)
    y = EDGE
    for number in sorted({*row_of.values()}):
        row = [box for box, at in row_of.items() if at == number]
        near = {box: [one.x for one in box.above] or [ROOM / 2] for box in row}
        row.sort(key=lambda box: sum(near[box]) / len(near[box]))
        wanted = [sum(near[box]) / len(near[box]) for box in row]
        widths = [box.width for box in row]
        high = max(box.height for box in row)
        spots = spread(wanted, widths, BETWEEN, ROOM - 2 * EDGE)
        for box, x in zip(row, spots, strict=True):
            box.x, box.y, box.row_height = x + EDGE, y, high
        y += high + BETWEEN_ROWS
    left = min((box.x - box.width / 2 for box in row_of), default=EDGE) - EDGE
    for box in row_of:
        box.x -= left
    return paths


def _edge(path: list[_Box], times: int) -> list[str]:
    """Draw an arrow; an edge taken more than once is drawn as two or three lines."""
    marks, lines, target = [], min(3, times), path[-1]
    for line in range(lines):
        shift = (line - (lines - 1) / 2) * DOUBLE
        d = placed("M{} {}", path[0].x + shift, path[0].y + path[0].height)
        for one, other in pairwise(path):
            x, end = one.x + shift, other.x + shift
            y, foot = one.y + one.height, other.y - 6 * (other is target)
            middle = (y + foot) / 2
            d += placed("C{} {} {} {} {} {}", x, middle, end, middle, end, foot)
            d += placed("V{}", foot + other.height) if other is not target else ""
        marks.append(line_mark(d, INK, 1.3))
        head = target.x + shift, target.y - 1
        marks.append(f'<path d="{placed("M{} {}", *head)}l-3.5-7h7z"/>')
    return marks
