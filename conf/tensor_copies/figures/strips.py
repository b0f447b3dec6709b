"""The strip: the small form of a tensor map, for cards and where a link is shared.

It has the explorer's signs: a row of cells for each memory, a name tag on a stem for
each tensor on it, an arrow back for the gradient or a bar where it stops, and a dashed
arrow from what was copied to its copy. All of it is taken from the observation that
the map is drawn from; "copied" is said where the autograd graph says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensor_maps.compare import onward_of
from tensor_maps.pen import (
    CELL,
    MIDDLE,
    TAG,
    Pen,
    cells_width,
    tag_width,
    text_width,
)
from tensor_maps.words import COLOURS

# At most as wide as the narrowest card: there a strip's letters are 12 pixels high.
WIDTH, EDGE = 216.0, 2.0
ARC, STEM, LEAST, LEAST_OF_MANY = 40.0, 12.0, 52.0, 32.0
BETWEEN, BESIDE_COPY, BESIDE_SIGN = 8.0, 60.0, 60.0
MOST_TAGS = 4  # on one memory
COPIES = {"CloneBackward0", "ToCopyBackward0", "CopyBackwards"}
STOP = "var(--status-wrong, #9c1f18)"
MUTED = "var(--color-foreground-muted, #6b6f76)"

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Strip:
    """A drawing without a frame, its words, and whether it is of "shared" memory."""

    words: str
    width: float
    height: float
    marks: str
    shows: str


@dataclass
class _Row:
    """A memory: the tensors on it with the widths of their tags, and its place."""

    storage: dict[str, Any]
    tags: dict[int, float]
    cells: float
    least: float
    apart: float = BETWEEN
    left: float = 0.0
    colour: str = MUTED

    @property
    def tagged(self) -> float:
        return sum(self.tags.values()) + self.apart * (len(self.tags) - 1)

    @property
    def width(self) -> float:
        return max(self.least, self.tagged, self.cells)

    def stems(self) -> dict[int, float]:
        """Return where the stem of each tensor stands."""
        x, found = self.left + (self.width - self.tagged) / 2, {}
        for tensor, wide in self.tags.items():
            found[tensor] = x + wide / 2
            x += wide + self.apart
        return found


def strip(observed: dict[str, Any]) -> Strip:
    """Draw the memories of a map that are shared or copied, or all that fit.

    ``observed`` is what ``observe`` or ``changed`` of tensor_maps returned.
    The strip is at most ``WIDTH`` wide, and its colours are the page's.
    """
    copies = _copies(observed)
    rows = _rows(observed, copies)
    shown = {tensor for row in rows for tensor in row.tags}
    copies = [pair for pair in copies if shown.issuperset(pair)]
    flows, stops = _flows(observed, shown), _stops(observed, rows)
    told = [row for row in rows if len(rows) < 3 or len(row.tags) > 1]
    for row, colour in zip(told, COLOURS, strict=False):
        row.colour = colour
    _place(rows, copies, flows + stops)
    at = {tensor: x for row in rows for tensor, x in row.stems().items()}
    top = ARC if flows or stops else EDGE
    below = top + TAG + STEM
    pen = Pen()
    for row in rows:
        pen.cells(row.storage, row.left, below, row.width, row.colour)
        for tensor, wide in row.tags.items():
            x, stem = at[tensor], f"M{at[tensor]:g} {top + TAG:g}v{STEM:g}"
            pen.line(stem, f'stroke="{row.colour}" stroke-width="2"')
            pen.tag(_name(observed, tensor), x - wide / 2, top, wide, row.colour)
    row_of = {tensor: row for row in rows for tensor in row.tags}
    for source, copy in copies:
        pen.marks.append(_copied(row_of[source], row_of[copy], below + CELL / 2))
    pen.marks += [_arrow(at[start], at[end], top - 3) for start, end in flows]
    pen.marks += [_bar(at[start], at[end], top - 3) for start, end in stops]
    signs = [("no gradient", STOP, pair) for pair in stops]
    signs += [("gradient", MUTED, pair) for pair in flows[:1]]
    _name_signs(pen, [(*sign, (at[a] + at[b]) / 2) for *sign, (a, b) in signs])
    words = _words(observed, rows, copies, flows, stops)
    shared = any(len(row.tags) > 1 for row in rows)
    shows = "shared" if shared else "copied" if copies else ""
    marks = f'<g font-family="monospace" font-size="12">{"".join(pen.marks)}</g>'
    return Strip(words, pen.right + EDGE, below + CELL + EDGE, marks, shows)


def _rows(observed: dict[str, Any], copies: Pairs) -> list[_Row]:
    rows = []
    for storage in observed["storages"]:
        room = WIDTH / 2 - EDGE
        tensors = [window["tensor"] for window in storage["windows"]][:MOST_TAGS]
        tags = {one: tag_width(_name(observed, one), room) for one in tensors}
        row = _Row(storage, tags, cells_width(storage, room), LEAST_OF_MANY)
        while row.tagged > WIDTH - 2 * EDGE:
            tags.popitem()
        rows.append(row)
    copied = {tensor for pair in copies for tensor in pair}
    told = [
        row
        for row in rows
        if len(row.tags) > 1
        or copied.intersection(row.tags)
        or "," in _name(observed, next(iter(row.tags)))
    ]
    if told and len(rows) > 2:
        rows = sorted(told, key=lambda row: len(row.tags), reverse=True)[:2]
        rows.sort(key=lambda row: observed["storages"].index(row.storage))
    for source, copy in copies:  # a copy stands right of what it was made from
        if len(rows) == 2 and source in rows[1].tags and copy in rows[0].tags:
            rows.reverse()
    while len(rows) > 1 and _width(rows, BETWEEN) > WIDTH - 2 * EDGE:
        rows.pop()
    for row in rows if len(rows) < 3 else []:
        row.least = LEAST
    return rows


def _width(rows: list[_Row], between: float) -> float:
    return sum(row.width for row in rows) + between * (len(rows) - 1)


def _place(rows: list[_Row], copies: Pairs, signs: Pairs) -> None:
    """Set the rows side by side, with room for the signs between."""
    for row in rows:
        if any({start, end} <= set(row.tags) for start, end in signs):
            row.apart = BESIDE_SIGN
            if _width(rows, BETWEEN) > WIDTH - 2 * EDGE:
                row.apart = BETWEEN
    between = BESIDE_COPY if copies else 2 * BETWEEN
    spare = WIDTH - 2 * EDGE - _width(rows, 0)
    between = min(between, spare / max(1, len(rows) - 1))
    left = EDGE
    for row in rows:
        row.left = left
        left += row.width + between


def _copies(observed: dict[str, Any]) -> Pairs:
    """Return each tensor that the graph says was copied, with its copy."""
    nodes, found = observed["nodes"], []
    for edge in observed["edges"]:
        copies = nodes[edge["result"]]["tensors"]
        sources = [
            tensor
            for tensor in nodes[edge["input"]]["tensors"]
            if observed["tensors"][tensor]["output"] == edge["output"]
        ]
        if nodes[edge["result"]]["label"] in COPIES and copies and sources:
            found.append((sources[0], copies[0]))
    return found


def _flows(observed: dict[str, Any], shown: set[int]) -> Pairs:
    """Return from which shown tensor to which next one a gradient flows."""
    onward = onward_of(observed)
    found = []
    for start in sorted(shown):
        first = observed["tensors"][start]["node"]
        seen, todo = {first}, list(onward.get(first, ()))
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            ends = shown.intersection(observed["nodes"][node]["tensors"])
            found += [(start, end) for end in sorted(ends)]
            todo += [] if ends else onward.get(node, ())
    return list(dict.fromkeys(found))


def _stops(observed: dict[str, Any], rows: list[_Row]) -> Pairs:
    """Return what shares the memory of a tensor with a gradient, and has none."""
    found = []
    for row in rows:
        needs = [n for n in row.tags if observed["tensors"][n]["requires_grad"]]
        without = [one for one in row.tags if one not in needs]
        found += [(without[-1], needs[0])] if needs and without else []
    return found


def _name(observed: dict[str, Any], tensor: int) -> str:
    return ", ".join(observed["tensors"][tensor]["names"])


def _words(
    observed: dict[str, Any],
    rows: list[_Row],
    copies: Pairs,
    flows: Pairs,
    stops: Pairs,
) -> str:
    told = []
    for row in rows:
        names = [_name(observed, one) for one in row.tags]
        what = "are on one memory" if len(names) > 1 else "has a memory of its own"
        told.append(f"{' and '.join(names)} {what}.")
    name = {one: _name(observed, one) for row in rows for one in row.tags}
    told += [f"{name[copy]} was copied from {name[source]}." for source, copy in copies]
    told += [f"A gradient flows from {name[a]} to {name[b]}." for a, b in flows]
    told += [f"No gradient flows from {name[a]} to {name[b]}." for a, b in stops]
    return " ".join(told)


# What is drawn ----------------------------------------------------------------------


def _copied(source: _Row, copy: _Row, y: float) -> str:
    left, right = source.left + source.width + 4, copy.left - 4
    label = ""
    if right - left >= BESIDE_COPY - 2 * BETWEEN:
        place = f'x="{(left + right) / 2:g}" y="{y - 8:g}"'
        label = f'<text {place}{MIDDLE} fill="{MUTED}">copied</text>'
    return (
        f'<path d="M{left:g} {y:g}H{right - 2:g}" {_line(MUTED)} '
        f'stroke-dasharray="4 4"/><path d="M{right - 7:g} {y - 5:g}l7 5l-7 5" '
        f"{_line(MUTED)}/>{label}"
    )


def _name_signs(pen: Pen, signs: list[tuple[str, str, float]]) -> None:
    """Write in one line what the signs above the tags are, where there is room."""
    taken: list[tuple[float, float]] = []
    for text, colour, middle in signs:
        half = text_width(text) / 2
        x = min(max(middle, EDGE + half), WIDTH - EDGE - half)
        if all(x + half <= left or right <= x - half for left, right in taken):
            pen.text(text, x, 12, f'{MIDDLE} fill="{colour}"')
            taken.append((x - half, x + half))


def _arrow(start: float, end: float, y: float) -> str:
    high = y - 24
    path = f"M{start:g} {y:g}C{start:g} {high:g} {end:g} {high:g} {end:g} {y - 2:g}"
    head = f"M{end - 5:g} {y - 8:g}l5 7l5-7"
    return f'<path d="{path}{head}" {_line("currentColor")}/>'


def _bar(start: float, end: float, y: float) -> str:
    middle, side = (start + end) / 2, 8 if start > end else -8
    path = f"M{start:g} {y:g}Q{start:g} {y - 14:g} {middle + side:g} {y - 14:g}"
    return (
        f'<path d="{path}" {_line(MUTED)} stroke-dasharray="4 4"/>'
        f'<path d="M{middle:g} {y - 20:g}v14" stroke="{STOP}" stroke-width="3"/>'
    )


def _line(colour: str) -> str:
    return f'fill="none" stroke="{colour}" stroke-width="2"'
