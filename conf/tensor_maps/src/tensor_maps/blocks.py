"""A memory as a block of a scene: its row of cells, tags on stems, what is below."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from tensor_maps.layout import spread
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
    rect,
    rounded,
    safe_width,
    text_mark,
    text_width,
    tinted,
    wrap,
)
from tensor_maps.story import Memory, Tag

CELL, NARROW_CELL, CELL_HEIGHT, LARGE = 28.0, 19.0, 28.0, 64.0
ROW_GAP, LINE_GAP = 6.0, 4.0
STEM, BEND, APART = 20.0, 26.0, 8.0
BAR, BAR_NAME, MOST_NAMED_BARS = 8.0, 14.0, 3
MOST_PILL = 150.0
LEAST_TEXT = 100.0  # of what stands under a row
LOCK = 13.0  # pixels that the lock of a frozen tag takes
GRID_LINE, READS = 17.0, ", row by row"  # how high a cell of a grid is; above a grid
LOOSE = 1.1  # room for a text there, against its width in Helvetica


@dataclass
class Row:
    """Where the cells of a memory stand: in one line, or in several."""

    each: float
    per_line: int
    gap_every: int
    count: int

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return -(-self.count // self.per_line) if self.count else 0

    @property
    def width(self) -> float:
        """Pixels across."""
        if not self.count:
            return 0.0
        end = self.at(self.per_line - 1)
        return end + self.each

    def at(self, cell: int) -> float:
        """Return where a cell begins, from the left of the row."""
        place = cell % self.per_line
        gaps = place // self.gap_every if self.gap_every else 0
        return place * self.each + gaps * ROW_GAP


def row_of(memory: Memory, room: float, least: float = CELL) -> Row:
    """Return the row of a memory: in one line if its values can be read there.

    ``least`` is how wide a cell is at least, where there is room for all of them.
    """
    count = len(memory.cells)
    if count < 2:
        wide = max(map(safe_width, memory.cells), default=0.0) + 14
        least = LARGE if count and wide > CELL + 16 else CELL
        return Row(min(room, max(least, wide)), 1, 0, count)
    widest = max(map(text_width, memory.cells))
    every = memory.columns if 0 < memory.columns < count else 0
    gaps = ROW_GAP * (-(-count // every) - 1 if every else 0)
    each = max(CELL, widest * 1.2 + 9)
    tight = max(NARROW_CELL, widest + 4)
    if least < CELL and count * tight + gaps <= room:
        return Row(max(least, tight), count, every, count)
    if count * each + gaps <= room:
        return Row(each, count, every, count)
    if count * tight + gaps <= room:
        return Row((room - gaps) / count, count, every, count)
    each = min(each, room)
    if every and every * each <= room:
        return Row(each, every, 0, count)
    fits = max(1, int(room // each))
    lines = -(-count // fits)
    return Row(each, -(-count // lines), 0, count)


@dataclass(eq=False)
class Block:
    """A memory with the place of each tag; lengths from the left of the block.

    ``stems`` say of each tag how it stands on the row: "left" and "right" bend into
    its side, "down" goes to a place on its upper edge, "rail" leads to a rail that all
    tags of a memory with many names hang on. ``texts`` are lines with their colour.
    """

    memory: Memory
    row: Row
    width: float
    left: float
    pills: list[float]
    centres: list[float]
    stems: list[tuple[str, float]]
    texts: list[tuple[str, str]] = field(default_factory=list)
    tag_lines: list[int] = field(default_factory=list)
    x: float = 0.0
    grid: Tag | None = None

    @property
    def high(self) -> int:
        """How many lines the tags take."""
        return max(self.tag_lines, default=0) + 1

    @property
    def parts(self) -> list[Tag]:
        """The tags that hold a part of the row."""
        return [tag for tag in self.memory.tags if tag.parts and self.row.count]

    @property
    def below_line(self) -> float:
        """Pixels that the bars take under each line of cells."""
        return BAR * len(self.parts)

    @property
    def names_bars(self) -> bool:
        """Whether each bar has its name below."""
        return self.row.lines == 1 and 0 < len(self.parts) <= MOST_NAMED_BARS

    @property
    def row_height(self) -> float:
        """Pixels from the first line of cells to the last, with bars."""
        if self.memory.is_ghost:
            return CELL_HEIGHT
        lines = self.row.lines
        height = lines * (CELL_HEIGHT + self.below_line)
        height += LINE_GAP * max(0, lines - 1)
        return height + BAR_NAME * len(self.parts) * self.names_bars

    @property
    def height(self) -> float:
        """Pixels below the upper edge of the row."""
        height = self.row_height + LINE * len(self.texts) + 3 * bool(self.texts)
        return height + (LINE + 5 + GRID_LINE * len(self.grid.grid) if self.grid else 0)

    def tag_x(self, tag: Tag) -> float:
        """Return where the middle of a tag stands in the scene."""
        return self.x + self.centres[self.memory.tags.index(tag)]

    def pill_of(self, tag: Tag) -> float:
        """Return how wide a tag is."""
        return self.pills[self.memory.tags.index(tag)]

    def line_of(self, tag: Tag) -> int:
        """Return the line of the tag, counted from above."""
        return self.tag_lines[self.memory.tags.index(tag)]

    def side(self, right: bool) -> float:
        """Return where a line can begin that leads away from the row."""
        kind = "right" if right else "left"
        ends = [self.left + self.row.width if right else self.left]
        ends += [
            centre
            for centre, (stem, _) in zip(self.centres, self.stems, strict=True)
            if stem == kind
        ]
        return self.x + (max(ends) + 5 if right else min(ends) - 5)


def arrange(
    memory: Memory, room: float, apart: float, least: float, extra: list[str]
) -> Block:
    """Return a memory as a block, with cells of at least that width.

    Stems bend into the sides of a row with two names, if these are to stand ``apart``.
    """
    pills = [min(_pill(tag), room, MOST_PILL) for tag in memory.tags]
    row = row_of(memory, room, least)
    block = _bent(memory, row, pills, room, apart) if apart else None
    if block is None:
        block = _straight(memory, row, pills, room)
    limit = min(room, max(block.width, LEAST_TEXT))
    for line in [*extra, *memory.lines]:
        # A line that is whole in Helvetica is made to fit in any other font.
        is_whole = text_width(line, SMALL) * LOOSE <= limit
        lines = [line] if is_whole else wrap(line, limit)
        block.texts += [(one, FAINT) for one in lines]
    for tag in memory.tags:
        if tag.raises:
            line = tag.raises if len(memory.tags) == 1 else f"{tag.name}: {tag.raises}"
            block.texts += [(one, TROUBLE) for one in wrap(line, limit)]
    wide = max((text_width(text, SMALL) for text, _ in block.texts), default=0.0)
    wanted = min(limit, wide * LOOSE)
    for tag in memory.tags:
        if tag.grid:
            wide = safe_width(tag.name + READS, SMALL)
            wide = max(wide, _cell_of_grid(memory) * len(tag.grid[0]))
            if wide <= room:
                block.grid, wanted = tag, max(wanted, wide)
    if wanted > block.width:
        shift = (wanted - block.width) / 2
        block.width, block.left = wanted, block.left + shift
        block.centres = [centre + shift for centre in block.centres]
        block.stems = [(kind, at + shift) for kind, at in block.stems]
    return block


def _pill(tag: Tag) -> float:
    wide = safe_width(tag.name, PILL_TEXT, True) + 16 + LOCK * (tag.sign == "frozen")
    return max(LEAST_PILL, wide)


def _reach(row: Row, memory: Memory, tag: Tag) -> tuple[float, float]:
    """Return the ends of the first part that a tag holds, from the row's left."""
    start, stop = tag.parts[0]
    if row.count == 1:
        return row.width * start, row.width * stop
    held = memory.held(tag)
    run = [at for place, at in enumerate(held) if at - held[0] == place]
    return row.at(run[0]), row.at(run[-1]) + row.each


