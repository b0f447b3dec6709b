"""Arrange a memory as a block: a row of cells, names on stems, what is said below."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensor_maps.pen import (
    FAINT,
    INK,
    LEAST_PILL,
    LINE,
    PAPER,
    PILL,
    PILL_TEXT,
    SMALL,
    TROUBLE,
    group,
    line_mark,
    placed,
    rect,
    rounded,
    safe_width,
    spread,
    text_mark,
    text_width,
    tinted,
    wrap,
)
from tensor_maps.story import Memory, Tag

# Pixels: cells, what is between the lines of a row, and the bars below it.
CELL, NARROW_CELL, CELL_HEIGHT, LARGE = 28.0, 19.0, 28.0, 64.0
ROW_GAP, LINE_GAP = 6.0, 4.0
BAR, BAR_NAME, MOST_NAMED_BARS = 8.0, 14.0, 3
# Names on stems.
STEM, BEND, APART, LINE_OF_PILLS = 20.0, 26.0, 8.0, PILL + 6
MOST_PILL, LOCK = 150.0, 13.0
# What stands under a row; in a grid, how high a cell is.
LEAST_TEXT, GRID_LINE, READS = 100.0, 17.0, ", row by row"
LOOSE = 1.1  # room for a text there, against its width in Helvetica


@dataclass(eq=False)
class Pill:
    """Where a name of a block stands: its middle, its line counted from above.

    Its ``stem`` bends into the "left" or "right" side of the row, goes "down" to its
    upper edge, or leads to a "rail" that all names of a crowded memory hang on; it
    ends at ``foot``.
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
    begins; ``texts`` are lines with their colour; ``parts`` the names that hold a part
    of the row: each has a bar below it, and if these are few also its name.
    """

    memory: Memory
    each: float
    per_line: int
    gap_every: int
    pills: list[Pill]
    width: float = 0.0
    left: float = 0.0
    x: float = 0.0
    texts: list[tuple[str, str]] = field(default_factory=list)
    grid: Tag | None = None

    def __post_init__(self) -> None:
        memory = self.memory
        self.lines = -(-len(memory.cells) // self.per_line)
        self.row_width = (self.cell(self.per_line - 1) + self.each) * bool(memory.cells)
        self.parts = [tag for tag in memory.tags if tag.parts and memory.cells]
        self.names_bars = self.lines == 1 and 0 < len(self.parts) <= MOST_NAMED_BARS
        self.line_step = CELL_HEIGHT + BAR * len(self.parts) + LINE_GAP
        names = BAR_NAME * len(self.parts) * self.names_bars
        high = max(0.0, self.lines * self.line_step - LINE_GAP) + names
        self.row_height = CELL_HEIGHT if memory.is_ghost else high
        self.cell_of_grid = max(
            [18.0, *(safe_width(cell, SMALL) + 6 for cell in memory.cells)]
        )

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
            wide = self.row_width
            return [(wide * a, max(wide * b, wide * a + 3), 0) for a, b in tag.parts]
        spans: list[tuple[float, float, int]] = []
        for at in self.memory.held(tag):
            line, x = at // self.per_line, self.cell(at)
            joins = spans and spans[-1][2] == line and x - spans[-1][1] < ROW_GAP + 1
            spans.append((spans.pop()[0] if joins else x, x + self.each, line))
        return spans

    def first_span(self, tag: Tag) -> tuple[float, float]:
        """Return the ends of the first cells that a name holds, up to a gap."""
        if len(self.memory.cells) == 1:
            return self.row_width * tag.parts[0][0], self.row_width * tag.parts[0][1]
        held = self.memory.held(tag)
        run = [at for place, at in enumerate(held) if at - held[0] == place]
        return self.cell(run[0]), self.cell(run[-1]) + self.each

    def side(self, right: bool) -> float:
        """Return where in the scene a line can begin that leads away from the row."""
        kind = "right" if right else "left"
        ends = [self.left + self.row_width * right]
        ends += [one.centre for one in self.pills if one.stem == kind]
        return self.x + (max(ends) + 5 if right else min(ends) - 5)


def block_of(
    memory: Memory, room: float, apart: float, least: float, extra: list[str]
) -> Block:
    """Return a memory as a block, with cells of at least that width.

    Stems bend into the sides of a row with two names, if these are to stand ``apart``.
    """
    pills = []
    for tag in memory.tags:
        wide = (
            safe_width(tag.name, PILL_TEXT, True) + 16 + LOCK * (tag.sign == "frozen")
        )
        pills.append(Pill(tag, min(max(LEAST_PILL, wide), room, MOST_PILL)))
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
        middle = sum(block.first_span(pills[part].tag)) / 2
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
        block.first_span(one.tag) if aim else (0.0, row)
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


def block_marks(block: Block, top: float, row_top: float, steady: bool) -> list[str]:
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
    d = ""
    for start, stop, line in spans:
        down, long = y + line * block.line_step, max(2.0, stop - start - 4)
        d += placed("M{} {}h{}", left + start + 2, down, long)
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
