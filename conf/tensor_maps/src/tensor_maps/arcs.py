"""The signs above the tags: arcs of the gradient, bars where it stops, their labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tensor_maps.pen import FAINT, INK, SMALL, rounded, safe_width, text_mark

GRADIENT, STOPS = "gradient", "gradient stops"
LEAST, CLEAR, BAR_HALF, LABEL = 16.0, 10.0, 10.0, 15.0
SAMPLES = 40

Point = tuple[float, float]


@dataclass(eq=False)
class Arc:
    """A way above the tags of a shelf, or the part of one that is on this shelf.

    ``flow`` leads from ``start`` to ``end``; ``stop`` from ``start`` to a bar at
    ``end``; ``out`` and ``in`` are the parts of a flow between two shelves: one end is
    in the margin, and those of one ``bus`` run together. Heights are above the tags;
    ``label`` is the room for a label above a bar.
    """

    kind: str
    start: float
    end: float
    height: float = 0.0
    label: float = 0.0
    bus: object = None

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

    def points(self) -> list[Point]:
        """Return points on it, to see what it would run through."""
        if self.kind == "stop":
            bar = [(self.end, self.height + dy) for dy in (-BAR_HALF, 0, BAR_HALF)]
            return [*_curve(self._stop()), *bar]
        if self.kind == "flow":
            return [point for half in self._halves() for point in _curve(half)]
        tag = self.start if self.kind == "out" else self.end
        steps = [at / SAMPLES for at in range(SAMPLES + 1)]
        along = [(self.low + (self.high - self.low) * at, self.height) for at in steps]
        return [*along, *((tag, self.height * at) for at in steps)]

    def _stop(self) -> tuple[Point, Point, Point, Point]:
        aside, high = (self.end - self.start) * 0.4, self.height
        last = self.end - (5 if self.end > self.start else -5)
        return (
            (self.start, 0), (self.start, high * 0.8),
            (self.start + aside, high), (last, high),
        )  # fmt: skip

    def mark(self, y: float) -> str:
        """Return what is drawn above the tags, whose upper edge is at ``y``."""
        if self.kind == "stop":
            path = _path(self._stop(), y)
            bar = f"M{rounded(self.end)} {rounded(y - self.height - BAR_HALF)}"
            bar += f"v{rounded(2 * BAR_HALF)}"
            dashed = f'fill="none" stroke="{FAINT}" stroke-width="2"'
            solid = f'fill="none" stroke="{INK}" stroke-width="4"'
            return (
                f'<g class="tm-cut"><path d="{path}" {dashed} stroke-dasharray="4 4"/>'
                f'<path d="{bar}" {solid}/></g>'
            )
        path = "".join(_path(half, y) for half in self._halves())
        # The second half goes on where the first one ends.
        first, _, second = path.rpartition("M")
        return arc_mark(first + second[second.index("C") :], self.end, y)

    def _halves(self) -> list[tuple[Point, ...]]:
        """Return the way up and the way down, both steep beside the tags."""
        middle, high = (self.start + self.end) / 2, self.height
        aside = (self.end - self.start) * 0.18
        return [
            (
                (self.start, 0),
                (self.start, high * 0.9),
                (self.start + aside, high),
                (middle, high),
            ),
            (
                (middle, high),
                (self.end - aside, high),
                (self.end, high * 0.9),
                (self.end, 2),
            ),
        ]


def arc_mark(path: str, x: float, y: float) -> str:
    """Return an arc with the head of an arrow on a tag."""
    head = f"M{rounded(x - 5)} {rounded(y - 9)}l5 8l5-8"
    line = f'fill="none" stroke="{INK}" stroke-width="2"'
    return f'<path class="tm-arc" d="{path}{head}" {line}/>'


def _path(ends: tuple[Point, ...], y: float) -> str:
    first, *others = (f"{rounded(at)} {rounded(y - up)}" for at, up in ends)
    return f"M{first}C{' '.join(others)}"


def _curve(ends: tuple[Point, ...]) -> list[Point]:
    found = []
    for step in range(SAMPLES + 1):
        t = step / SAMPLES
        parts = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        found.append(
            tuple(
                sum(part * end[axis] for part, end in zip(parts, ends, strict=True))
                for axis in (0, 1)
            )
        )
    return found


def set_heights(arcs: Iterable[Arc]) -> None:
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
        least = {"stop": 20.0, "flow": min(34.0, LEAST + (high - low) / 12)}
        height = least.get(kind, 14.0)
        over = CLEAR + (BAR_HALF if kind == "stop" else 0)
        for left, right, top in done:
            if left < high - 2 and low < right - 2:
                height = max(height, top + over)
        for arc in bus:
            arc.height = height
        done.append((low, high, bus[0].top))


@dataclass
class Label:
    """A text above the tags: its middle, its line, and half its width."""

    text: str
    x: float
    up: float
    half: float


@dataclass
class Sky:
    """All that is above the tags of a shelf."""

    arcs: list[Arc] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    @property
    def height(self) -> float:
        """Pixels above the tags."""
        tops = [arc.top + 2 for arc in self.arcs]
        tops += [label.up + 11 for label in self.labels]
        return max(tops, default=0.0)

    def settle(self, left: float, right: float, told: set[str]) -> None:
        """Set heights, and a label for each kind of arc that has none so far.

        ``left`` and ``right`` are the ends of the drawing. The labels that are set
        are added to ``told``. Where "gradient stops" has no place beside its bar or
        above it, the arcs above the bar are lifted.
        """
        set_heights(self.arcs)
        for kinds, text in ((("stop",), STOPS), (("flow", "in"), GRADIENT)):
            of_kind = [arc for arc in self.arcs if arc.kind in kinds]
            if not of_kind or text in told:
                continue
            told.add(text)
            if text == STOPS and not self._label(of_kind, text, left, right):
                of_kind[0].label = LABEL + 10
                set_heights(self.arcs)
            if label := self._label(of_kind, text, left, right):
                self.labels.append(label)

    def _label(
        self, arcs: list[Arc], text: str, left: float, right: float
    ) -> Label | None:
        half = safe_width(text, SMALL) / 2 + 1

        def within(x: float) -> float:
            return min(max(x, left + half), right - half)

        spots: list[Point] = []
        for arc in arcs:
            if arc.kind == "stop":
                aside = half + 8 if arc.end > arc.start else -half - 8
                spots += [(arc.end + aside, arc.height - low) for low in (4, 11)]
                above = arc.height + BAR_HALF + 5
                moves = (0, 0.3, -0.3, 0.6, -0.6, 0.95, -0.95)
                middles = [within(arc.end + half * move) for move in moves]
                spots += [(at, above) for at in middles if abs(at - arc.end) < half]
            elif arc.kind == "flow":
                middle = (arc.low + arc.high) / 2
                spots += [
                    (within(middle + move), arc.height + 5)
                    for move in (0, 20, -20, 40, -40)
                ]
        first = within((arcs[-1].low + arcs[-1].high) / 2)
        # Above all arcs there is always room.
        top = max(arc.top for arc in self.arcs) + 5
        if arcs[0].kind != "stop":
            steps = [side * 12 * step for step in range(12) for side in (1, -1)]
            spots += [(within(first + step), top) for step in steps]
        for x, up in spots:
            if left <= x - half and x + half <= right and self._is_free(x, up, half):
                return Label(text, x, up, half)
        if arcs[0].kind == "stop":
            return None
        return Label(text, first, top + LABEL, half)

    def _is_free(self, x: float, up: float, half: float) -> bool:
        low, high = up - 4, up + 10
        for arc in self.arcs:
            for at, above in arc.points():
                if abs(at - x) < half + 2 and low - 1 < above < high + 1:
                    return False
        return all(
            abs(label.x - x) >= half + label.half + 4 or abs(label.up - up) >= LABEL
            for label in self.labels
        )

    def marks(self, y: float) -> list[str]:
        """Return what is drawn above the tags, whose upper edge is at ``y``."""
        drawn = [arc.mark(y) for arc in self.arcs if arc.kind in ("flow", "stop")]
        return drawn + [
            text_mark(
                label.text,
                label.x,
                y - label.up,
                size=SMALL,
                fill=FAINT,
                room=2 * label.half,
            )
            for label in self.labels
        ]