def _middle(row: Row, memory: Memory, tag: Tag) -> float:
    return sum(_reach(row, memory, tag)) / 2


def _bent(
    memory: Memory, row: Row, pills: list[float], room: float, apart: float
) -> Block | None:
    """Stand two tags beside the row, or one beside it and one on the part it holds."""
    whole = [not tag.parts for tag in memory.tags]
    if len(pills) != 2 or not any(whole) or row.lines != 1:
        return None
    if all(whole):
        away = max(BEND, (apart - row.width) / 2)
        spare = room - row.width - sum(pills) / 2
        away = min(away, spare / 2)
        first, last = pills[0] / 2, pills[0] / 2 + 2 * away + row.width
        if away < BEND - 6 or last - first < sum(pills) / 2 + APART:
            return None
        left = pills[0] / 2 + away
        stems = [("left", left), ("right", left + row.width)]
        width = last + pills[1] / 2
        return Block(memory, row, width, left, pills, [first, last], stems, [], [0, 0])
    part = whole.index(False)
    middle = _middle(row, memory, memory.tags[part])
    other = 1 - part
    half = sum(pills) / 2 + APART
    if other == 0:  # left of the row, and the part is on it
        centre = min(-BEND, middle - half)
        kind, edge = "left", 0.0
    else:
        centre = max(row.width + BEND, middle + half)
        kind, edge = "right", row.width
    spots = {other: centre, part: middle}
    low = min(0.0, *(spots[at] - pills[at] / 2 for at in (0, 1)))
    high = max(row.width, *(spots[at] + pills[at] / 2 for at in (0, 1)))
    if high - low > room:
        return None
    stems = {other: (kind, edge - low), part: ("down", middle - low)}
    centres = [spots[at] - low for at in (0, 1)]
    both = [stems[0], stems[1]]
    return Block(memory, row, high - low, -low, pills, centres, both, [], [0, 0])


