"""Draw memories as rows of cells, names on stems, and what leads from name to name.

A memory becomes a ``Block``: its row, the pill of each name, what is said below.
Blocks stand side by side on a ``Shelf``; where there is no room, on several. Above the
pills of a shelf are its ``Arc``s: the ways of gradients, the bars where they stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from xml.sax.saxutils import quoteattr

from tensor_maps.blocks import (
    CELL,
    CELL_HEIGHT,
    LINE_OF_PILLS,
    NARROW_CELL,
    STEM,
    Block,
    block_marks,
    block_of,
)
from tensor_maps.pen import (
    EDGE,
    FAINT,
    FRAME,
    INK,
    PAPER,
    PILL,
    SMALL,
    TEXT,
    line_mark,
    placed,
    printable,
    rect,
    rounded,
    safe_width,
    text_mark,
)
from tensor_maps.story import Memory, Story, Tag, caption_of, story_of, words_of

WIDTH = 640.0  # pixels that a drawing takes at most, if nothing else is said
# Blocks and shelves.
STEADY_CELL, BETWEEN, NARROW, BETWEEN_SHELVES = 21.0, 16.0, 8.0, 14.0
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


# All memories -------------------------------------------------------------------------


@dataclass(eq=False)
class Shelf:
    """Blocks side by side, and what is above their pills."""

    blocks: list[Block]
    arcs: list[Arc] = field(default_factory=list)
    labels: list[tuple[str, float, float, float]] = field(default_factory=list)
    pill_top: float = 0.0
    row_top: float = 0.0
    end: float = 0.0

    @property
    def sky(self) -> float:
        """Pixels above the pills."""
        tops = [arc.top + 2 for arc in self.arcs]
        return max([*tops, *(up + 11 for _, _, up, _ in self.labels)], default=0.0)

    def settle(self, left: float, right: float, told: set[str]) -> None:
        """Set heights, and a label for each kind of arc that has none so far.

        ``left`` and ``right`` are the ends of the drawing. The labels that are set
        are added to ``told``. Where "gradient stops" has no place beside its bar or
        above it, the arcs above the bar are lifted.
        """
        _set_heights(self.arcs)
        for kinds, text in ((("stop",), STOPS), (("flow", "in"), GRADIENT)):
            arcs = [arc for arc in self.arcs if arc.kind in kinds and text not in told]
            if not arcs:
                continue
            told.add(text)
            half = safe_width(text, SMALL) / 2 + 1
            place = self._free_place(arcs, half, left, right)
            if place is None and text == STOPS:
                arcs[0].label = LABEL + 10
                _set_heights(self.arcs)
                place = self._free_place(arcs, half, left, right)
            elif place is None:  # above all arcs there is always room
                middle = (arcs[-1].low + arcs[-1].high) / 2
                x = min(max(middle, left + half), right - half)
                place = x, max(arc.top for arc in self.arcs) + 5 + LABEL
            if place:
                self.labels.append((text, *place, half))

    def _free_place(
        self, arcs: list[Arc], half: float, left: float, right: float
    ) -> Point | None:
        """Return the middle of a label that is on nothing, near to its arcs."""

        def within(x: float) -> float:
            return min(max(x, left + half), right - half)

        spots: list[Point] = []
        for arc in arcs:
            middle = (arc.low + arc.high) / 2
            if arc.kind == "stop":
                aside = half + 8 if arc.end > arc.start else -half - 8
                x, up = arc.end + aside, arc.height + BAR_HALF + 5
                if within(x) == x:
                    spots += [(x, arc.height - low) for low in (4, 11)]
                moves = (0, 0.3, -0.3, 0.6, -0.6, 0.95, -0.95)
                middles = [within(arc.end + half * move) for move in moves]
                spots += [(x, up) for x in middles if abs(x - arc.end) < half]
            elif arc.kind == "flow":
                moves = (0, 20, -20, 40, -40)
                spots += [(within(middle + move), arc.height + 5) for move in moves]
        if arcs[0].kind != "stop":
            moves = [side * 12 * step for step in range(12) for side in (1, -1)]
            top = max(arc.top for arc in self.arcs) + 5
            spots += [(within(within(middle) + move), top) for move in moves]
        points = [point for arc in self.arcs for point in arc.points()]
        for x, up in spots:
            on_arc = any(
                abs(at - x) < half + 2 and up - 5 < y < up + 11 for at, y in points
            )
            if not on_arc and all(
                abs(at - x) >= half + other + 4 or abs(y - up) >= LABEL
                for _, at, y, other in self.labels
            ):
                return x, up
        return None

    def sky_marks(self) -> list[str]:
        """Return what is drawn above the pills."""
        y = self.pill_top
        drawn = [arc.mark(y) for arc in self.arcs if arc.kind in ("flow", "stop")]
        for text, x, up, half in self.labels:
            look = {"size": SMALL, "fill": FAINT, "room": 2 * half}
            drawn.append(text_mark(text, x, y - up, **look))
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
        """Set memories side by side, if need be in narrower cells; else in shelves."""
        self.shelves = self._shelves()
        places = [
            (s, b, one) for s in self.shelves for b in s.blocks for one in b.pills
        ]
        self.on = {one.tag: shelf for shelf, _, one in places}
        self.of = {one.tag: block for _, block, one in places}
        self.pill = {one.tag: one for _, _, one in places}

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
        return block_of(memory, room, apart, self.cell, self.said[memory])

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
            if self.pill[start].line or self.pill[end].line:
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
            ends = [x + half for _, x, _, half in shelf.labels]
            self.right = max([self.right, *ends, *(arc.high + 2 for arc in shelf.arcs)])

    def _ends(self) -> dict[tuple[str, Tag, Tag], list[float]]:
        """Return the ways with their two ends; on one name they stand side by side."""
        story, on = self.story, self.on
        ways = [("stop", *pair) for pair in story.stops]
        ways += [("flow", *pair) for pair in story.flows]
        x = {tag: block.x + self.pill[tag].centre for tag, block in self.of.items()}
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
            step = min(11.0, (self.pill[tag].wide - 16) / max(1, len(found) - 1))
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
            line = max(one.line for block in shelf.blocks for one in block.pills)
            shelf.row_top = shelf.pill_top + line * LINE_OF_PILLS + PILL + STEM
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
                marks += block_marks(block, *tops, self.steady)
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
