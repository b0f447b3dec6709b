"""Draw the autograd graph: its operations, and the tensors as pills of their memory."""

from __future__ import annotations

import itertools

from tensor_maps.layout import (
    BETWEEN_BOXES,
    BETWEEN_LAYERS,
    NAME,
    NARROW,
    PADDING,
    Box,
    graph_of,
    lay_out,
)
from tensor_maps.pen import (
    EDGE,
    FAINT,
    INK,
    LINE,
    PAPER,
    SMALL,
    TEXT,
    rect,
    rounded,
    text_mark,
    tinted,
)

DOUBLE = 8.0  # pixels between the lines of an edge that is taken twice


def draw_graph(
    observed: dict, colours: dict[int | None, str]
) -> tuple[list[str], float, float]:
    """Return the marks of the graph, and its width and height."""
    marks: list[str] = []
    y, right, bottom = EDGE, 0.0, 0.0
    boxes, joins = graph_of(observed, colours)
    used = {box for pair in joins for box in pair}
    joined = [box for box in boxes if box in used]
    alone = [box for box in boxes if box not in used]
    if joined:
        rows, paths = lay_out(joined, joins)
        # What is not as wide as it may be begins at the left, as the boxes below.
        ends = [box.x - box.width / 2 for box in joined]
        for edge, path in paths.items():
            aside = DOUBLE if joins[edge] > 1 else 1
            ends += [bend.x + side for bend in path[1:-1] for side in (-aside, aside)]
        left = min(ends) - EDGE
        right = max(ends) - left
        for box in itertools.chain(*rows):
            box.x, box.y, box.row_end = box.x - left, box.y + y, box.row_end + y
        for edge, path in paths.items():
            _draw_edge(marks, path, joins[edge])
        y = rows[-1][0].row_end + BETWEEN_LAYERS - 6
    _place_alone(alone, y)
    for box in [*joined, *alone]:
        _draw_box(marks, box)
        right = max(right, box.x + box.width / 2)
        bottom = max(bottom, box.y + box.height)
    return marks, right + EDGE, bottom + EDGE


def _place_alone(alone: list[Box], y: float) -> None:
    """Set boxes without an arrow side by side, each in the first row with room."""
    rows: list[list[Box]] = []
    for box in alone:
        for row in rows:
            wide = sum(other.width + BETWEEN_BOXES for other in row)
            if wide + box.width <= NARROW - 2 * EDGE:
                row.append(box)
                break
        else:
            rows.append([box])
    for row in rows:
        left = EDGE
        for box in row:
            box.x, box.y = left + box.width / 2, y
            left += box.width + BETWEEN_BOXES
        y += max(box.height for box in row) + BETWEEN_BOXES


def _draw_box(marks: list[str], box: Box) -> None:
    # Colour is for memory: what a box is, its form says.
    form = {
        "leaf": 'rx="11" stroke-width="2.5"',
        "constant": 'rx="11" stroke-dasharray="4 3"',
        "result": 'rx="11"',
        "operation": 'rx="4"',
        "more": 'rx="4" stroke-dasharray="2 3"',
    }[box.kind]
    ink = box.colour or FAINT
    fill = tinted(ink) if box.name else f'fill="{PAPER}"'
    left, room = box.x - box.width / 2, box.width - 8
    look = f'{fill} stroke="{ink}" {form}'
    marks.append(rect(left, box.y, box.width, box.height, look))
    y = box.y
    if box.name:
        look = f'rx="{NAME / 2:g}" fill="{ink}"'
        marks.append(rect(left, y, box.width, NAME, look))
        marks.append(
            text_mark(
                box.name, box.x, y + 15.5, size=TEXT, bold=True, fill=PAPER,
                room=box.width - PADDING,
            )
        )  # fmt: skip
        y += NAME
    for number, line in enumerate(box.lines):
        marks.append(
            text_mark(line, box.x, y + 14 + number * LINE, size=SMALL, room=room)
        )


def _draw_edge(marks: list[str], path: list[Box], times: int) -> None:
    """Draw an arrow; an edge taken more than once is drawn as two or three lines.

    Across a row an edge runs straight down, where nothing but bends can be; it
    bends between the rows, where no box is.
    """
    start, target, lines = path[0], path[-1], min(3, times)
    for line in range(lines):
        shift = (line - (lines - 1) / 2) * DOUBLE
        x, y = rounded(start.x + shift), rounded(start.y + start.height)
        command = [f"M{x} {y}V{rounded(start.row_end)}"]
        for one, other in itertools.pairwise(path):
            x0, x1 = rounded(one.x + shift), rounded(other.x + shift)
            middle = rounded((one.row_end + other.y) / 2)
            curve_end, line_end = other.y, other.row_end
            if other is target:  # the head of the arrow begins there
                curve_end = line_end = other.y - 6
            command.append(
                f"C{x0} {middle} {x1} {middle} "
                f"{x1} {rounded(curve_end)}V{rounded(line_end)}"
            )
        head = f"M{rounded(target.x + shift)} {rounded(target.y - 1)}l-3.5-7h7z"
        line = f'fill="none" stroke="{INK}" stroke-width="1.3"'
        marks.append(f'<path d="{"".join(command)}" {line}/>')
        marks.append(f'<path d="{head}"/>')