def _straight(memory: Memory, row: Row, pills: list[float], room: float) -> Block:
    """Stand the tags above the row, near what they hold; or hang them on a rail."""
    total = sum(pills) + APART * (len(pills) - 1)
    if total > room:
        return _on_rail(memory, row, pills, room)
    width = max(row.width, total)
    left = (width - row.width) / 2
    aims = [tag.parts and row.lines == 1 for tag in memory.tags]
    wanted = []
    for place, (tag, aim) in enumerate(zip(memory.tags, aims, strict=True)):
        at = row.width * (place + 0.5) / len(pills)
        wanted.append(left + (_middle(row, memory, tag) if aim else at))
    order = list(range(len(pills)))
    if all(aims) or len(pills) > 2:
        order.sort(key=lambda place: (wanted[place], place))
    elif any(aims):  # beside the part, on the side that keeps the order
        part = aims.index(True)
        wanted[1 - part] = wanted[part] + (-1 if part else 1) * sum(pills)
    centres = [0.0] * len(pills)
    spots = spread(
        [wanted[at] for at in order], [pills[at] for at in order], APART, width
    )
    for at, spot in zip(order, spots, strict=True):
        centres[at] = spot
    stems = []
    for tag, aim, centre in zip(memory.tags, aims, centres, strict=True):
        inner = min(7.0, row.width / 2)
        low, high = _reach(row, memory, tag) if aim else (0.0, row.width)
        low, high = left + low + inner, left + high - inner
        stems.append(("down", min(max(centre, low), max(low, high))))
    return Block(memory, row, width, left, pills, centres, stems, [], [0] * len(pills))


def _on_rail(memory: Memory, row: Row, pills: list[float], room: float) -> Block:
    centres, lines, at, line, inset = [], [], 14.0, 0, 14.0
    pills = [min(wide, room - inset) for wide in pills]
    for wide in pills:
        if at > inset and at + wide > room:
            at, line = inset, line + 1
        centres.append(at + wide / 2)
        lines.append(line)
        at += wide + APART
    ends = [centre + wide / 2 for centre, wide in zip(centres, pills, strict=True)]
    width = max(row.width, *ends)
    stems = [("rail", 5.0)] * len(pills)
    return Block(memory, row, width, 0.0, pills, centres, stems, [], lines)


# Marks --------------------------------------------------------------------------------


def block_marks(
    block: Block, top: float, row_top: float, steady: bool = False
) -> list[str]:
    """Draw a block: its row, its tags and what is said below.

    ``top`` is the upper edge of its tags, ``row_top`` that of its cells. In steady
    pictures a cell has the same mark wherever its row stands.
    """
    memory = block.memory
    marks = _row(block, row_top, steady) if block.row.count else []
    if memory.is_ghost:
        x, y = block.x + block.centres[0], row_top + CELL_HEIGHT / 2
        marks.append(cross(x, y, 10))
    marks += [_tag(block, place, top, row_top) for place in range(len(memory.tags))]
    y = row_top + block.row_height + 13
    for line, fill in block.texts:
        x, room = block.x + block.width / 2, block.width
        marks.append(text_mark(line, x, y, size=SMALL, fill=fill, room=room))
        y += LINE
    return [*marks, _grid(block, y + 3)] if block.grid else marks


