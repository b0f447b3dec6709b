"""Draw what was observed: the graph, and beside it the memory."""

from __future__ import annotations

import itertools
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from tensor_maps.layout import Box, graph_of, lay_out
from tensor_maps.pen import (
    BADGE,
    BETWEEN_BOXES,
    BETWEEN_LAYERS,
    BOLD,
    CELL,
    DOUBLE,
    EDGE,
    FAINT,
    LEFT,
    LETTER,
    LINE,
    MIDDLE,
    NARROW,
    PADDING,
    QUIET,
    ROOM,
    STEM,
    TAG,
    Pen,
    cells_width,
    printable,
    rounded,
    shorten,
    tag_width,
    text_width,
    tinted,
)
from tensor_maps.words import (
    NO_FLOW,
    NO_GRADIENT,
    NO_GRAPH,
    Mark,
    asides_of,
    constant_of,
    describe,
    describe_graph,
    describe_memory,
    facts_of,
    marks_of,
    names_of,
)


class Half(NamedTuple):
    """The "graph" or the "memory" of a map, with its caption and its words."""

    name: str
    caption: str
    words: str
    pen: Pen


def draw(observed: dict, prefix: str = "map") -> str:
    """Draw what was observed, for a page: HTML with a caption and an SVG for each half.

    ``observed`` is what :func:`observe` or :func:`changed` returned, ``prefix`` begins
    the ids of the two drawings. The same data give the same text.
    """
    return "\n".join(
        f"<div><p>{escape(printable(half.caption))}</p>{svg_of(half, prefix)}</div>"
        for half in draw_halves(observed)
    )


def draw_svg(observed: dict, prefix: str = "map") -> str:
    """Draw what was observed as one SVG: the graph, and beside it the memory.

    The parameters are those of :func:`draw`.
    """
    whole, left, top = Pen(), 0.0, 2 * LINE
    for half in draw_halves(observed):
        whole.text(half.caption, left + EDGE, LETTER, BOLD)
        whole.marks += [f'<g transform="translate({rounded(left)} {top:g})">']
        whole.marks += [*half.pen.marks, "</g>"]
        whole.reach(left + half.pen.right, top + half.pen.bottom)
        left = whole.right + 2 * LINE
    return svg_of(Half("whole", "", describe(observed), whole), prefix)


def svg_of(half: Half, prefix: str | None) -> str:
    """Return a half as SVG, whose id begins with the prefix."""
    width, height = (rounded(n + EDGE) for n in (half.pen.right, half.pen.bottom))
    name = "" if prefix is None else f"id={quoteattr(f'{prefix}-{half.name}')} "
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'{name}role="img" '
        f"aria-label={quoteattr(printable(half.words))} "
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'fill="currentColor" font-family="monospace" font-size="{LETTER:g}" '
        'overflow="visible" text-rendering="geometricPrecision">'
        f"{''.join(half.pen.marks)}</svg>"
    )


def draw_halves(observed: dict) -> list[Half]:
    """Draw the graph, if it says more than that there is none, and the memory."""
    halves = []
    on_graph = [seen for seen in observed["tensors"] if seen["node"] is not None]
    if any(
        observed["nodes"][seen["node"]]["kind"] != "constant"
        or constant_of(seen) != NO_GRADIENT
        for seen in on_graph
    ):
        flow = "Gradients flow along the arrows" if observed["edges"] else NO_GRAPH
        words = describe_graph(observed)
        halves.append(Half("graph", flow, words, _draw_graph(observed)))
    devices = {storage["device"] for storage in observed["storages"]}
    where = devices.pop() if len(devices) == 1 else "cpu"
    caption = "Memory" if where == "cpu" else f"Memory on {where}"
    words = describe_memory(observed) if halves else describe(observed)
    if on_graph and not halves:
        caption += f". {NO_FLOW}"
    if observed["storages"] or asides_of(observed) or not halves:
        halves.append(Half("memory", caption, words, _draw_memory(observed)))
    return halves


