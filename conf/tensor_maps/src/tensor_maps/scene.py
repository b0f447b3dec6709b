"""Draw memories as rows of cells, names on stems, and what leads from name to name.

A memory becomes a ``Block``: its row, the pill of each name, what is said below. Blocks
stand side by side on a ``Shelf``; where there is no room, on several. Above the pills of
a shelf are its ``Arc``s: the ways of gradients, and the bars where they stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from xml.sax.saxutils import quoteattr

from tensor_maps.pen import (
    EDGE,
    FAINT,
    FRAME,
    INK,
    LEAST_PILL,
    LINE,
    PAPER,
    PILL,
    PILL_TEXT,
    SMALL,
    TEXT,
    TROUBLE,
    group,
    line_mark,
    placed,
    printable,
    rect,
    rounded,
    safe_width,
    spread,
    text_mark,
    text_width,
    tinted,
    wrap,
)
from tensor_maps.story import Memory, Story, Tag, caption_of, story_of, words_of

WIDTH = 640.0  # pixels that a drawing takes at most, if nothing else is said
# Pixels: cells, what is between the lines of a row, and the bars below it.
CELL, NARROW_CELL, STEADY_CELL, CELL_HEIGHT, LARGE = 28.0, 19.0, 21.0, 28.0, 64.0
ROW_GAP, LINE_GAP = 6.0, 4.0
BAR, BAR_NAME, MOST_NAMED_BARS = 8.0, 14.0, 3
# Names on stems.
STEM, BEND, APART, LINE_OF_PILLS = 20.0, 26.0, 8.0, PILL + 6
MOST_PILL, LOCK = 150.0, 13.0
# What stands under a row; in a grid, how high a cell is.
LEAST_TEXT, GRID_LINE, READS = 100.0, 17.0, ", row by row"
LOOSE = 1.1  # room for a text there, against its width in Helvetica
# Blocks and shelves.
BETWEEN, NARROW, BETWEEN_SHELVES = 16.0, 8.0, 14.0
MARGIN, LANE, MOST_LANES = 16.0, 8.0, 3
FRAME_EDGE, FRAME_FOOT = 8.0, 18.0
COPIED_WORD = round(safe_width("copied", SMALL)) + 4
COPIED = COPIED_WORD + 8
NUMBERS = ("no", "one", "two", "three", "four", "five")
# Arcs.
GRADIENT, STOPS = "gradient", "gradient stops"
LEAST_ARC, CLEAR, BAR_HALF, LABEL, SAMPLES = 16.0, 10.0, 10.0, 15.0, 40
BESIDE_BAR = safe_width(STOPS, SMALL) + 36
LEAST_UNDER_ARCS = 110.0  # room for the label of an arc
# Between two pills on one row whose stems bend into its sides; 0: no bends. With the
# most, "gradient stops" has room beside an arc that ends on one of them.
APARTS = (188.0, 116.0, 0.0)


@dataclass
class Drawing:
    """Marks of SVG and their size; what they show, in words and as a short caption.

    The marks belong together: one may open a group that another closes. ``top`` is
    where the drawing begins: the pills of a scene stand below zero, the arcs above.
    """

    marks: list[str]
    width: float
    height: float
    words: str
    caption: str
    top: float = 0.0

    def frame(self, edge: float = 0.0) -> str:
        """Return the attributes of its size, with an edge around it."""
        wide, high = rounded(self.width + 2 * edge), rounded(self.height + 2 * edge)
        place = f"{rounded(-edge)} {rounded(self.top - edge)}"
        return f'viewBox="{place} {wide} {high}" width="{wide}" height="{high}"'

    def svg(self, attributes: str = "") -> str:
        """Return the drawing as SVG for a page, in the page's font."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}role="img" '
            f"aria-label={quoteattr(printable(self.words))} "
            f"{self.frame()} "
            f'fill="currentColor" font-size="{TEXT:g}" overflow="visible" '
            f'text-rendering="geometricPrecision">{"".join(self.marks)}</svg>'
        )


def draw_scene(
    observed: dict,
    names: Iterable[str] | None = None,
    width: float = WIDTH,
    raises: Mapping[str, str] | None = None,
    copies: Iterable[tuple[str, str]] = (),
    arcs: bool = True,
    steady: bool = False,
    ringed: Iterable[str] = (),
) -> Drawing:
    """Draw memories as rows of cells, names on stems, gradients and copies between.

    Parameters
    ----------
    observed
        What :func:`tensor_maps.observe.observe` returned. A storage may have a
        ``colour`` (a number from 0), ``changed`` (whether it was written to) and
        ``changed_cells``; a tensor ``changed`` (a list with "gradient") and
        ``arrived``, if it had no gradient before.
    names
        The names to draw; None draws all.
    width
        The room in pixels, at least 216. The drawing is not wider than it needs.
    raises
        Names with the class of the error that was raised for them. They get a cross;
        a name that was not observed gets a pill.
    copies
        Pairs of names, what was copied and its copy, that the graph does not tell of.
    arcs
        Whether the ways of gradients are drawn.
    steady
        Whether pictures follow each other in one place: cells and edges do not depend
        on what else is drawn, so that they stay where they are.
    ringed
        The names whose pills get a ring.
    """
    story = story_of(observed, names, raises, copies, ringed)
    if not arcs:
        story.flows, story.stops = [], []
    scene = _Scene(story, width, steady)
    caption = caption_of(story) if story.memories else "Nothing to draw."
    caption = " ".join([caption, *(f"{note}." for note in observed["notes"])]).strip()
    height = scene.bottom - scene.top
    return Drawing(
        scene.marks, scene.right, height, words_of(story), caption, scene.top
    )


