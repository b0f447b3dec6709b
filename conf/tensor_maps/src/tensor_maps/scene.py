"""Draw memories side by side, and what leads from name to name.

A memory is a ``Block``. Blocks stand side by side on a ``Shelf``; where there is no
room, on several. Above the pills of a shelf are its ``Arc``s: the ways of gradients,
the bars where they stop.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from xml.sax.saxutils import quoteattr

from tensor_maps import pen
from tensor_maps.arcs import STOPS, Arc, arc_mark
from tensor_maps.block import (
    CELL,
    HIGH,
    NARROW_CELL,
    PILL,
    PILL_LINE,
    STEADY_CELL,
    STEM,
    Block,
    Pill,
    Shelf,
    block_marks,
    block_of,
)
from tensor_maps.pen import EDGE, FAINT, FRAME, PAPER, SMALL, TEXT
from tensor_maps.story import Memory, Story, caption_of, story_of, words_of

WIDTH = 640.0  # pixels that a drawing takes at most, if nothing else is said
NUMBERS = ("no", "one", "two", "three", "four", "five")
APARTS = (116.0, 0.0)  # of two pills whose stems bend into a row; 0: none does
# Blocks on shelves, and what is beside these.
BETWEEN, BETWEEN_SHELVES, FRAME_EDGE, FRAME_FOOT = 16.0, 14.0, 8.0, 18.0
MARGIN, LANE, MOST_LANES = 16.0, 8.0, 3
COPIED = round(pen.safe_width("copied", SMALL)) + 4
BESIDE_BAR = pen.safe_width(STOPS, SMALL) + 36


@dataclass
class Drawing:
    """Marks of SVG and their size; what they show, in words and as a short caption.

    The marks belong together: one may open a pen.group that another closes. ``top`` is
    where the drawing begins: the pills of a scene stand below zero, the arcs above.
    """

    marks: list[str]
    width: float
    height: float
    words: str
    caption: str
    top: float = 0.0

    def svg(self, attributes: str = "") -> str:
        """Return the drawing as SVG for a page, in the page's font."""
        size = self.width, self.height, self.width, self.height
        frame = pen.placed(
            'viewBox="0 {} {} {}" width="{}" height="{}"', self.top, *size
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}role="img" '
            f"aria-label={quoteattr(pen.printable(self.words))} {frame} "
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
    names, ringed
        The names to draw, None for all; those whose pills get a ring.
    width
        The room in pixels, at least 216. The drawing is not wider than it needs.
    raises
        Names with the class of their error. They get a pill, and a cross.
    copies
        Pairs of names, what was copied and its copy, that the graph does not tell of.
    arcs
        Whether the ways of gradients are drawn.
    steady
        Whether cells and edges stay where they are, whatever else is drawn.
    """
    story = story_of(observed, names, raises, copies, ringed)
    if not arcs:
        story.flows, story.stops = [], []
    scene = _Scene(story, width, steady)
    caption = caption_of(story) if story.memories else "Nothing to draw."
    caption = " ".join([caption, *(f"{note}." for note in observed["notes"])]).strip()
    size = scene.right, scene.bottom - scene.top
    return Drawing(scene.marks, *size, words_of(story), caption, scene.top)


class _Scene:
    """Where everything of a story stands."""

    def __init__(self, story: Story, width: float, steady: bool) -> None:
        self.story, self.steady = story, steady
        self.framed = len(story.devices) > 1
        self.inset = FRAME_EDGE if self.framed or steady else 0.0
        self.left, self.right_end = EDGE, width - EDGE
        self.said: dict[Memory, list[str]] = {one: [] for one in story.memories}
        on = {tag: memory for memory in story.memories for tag in memory.tags}
        self.copies = [(on[a], on[b]) for a, b in story.copies]
        for memory in story.memories if len(story.memories) < 3 else ():
            names = sum(len(tag.names) for tag in memory.tags)
            whole = not any(tag.parts for tag in memory.tags)
            if len(memory.tags) > 1 and names < len(NUMBERS) and memory.cells and whole:
                self.said[memory].append(f"{NUMBERS[names]} names, the same memory")
        self._set_shelves()
        self._make_room()
        self._place_across()
        self._raise_arcs()
        self._place_down()
        self.marks = [*self._marks()]

    def _set_shelves(self) -> None:
        """Set memories side by side, if need be in narrower cells; else in shelves."""
        self.room = self.right_end - self.left - 2 * self.inset
        ways = [(apart, BETWEEN, CELL) for apart in APARTS]
        ways += product(APARTS, (BETWEEN, 8.0), (23.0, STEADY_CELL, NARROW_CELL))
        if self.steady:
            ways = [(apart, BETWEEN, STEADY_CELL) for apart in APARTS]
        for apart, self.between, cell in [*ways, ways[0]]:
            rows: list[list[Block]] = []
            for memory in self.story.memories:
                block = block_of(memory, self.room, self.said[memory], apart, cell)
                if rows and self._wide([*rows[-1], block]) <= self.room + 0.01:
                    rows[-1].append(block)
                else:
                    rows.append([block])
            if len(rows) < 2:
                break
        self.shelves, self.block, pill = [Shelf(blocks=row) for row in rows], {}, {}
        for shelf in self.shelves:
            for block in shelf.blocks:
                block.shelf, self.block[block.memory] = shelf, block
                for one in block.pills:
                    one.shelf, pill[one.tag] = shelf, one
        self.copied = [(self.block[one], self.block[two]) for one, two in self.copies]
        ways = ("stop", self.story.stops), ("flow", self.story.flows)
        self.ways = [(kind, pill[a], pill[b]) for kind, two in ways for a, b in two]

    def _wide(self, blocks: list[Block]) -> float:
        return sum(block.width for block in blocks) + sum(self._gaps(blocks))

    def _gaps(self, blocks: list[Block]) -> list[float]:
        found = []
        for one, other in pairwise(block.memory for block in blocks):
            is_copy = (one, other) in self.copies or (other, one) in self.copies
            is_apart = self.steady or (self.framed and one.device != other.device)
            gap = COPIED if is_copy else self.between
            found.append(gap + (2 * FRAME_EDGE if is_apart else 8 * is_copy))
        return found

    def _make_room(self) -> None:
        """Leave margins for what leads from shelf to shelf; say what no arrow can."""
        flows = [(a, b) for kind, a, b in self.ways if kind == "flow"]
        across = len({a for a, b in flows if a.shelf is not b.shelf})
        if across:
            self.right_end -= MARGIN + LANE * (min(across, MOST_LANES) - 1)
            self._set_shelves()
        if any(a.shelf is not b.shelf for a, b in self.copied):
            self.left += MARGIN
            self._set_shelves()
        # An arrow leads to the next block, or from a first block to the one below.
        beside = [pair for shelf in self.shelves for pair in pairwise(shelf.blocks)]
        beside += pairwise(shelf.blocks[0] for shelf in self.shelves)
        near = [{one.memory, other.memory} for one, other in beside]
        self.arrows = [one for one in dict.fromkeys(self.copies) if {*one} in near]
        told = zip(self.story.copies, self.copies, strict=True)
        for (source, _), pair in told:
            if pair not in self.arrows:
                self.said[pair[1]].append(f"copied from {source.name}")
        if any(pair not in self.arrows for pair in self.copies):
            self._set_shelves()

    def _place_across(self) -> None:
        widest = max((self._wide(shelf.blocks) for shelf in self.shelves), default=0.0)
        for shelf in self.shelves:
            x = self.left + self.inset + (widest - self._wide(shelf.blocks)) / 2
            gaps = [*self._gaps(shelf.blocks), 0]
            for block, gap in zip(shelf.blocks, gaps, strict=True):
                block.x = x
                block.move(x)
                x += block.width + gap
        self.content_end = self.left + widest + 2 * self.inset

    def _raise_arcs(self) -> None:
        """Give each way its arcs; those that end on one name stand side by side."""
        self.across: list[tuple[Arc, Arc, int]] = []
        leave: dict[Pill, Arc] = {}
        arrive: dict[tuple[Pill, Shelf], Arc] = {}
        feet: dict[Pill, list[tuple[float, int, Arc, int]]] = {}
        stops: list[tuple[Arc, Pill]] = []

        def arc_on(shelf: Shelf, kind: str, *ends: float) -> Arc:
            shelf.arcs.append(Arc(kind, shelf, [*ends]))
            return shelf.arcs[-1]

        def stand(arc: Arc, one: Pill, side: int, near: float = 1e6) -> None:
            feet.setdefault(one, []).append((near, side, arc, len(arc.ends)))
            arc.ends.append(one.centre)

        for kind, one, other in self.ways:
            key = one, other.shelf
            if one.line or other.line:
                continue  # a name under another one: words say it
            if kind == "stop":
                stops.append((arc_on(one.shelf, kind), other))
                stand(stops[-1][0], one, 0, other.centre)
            elif one.shelf is other.shelf:
                arc = arc_on(one.shelf, kind)
                stand(arc, one, 0, other.centre)
                stand(arc, other, 1, one.centre)
            else:
                if one not in leave:  # what leaves from one name does so as one line
                    lane = self.content_end + 9 + LANE * (len(leave) % MOST_LANES)
                    leave[one] = arc_on(one.shelf, "out", lane)
                    stand(leave[one], one, 0)
                if key not in arrive:
                    arrive[key] = arc_on(other.shelf, "in", leave[one].ends[0])
                self.across.append((leave[one], arrive[key], len(arrive[key].ends)))
                stand(arrive[key], other, 1)
        for one, found in feet.items():
            found.sort(key=lambda end: end[:2])
            step = min(11.0, (one.wide - 16) / max(1, len(found) - 1))
            for number, (_, _, arc, at) in enumerate(found):
                arc.ends[at] += (number - (len(found) - 1) / 2) * step
        for arc, other in stops:
            (a,), far = arc.ends, other.centre - arc.ends[0]
            if arc.shelf is not other.shelf:
                far = -60 if a > 90 else 60
            reach = max(24.0, min(84.0, abs(far) * 0.62))
            if abs(far) >= 174:  # the label has room between two names
                reach = max(30.0, min(reach, abs(far) - BESIDE_BAR))
            bar = a + (reach if far > 0 else -reach)
            arc.ends.append(min(max(bar, self.left + 6), self.right_end - 6))
        told: set[str] = set()
        self.right = self.content_end
        end = max([self.content_end, *(arc.ends[0] for arc in leave.values())])
        for shelf in self.shelves:
            shelf.settle(EDGE, end, told)
            ends = [x + half for _, x, _, half in shelf.labels]
            ends += [max(arc.ends) + 2 for arc in shelf.arcs]
            self.right = max([self.right, *ends])

    def _place_down(self) -> None:
        y = -self.shelves[0].sky if self.shelves else 0.0
        self.top = y - EDGE
        led = [{one.shelf, other.shelf} for one, other in self.copied]
        for number, shelf in enumerate(self.shelves):
            if number:
                y += BETWEEN_SHELVES + 8 * ({self.shelves[number - 1], shelf} in led)
            shelf.pill_top = y + shelf.sky
            line = max(one.line for block in shelf.blocks for one in block.pills)
            shelf.row_top = shelf.pill_top + line * PILL_LINE + PILL + STEM
            shelf.end = shelf.row_top + max(block.height for block in shelf.blocks)
            y = shelf.end = shelf.end + FRAME_FOOT * self.framed
        self.bottom = y + EDGE

    def _marks(self) -> Iterator[str]:
        for shelf in self.shelves:
            if self.framed:
                yield from self._frames(shelf)
            for block in shelf.blocks:
                yield from block_marks(block, self.steady)
        for source, copy in self.arrows:
            yield self._copy(self.block[source], self.block[copy])
        for leaves, comes, at in self.across:
            (lane, start), end = leaves.ends, comes.ends[at]
            top, foot = leaves.shelf.pill_top, comes.shelf.pill_top
            low, high = top - leaves.height, foot - comes.height
            turn = 8 if high < low else -8
            d = pen.placed("M{} {}V{}q0-8 8-8", start, top, low + 8)
            d += pen.placed("H{}q8 0 8 {}V{}", lane - 8, -turn, high + turn)
            d += pen.placed("q0 {} -8 {}H{}q-8 0-8 8", -turn, -turn, end + 8)
            yield arc_mark(d + pen.placed("V{}", foot - 2), end, foot)
        for shelf in self.shelves:
            yield from shelf.sky_marks()

    def _frames(self, shelf: Shelf) -> Iterator[str]:
        """Yield a frame for each device, with its name."""
        devices = dict.fromkeys(block.memory.device for block in shelf.blocks)
        for device in filter(None, devices):
            blocks = [b for b in shelf.blocks if b.memory.device == device]
            left, top = blocks[0].x - FRAME_EDGE, shelf.row_top - FRAME_EDGE
            wide = blocks[-1].x + blocks[-1].width + FRAME_EDGE - left
            look = f'rx="8" fill="{PAPER}" stroke="{FRAME}"'
            yield pen.rect(left, top, wide, shelf.end - top, look)
            look = {"anchor": "start", "room": wide - 8}
            yield pen.small_mark(f"on {device}", left + 6, shelf.end - 6, **look)

    def _copy(self, one: Block, other: Block) -> str:
        """Draw the dashed arrow from a row to its copy, beside it or below."""
        y, foot = (at.shelf.row_top + HIGH / 2 for at in (one, other))
        is_beside = one.shelf is other.shelf
        way = -6 if is_beside and other.x < one.x else 6
        is_right = is_beside and way > 0
        begin, end = one.side(is_right), other.side(way < 0)
        if is_beside:
            d = pen.placed("M{} {}H{}", begin, y, end)
            x, above, anchor = (begin + end) / 2, y - 7, "middle"
        else:
            lane, down = EDGE + 3, 8 if foot > y else -8
            d = pen.placed("M{} {}H{}q-8 0-8 {}", begin, y, lane + 8, down)
            d += pen.placed("V{}q0 {} 8 {}H{}", foot - down, down, down, end)
            lower = max(one.shelf, other.shelf, key=lambda shelf: shelf.row_top)
            x, above, anchor = lane + 7, lower.pill_top - lower.sky - 5, "start"
        head = pen.placed("M{} {}l{} 5l{} 5", end - way, foot - 5, way, -way)
        text = pen.small_mark("copied", x, above, anchor=anchor)
        dashed = pen.line_mark(d, FAINT, 2, "4 4")
        return f'<g class="tm-copy">{dashed}{pen.line_mark(head, FAINT, 2)}{text}</g>'
