"""A scene: memories as rows of cells, names on stems, gradients and copies between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from xml.sax.saxutils import quoteattr

from tensor_maps.arcs import STOPS, Arc, Sky, arc_mark
from tensor_maps.blocks import (
    CELL,
    CELL_HEIGHT,
    NARROW_CELL,
    STEM,
    Block,
    arrange,
    block_marks,
)
from tensor_maps.pen import (
    EDGE,
    FAINT,
    FRAME,
    PAPER,
    PILL,
    SMALL,
    TEXT,
    printable,
    rect,
    rounded,
    safe_width,
    text_mark,
)
from tensor_maps.story import NUMBERS, Memory, Pairs, Story, Tag, story_of
from tensor_maps.words import listing

BETWEEN, NARROW, BETWEEN_SHELVES = 16.0, 8.0, 14.0
STEADY_CELL = 21.0
MARGIN, LANE, MOST_LANES = 16.0, 8.0, 3
BESIDE_BAR = safe_width(STOPS, SMALL) + 36  # pixels
FRAME_EDGE, FRAME_FOOT = 8.0, 18.0
LEAST_UNDER_ARCS = 110.0  # pixels: room for the label of an arc
# Pixels between two tags on one row whose stems bend into its sides; 0: no bends. With
# the most, "gradient stops" has room beside an arc that ends on one of them.
APARTS = (188.0, 116.0, 0.0)
COPIED_WORD = round(safe_width("copied", SMALL)) + 4
COPIED = COPIED_WORD + 8
MOST_NAMED = 6  # with fewer names, a caption lists all


@dataclass
class Drawing:
    """Marks of SVG and their size; what they show, in words and as a short caption.

    The marks belong together: one may open a group that another closes. ``top`` is
    where the drawing begins: the tags of a scene stand below zero, the arcs above.
    """

    marks: list[str]
    width: float
    height: float
    words: str
    caption: str
    top: float = 0.0

    def frame(self, edge: float = 0.0) -> str:
        """Return the attributes of its size, with an edge around it."""
        wide, high = self.width + 2 * edge, self.height + 2 * edge
        place = f"{rounded(-edge)} {rounded(self.top - edge)}"
        size = f'width="{rounded(wide)}" height="{rounded(high)}"'
        return f'viewBox="{place} {rounded(wide)} {rounded(high)}" {size}'

    def svg(self, attributes: str = "") -> str:
        """Return the drawing as SVG for a page, in the page's font."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}role="img" '
            f"aria-label={quoteattr(printable(self.words))} "
            f"{self.frame()} "
            f'fill="currentColor" font-size="{TEXT:g}" overflow="visible" '
            f'text-rendering="geometricPrecision">{"".join(self.marks)}</svg>'
        )


@dataclass(eq=False)
class Shelf:
    """Blocks side by side, and what is above their tags."""

    blocks: list[Block]
    sky: Sky = field(default_factory=Sky)
    tag_top: float = 0.0
    row_top: float = 0.0
    end: float = 0.0


def draw_scene(
    observed: dict,
    names: Iterable[str] | None = None,
    width: float = 280.0,
    raises: Mapping[str, str] | None = None,
    copies: Iterable[tuple[str, str]] = (),
    arcs: bool = True,
    steady: bool = False,
    ringed: Iterable[str] = (),
) -> Drawing:
    """Draw memories and names; the parameters are those of ``draw.scene``."""
    story = story_of(observed, names, raises, copies, ringed)
    if not arcs:
        story.flows, story.stops = [], []
    scene = _Scene(story, width, steady)
    said = [f"{_first(b)} was copied from {_first(a)}." for a, b in story.copies]
    said += [f"{name} raises {error}." for name, error in (raises or {}).items()]
    height = scene.bottom - scene.top
    return Drawing(
        scene.marks, scene.right, height, " ".join(said), caption_of(story), scene.top
    )


def caption_of(story: Story) -> str:
    """Say in a few words what shares, what was copied, and where gradients stop."""
    said = []
    for memory in story.memories:
        names = [name for tag in memory.tags for name in tag.name.split(", ")]
        if len(names) > 1:
            what = "are the same object" if len(memory.tags) == 1 else "share memory"
            said.append(f"{listing(names)} {what}.")
    made: dict[str, list[str]] = {}  # of each copy, what it was copied from
    for source, copy in story.copies:
        made.setdefault(_first(copy), []).append(_first(source))
    for sources in dict.fromkeys(map(tuple, made.values())):
        copies = [copy for copy, those in made.items() if tuple(those) == sources]
        what = "are copies" if len(copies) > 1 else "is a copy"
        if len(sources) > 1:
            what = "hold copies" if len(copies) > 1 else "holds copies"
        said.append(f"{listing(copies)} {what} of {listing(list(sources))}.")
    names = [tag.name for one in story.memories if one.cells for tag in one.tags]
    if not said and len(names) == 1:
        said.append(f"{names[0]} has its own memory.")
    elif not said and names:
        all_names = listing(names) if len(names) < MOST_NAMED else "These tensors"
        said.append(f"{all_names} don't share memory.")
    tags = [tag for one in story.memories for tag in one.tags]
    if frozen := [tag.name for tag in tags if tag.sign == "frozen"]:
        said.append(f"{listing(frozen)} {'are' if frozen[1:] else 'is'} frozen.")
    if stops := [tag.name for tag, _ in story.stops]:
        said.append(f"No gradient flows back through {listing(stops)}.")
    if len(story.devices) == 1 and story.devices != ["cpu"]:
        said.append(f"The memory is on {story.devices[0]}.")
    return " ".join(said)


