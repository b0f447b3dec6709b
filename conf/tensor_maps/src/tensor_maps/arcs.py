"""Draw the ways of gradients above names, the bars where they stop, their labels."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from tensor_maps import pen
from tensor_maps.pen import FAINT, INK, SMALL

STOPS, GRADIENT, LABEL, BAR_HALF = "gradient stops", "gradient", 15.0, 10.0

Point = tuple[float, float]


@dataclass(eq=False)
class Arc:
    """A way above the pills of a shelf, or the part of one that is on this shelf.

    "flow" leads from one of its two ``ends`` to the other, "stop" to a bar; "out" and
    "in" are the parts of a flow between two shelves: their first end is the lane in the
    margin. Heights are above the pills; ``label`` is room for a label above a bar.
    """

    kind: str
    shelf: "Sky"
    ends: list[float] = field(default_factory=list)
    height = label = 0.0

    @property
    def top(self) -> float:
        """How high it reaches above the pills."""
        return self.height + (BAR_HALF + self.label if self.kind == "stop" else 1)

    @property
    def curves(self) -> list[tuple[Point, Point, Point, Point]]:
        """The curves that it is made of; the last of a stop is its bar."""
        (a, b, *_), up, wide = self.ends, self.height, self.ends[1] - self.ends[0]
        if self.kind == "stop":
            last, low, high = b - (5 if wide > 0 else -5), up - BAR_HALF, up + BAR_HALF
            way = ((a, 0), (a, up * 0.8), (a + wide * 0.4, up), (last, up))
            return [way, ((b, low), (b, low), (b, high), (b, high))]
        if self.kind != "flow":
            rises = [((x, 0), (x, 0), (x, up), (x, up)) for x in self.ends[1:]]
            return [((x, up), (x, up), (a, up), (a, up)) for x in self.ends[1:]] + rises
        top = (a + b) / 2, up
        return [
            ((a, 0), (a, up * 0.9), (a + wide * 0.18, up), top),
            (top, (b - wide * 0.18, up), (b, up * 0.9), (b, 2)),
        ]

    def points(self) -> Iterator[Point]:
        """Yield points on it, to see what it would run through."""
        for curve, step in product(self.curves, range(41)):
            t, u = step / 40, 1 - step / 40
            p, q, r, s = u * u * u, 3 * t * u * u, 3 * t * t * u, t * t * t
            ways = zip(*curve, strict=True)
            yield tuple(p * a + q * b + r * c + s * d for a, b, c, d in ways)

    def mark(self, y: float) -> str:
        """Return what is drawn above the pills, whose upper edge is at ``y``."""
        d = pen.placed("M{} {}", self.ends[0], y)
        for _, *ends in self.curves[: 1 if self.kind == "stop" else 2]:
            numbers = (number for x, up in ends for number in (x, y - up))
            d += pen.placed("C{} {} {} {} {} {}", *numbers)
        if self.kind == "flow":
            return arc_mark(d, self.ends[1], y)
        low = y - self.height - BAR_HALF
        bar = pen.placed("M{} {}v{}", self.ends[1], low, 2 * BAR_HALF)
        dashed = pen.line_mark(d, FAINT, 2, "4 4")
        return f'<g class="tm-cut">{dashed}{pen.line_mark(bar, INK, 4)}</g>'


def arc_mark(d: str, x: float, y: float) -> str:
    """Return an arc with the head of an arrow on a pill."""
    head = pen.placed("M{} {}l5 8l5-8", x - 5, y - 9)
    return pen.line_mark(d + head, INK, 2, name="tm-arc")


@dataclass(eq=False)
class Sky:
    """What is above the pills of one shelf: arcs, and texts with their places."""

    arcs: list[Arc] = field(default_factory=list)
    labels: list[tuple[str, float, float, float]] = field(default_factory=list)
    pill_top = 0.0

    @property
    def sky(self) -> float:
        """How high all of it reaches above the pills."""
        tops = [arc.top + 2 for arc in self.arcs]
        return max([*tops, *(up + 11 for _, _, up, _ in self.labels)], default=0.0)

    def settle(self, left: float, right: float, told: set[str]) -> None:
        """Set heights, and a label for each kind of arc that has none so far.

        ``left`` and ``right`` are the ends of the drawing. The labels that are set
        are added to ``told``. Where "gradient stops" has no place beside its bar or
        above it, the arcs above the bar are lifted.
        """
        self._set_heights()
        for text, kinds in ((STOPS, ("stop",)), (GRADIENT, ("flow", "in"))):
            arcs = [arc for arc in self.arcs if arc.kind in kinds and text not in told]
            half = pen.safe_width(text, SMALL) / 2 + 1
            for lift in (0.0, LABEL + 10) if arcs else ():
                told.add(text)
                arcs[0].label = lift
                self._set_heights()
                if place := self._free_place(arcs, half, left + half, right - half):
                    self.labels.append((text, *place, half))
                    break

    def _set_heights(self) -> None:
        """Lift each arc over the shorter ones that it spans."""
        spans = [(min(arc.ends), max(arc.ends), arc) for arc in self.arcs]
        done: list[tuple[float, float, float]] = []
        for low, high, arc in sorted(spans, key=lambda one: (one[1] - one[0], one[0])):
            least = {"stop": 20.0, "flow": min(34.0, 16 + (high - low) / 12)}
            over = 10 + BAR_HALF * (arc.kind == "stop")
            below = [top + over for a, b, top in done if a < high - 2 and low < b - 2]
            arc.height = max([least.get(arc.kind, 14.0), *below])
            done.append((low, high, arc.top))

    def _free_place(
        self, arcs: list[Arc], half: float, low: float, high: float
    ) -> Point | None:
        """Return the middle of a label that is on nothing, near to its arcs."""
        spots: list[Point] = []
        top = max(arc.top for arc in self.arcs) + 5
        for arc in arcs:
            end, up, middle = arc.ends[1], arc.height, (arc.ends[0] + arc.ends[-1]) / 2
            if arc.kind == "stop":
                aside = end + (half + 8 if end > arc.ends[0] else -half - 8)
                beside = [(aside, up - 4), (aside, up - 11)]
                spots += beside if low <= aside <= high else []
                moves = (0, 0.3, -0.3, 0.6, -0.6, 0.95, -0.95)
                spots += [(end + half * move, up + BAR_HALF + 5) for move in moves]
            elif arc.kind == "flow":
                spots += [(middle + move, up + 5) for move in (0, 20, -20, 40, -40)]
        if arcs[0].kind != "stop":  # above all arcs and labels there is always room
            spots += [(middle, top), (middle, top + LABEL)]
        points = [point for arc in self.arcs for point in arc.points()]
        for x, up in spots:
            x = min(max(x, low), high)
            if not any(
                abs(at - x) < half + 2 and up - 5 < y < up + 11 for at, y in points
            ) and not any(
                abs(at - x) < half + other + 4 and abs(y - up) < LABEL
                for _, at, y, other in self.labels
            ):
                return x, up
        return None

    def sky_marks(self) -> Iterator[str]:
        """Yield the arcs that have both ends here, and the labels."""
        y = self.pill_top
        yield from (arc.mark(y) for arc in self.arcs if arc.kind in ("flow", "stop"))
        for text, x, up, half in self.labels:
            yield pen.small_mark(text, x, y - up, room=2 * half)