def _grid(block: Block, y: float) -> str:
    """Draw what a tensor reads, in its own shape; a cell read again is dashed."""
    memory, tag, middle = block.memory, block.grid, block.x + block.width / 2
    each = _cell_of_grid(memory)
    left, read = middle - each * len(tag.grid[0]) / 2, set()
    boxes, texts = "", text_mark(tag.name + READS, middle, y, size=SMALL, fill=FAINT)
    for down, row in enumerate(tag.grid):
        top = y + 6 + down * GRID_LINE
        for x, at in zip(count(left, each), row, strict=False):
            new, again = at in memory.changed, at in read
            look = 'fill-opacity=".3"' if new else 'fill="none"'
            look += ' stroke-dasharray="2 2"' if again else ""
            boxes += rect(x, top, each, GRID_LINE, look)
            value = {"size": SMALL, "bold": new, "fill": FAINT if again else INK}
            place = x + each / 2, top + 12.5
            texts += text_mark(memory.cells[at], *place, room=each - 2, **value)
            read.add(at)
    line = f'<g fill="{memory.colour}" stroke="{memory.colour}" stroke-opacity=".6">'
    return group("tm-grid", f"{line}{boxes}</g>{texts}", data_name=tag.name)


def _cell_of_grid(memory: Memory) -> float:
    """Return how wide a cell of a grid is."""
    return max([18.0, *(safe_width(cell, SMALL) + 6 for cell in memory.cells)])


def cross(x: float, y: float, half: float) -> str:
    """Return the cross of what raises."""
    arm = rounded(2 * half)
    path = f"M{rounded(x - half)} {rounded(y - half)}l{arm} {arm}m0-{arm}l-{arm} {arm}"
    line = f'fill="none" stroke="{TROUBLE}" stroke-width="4"'
    return f'<path class="tm-cross" d="{path}" {line}/>'


def _row(block: Block, top: float, steady: bool) -> list[str]:
    memory, row, colour = block.memory, block.row, block.memory.colour
    unheld, parts, left = memory.unheld, [], block.x + block.left
    moved = f'<g transform="translate({rounded(left)} {rounded(top)})">'
    if steady:
        left = top = 0.0
    step = CELL_HEIGHT + block.below_line + LINE_GAP
    for at, cell in enumerate(memory.cells):
        x, y = left + row.at(at), top + at // row.per_line * step
        new = at in memory.changed
        look = 'fill-opacity="1"' if new else ""
        box = rect(x, y, row.each, CELL_HEIGHT, look)
        text = text_mark(
            cell,
            x + row.each / 2,
            y + CELL_HEIGHT / 2 + 4.7,
            bold=new,
            fill=PAPER if new else INK,
            room=row.each - 4,
        ).replace("<text ", '<text stroke="none" fill-opacity="1" ', 1)
        name = "tm-cell changed" if new else "tm-cell"
        more = {"opacity": ".45"} if at in unheld else {}
        parts.append(group(name, box + text, **more))
    for lane, tag in enumerate(block.parts):
        parts.append(_bars(block, tag, lane, left, top, step))
    dash = ' stroke-dasharray="4 3"' if memory.dashed else ""
    head = (
        f'<g class="tm-row" data-memory="{memory.number}" {tinted(colour)} '
        f'stroke="{colour}" stroke-width="1.5"{dash}>'
    )
    if steady:
        return [f"{head}{moved}", *parts, "</g></g>"]
    return [head, *parts, "</g>"]