def _first(tag: Tag) -> str:
    """Return one name of an object: what its others are has been said."""
    return tag.name.split(", ")[0]


class _Scene:
    """Where everything of a story stands."""

    def __init__(self, story: Story, width: float, steady: bool) -> None:
        self.story, self.steady = story, steady
        self.framed = len(story.devices) > 1
        self.inset = FRAME_EDGE if self.framed or steady else 0.0
        self.left, self.right_end = EDGE, width - EDGE
        self.marks: list[str] = []
        self.right = self.top = self.bottom = 0.0
        self.said: dict[Memory, list[str]] = {one: [] for one in story.memories}
        self._name_shared()
        self.shelves = self._shelves()
        self._leave_margins()
        if self._say_copies():
            self.shelves = self._shelves()
        self._place_across()
        self._raise_skies()
        self._place_down()
        self._draw()

    def _name_shared(self) -> None:
        for memory in self.story.memories if len(self.story.memories) < 3 else ():
            names = sum(len(tag.name.split(", ")) for tag in memory.tags)
            whole = not any(tag.parts for tag in memory.tags)
            if len(memory.tags) > 1 and names < len(NUMBERS) and memory.cells and whole:
                self.said[memory].append(f"{NUMBERS[names]} names, the same memory")

    def _leave_margins(self) -> None:
        """Leave room beside the shelves for what leads from one to another."""
        shelf_of, story = self._shelf_of(), self.story
        sources = {a for a, b in story.flows if shelf_of[a] is not shelf_of[b]}
        across = min(len(sources), MOST_LANES)
        copied = any(shelf_of[a] != shelf_of[b] for a, b in story.copies)
        if across or copied:
            self.left += MARGIN * copied
            self.right_end -= (MARGIN + LANE * (across - 1)) * bool(across)
            self.shelves = self._shelves()

    def _say_copies(self) -> bool:
        """Say under a row what it was copied from, where no arrow can lead there."""
        block_of, said = self._block_of(), False
        self.arrows: list[tuple[Tag, Tag]] = []
        for source, copy in self.story.copies:
            one, other = block_of[source], block_of[copy]
            shelf, there = self._shelf_of()[source], self._shelf_of()[copy]
            if shelf is there:
                places = [shelf.blocks.index(one), shelf.blocks.index(other)]
                free = abs(places[0] - places[1]) == 1
            else:
                away = abs(self.shelves.index(shelf) - self.shelves.index(there))
                free = away == 1 and one is shelf.blocks[0] and other is there.blocks[0]
            if any({block_of[a], block_of[b]} == {one, other} for a, b in self.arrows):
                continue
            if free:
                self.arrows.append((source, copy))
            else:
                self.said[other.memory].append(f"copied from {source.name}")
                said = True
        return said

    # Side by side, or under each other

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
        if apart == APARTS[0] and not self._needs_room(memory):
            apart = APARTS[1]
        return arrange(memory, room, apart, self.cell, self.said[memory])

    def _needs_room(self, memory: Memory) -> bool:
        """Whether a label and the foot of an arc have to stand between its tags."""
        stops = any(tag in memory.tags for tag, _ in self.story.stops)
        return stops and any(tag in memory.tags for _, tag in self.story.flows)

    def _wide(self, blocks: list[Block]) -> float:
        wide = sum(block.width for block in blocks)
        return wide + sum(self._gaps(blocks))

    def _gaps(self, blocks: list[Block]) -> list[float]:
        found, copied = [], self._copied()
        for one, other in pairwise(blocks):
            pair = one.memory, other.memory
            is_copy = pair in copied or pair[::-1] in copied
            gap = COPIED if is_copy else self.between
            if self.steady or (self.framed and pair[0].device != pair[1].device):
                gap = 2 * FRAME_EDGE + (COPIED_WORD if is_copy else self.between)
            found.append(gap)
        return found

    def _copied(self) -> list[tuple[Memory, Memory]]:
        memory_of = {tag: one for one in self.story.memories for tag in one.tags}
        return [(memory_of[a], memory_of[b]) for a, b in self.story.copies]

    def _shelf_of(self) -> dict[Tag, Shelf]:
        return {
            tag: shelf
            for shelf in self.shelves
            for block in shelf.blocks
            for tag in block.memory.tags
        }

    def _block_of(self) -> dict[Tag, Block]:
        return {
            tag: block
            for shelf in self.shelves
            for block in shelf.blocks
            for tag in block.memory.tags
        }

    def _place_across(self) -> None:
        inset = self.inset
        widest = max((self._wide(shelf.blocks) for shelf in self.shelves), default=0.0)
        if self.story.flows or self.story.stops:
            room = self.right_end - self.left - 2 * inset
            widest = max(widest, min(LEAST_UNDER_ARCS, room))
        for shelf in self.shelves:
            x = self.left + inset + (widest - self._wide(shelf.blocks)) / 2
            for block, gap in zip(
                shelf.blocks, [*self._gaps(shelf.blocks), 0], strict=True
            ):
                block.x = x
                x += block.width + gap
        self.content_end = self.left + widest + 2 * inset

    # Above the tags

    def _raise_skies(self) -> None:
        shelf_of, block_of = self._shelf_of(), self._block_of()
        ways = self._ways(self.story.flows, self.story.stops)
        self.across: list[tuple[Arc, Shelf, Arc, Shelf, float]] = []
        lanes: dict[Tag, Arc] = {}
        for kind, start, end in ways:
            if block_of[start].line_of(start) or block_of[end].line_of(end):
                continue  # a tag under another one: words say it
            one, other = shelf_of[start], shelf_of[end]
            a, b = self._ends[kind, start, end]
            if kind == "stop":
                far = b - a if one is other else (-60 if a > 90 else 60)
                reach = max(24.0, min(84.0, abs(far) * 0.62))
                if abs(far) >= APARTS[0] - 14:
                    reach = max(30.0, min(reach, abs(far) - BESIDE_BAR))
                bar = a + (reach if far > 0 else -reach)
                bar = min(max(bar, self.left + 6), self.right_end - 6)
                one.sky.arcs.append(Arc("stop", a, bar))
            elif one is other:
                one.sky.arcs.append(Arc("flow", a, b))
            else:
                if start not in lanes:
                    lane = self.content_end + 9 + LANE * (len(lanes) % MOST_LANES)
                    lanes[start] = Arc("out", a, lane)
                    one.sky.arcs.append(lanes[start])
                leaves = lanes[start]
                comes = Arc("in", leaves.end, b, bus=(start, other))
                other.sky.arcs.append(comes)
                self.across.append((leaves, one, comes, other, leaves.end))
        told: set[str] = set()
        end = max([self.content_end, *(one[-1] for one in self.across)])
        for shelf in self.shelves:
            shelf.sky.settle(EDGE, end, told)
        self.right = self.content_end
        for shelf in self.shelves:
            for label in shelf.sky.labels:
                self.right = max(self.right, label.x + label.half)
            for arc in shelf.sky.arcs:
                self.right = max(self.right, arc.high + 2)

    def _ways(self, flows: Pairs, stops: Pairs) -> list[tuple[str, Tag, Tag]]:
        """Return the ways, and set where on its tag each of them ends."""
        ways = [("stop", a, b) for a, b in stops] + [("flow", a, b) for a, b in flows]
        block_of, shelf_of = self._block_of(), self._shelf_of()
        ends: dict[Tag, list[tuple[float, int, tuple]]] = {}
        for way in ways:
            kind, a, b = way
            x, y = block_of[a].tag_x(a), block_of[b].tag_x(b)
            if kind == "flow" and shelf_of[a] is not shelf_of[b]:
                # All that leaves a shelf from one tag leaves it as one line.
                first = next(
                    one
                    for one in flows
                    if one[0] is a and shelf_of[one[1]] is not shelf_of[a]
                )
                if first == (a, b):
                    ends.setdefault(a, []).append((1e6, 0, way))
                ends.setdefault(b, []).append((1e6, 1, way))
                continue
            ends.setdefault(a, []).append((y, 0, way))
            if kind == "flow":
                ends.setdefault(b, []).append((x, 1, way))
        places: dict[tuple, list[float]] = {
            way: [block_of[way[1]].tag_x(way[1]), block_of[way[2]].tag_x(way[2])]
            for way in ways
        }
        for tag, found in ends.items():
            found.sort(key=lambda one: one[:2])
            room = block_of[tag].pill_of(tag) - 16
            step = min(11.0, room / max(1, len(found) - 1))
            for number, (_, side, way) in enumerate(found):
                places[way][side] += (number - (len(found) - 1) / 2) * step
        self._ends = {way: (a, b) for way, (a, b) in places.items()}
        return ways

    # From top to bottom

    def _place_down(self) -> None:
        y = -self.shelves[0].sky.height if self.shelves else 0.0
        self.top = y - EDGE
        copied, shelf_of = self.story.copies, self._shelf_of()
        for number, shelf in enumerate(self.shelves):
            if number:
                between = any(
                    {shelf_of[a], shelf_of[b]} == set(self.shelves[number - 1 :][:2])
                    for a, b in copied
                )
                y += BETWEEN_SHELVES + 8 * between
            shelf.tag_top = y + shelf.sky.height
            high = max(block.high for block in shelf.blocks)
            shelf.row_top = shelf.tag_top + high * PILL + (high - 1) * 6 + STEM
            shelf.end = shelf.row_top + max(block.height for block in shelf.blocks)
            shelf.end += FRAME_FOOT * self.framed
            y = shelf.end
        self.bottom = y + EDGE

    # What is drawn

    def _draw(self) -> None:
        for shelf in self.shelves:
            if self.framed:
                self.marks += self._frames(shelf)
            for block in shelf.blocks:
                tops = shelf.tag_top, shelf.row_top
                self.marks += block_marks(block, *tops, self.steady)
        self._draw_copies()
        for leaves, one, comes, other, lane in self.across:
            x, end = rounded(leaves.start), comes.end
            low = one.tag_top - leaves.height
            high = other.tag_top - comes.height
            turn = 8 if high < low else -8
            path = (
                f"M{x} {rounded(one.tag_top)}V{rounded(low + 8)}q0-8 8-8"
                f"H{rounded(lane - 8)}q8 0 8 {-turn}V{rounded(high + turn)}"
                f"q0 {-turn} -8 {-turn}H{rounded(end + 8)}q-8 0-8 8"
                f"V{rounded(other.tag_top - 2)}"
            )
            self.marks.append(arc_mark(path, end, other.tag_top))
        for shelf in self.shelves:
            self.marks += shelf.sky.marks(shelf.tag_top)

    def _frames(self, shelf: Shelf) -> list[str]:
        """Return a frame for each device, with its name."""
        marks = []
        devices = dict.fromkeys(b.memory.device for b in shelf.blocks)
        for device in filter(None, devices):
            blocks = [b for b in shelf.blocks if b.memory.device == device]
            left = blocks[0].x - FRAME_EDGE
            right = blocks[-1].x + blocks[-1].width + FRAME_EDGE
            top = shelf.row_top - FRAME_EDGE
            look = f'rx="8" fill="{PAPER}" stroke="{FRAME}"'
            marks.append(rect(left, top, right - left, shelf.end - top, look))
            marks.append(
                text_mark(
                    f"on {device}", left + 6, shelf.end - 6,
                    size=SMALL, fill=FAINT, anchor="start", room=right - left - 8,
                )
            )  # fmt: skip
        return marks

    def _draw_copies(self) -> None:
        block_of, shelf_of = self._block_of(), self._shelf_of()
        memories = self.story.memories
        for source, copy in self.arrows:
            one, other = block_of[source], block_of[copy]
            away = memories.index(other.memory) - memories.index(one.memory)
            if shelf_of[source] is shelf_of[copy]:
                y = shelf_of[source].row_top + CELL_HEIGHT / 2
                begin, end = one.side(away > 0), other.side(away < 0)
                path = f"M{rounded(begin)} {rounded(y)}H{rounded(end)}"
                label = (begin + end) / 2, y - 7, "middle"
            else:
                y = shelf_of[source].row_top + CELL_HEIGHT / 2
                foot = shelf_of[copy].row_top + CELL_HEIGHT / 2
                begin, end, lane = one.side(False), other.side(False), EDGE + 3
                down = 8 if foot > y else -8
                path = (
                    f"M{rounded(begin)} {rounded(y)}H{lane + 8:g}q-8 0-8 {down}"
                    f"V{rounded(foot - down)}q0 {down} 8 {down}H{rounded(end)}"
                )
                away = 1
                above = max(shelf_of[source].row_top, shelf_of[copy].row_top)
                shelf = next(s for s in self.shelves if s.row_top == above)
                label = lane + 7, shelf.tag_top - shelf.sky.height - 5, "start"
                y = foot
            head = f"M{rounded(end - 6 * _sign(away))} {rounded(y - 5)}"
            head += f"l{6 * _sign(away)} 5l{-6 * _sign(away)} 5"
            line = f'fill="none" stroke="{FAINT}" stroke-width="2"'
            text = text_mark(
                "copied", label[0], label[1], size=SMALL, fill=FAINT, anchor=label[2]
            )
            self.marks.append(
                f'<g class="tm-copy"><path d="{path}" {line} stroke-dasharray="4 4"/>'
                f'<path d="{head}" {line}/>{text}</g>'
            )


def _sign(number: float) -> int:
    return 1 if number > 0 else -1