def _draw_graph(observed: dict) -> Pen:
    pen, y = Pen(), EDGE + (BADGE if marks_of(observed) else 0)
    boxes, joins = graph_of(observed)
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
        pen.reach(max(ends) - left, 0)
        for box in itertools.chain(*rows):
            box.x, box.y, box.row_end = box.x - left, box.y + y, box.row_end + y
        for edge, path in paths.items():
            _draw_edge(pen, path, joins[edge])
        y = rows[-1][0].row_end + BETWEEN_LAYERS - 6
    _place_alone(alone, y)
    for box in [*joined, *alone]:
        _draw_box(pen, box)
    return pen


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
        y += max(box.height for box in row) + BADGE + 3


def _draw_box(pen: Pen, box: Box) -> None:
    # Colour is for memory: what a box is, its form says.
    form = {
        "leaf": 'rx="6" stroke-width="2.5"',
        "constant": 'stroke-dasharray="4 3"',
        "result": 'rx="2"',
        "operation": 'rx="12"',
        "more": 'rx="12" stroke-dasharray="2 3"',
    }[box.kind]
    mark, of_graph = box.mark, box.kind in ("operation", "more")
    ink = mark.colour if mark else FAINT if of_graph else "currentColor"
    fill = tinted(ink) if mark else 'fill="none"'
    left, room = box.x - box.width / 2, box.width - 2 * PADDING
    pen.rect(left, box.y, box.width, box.height, f'{fill} stroke="{ink}" {form}')
    y = box.y + (box.height - len(box.lines) * LINE) / 2 + 11.5
    for number, line in enumerate(box.lines):
        name = number == 0 and not of_graph
        line = shorten(line, room - (2 * BADGE if mark and name else 0))
        pen.text(line, box.x, y + number * LINE, MIDDLE + BOLD * name)
    if mark:
        pen.badge(mark, left + box.width - BADGE - 2, box.y)


def _draw_edge(pen: Pen, path: list[Box], times: int) -> None:
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
        pen.line("".join(command), 'stroke="currentColor" stroke-width="1.2"')
        pen.marks.append(f'<path d="{head}"/>')


def _draw_memory(observed: dict) -> Pen:
    pen, marks, y = Pen(), marks_of(observed), EDGE
    devices = {storage["device"] for storage in observed["storages"]}
    own: dict[str, list[dict]] = {}
    for number, storage in enumerate(observed["storages"]):
        where = f"on {storage['device']}" if len(devices) > 1 else ""
        if number in marks:
            y = _draw_shared(pen, observed, storage, marks[number], where, y) + LINE
        else:
            own.setdefault(where, []).append(storage)
    for where, storages in own.items():
        each = len(storages) > 1 and not marks
        heading = f"{'Each has a' if each else 'A'} memory of its own"
        heading += f", {where}:" if where else ":"
        y = pen.lines(heading, EDGE, y, " ", QUIET) + 3
        y = _draw_own(pen, observed, storages, y)
    for line in asides_of(observed):
        y = pen.lines(line, EDGE, y, " ")
    pen.reach(0, y)
    return pen


def _draw_shared(
    pen: Pen, observed: dict, storage: dict, mark: Mark, where: str, y: float
) -> float:
    """Draw a memory with a letter: name tags on it, and under it what is on a part."""
    whole = [window for window in storage["windows"] if window["covers_all"]]
    names = [names_of(observed["tensors"][window["tensor"]]) for window in whole]
    wide, top = _draw_tags(pen, names, mark.colour, y)
    width = max(wide, cells_width(storage, ROOM))
    pen.badge(mark, EDGE + BADGE, top + CELL / 2)
    pen.cells(storage, LEFT, top, width, mark.colour)
    y = top + CELL
    for window in storage["windows"]:
        if window not in whole:
            y = _draw_part(pen, observed, storage, window, mark.colour, width, y)
    said = ["one memory"] if len(storage["windows"]) > 1 else []
    said += [where] if where else []
    said += [] if storage["addressed"] else ["no memory address"]
    facts = [facts_of(observed, storage, window) for window in whole]
    if all(one == facts[0] for one in facts):
        said += facts[0] if facts else []
        below = ""
    else:
        each = zip(names, facts, strict=True)
        below = "; ".join(f"{name}: {', '.join(f)}" for name, f in each if f)
    beside = ", ".join(said)
    if width + 8 + text_width(beside) <= ROOM:
        pen.text(beside, LEFT + width + 8, top + CELL / 2 + 4, QUIET)
    else:
        below = f"{beside}; {below}" if below else beside
    return pen.lines(below, LEFT, y + 2, " ") if below else y