# A memory: its row of cells, its names, what is said below ----------------------------


@dataclass(eq=False)
class Pill:
    """Where a name of a block stands: its middle, its line counted from above.

    Its ``stem`` bends into the "left" or "right" side of the row, goes "down" to its
    upper edge, or leads to a "rail" that all names of a crowded memory hang on. ``foot``
    is where it ends.
    """

    tag: Tag
    wide: float
    centre: float = 0.0
    stem: str = "down"
    foot: float = 0.0
    line: int = 0


@dataclass(eq=False)
class Block:
    """A memory with the places of its names; lengths from the left of the block.

    ``each`` is how wide a cell is, ``per_line`` how many are in a line, and
    ``gap_every`` after how many of them there is a gap. ``left`` is where the row
    begins; ``texts`` are lines with their colour.
    """

    memory: Memory
    each: float
    per_line: int
    gap_every: int
    pills: list[Pill]
    width: float = 0.0
    left: float = 0.0
    texts: list[tuple[str, str]] = field(default_factory=list)
    grid: Tag | None = None
    x: float = 0.0

    def cell(self, at: int) -> float:
        """Return where a cell begins, from the left of the row."""
        place = at % self.per_line
        gaps = place // self.gap_every if self.gap_every else 0
        return place * self.each + gaps * ROW_GAP

    @property
    def lines(self) -> int:
        """How many lines of cells there are."""
        return -(-len(self.memory.cells) // self.per_line)

    @property
    def row_width(self) -> float:
        """Pixels across the cells."""
        return self.cell(self.per_line - 1) + self.each if self.memory.cells else 0.0

    @property
    def parts(self) -> list[Tag]:
        """The names that hold a part of the row: each has a bar below it."""
        return [tag for tag in self.memory.tags if tag.parts and self.memory.cells]

    @property
    def names_bars(self) -> bool:
        """Whether each bar has its name below."""
        return self.lines == 1 and 0 < len(self.parts) <= MOST_NAMED_BARS

    @property
    def line_step(self) -> float:
        """Pixels from one line of cells to the next."""
        return CELL_HEIGHT + BAR * len(self.parts) + LINE_GAP

    @property
    def row_height(self) -> float:
        """Pixels from the first line of cells to the last, with bars."""
        if self.memory.is_ghost:
            return CELL_HEIGHT
        names = BAR_NAME * len(self.parts) * self.names_bars
        return max(0.0, self.lines * self.line_step - LINE_GAP) + names

    @property
    def height(self) -> float:
        """Pixels below the upper edge of the row."""
        height = self.row_height + LINE * len(self.texts) + 3 * bool(self.texts)
        return height + (LINE + 5 + GRID_LINE * len(self.grid.grid) if self.grid else 0)

    @property
    def pill_height(self) -> float:
        """Pixels from the upper edge of the first pill to the foot of the last."""
        return max((one.line for one in self.pills), default=0) * LINE_OF_PILLS + PILL

    @property
    def cell_of_grid(self) -> float:
        """How wide a cell of a grid is."""
        return max([18.0, *(safe_width(c, SMALL) + 6 for c in self.memory.cells)])

    def spans(self, tag: Tag) -> list[tuple[float, float, int]]:
        """Return from where to where on the row a name holds cells, and in which line."""
        if len(self.memory.cells) == 1:
            wide = self.row_width
            return [(wide * a, max(wide * b, wide * a + 3), 0) for a, b in tag.parts]
        spans: list[tuple[float, float, int]] = []
        for at in self.memory.held(tag):
            line, x = at // self.per_line, self.cell(at)
            joins = spans and spans[-1][2] == line and x - spans[-1][1] < ROW_GAP + 1
            spans.append((spans.pop()[0] if joins else x, x + self.each, line))
        return spans

    def side(self, right: bool) -> float:
        """Return where in the scene a line can begin that leads away from the row."""
        kind = "right" if right else "left"
        ends = [self.left + self.row_width * right]
        ends += [one.centre for one in self.pills if one.stem == kind]
        return self.x + (max(ends) + 5 if right else min(ends) - 5)


def _block(
    memory: Memory, room: float, apart: float, least: float, extra: list[str]
) -> Block:
    """Return a memory as a block, with cells of at least that width.

    Stems bend into the sides of a row with two names, if these are to stand ``apart``.
    """
    pills = [Pill(tag, min(_width_of(tag), room, MOST_PILL)) for tag in memory.tags]
    block = Block(memory, *_row(memory, room, least), pills)
    if not (apart and _bend(block, room, apart)):
        total = sum(one.wide for one in pills) + APART * (len(pills) - 1)
        if total <= room:
            _stand(block, max(block.row_width, total))
        else:
            _hang(block, room)
    limit = min(room, max(block.width, LEAST_TEXT))
    for line in [*extra, *memory.lines]:
        # A line that is whole in Helvetica is made to fit in any other font.
        fits = text_width(line, SMALL) * LOOSE <= limit
        block.texts += [(one, FAINT) for one in ([line] if fits else wrap(line, limit))]
    for tag in filter(lambda one: one.raises, memory.tags):
        line = tag.raises if len(memory.tags) == 1 else f"{tag.name}: {tag.raises}"
        block.texts += [(one, TROUBLE) for one in wrap(line, limit)]
    wide = max((text_width(text, SMALL) for text, _ in block.texts), default=0.0)
    wanted = min(limit, wide * LOOSE)
    for tag in filter(lambda one: one.grid, memory.tags):
        wide = safe_width(tag.name + READS, SMALL)
        wide = max(wide, block.cell_of_grid * len(tag.grid[0]))
        if wide <= room:
            block.grid, wanted = tag, max(wanted, wide)
    if wanted > block.width:
        shift = (wanted - block.width) / 2
        block.width, block.left = wanted, block.left + shift
        for one in pills:
            one.centre, one.foot = one.centre + shift, one.foot + shift
    return block


def _width_of(tag: Tag) -> float:
    wide = safe_width(tag.name, PILL_TEXT, True) + 16 + LOCK * (tag.sign == "frozen")
    return max(LEAST_PILL, wide)


def _row(memory: Memory, room: float, least: float) -> tuple[float, int, int]:
    """Return how wide cells are, how many are in a line, and after how many is a gap.

    They are in one line if the values can be read there, and ``least`` wide if there is
    room for all of them.
    """
    count = len(memory.cells)
    if count < 2:
        wide = max(map(safe_width, memory.cells), default=0.0) + 14
        return min(room, max(LARGE if wide > CELL + 16 else CELL, wide)), 1, 0
    widest = max(map(text_width, memory.cells))
    every = memory.columns if 0 < memory.columns < count else 0
    spare = room - ROW_GAP * (-(-count // every) - 1 if every else 0)
    each, tight = max(CELL, widest * 1.2 + 9), max(NARROW_CELL, widest + 4)
    if least < CELL and count * tight <= spare:
        return max(least, tight), count, every
    if count * tight <= spare:
        return min(each, spare / count), count, every
    each = min(each, room)
    if every and every * each <= room:
        return each, every, 0
    lines = -(-count // max(1, int(room // each)))
    return each, -(-count // lines), 0


def _first_span(block: Block, tag: Tag) -> tuple[float, float]:
    """Return the ends of the first cells in a row that a name holds."""
    if len(block.memory.cells) == 1:
        start, stop = tag.parts[0]
        return block.row_width * start, block.row_width * stop
    held = block.memory.held(tag)
    run = [at for place, at in enumerate(held) if at - held[0] == place]
    return block.cell(run[0]), block.cell(run[-1]) + block.each


def _bend(block: Block, room: float, apart: float) -> bool:
    """Stand two names beside the row, or one beside it and one on the part it holds.

    Return whether there is room.
    """
    pills, row = block.pills, block.row_width
    whole = [not one.tag.parts for one in pills]
    if len(pills) != 2 or not any(whole) or block.lines != 1:
        return False
    half = sum(one.wide for one in pills) / 2
    if all(whole):
        away = min(max(BEND, (apart - row) / 2), (room - row - half) / 2)
        if away < BEND - 6 or row + 2 * away < half + APART:
            return False
        places = [("left", -away, 0.0), ("right", row + away, row)]
    else:
        part = whole.index(False)
        middle = sum(_first_span(block, pills[part].tag)) / 2
        places = [("right", max(row + BEND, middle + half + APART), row)]
        if part:  # left of the row, and the part is on it
            places = [("left", min(-BEND, middle - half - APART), 0.0)]
        places.insert(part, ("down", middle, middle))
    ends = [
        (centre - one.wide / 2, centre + one.wide / 2)
        for one, (_, centre, _) in zip(pills, places, strict=True)
    ]
    low, high = min(0.0, *(a for a, _ in ends)), max(row, *(b for _, b in ends))
    if high - low > room + 1e-6:
        return False
    block.width, block.left = high - low, -low
    for one, (stem, centre, foot) in zip(pills, places, strict=True):
        one.stem, one.centre, one.foot = stem, centre - low, foot - low
    return True


def _stand(block: Block, width: float) -> None:
    """Stand the names above the row, near what they hold."""
    pills, row = block.pills, block.row_width
    block.width, block.left = width, (width - row) / 2
    aims = [bool(one.tag.parts) and block.lines == 1 for one in pills]
    ends = [
        _first_span(block, one.tag) if aim else (0.0, row)
        for one, aim in zip(pills, aims, strict=True)
    ]
    for place, one in enumerate(pills):
        middle = sum(ends[place]) / 2
        middle = middle if aims[place] else row * (place + 0.5) / len(pills)
        one.centre = block.left + middle
    order = list(pills)
    if all(aims) or len(pills) > 2:
        order.sort(key=lambda one: one.centre)
    elif any(aims):  # beside the part, on the side that keeps the order
        part, aside = aims.index(True), sum(one.wide for one in pills)
        pills[1 - part].centre = pills[part].centre + (-aside if part else aside)
    spots = spread([p.centre for p in order], [p.wide for p in order], APART, width)
    for one, spot in zip(order, spots, strict=True):
        one.centre = spot
    inner = min(7.0, row / 2)
    for one, (low, high) in zip(pills, ends, strict=True):
        low, high = block.left + low + inner, block.left + high - inner
        one.foot = min(max(one.centre, low), max(low, high))


def _hang(block: Block, room: float) -> None:
    """Set the names in lines that hang on a rail."""
    inset = at = 14.0
    line = 0
    for one in block.pills:
        one.wide = min(one.wide, room - inset)
        if at > inset and at + one.wide > room:
            at, line = inset, line + 1
        one.centre, one.line, one.stem, one.foot = at + one.wide / 2, line, "rail", 5.0
        at += one.wide + APART
    ends = [one.centre + one.wide / 2 for one in block.pills]
    block.width = max(block.row_width, *ends)


def _block_marks(block: Block, top: float, row_top: float, steady: bool) -> list[str]:
    """Draw a block: its row, its names and what is said below.

    ``top`` is the upper edge of its pills, ``row_top`` that of its cells. In steady
    pictures a cell has the same mark wherever its row stands.
    """
    memory, marks = block.memory, []
    if memory.cells:
        dash = ' stroke-dasharray="4 3"' if memory.dashed else ""
        marks.append(
            f'<g class="tm-row" data-memory="{memory.number}" {tinted(memory.colour)} '
            f'stroke="{memory.colour}" stroke-width="1.5"{dash}>'
        )
        left, above = block.x + block.left, row_top
        if steady:
            moved = placed("translate({} {})", left, above)
            marks[0] += f'<g transform="{moved}">'
            left = above = 0.0
        marks += [_cell(block, at, left, above) for at in range(len(memory.cells))]
        marks += [
            _bar(block, tag, lane, left, above) for lane, tag in enumerate(block.parts)
        ]
        marks.append("</g></g>" if steady else "</g>")
    if memory.is_ghost:
        x, y = block.x + block.pills[0].centre, row_top + CELL_HEIGHT / 2
        marks.append(_cross(x, y, 10))
    marks += [_pill_mark(block, at, top, row_top) for at in range(len(block.pills))]
    x, y = block.x + block.width / 2, row_top + block.row_height + 13
    for line, fill in block.texts:
        marks.append(text_mark(line, x, y, size=SMALL, fill=fill, room=block.width))
        y += LINE
    return [*marks, _grid(block, x, y + 3)] if block.grid else marks


def _cell(block: Block, at: int, left: float, top: float) -> str:
    memory, new = block.memory, at in block.memory.changed
    x, y = left + block.cell(at), top + at // block.per_line * block.line_step
    box = rect(x, y, block.each, CELL_HEIGHT, 'fill-opacity="1"' if new else "")
    place = x + block.each / 2, y + CELL_HEIGHT / 2 + 4.7
    fill, room = PAPER if new else INK, block.each - 4
    text = text_mark(memory.cells[at], *place, bold=new, fill=fill, room=room)
    more = {"opacity": ".45"} if at in memory.unheld else {}
    return group("tm-cell changed" if new else "tm-cell", box + _full(text), **more)


def _full(text: str) -> str:
    """Return a text within a row, which has no stroke and is not faint."""
    return text.replace("<text ", '<text stroke="none" fill-opacity="1" ', 1)


def _bar(block: Block, tag: Tag, lane: int, left: float, top: float) -> str:
    """Draw the bar under the cells that a name holds, in several pieces if need be."""
    spans, names = block.spans(tag), block.names_bars
    y = top + CELL_HEIGHT + 5 + lane * (BAR + BAR_NAME * names)
    d = "".join(
        placed(
            "M{} {}h{}",
            left + start + 2,
            y + line * block.line_step,
            max(2.0, stop - start - 4),
        )
        for start, stop, line in spans
    )
    drawn = f'<path d="{d}" stroke-width="4" stroke-dasharray="none"/>'
    if names:
        half = min(safe_width(tag.name, SMALL, True), block.width) / 2
        middle = block.left + (spans[0][0] + spans[-1][1]) / 2
        x = left - block.left + min(max(middle, half), block.width - half)
        look = {"size": SMALL, "bold": True, "fill": block.memory.colour}
        room = min(2 * half + 1, block.width)
        drawn += _full(text_mark(tag.name, x, y + 13.5, room=room, **look))
    return drawn


def _grid(block: Block, middle: float, y: float) -> str:
    """Draw what a tensor reads, in its own shape; a cell read again is dashed."""
    memory, tag, each = block.memory, block.grid, block.cell_of_grid
    left, read = middle - each * len(tag.grid[0]) / 2, set()
    boxes, texts = "", text_mark(tag.name + READS, middle, y, size=SMALL, fill=FAINT)
    for down, row in enumerate(tag.grid):
        top = y + 6 + down * GRID_LINE
        for right, at in enumerate(row):
            x, new, again = left + right * each, at in memory.changed, at in read
            look = 'fill-opacity=".3"' if new else 'fill="none"'
            look += ' stroke-dasharray="2 2"' if again else ""
            boxes += rect(x, top, each, GRID_LINE, look)
            value = {"size": SMALL, "bold": new, "fill": FAINT if again else INK}
            place = x + each / 2, top + 12.5
            texts += text_mark(memory.cells[at], *place, room=each - 2, **value)
            read.add(at)
    line = f'<g fill="{memory.colour}" stroke="{memory.colour}" stroke-opacity=".6">'
    return group("tm-grid", f"{line}{boxes}</g>{texts}", data_name=tag.name)


def _pill_mark(block: Block, at: int, top: float, row_top: float) -> str:
    """Draw a name on its stem, with the signs of what it is."""
    memory, one, tag = block.memory, block.pills[at], block.pills[at].tag
    x, y = block.x + one.centre, top + one.line * LINE_OF_PILLS
    left, foot, end = x - one.wide / 2, y + PILL, block.x + one.foot
    colour, is_ghost, middle = memory.colour, memory.is_ghost, row_top + CELL_HEIGHT / 2
    if one.stem in ("left", "right"):
        turn = 10 if one.stem == "left" else -10
        d = placed("M{} {}V{}q0 10 {} 10H{}", x, foot, middle - 10, turn, end)
    elif one.stem == "rail" and at and block.pills[at - 1].line == one.line:
        before = block.x + block.pills[at - 1].centre + block.pills[at - 1].wide / 2
        d = placed("M{} {}H{}", left, y + PILL / 2, before)
    elif one.stem == "rail":  # the first of a line is joined to the rail
        d = placed("M{} {}H{}V{}", left, y + PILL / 2, end, row_top)
    elif abs(end - x) < 0.5:
        d = placed("M{} {}V{}", x, foot, row_top)
    else:
        half = (foot + row_top) / 2
        ways = x, foot, x, half, end, half, end, row_top
        d = placed("M{} {}C{} {} {} {} {} {}", *ways)
    drawn = line_mark(d, colour, 3) if memory.cells else ""
    look = f'rx="13" fill="{colour}"'
    if is_ghost:
        look = f'rx="13" fill="none" stroke="{colour}" stroke-width="2" '
        look += 'stroke-dasharray="5 4"'
    elif tag.is_new:
        look += f' stroke="{INK}" stroke-width="2"'
    drawn += rect(left, y, one.wide, PILL, look)
    if tag.sign == "leaf":  # a second outline
        outline = f'rx="10" fill="none" stroke="{PAPER}" stroke-width="1.5"'
        drawn += rect(left + 3, y + 3, one.wide - 6, PILL - 6, outline)
    lock = LOCK if tag.sign == "frozen" else 0.0
    if lock:
        drawn += rect(left + 8, y + 12, 10, 7, f'rx="1" fill="{PAPER}"')
        arch = placed("M{} {}v-3a3 3 0 0 1 6 0v3", left + 10, y + 13)
        drawn += line_mark(arch, PAPER, 1.5)
    look = {"bold": True, "fill": colour if is_ghost else PAPER}
    room = one.wide - 12 - lock
    drawn += text_mark(
        tag.name, x + lock / 2, y + 18, size=PILL_TEXT, room=room, **look
    )
    if tag.raises and not is_ghost:
        drawn += _cross(x + one.wide / 2 - 3, y + 3, 7)
    more = {"data_sign": tag.sign} if tag.sign else {}
    more |= {"data_new": ""} if tag.is_new else {}
    return group("tm-tag", drawn, data_name=tag.name, **more)


def _cross(x: float, y: float, half: float) -> str:
    """Return the cross of what raises."""
    arm = rounded(2 * half)
    d = placed("M{} {}", x - half, y - half) + f"l{arm} {arm}m0-{arm}l-{arm} {arm}"
    return line_mark(d, TROUBLE, 4, name="tm-cross")


# Ways above the names -----------------------------------------------------------------

Point = tuple[float, float]


@dataclass(eq=False)
class Arc:
    """A way above the pills of a shelf, or the part of one that is on this shelf.

    "flow" leads from ``start`` to ``end``; "stop" from ``start`` to a bar at ``end``;
    "out" and "in" are the parts of a flow between two shelves: one end is in the
    margin, and those of one ``bus`` run together. Heights are above the pills;
    ``label`` is the room for a label above a bar.
    """

    kind: str
    start: float
    end: float
    bus: object = None
    height: float = 0.0
    label: float = 0.0

    @property
    def low(self) -> float:
        """The left end."""
        return min(self.start, self.end)

    @property
    def high(self) -> float:
        """The right end."""
        return max(self.start, self.end)

    @property
    def top(self) -> float:
        """How high it reaches."""
        return self.height + (BAR_HALF + self.label if self.kind == "stop" else 1)

    @property
    def curves(self) -> list[tuple[Point, Point, Point, Point]]:
        """The curves that it is made of: to the bar, or up and down."""
        a, b, up, wide = self.start, self.end, self.height, self.end - self.start
        if self.kind == "stop":
            last = b - (5 if b > a else -5)
            return [((a, 0), (a, up * 0.8), (a + wide * 0.4, up), (last, up))]
        top = (a + b) / 2, up
        return [
            ((a, 0), (a, up * 0.9), (a + wide * 0.18, up), top),
            (top, (b - wide * 0.18, up), (b, up * 0.9), (b, 2)),
        ]

    def points(self) -> Iterator[Point]:
        """Yield points on it, to see what it would run through."""
        steps = [at / SAMPLES for at in range(SAMPLES + 1)]
        if self.kind in ("out", "in"):
            tag = self.start if self.kind == "out" else self.end
            for t in steps:
                yield self.low + (self.high - self.low) * t, self.height
                yield tag, self.height * t
            return
        for ends, t in product(self.curves, steps):
            shares = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            xs, ys = zip(*ends, strict=True)
            yield (
                sum(share * x for share, x in zip(shares, xs, strict=True)),
                sum(share * y for share, y in zip(shares, ys, strict=True)),
            )
        if self.kind == "stop":
            for up in (-BAR_HALF, 0, BAR_HALF):
                yield self.end, self.height + up

    def mark(self, y: float) -> str:
        """Return what is drawn above the pills, whose upper edge is at ``y``."""
        d = placed("M{} {}", self.start, y)
        for _, *ends in self.curves:
            numbers = (number for x, up in ends for number in (x, y - up))
            d += placed("C{} {} {} {} {} {}", *numbers)
        if self.kind == "flow":
            return _arc_mark(d, self.end, y)
        bar = placed("M{} {}v{}", self.end, y - self.height - BAR_HALF, 2 * BAR_HALF)
        dashed = line_mark(d, FAINT, 2, "4 4")
        return f'<g class="tm-cut">{dashed}{line_mark(bar, INK, 4)}</g>'


def _arc_mark(d: str, x: float, y: float) -> str:
    """Return an arc with the head of an arrow on a pill."""
    head = placed("M{} {}l5 8l5-8", x - 5, y - 9)
    return line_mark(d + head, INK, 2, name="tm-arc")


def _set_heights(arcs: list[Arc]) -> None:
    """Lift each arc over the shorter ones that it spans."""
    buses: dict[object, list[Arc]] = {}
    for arc in arcs:
        buses.setdefault(arc.bus or arc, []).append(arc)
    spans = [
        (min(arc.low for arc in bus), max(arc.high for arc in bus), bus)
        for bus in buses.values()
    ]
    done: list[tuple[float, float, float]] = []
    for low, high, bus in sorted(spans, key=lambda one: (one[1] - one[0], one[0])):
        kind = bus[0].kind
        least = {"stop": 20.0, "flow": min(34.0, LEAST_ARC + (high - low) / 12)}
        over = CLEAR + BAR_HALF * (kind == "stop")
        below = [t for a, b, t in done if a < high - 2 and low < b - 2]
        height = max([least.get(kind, 14.0), *(top + over for top in below)])
        for arc in bus:
            arc.height = height
        done.append((low, high, bus[0].top))


@dataclass
class Label:
    """A text above the pills: its middle, its line, and half its width."""

    text: str
    x: float
    up: float
    half: float


# All memories -------------------------------------------------------------------------


@dataclass(eq=False)
class Shelf:
    """Blocks side by side, and what is above their pills."""

    blocks: list[Block]
    arcs: list[Arc] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    pill_top: float = 0.0
    row_top: float = 0.0
    end: float = 0.0

    @property
    def sky(self) -> float:
        """Pixels above the pills."""
        tops = [arc.top + 2 for arc in self.arcs]
        return max([*tops, *(label.up + 11 for label in self.labels)], default=0.0)

    def settle(self, left: float, right: float, told: set[str]) -> None:
        """Set heights, and a label for each kind of arc that has none so far.

        ``left`` and ``right`` are the ends of the drawing. The labels that are set
        are added to ``told``. Where "gradient stops" has no place beside its bar or
        above it, the arcs above the bar are lifted.
        """
        _set_heights(self.arcs)
        for kinds, text in ((("stop",), STOPS), (("flow", "in"), GRADIENT)):
            arcs = [arc for arc in self.arcs if arc.kind in kinds]
            if not arcs or text in told:
                continue
            told.add(text)
            half = safe_width(text, SMALL) / 2 + 1
            if text == STOPS and not self._label(arcs, text, half, left, right):
                arcs[0].label = LABEL + 10
                _set_heights(self.arcs)
            if label := self._label(arcs, text, half, left, right):
                self.labels.append(label)

    def _label(
        self, arcs: list[Arc], text: str, half: float, left: float, right: float
    ) -> Label | None:
        """Return a label where it is on nothing, as near to its arcs as can be."""

        def within(x: float) -> float:
            return min(max(x, left + half), right - half)

        spots: list[Point] = []
        for arc in arcs:
            if arc.kind == "stop":
                aside = half + 8 if arc.end > arc.start else -half - 8
                spots += [(arc.end + aside, arc.height - low) for low in (4, 11)]
                moves = (0, 0.3, -0.3, 0.6, -0.6, 0.95, -0.95)
                middles = [within(arc.end + half * move) for move in moves]
                up = arc.height + BAR_HALF + 5
                spots += [(at, up) for at in middles if abs(at - arc.end) < half]
            elif arc.kind == "flow":
                middle, moves = (arc.low + arc.high) / 2, (0, 20, -20, 40, -40)
                spots += [(within(middle + x), arc.height + 5) for x in moves]
        first = within((arcs[-1].low + arcs[-1].high) / 2)
        top = max(arc.top for arc in self.arcs) + 5
        if text != STOPS:
            moves = [side * 12 * step for step in range(12) for side in (1, -1)]
            spots += [(within(first + move), top) for move in moves]
        for x, up in spots:
            if left <= x - half and x + half <= right and self._is_free(x, up, half):
                return Label(text, x, up, half)
        # Above all arcs there is always room.
        return None if text == STOPS else Label(text, first, top + LABEL, half)

    def _is_free(self, x: float, up: float, half: float) -> bool:
        points = (point for arc in self.arcs for point in arc.points())
        return not any(
            abs(at - x) < half + 2 and up - 5 < above < up + 11 for at, above in points
        ) and all(
            abs(one.x - x) >= half + one.half + 4 or abs(one.up - up) >= LABEL
            for one in self.labels
        )

    def sky_marks(self) -> list[str]:
        """Return what is drawn above the pills."""
        y = self.pill_top
        drawn = [arc.mark(y) for arc in self.arcs if arc.kind in ("flow", "stop")]
        for one in self.labels:
            look = {"size": SMALL, "fill": FAINT, "room": 2 * one.half}
            drawn.append(text_mark(one.text, one.x, y - one.up, **look))
        return drawn


class _Scene:
    """Where everything of a story stands."""

    def __init__(self, story: Story, width: float, steady: bool) -> None:
        self.story, self.steady = story, steady
        self.framed = len(story.devices) > 1
        self.inset = FRAME_EDGE if self.framed or steady else 0.0
        self.left, self.right_end = EDGE, width - EDGE
        self.said: dict[Memory, list[str]] = {one: [] for one in story.memories}
        on = {tag: memory for memory in story.memories for tag in memory.tags}
        self.copied = [{on[a], on[b]} for a, b in story.copies]
        self._name_shared()
        self._set_shelves()
        self._leave_margins()
        if self._say_copies():
            self._set_shelves()
        self._place_across()
        self._raise_arcs()
        self._place_down()
        self.marks = self._marks()

    def _name_shared(self) -> None:
        for memory in self.story.memories if len(self.story.memories) < 3 else ():
            names = sum(len(tag.names) for tag in memory.tags)
            whole = not any(tag.parts for tag in memory.tags)
            if len(memory.tags) > 1 and names < len(NUMBERS) and memory.cells and whole:
                self.said[memory].append(f"{NUMBERS[names]} names, the same memory")

    def _leave_margins(self) -> None:
        """Leave room beside the shelves for what leads from one to another."""
        sources = {a for a, b in self.story.flows if self.on[a] is not self.on[b]}
        across = min(len(sources), MOST_LANES)
        copied = any(self.on[a] is not self.on[b] for a, b in self.story.copies)
        if across or copied:
            self.left += MARGIN * copied
            self.right_end -= (MARGIN + LANE * (across - 1)) * bool(across)
            self._set_shelves()

    def _say_copies(self) -> bool:
        """Say under a row what it was copied from, where no arrow can lead there."""
        self.arrows: list[tuple[Tag, Tag]] = []
        led: list[set[Block]] = []
        said = False
        for source, copy in self.story.copies:
            one, other = self.of[source], self.of[copy]
            shelf, there = self.on[source], self.on[copy]
            if shelf is there:
                free = abs(shelf.blocks.index(one) - shelf.blocks.index(other)) == 1
            else:
                away = abs(self.shelves.index(shelf) - self.shelves.index(there))
                free = away == 1 and one is shelf.blocks[0] and other is there.blocks[0]
            if {one, other} in led:
                continue
            if free:
                self.arrows.append((source, copy))
                led.append({one, other})
            else:
                self.said[other.memory].append(f"copied from {source.name}")
                said = True
        return said

    # Side by side, or under each other

    def _set_shelves(self) -> None:
        """Set memories side by side, with narrower cells if need be; else in shelves."""
        self.shelves = self._shelves()
        self.on = {
            tag: shelf
            for shelf in self.shelves
            for block in shelf.blocks
            for tag in block.memory.tags
        }
        self.of = {t: b for s in self.shelves for b in s.blocks for t in b.memory.tags}

    def _shelves(self) -> list[Shelf]:
        memories = self.story.memories
        room = self.right_end - self.left - 2 * self.inset
        ways = [
            *product(APARTS, (BETWEEN,), (CELL,)),
            *product(APARTS[1:], (BETWEEN, NARROW), (23.0, STEADY_CELL, NARROW_CELL)),
        ]
        if self.steady:
            ways = [*product(APARTS[1:], (BETWEEN,), (STEADY_CELL,))]
        for apart, self.between, self.cell in ways:
            blocks = [self._block(memory, room, apart) for memory in memories]
            if self._wide(blocks) <= room + 0.01:
                return [Shelf(blocks)] if blocks else []
        self.between, self.cell = BETWEEN, ways[0][2]
        shelves: list[list[Block]] = []
        for memory in memories:
            block = self._block(memory, room, APARTS[1])
            if shelves and self._wide([*shelves[-1], block]) <= room + 0.01:
                shelves[-1].append(block)
            else:
                shelves.append([block])
        return [Shelf(blocks) for blocks in shelves]

    def _block(self, memory: Memory, room: float, apart: float) -> Block:
        # Only a label and the foot of an arc need the most room between two names.
        stops = any(tag in memory.tags for tag, _ in self.story.stops)
        if not (stops and any(tag in memory.tags for _, tag in self.story.flows)):
            apart = min(apart, APARTS[1])
        return _block(memory, room, apart, self.cell, self.said[memory])

    def _wide(self, blocks: list[Block]) -> float:
        return sum(block.width for block in blocks) + sum(self._gaps(blocks))

    def _gaps(self, blocks: list[Block]) -> list[float]:
        found = []
        for one, other in pairwise(block.memory for block in blocks):
            is_copy = {one, other} in self.copied
            gap = COPIED if is_copy else self.between
            if self.steady or (self.framed and one.device != other.device):
                gap = 2 * FRAME_EDGE + (COPIED_WORD if is_copy else self.between)
            found.append(gap)
        return found

    def _place_across(self) -> None:
        widest = max((self._wide(shelf.blocks) for shelf in self.shelves), default=0.0)
        if self.story.flows or self.story.stops:
            room = self.right_end - self.left - 2 * self.inset
            widest = max(widest, min(LEAST_UNDER_ARCS, room))
        for shelf in self.shelves:
            x = self.left + self.inset + (widest - self._wide(shelf.blocks)) / 2
            gaps = [*self._gaps(shelf.blocks), 0]
            for block, gap in zip(shelf.blocks, gaps, strict=True):
                block.x = x
                x += block.width + gap
        self.content_end = self.left + widest + 2 * self.inset

    # Above the names

    def _raise_arcs(self) -> None:
        self.across: list[tuple[Arc, Shelf, Arc, Shelf]] = []
        lanes: dict[Tag, Arc] = {}
        for (kind, start, end), (a, b) in self._ends().items():
            if self._pill(start).line or self._pill(end).line:
                continue  # a name under another one: words say it
            one, other = self.on[start], self.on[end]
            if kind == "stop":
                far = b - a if one is other else (-60 if a > 90 else 60)
                reach = max(24.0, min(84.0, abs(far) * 0.62))
                if abs(far) >= APARTS[0] - 14:
                    reach = max(30.0, min(reach, abs(far) - BESIDE_BAR))
                bar = a + (reach if far > 0 else -reach)
                bar = min(max(bar, self.left + 6), self.right_end - 6)
                one.arcs.append(Arc("stop", a, bar))
            elif one is other:
                one.arcs.append(Arc("flow", a, b))
            else:
                if start not in lanes:
                    lane = self.content_end + 9 + LANE * (len(lanes) % MOST_LANES)
                    lanes[start] = Arc("out", a, lane)
                    one.arcs.append(lanes[start])
                comes = Arc("in", lanes[start].end, b, bus=(start, other))
                other.arcs.append(comes)
                self.across.append((lanes[start], one, comes, other))
        told: set[str] = set()
        end = max([self.content_end, *(leaves.end for leaves, *_ in self.across)])
        self.right = self.content_end
        for shelf in self.shelves:
            shelf.settle(EDGE, end, told)
            ends = [label.x + label.half for label in shelf.labels]
            self.right = max([self.right, *ends, *(arc.high + 2 for arc in shelf.arcs)])

    def _pill(self, tag: Tag) -> Pill:
        return next(one for one in self.of[tag].pills if one.tag is tag)

    def _ends(self) -> dict[tuple[str, Tag, Tag], list[float]]:
        """Return the ways with their two ends; on one name they stand side by side."""
        story, on = self.story, self.on
        ways = [("stop", *pair) for pair in story.stops]
        ways += [("flow", *pair) for pair in story.flows]
        x = {tag: block.x + self._pill(tag).centre for tag, block in self.of.items()}
        ends: dict[Tag, list[tuple[float, int, tuple]]] = {}
        leave: set[Tag] = set()
        for way in ways:
            kind, a, b = way
            is_across = kind == "flow" and on[a] is not on[b]
            # All that leaves a shelf from one name leaves it as one line.
            if not is_across or a not in leave:
                ends.setdefault(a, []).append((1e6 if is_across else x[b], 0, way))
            leave |= {a} if is_across else set()
            if kind == "flow":
                ends.setdefault(b, []).append((1e6 if is_across else x[a], 1, way))
        places = {way: [x[way[1]], x[way[2]]] for way in ways}
        for tag, found in ends.items():
            found.sort(key=lambda one: one[:2])
            step = min(11.0, (self._pill(tag).wide - 16) / max(1, len(found) - 1))
            for number, (_, side, way) in enumerate(found):
                places[way][side] += (number - (len(found) - 1) / 2) * step
        return places

    # From top to bottom

    def _place_down(self) -> None:
        y = -self.shelves[0].sky if self.shelves else 0.0
        self.top = y - EDGE
        led = [{self.on[a], self.on[b]} for a, b in self.story.copies]
        for number, shelf in enumerate(self.shelves):
            if number:
                y += BETWEEN_SHELVES + 8 * ({self.shelves[number - 1], shelf} in led)
            shelf.pill_top = y + shelf.sky
            high = max(block.pill_height for block in shelf.blocks)
            shelf.row_top = shelf.pill_top + high + STEM
            shelf.end = shelf.row_top + max(block.height for block in shelf.blocks)
            y = shelf.end = shelf.end + FRAME_FOOT * self.framed
        self.bottom = y + EDGE

    # What is drawn

    def _marks(self) -> list[str]:
        marks = []
        for shelf in self.shelves:
            marks += self._frames(shelf) if self.framed else []
            for block in shelf.blocks:
                tops = shelf.pill_top, shelf.row_top
                marks += _block_marks(block, *tops, self.steady)
        marks += [self._copy(source, copy) for source, copy in self.arrows]
        for leaves, one, comes, other in self.across:
            low, high = one.pill_top - leaves.height, other.pill_top - comes.height
            lane, end, turn = leaves.end, comes.end, 8 if high < low else -8
            d = placed("M{} {}V{}q0-8 8-8", leaves.start, one.pill_top, low + 8)
            d += placed("H{}q8 0 8 {}V{}", lane - 8, -turn, high + turn)
            d += placed("q0 {} -8 {}H{}q-8 0-8 8", -turn, -turn, end + 8)
            d += placed("V{}", other.pill_top - 2)
            marks.append(_arc_mark(d, end, other.pill_top))
        return marks + [mark for shelf in self.shelves for mark in shelf.sky_marks()]

    def _frames(self, shelf: Shelf) -> list[str]:
        """Return a frame for each device, with its name."""
        marks = []
        devices = dict.fromkeys(block.memory.device for block in shelf.blocks)
        for device in filter(None, devices):
            blocks = [b for b in shelf.blocks if b.memory.device == device]
            left, top = blocks[0].x - FRAME_EDGE, shelf.row_top - FRAME_EDGE
            wide = blocks[-1].x + blocks[-1].width + FRAME_EDGE - left
            look = f'rx="8" fill="{PAPER}" stroke="{FRAME}"'
            marks.append(rect(left, top, wide, shelf.end - top, look))
            look = {"size": SMALL, "fill": FAINT, "anchor": "start", "room": wide - 8}
            marks.append(text_mark(f"on {device}", left + 6, shelf.end - 6, **look))
        return marks

    def _copy(self, source: Tag, copy: Tag) -> str:
        """Draw the dashed arrow from a row to its copy, beside it or below."""
        one, other = self.of[source], self.of[copy]
        y = self.on[source].row_top + CELL_HEIGHT / 2
        if self.on[source] is self.on[copy]:
            is_right = other.x > one.x
            begin, end = one.side(is_right), other.side(not is_right)
            way = 1 if is_right else -1
            d, foot = placed("M{} {}H{}", begin, y, end), y
            label = (begin + end) / 2, y - 7, "middle"
        else:
            foot = self.on[copy].row_top + CELL_HEIGHT / 2
            begin, end, lane = one.side(False), other.side(False), EDGE + 3
            way, down = 1, 8 if foot > y else -8
            d = placed("M{} {}H{}q-8 0-8 {}", begin, y, lane + 8, down)
            d += placed("V{}q0 {} 8 {}H{}", foot - down, down, down, end)
            lower = max((self.on[copy], self.on[source]), key=lambda s: s.row_top)
            label = lane + 7, lower.pill_top - lower.sky - 5, "start"
        x, above, anchor = label
        head = placed("M{} {}l{} 5l{} 5", end - 6 * way, foot - 5, 6 * way, -6 * way)
        text = text_mark("copied", x, above, size=SMALL, fill=FAINT, anchor=anchor)
        dashed = line_mark(d, FAINT, 2, "4 4")
        return f'<g class="tm-copy">{dashed}{line_mark(head, FAINT, 2)}{text}</g>'
