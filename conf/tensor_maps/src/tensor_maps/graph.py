"""Walk the autograd graph behind tensors, and draw its operations as boxes in rows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import chain, islice, pairwise
from statistics import mean

import torch

from tensor_maps import pen
from tensor_maps.pen import EDGE, FAINT, INK, LINE, PAPER, SMALL
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

    def add(key: object, kind: str, *lines: str, tensor: int | None = None) -> int:
        if key not in place:
            place[key] = len(nodes)
            nodes.append({"kind": kind, "tensor": tensor, "lines": [*lines]})
        return place[key]

    starts = []
    for at, value in enumerate(objects):
        if isinstance(value, torch.Tensor):
            function = tried(lambda one=value: one.grad_fn)
            key = id(value) if function is None else (id(function), value.output_nr)
            starts.append((function, add(key, "tensor", tensor=at)))
    # All, and leaves too, are kept until the end: none gets the id of another.
    walk = functions_behind(function for function, _ in starts)
    held = [*islice(walk, MOST_WALKED)]
    operations = [one for one in held if node_name(one) != "AccumulateGrad"]
    shown = operations[:MOST_OPERATIONS]
    for function in shown:
        missing = sum(one is None for one, _ in function.next_functions)
        without = [f"{count_of(missing, 'input')} without grad"] * bool(missing)
        add(id(function), "operation", node_name(function), *without)
    for function, tensor in starts:
        if id(function) in place:
            edges.append([tensor, place[id(function)]])
    for function in shown:
        for following, output in function.next_functions:
            if following is None:
                continue
            end = place.get((id(following), output), place.get(id(following)))
            leaf = tried(lambda one=following: one.variable)
            if leaf is not None:
                held.append(leaf)
                end = add(id(leaf), "leaf", *_lines_of(see(leaf)))
            elif end is None:
                hidden = count_of(len(operations) - len(shown), "more node")
                end = add("more", "more", f"and {hidden}")
            edges.append([place[id(function)], end])
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
    """A node with lines of text, or (without) where an edge bends to pass a row.

    ``x`` is its centre, ``y`` its top, ``above`` what leads to it.
    """

    kind: str = ""
    lines: list[str] = field(default_factory=list)
    name: str = ""
    ink: str = FAINT
    x: float = ROOM / 2
    y: float = 0.0
    width: float = 2.0
    height: float = 0.0
    above: list["_Box"] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.lines:
            wide = [pen.safe_width(line, SMALL) for line in self.lines]
            if self.name:
                wide.append(pen.safe_width(self.name, bold=True) + PADDING)
            self.width = min(ROOM - 2 * EDGE, max(wide) + 2 * PADDING)
            self.height = len(self.lines) * LINE + 6 + NAME * bool(self.name)

    def marks(self) -> str:
        """Draw it. Colour is for memory: what a box is, its form says."""
        look = 'rx="4"' if self.kind in ("operation", "more") else 'rx="11"'
        size = self.x - self.width / 2, self.y, self.width
        drawn, fill = "", f'fill="{PAPER}"'
        if self.name:  # its tint is not on what lies below
            drawn = pen.rect(*size, self.height, f"{look} {fill}")
            fill = pen.tinted(self.ink)
        look += ' stroke-width="2.5"' if "leaf, grad" in "".join(self.lines) else ""
        if self.kind == "more" or "does not require grad" in self.lines:
            look += ' stroke-dasharray="4 3"'
        drawn += pen.rect(*size, self.height, f'{fill} stroke="{self.ink}" {look}')
        y = self.y + 14
        if self.name:
            drawn += pen.rect(*size, NAME, f'rx="{NAME / 2:g}" fill="{self.ink}"')
            style = {"bold": True, "fill": PAPER, "room": self.width - PADDING}
            drawn += pen.text_mark(self.name, self.x, self.y + 15.5, **style)
            y += NAME
        for number, line in enumerate(self.lines):
            down = y + number * LINE
            drawn += pen.text_mark(line, self.x, down, size=SMALL, room=self.width - 8)
        return drawn


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
    boxes, pairs = _boxes(observed), observed["graph"]["edges"]
    edges = Counter((boxes[source], boxes[target]) for source, target in pairs)
    marks = [_edge(path, edges[path[0], path[-1]]) for path in _place(boxes, edges)]
    marks += [box.marks() for box in boxes]
    wide = max((box.x + box.width / 2 for box in boxes), default=0.0) + EDGE
    high = max((box.y + box.height for box in boxes), default=0.0) + EDGE
    is_beside = width - wide - BESIDE >= LEAST_BESIDE
    right, down = (wide + BESIDE, 0.0) if is_beside else (0.0, high + BESIDE / 2)
    made = draw_scene(observed, None, width - right, raises, copies, arcs=False)
    place = pen.placed("translate({} {})", right, down - made.top)
    made.marks = [*marks, f'<g transform="{place}">', *made.marks, "</g>"]
    made.width = max(wide, right + made.width)
    made.height = max(high, down + made.height)
    made.top = 0.0
    if edges:
        said = "Gradients flow along the arrows of the graph."
        made.caption, made.words = f"{said} {made.caption}", f"{said} {made.words}"
    return made


def _boxes(observed: dict) -> list[_Box]:
    boxes, tensors = [], observed["tensors"]
    colours = colours_of(observed, range(len(tensors)))
    for node in observed["graph"]["nodes"]:
        box = _Box(node["kind"], node["lines"])
        if node["tensor"] is not None:
            seen = tensors[node["tensor"]]
            ink = colours.get(seen["storage"], FAINT)
            box = _Box("tensor", _lines_of(seen), ", ".join(seen["names"]), ink)
        boxes.append(box)
    return boxes


def _place(boxes: list[_Box], edges: Iterable[tuple[_Box, _Box]]) -> list[list[_Box]]:
    """Set boxes in rows, each near to what leads to it; return the paths of edges."""
    for source, target in edges:
        target.above.append(source)
    joined = {*chain(*edges)}
    order = TopologicalSorter({box: box.above for box in boxes}).static_order()
    row_of: dict[_Box, int] = {}
    used: Counter[int] = Counter()
    for box in sorted(order, key=lambda box: box not in joined):
        above = box.above if box in joined else joined
        row = 1 + max((row_of[one] for one in above), default=-1)
        while used[row] and used[row] + box.width > ROOM - 2 * EDGE:
            row += 1
        used[row] += box.width + BETWEEN
        row_of[box] = row
    paths = [[*edge] for edge in edges]
    for path in paths:
        source, target = path
        for row in range(row_of[source] + 1, row_of[target]):
            path.insert(-1, _Box(above=path[-2:-1]))
            row_of[path[-2]] = row
    y = EDGE
    for number in sorted({*row_of.values()}):
        row = [box for box, at in row_of.items() if at == number]
        near = {box: mean([one.x for one in box.above] or [ROOM / 2]) for box in row}
        row.sort(key=near.__getitem__)
        widths, high = [box.width for box in row], max(box.height for box in row)
        spots = pen.spread([near[box] for box in row], widths, BETWEEN, ROOM - 2 * EDGE)
        for box, x in zip(row, spots, strict=True):
            box.x, box.y, box.height = x + EDGE, y, box.height if box.lines else high
        y += high + BETWEEN_ROWS
    left = min((box.x - box.width / 2 for box in row_of), default=EDGE) - EDGE
    for box in row_of:
        box.x -= left
    return paths


def _edge(path: list[_Box], times: int) -> str:
    """Draw an arrow; an edge taken more than once is drawn as two or three lines."""
    marks, lines, target = "", min(3, times), path[-1]
    for line in range(lines):
        shift = (line - (lines - 1) / 2) * DOUBLE
        d = pen.placed("M{} {}", path[0].x + shift, path[0].y + path[0].height)
        for one, other in pairwise(path):
            x, end = one.x + shift, other.x + shift
            y, foot = one.y + one.height, other.y - 6 * (other is target)
            middle = (y + foot) / 2
            d += pen.placed("C{} {} {} {} {} {}", x, middle, end, middle, end, foot)
            d += pen.placed("V{}", foot + other.height) if other is not target else ""
        head = pen.placed("M{} {}", target.x + shift, target.y - 1)
        marks += f'{pen.line_mark(d, INK, 1.3)}<path d="{head}l-3.5-7h7z"/>'
    return marks