def _bars(
    block: Block, tag: Tag, lane: int, left: float, top: float, step: float
) -> str:
    """Draw the bars under the cells that a tag holds a part of."""
    row, memory = block.row, block.memory
    spans: list[tuple[float, float, int]] = []
    if row.count == 1:
        for start, stop in tag.parts:
            wide = max(3.0, row.width * (stop - start))
            spans.append((row.width * start, row.width * start + wide, 0))
    else:
        for at in memory.held(tag):
            line, x = at // row.per_line, row.at(at)
            joins = spans and spans[-1][2] == line and x - spans[-1][1] < ROW_GAP + 1
            begin = spans.pop()[0] if joins else x
            spans.append((begin, x + row.each, line))
    lanes = BAR + BAR_NAME if block.names_bars else BAR
    y = top + CELL_HEIGHT + 5 + lane * lanes
    path = "".join(
        f"M{rounded(left + start + 2)} {rounded(y + line * step)}"
        f"h{rounded(max(2.0, stop - start - 4))}"
        for start, stop, line in spans
    )
    colour = memory.colour
    drawn = f'<path d="{path}" stroke-width="4" stroke-dasharray="none"/>'
    if block.names_bars:
        start, stop = spans[0][0], spans[-1][1]
        half = min(safe_width(tag.name, SMALL, True), block.width) / 2
        middle = block.left + (start + stop) / 2
        middle = left - block.left + min(max(middle, half), block.width - half)
        drawn += text_mark(
            tag.name,
            middle,
            y + 13.5,
            size=SMALL,
            bold=True,
            fill=colour,
            room=min(2 * half + 1, block.width),
        ).replace("<text ", '<text stroke="none" fill-opacity="1" ', 1)
    return drawn


def _tag(block: Block, place: int, top: float, row_top: float) -> str:
    memory, tag = block.memory, block.memory.tags[place]
    kind, target = block.stems[place]
    centre, wide = block.x + block.centres[place], block.pills[place]
    y = top + block.tag_lines[place] * (PILL + 6)
    foot, target = y + PILL, block.x + target
    colour = memory.colour
    if kind in ("left", "right"):
        turn = 10 if kind == "left" else -10
        middle = row_top + CELL_HEIGHT / 2
        path = (
            f"M{rounded(centre)} {rounded(foot)}V{rounded(middle - 10)}"
            f"q0 10 {turn} 10H{rounded(target)}"
        )
    elif kind == "rail":
        # The first of a line is joined to the rail, each other one to the one before.
        first = place == 0 or block.tag_lines[place - 1] < block.tag_lines[place]
        end = f"{rounded(target)}V{rounded(row_top)}"
        if not first:
            before = block.x + block.centres[place - 1] + block.pills[place - 1] / 2
            end = rounded(before)
        path = f"M{rounded(centre - wide / 2)} {rounded(y + PILL / 2)}H{end}"
    elif abs(target - centre) < 0.5:
        path = f"M{rounded(centre)} {rounded(foot)}V{rounded(row_top)}"
    else:
        half = rounded((foot + row_top) / 2)
        path = (
            f"M{rounded(centre)} {rounded(foot)}C{rounded(centre)} {half} "
            f"{rounded(target)} {half} {rounded(target)} {rounded(row_top)}"
        )
    line = f'fill="none" stroke="{colour}" stroke-width="3"'
    stem = f'<path d="{path}" {line}/>'
    if not block.row.count:
        stem = ""
    ghost = memory.is_ghost
    if ghost:
        look = f'rx="13" fill="none" stroke="{colour}" stroke-width="2" '
        look += 'stroke-dasharray="5 4"'
    else:
        look = f'rx="13" fill="{colour}"'
        look += f' stroke="{INK}" stroke-width="2"' if tag.is_new else ""
    left = centre - wide / 2
    pill = rect(left, y, wide, PILL, look)
    lock = LOCK if tag.sign == "frozen" else 0.0
    text = text_mark(
        tag.name,
        centre + lock / 2,
        y + 18,
        size=PILL_TEXT,
        bold=True,
        fill=colour if ghost else PAPER,
        room=wide - 12 - lock,
    )
    drawn = stem + pill + _sign(tag, left, y, wide) + text
    if tag.raises and not ghost:
        drawn += cross(centre + wide / 2 - 3, y + 3, 7)
    more = {"data_sign": tag.sign} if tag.sign else {}
    more |= {"data_new": ""} if tag.is_new else {}
    return group("tm-tag", drawn, data_name=tag.name, **more)


def _sign(tag: Tag, left: float, y: float, wide: float) -> str:
    """Draw the second outline of a leaf, or the lock of what is frozen."""
    line = f'fill="none" stroke="{PAPER}" stroke-width="1.5"'
    if tag.sign == "leaf":
        return rect(left + 3, y + 3, wide - 6, PILL - 6, f'rx="10" {line}')
    if tag.sign == "frozen":
        body = rect(left + 8, y + 12, 10, 7, f'rx="1" fill="{PAPER}"')
        arch = f"M{rounded(left + 10)} {rounded(y + 13)}v-3a3 3 0 0 1 6 0v3"
        return f'{body}<path d="{arch}" {line}/>'
    return ""
