"""Lay out and draw one memory: its row of cells, the names on it, what is said below.

The pill of a name stands on a stem. Two stems bend into the sides of a row, others lead
down to the part that the name holds; many names hang on a rail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tensor_maps import pen
from tensor_maps.arcs import Sky
from tensor_maps.pen import FAINT, INK, LINE, PAPER, SMALL, TROUBLE
from tensor_maps.story import Memory, Tag

# Pixels: cells and their rows, with bars below for names that hold a part.
CELL, NARROW_CELL, STEADY_CELL, HIGH = 28.0, 19.0, 21.0, 28.0
ROW_GAP, LINE_GAP, BAR, BAR_NAME, MOST_NAMED_BARS = 6.0, 4.0, 8.0, 14.0, 3
LEAST_TEXT, GRID_LINE, READS = 100.0, 17.0, ", row by row"
LOOSE = 1.1  # room for a text below a row, against its width in Helvetica
IN_ROW = 'stroke="none" fill-opacity="1" '  # of text: a row has a stroke, and is faint
# Names on stems.
PILL, LEAST_PILL, MOST_PILL, PILL_LINE, LOCK = 26.0, 40.0, 150.0, 32.0, 13.0
STEM, BEND, APART = 20.0, 26.0, 8.0


@dataclass(eq=False)
class Pill:
    """A name on its stem: its middle, and its line counted from above.

    The ``stem`` bends into the "left" or "right" side of the row, or goes "down" to
    its upper edge; the names of a crowded memory hang on a "rail", or on the "next"
    name to the left. It ends at ``foot``. ``span`` has the ends of the first cells that
    the name holds, if it holds a part of a row of one line.
    """

    tag: Tag
    wide: float
    span: tuple[float, ...] = ()
    stem = "down"
    centre = foot = 0.0
    line = 0
    shelf: Shelf = field(init=False)


@dataclass(eq=False)
class Block:
    """A memory with the places of its names, and lines of text with their colour.

    ``each`` is how wide a cell is, ``per_line`` how many are in a line, ``gap_every``
    after how many there is a gap. ``x`` is the left edge, ``left`` that of the row;
    ``parts`` are the names that hold a part of the row: each has a bar below it.
    """

    memory: Memory
    each: float
    per_line: int
    gap_every: int
    pills: list[Pill]
    texts: list[tuple[str, str]] = field(default_factory=list)
    shelf: Shelf = field(init=False)
    grid: Tag | None = None
    x = width = left = 0.0

    def __post_init__(self) -> None:
        cells, tags = self.memory.cells, self.memory.tags
        self.lines = -(-len(cells) // self.per_line)
        self.row_width = (self.cell(self.per_line - 1) + self.each) * bool(cells)
        self.parts = [tag for tag in tags if tag.parts and cells]
        self.names_bars = self.lines == 1 and 0 < len(self.parts) <= MOST_NAMED_BARS
        self.line_step = HIGH + BAR * len(self.parts) + LINE_GAP
        names = BAR_NAME * len(self.parts) * self.names_bars
        high = max(0.0, self.lines * self.line_step - LINE_GAP) + names
        self.row_height = HIGH if self.memory.is_ghost else high
        widest = max((pen.safe_width(cell, SMALL) for cell in cells), default=0.0)
        self.cell_of_grid = max(18.0, widest + 6)
        for one in self.pills if self.lines == 1 else ():
            one.span = self.spans(one.tag)[0][:2] if one.tag.parts else ()

    @property
    def height(self) -> float:
        """Pixels below the upper edge of the row."""
        height = self.row_height + LINE * len(self.texts) + 3 * bool(self.texts)
        return height + (LINE + 5 + GRID_LINE * len(self.grid.grid) if self.grid else 0)

    def cell(self, at: int) -> float:
        """Return where a cell begins, from the left of the row."""
        place = at % self.per_line
        gaps = place // self.gap_every if self.gap_every else 0
        return place * self.each + gaps * ROW_GAP

    def spans(self, tag: Tag) -> list[tuple[float, float, int]]:
        """Return from where to where a name holds cells, and in which line."""
        if len(self.memory.cells) == 1:
            return [(self.row_width * a, self.row_width * b, 0) for a, b in tag.parts]
        spans: list[tuple[float, float, int]] = []
        for at in self.memory.held(tag):
            line, x = at // self.per_line, self.cell(at)
            joins = spans and spans[-1][2] == line and x - spans[-1][1] < ROW_GAP + 1
            spans.append((spans.pop()[0] if joins else x, x + self.each, line))
        return spans

    def side(self, right: bool) -> float:
        """Return where a line can begin that leads away from the row."""
        kind = "right" if right else "left"
        ends = [self.left + self.row_width * right]
        if not self.row_width:  # words stand in the place of cells
            ends = [self.x + self.width * right]
        ends += [one.centre for one in self.pills if one.stem == kind]
        return max(ends) + 5 if right else min(ends) - 5

    def move(self, right: float) -> None:
        """Move the row and its names to the right."""
        self.left += right
        for one in self.pills:
            one.centre, one.foot = one.centre + right, one.foot + right


def block_of(
    memory: Memory, room: float, said: list[str], apart: float, least: float
) -> Block:
    """Return a memory as a block, with cells of at least the width ``least``.

    Stems bend into the sides of a row with two names, if these are to stand ``apart``.
    """
    pills = []
    for tag in memory.tags:
        wide = pen.safe_width(tag.name, 14.0, True) + LOCK * (tag.sign == "frozen")
        pills.append(Pill(tag, min(max(LEAST_PILL, wide + 16), room, MOST_PILL)))
    block = Block(memory, *_row(memory, room, least), pills)
    if not (_bend(block, room, apart) or _stand(block, room)):
        _hang(block, room)
    limit = min(room, max(block.width, LEAST_TEXT))
    for line in [*said, *memory.lines]:
        # A line that is whole in Helvetica is made to fit in any other font.
        fits = pen.text_width(line, SMALL) * LOOSE <= limit
        lines = [line] if fits else pen.wrap(line, limit)
        block.texts += [(one, FAINT) for one in lines]
    for tag in filter(lambda one: one.raises, memory.tags):
        line = tag.raises if len(memory.tags) == 1 else f"{tag.name}: {tag.raises}"
        block.texts += [(one, TROUBLE) for one in pen.wrap(line, limit)]
    wide = max((pen.text_width(text, SMALL) for text, _ in block.texts), default=0.0)
    wanted = max(block.width, min(limit, wide * LOOSE))
    for tag in filter(lambda one: one.grid, memory.tags):
        wide = block.cell_of_grid * len(tag.grid[0])
        wide = max(wide, pen.safe_width(tag.name + READS, SMALL))
        if wide <= room:
            block.grid, wanted = tag, max(wanted, wide)
    block.move((wanted - block.width) / 2)
    block.width = wanted
    return block


def _row(memory: Memory, room: float, least: float) -> tuple[float, int, int]:
    """Return how wide cells are, how many are in a line, and after how many is a gap.

    They are in one line if the values can be read there, and ``least`` wide if there is
    room for all of them.
    """
    count = len(memory.cells)
    if count < 2:
        wide = max(map(pen.safe_width, memory.cells), default=0.0) + 14
        return min(room, max(64.0 if wide > CELL + 16 else CELL, wide)), 1, 0
    widest = max(map(pen.text_width, memory.cells))
    every = memory.columns % count
    spare = room - ROW_GAP * (count // every - 1 if every else 0)
    each, tight = max(CELL, widest * 1.2 + 9), max(NARROW_CELL, widest + 4)
    if count * tight <= spare:
        wide = max(least, tight) if least < CELL else min(each, spare / count)
        return wide, count, every
    each = min(each, room)
    lines = -(-count // max(1, int(room // each)))
    return each, -(-count // lines), 0


def _bend(block: Block, room: float, apart: float) -> bool:
    """Stand two names beside the row, or one beside it and one on the part it holds.

    Return whether there is room.
    """
    held, row = [one for one in block.pills if one.span], block.row_width
    if not apart or len(block.pills) != 2 or len(held) > 1 or block.lines != 1:
        return False
    one, other = block.pills
    half = (one.wide + other.wide) / 2
    if held:
        low = high = sum(held[0].span) / 2
        if one.span:
            high = max(row + BEND, high + half + APART)
        else:
            low = min(-BEND, low - half - APART)
    else:
        away = min(max(BEND, (apart - row) / 2), (room - row - half) / 2)
        low, high = -away, row + away
        if away < BEND - 6 or high - low < half + APART:
            return False
    left, right = min(0.0, low - one.wide / 2), max(row, high + other.wide / 2)
    if right - left > room + 1e-6:
        return False
    ends = ("left", one, low, 0.0), ("right", other, high, row)
    for stem, pill, pill.centre, foot in ends:
        pill.stem, pill.foot = ("down", pill.centre) if pill.span else (stem, foot)
    block.width = right - left
    block.move(-left)
    return True


def _stand(block: Block, room: float) -> bool:
    """Stand the names above the row, near what they hold; return if there is room."""
    pills, row = block.pills, block.row_width
    widths = sum(one.wide for one in pills)
    total = widths + APART * (len(pills) - 1)
    block.width = max(row, total)
    if total > room:
        return False
    for place, one in enumerate(pills):
        middle = row * (place + 0.5) / len(pills)
        one.centre = sum(one.span) / 2 if one.span else middle
    held = [one.span for one in pills]
    if len(pills) == 2 and any(held) and not all(held):
        one, other = pills  # beside the part, on the side that keeps the order
        if other.span:
            one.centre = other.centre - widths
        else:
            other.centre = one.centre + widths
    block.move((block.width - row) / 2)
    order = sorted(pills, key=lambda one: one.centre)
    widths = [one.wide for one in order]
    spots = pen.spread([one.centre for one in order], widths, APART, block.width)
    inner = min(7.0, row / 2)
    for one, one.centre in zip(order, spots, strict=True):
        low, high = one.span or (0.0, row)
        low, high = block.left + low + inner, block.left + high - inner
        one.foot = min(max(one.centre, low), max(low, high))
    return True


def _hang(block: Block, room: float) -> None:
    """Set the names in lines that hang on a rail."""
    inset = at = 14.0
    line, block.width = 0, block.row_width
    for one in block.pills:
        one.wide = min(one.wide, room - inset)
        if at > inset and at + one.wide > room:
            at, line = inset, line + 1
        one.stem, one.foot = ("next", at - APART) if at > inset else ("rail", 5.0)
        one.centre, one.line = at + one.wide / 2, line
        block.width = max(block.width, at + one.wide)
        at += one.wide + APART


def block_marks(block: Block, steady: bool) -> Iterator[str]:
    """Draw a block: its row, its names and what is said below.

    In steady pictures a cell has the same mark wherever its row stands.
    """
    memory, x, y = block.memory, block.left, block.shelf.row_top
    if memory.cells:
        dash = ' stroke-dasharray="4 3"' if memory.dashed else ""
        colour = f'{pen.tinted(memory.colour)} stroke="{memory.colour}"'
        moved = f'<g transform="{pen.placed("translate({} {})", x, y)}">' * steady
        yield (
            f'<g class="tm-row" data-memory="{memory.number}" {colour} '
            f'stroke-width="1.5"{dash}>{moved}'
        )
        at = (0.0, 0.0) if steady else (x, y)
        yield from (_cell(block, one, *at) for one in range(len(memory.cells)))
        yield from (_bar(block, lane, *at) for lane in range(len(block.parts)))
        yield "</g></g>" if steady else "</g>"
    if memory.is_ghost:
        yield _cross(block.pills[0].centre, y + HIGH / 2, 10)
    yield from (_pill_mark(memory, one) for one in block.pills)
    x, y = block.x + block.width / 2, y + block.row_height + 13
    for line, fill in block.texts:
        yield pen.small_mark(line, x, y, fill=fill, room=block.width)
        y += LINE
    if block.grid:
        yield _grid(block, x, y + 3)


def _cell(block: Block, at: int, left: float, top: float) -> str:
    memory, new = block.memory, at in block.memory.changed
    x, y = left + block.cell(at), top + at // block.per_line * block.line_step
    box = pen.rect(x, y, block.each, HIGH, 'fill-opacity="1"' if new else "")
    place = x + block.each / 2, y + HIGH / 2 + 4.7
    fill, room = PAPER if new else INK, block.each - 4
    look = {"bold": new, "fill": fill, "room": room}
    text = pen.text_mark(memory.cells[at], *place, look=IN_ROW, **look)
    more = {"opacity": ".45"} if at in memory.unheld else {}
    return pen.group("tm-cell changed" if new else "tm-cell", box + text, **more)


def _bar(block: Block, lane: int, left: float, top: float) -> str:
    """Draw the bar under the cells that a name holds, in several pieces if need be."""
    tag, names = block.parts[lane], block.names_bars
    spans, d = block.spans(tag), ""
    y = top + HIGH + 5 + lane * (BAR + BAR_NAME * names)
    for start, stop, line in spans:
        down, long = y + line * block.line_step, max(2.0, stop - start - 4)
        d += pen.placed("M{} {}h{}", left + start + 2, down, long)
    drawn = f'<path d="{d}" stroke-width="4" stroke-dasharray="none"/>'
    if names:
        edge, (start, _, _), (last, stop, _) = block.left - block.x, spans[0], spans[-1]
        half = min(pen.safe_width(tag.name, SMALL, True), block.width) / 2
        middle = edge + (start + max(stop, last + 3)) / 2
        x = left - edge + min(max(middle, half), block.width - half)
        look = {"bold": True, "fill": block.memory.colour, "look": IN_ROW}
        room = min(2 * half + 1, block.width)
        drawn += pen.small_mark(tag.name, x, y + 13.5, room=room, **look)
    return drawn


def _grid(block: Block, middle: float, y: float) -> str:
    """Draw what a tensor reads, in its own shape; a cell read again is dashed."""
    memory, tag, each = block.memory, block.grid, block.cell_of_grid
    left, read = middle - each * len(tag.grid[0]) / 2, set()
    boxes, texts = "", pen.small_mark(tag.name + READS, middle, y)
    for down, row in enumerate(tag.grid):
        top = y + 6 + down * GRID_LINE
        for right, at in enumerate(row):
            x, new, again = left + right * each, at in memory.changed, at in read
            look = 'fill-opacity=".3"' if new else 'fill="none"'
            look += ' stroke-dasharray="2 2"' if again else ""
            boxes += pen.rect(x, top, each, GRID_LINE, look)
            look = {"bold": new, "fill": FAINT if again else INK, "room": each - 2}
            texts += pen.small_mark(memory.cells[at], x + each / 2, top + 12.5, **look)
            read.add(at)
    line = f'<g fill="{memory.colour}" stroke="{memory.colour}" stroke-opacity=".6">'
    return pen.group("tm-grid", f"{line}{boxes}</g>{texts}", data_name=tag.name)


def _pill_mark(memory: Memory, one: Pill) -> str:
    """Draw a name on its stem, with the signs of what it is."""
    tag, colour, x, end = one.tag, memory.colour, one.centre, one.foot
    shelf, is_ghost = one.shelf, memory.is_ghost
    y, row_top = shelf.pill_top + one.line * PILL_LINE, shelf.row_top
    left, right, foot = x - one.wide / 2, x + one.wide / 2, y + PILL
    side, half = row_top + HIGH / 2 - 10, (foot + row_top) / 2
    d = {
        "left": ("M{} {}V{}q0 10 10 10H{}", x, foot, side, end),
        "right": ("M{} {}V{}q0 10 -10 10H{}", x, foot, side, end),
        "rail": ("M{} {}H{}V{}", left, y + PILL / 2, end, row_top),
        "next": ("M{} {}H{}", left, y + PILL / 2, end),
        "down": ("M{} {}C{} {} {} {} {} {}", x, foot, x, half, end, half, end, row_top),
    }[one.stem]
    if one.stem == "down" and abs(end - x) < 0.5:
        d = "M{} {}V{}", x, foot, row_top
    drawn = pen.line_mark(pen.placed(*d), colour, 3) if memory.cells else ""
    look = f'rx="13" fill="{colour}"'
    if is_ghost:
        look = f'rx="13" fill="none" stroke="{colour}" stroke-width="2" '
        look += 'stroke-dasharray="5 4"'
    elif tag.is_new:
        look += f' stroke="{INK}" stroke-width="2"'
    drawn += pen.rect(left, y, one.wide, PILL, look)
    if tag.sign == "leaf":  # a second outline
        outline = f'rx="10" fill="none" stroke="{PAPER}" stroke-width="1.5"'
        drawn += pen.rect(left + 3, y + 3, one.wide - 6, PILL - 6, outline)
    lock = LOCK if tag.sign == "frozen" else 0.0
    if lock:
        drawn += pen.rect(left + 8, y + 12, 10, 7, f'rx="1" fill="{PAPER}"')
        arch = pen.placed("M{} {}v-3a3 3 0 0 1 6 0v3", left + 10, y + 13)
        drawn += pen.line_mark(arch, PAPER, 1.5)
    look = {"size": 14.0, "bold": True, "fill": colour if is_ghost else PAPER}
    room = one.wide - 12 - lock
    drawn += pen.text_mark(tag.name, x + lock / 2, y + 18, room=room, **look)
    if tag.raises and not is_ghost:
        drawn += _cross(right - 3, y + 3, 7)
    more = {"data_sign": tag.sign} if tag.sign else {}
    more |= {"data_new": ""} if tag.is_new else {}
    return pen.group("tm-tag", drawn, data_name=tag.name, **more)


def _cross(x: float, y: float, half: float) -> str:
    arm = pen.rounded(2 * half)
    d = pen.placed("M{} {}", x - half, y - half) + f"l{arm} {arm}m0-{arm}l-{arm} {arm}"
    return pen.line_mark(d, TROUBLE, 4, name="tm-cross")


@dataclass(eq=False)
class Shelf(Sky):
    """Blocks side by side, and what is above their pills."""

    blocks: list[Block] = field(default_factory=list)
    row_top = end = 0.0