def _draw_tags(
    pen: Pen, names: list[str], colour: str, y: float
) -> tuple[float, float]:
    """Draw name tags on stems; return how wide they are and where the stems end."""
    widths = [tag_width(name, ROOM - LETTER) for name in names]
    # Where one row is not enough, all hang on one stem at the left of the rows.
    gutter = LETTER if sum(widths) + 6 * (len(widths) - 1) > ROOM else 0.0
    stem, at, top, widest = f'stroke="{colour}" stroke-width="2"', gutter, y, 0.0
    for name, width in zip(names, widths, strict=True):
        if at > gutter and at + width > ROOM:
            at, top = gutter, top + TAG + 4
        x, middle = LEFT + at, at + width / 2
        if gutter:
            start = LEFT + 3 if at == gutter else x - 6
            pen.line(f"M{rounded(start)} {rounded(top + TAG / 2)}H{rounded(x)}", stem)
        else:
            pen.line(f"M{rounded(LEFT + middle)} {rounded(top + TAG)}v{STEM:g}", stem)
        pen.tag(name, x, top, width, colour)
        at += width + 6
        widest = max(widest, at - 6)
    end = top + TAG + STEM if names else y
    if gutter:
        pen.line(f"M{LEFT + 3:g} {rounded(y + TAG / 2)}V{rounded(end)}", stem)
    return widest, end


def _draw_part(
    pen: Pen,
    observed: dict,
    storage: dict,
    window: dict,
    colour: str,
    width: float,
    y: float,
) -> float:
    """Draw a partial view: a bracket under its cells, its name, and which part."""
    name = names_of(observed["tensors"][window["tensor"]])
    wide, at, look = tag_width(name, ROOM), LEFT, f'stroke="{colour}" stroke-width="2"'
    for number, (start, stop) in enumerate(window["runs"]):
        x = LEFT + width * start / storage["bytes"] + 1
        across = max(1.0, width * (stop - start) / storage["bytes"] - 2)
        pen.line(f"M{rounded(x)} {rounded(y + 3)}v4h{rounded(across)}v-4", look)
        if number == 0:
            stem = x + across / 2
            pen.line(f"M{rounded(stem)} {rounded(y + 7)}v5", look)
            at = min(max(LEFT, stem - wide / 2), LEFT + ROOM - wide)
    pen.tag(name, at, y + 12, wide, colour)
    facts = ", ".join(facts_of(observed, storage, window))
    y += 12 + TAG + 2
    if at + wide + 6 + text_width(facts) <= NARROW - EDGE:
        pen.text(facts, at + wide + 6, y - 8)
        return y
    return pen.lines(facts, LEFT, y)


def _draw_own(pen: Pen, observed: dict, storages: list[dict], y: float) -> float:
    """Draw memories of one tensor each: names and cells, one after the other."""
    x = EDGE
    for storage in storages:
        (window,) = storage["windows"]
        name = names_of(observed["tensors"][window["tensor"]])
        name = shorten(name, NARROW / 2)
        before = text_width(name) + 6
        width = cells_width(storage, NARROW - 2 * EDGE - before)
        address = [] if storage["addressed"] else ["no memory address"]
        facts = ", ".join(facts_of(observed, storage, window) + address)
        after = text_width(facts) + 6 if facts else 0.0
        fits = before + width + after <= NARROW - 2 * EDGE
        wanted = before + width + (after if fits else 0)
        if x > EDGE and (not fits or x + wanted > NARROW - EDGE):
            x, y = EDGE, y + CELL + 6
        pen.text(name, x, y + 16, BOLD)
        pen.cells(storage, x + before, y, width)
        if fits:
            pen.text(facts, x + before + width + 6, y + 16)
            x += wanted + 14
        else:  # the next one begins a row
            x, y = NARROW, pen.lines(facts, EDGE, y + CELL + 1) - CELL
    return y + CELL + 6
