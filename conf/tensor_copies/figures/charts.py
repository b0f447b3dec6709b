"""Charts of lines, drawn as inline SVG in the reader's colours.

A chart is narrow enough for a phone, its letters are text, its lines take the page's
colours by CSS variables, and each line carries its name at its end. It is drawn from
plain data (see :func:`figures.data_of`), so that a recorded figure looks like a live
one, whatever ran before.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 360, 340
LEFT, RIGHT, TOP, BOTTOM = 50, 126, 40, 40  # margins; the names stand on the right
FONT, SMALL = 11, 9.5
TO_NAME = 14  # from the end of a line to its name
# Distinct for colour-blind eyes on white and on black; see site.css. The marks and the
# names at the lines' ends say the same without colour.
COLOURS = ("#0060b0", "#b84500", "#007a5a", "#a3387a", "#5b4bc4")
MARKS = ("circle", "square", "up", "diamond", "down")
MICROSECONDS = ((1e6, "s"), (1e3, "ms"), (1, "µs"))
SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def limits(charts: Iterable[dict[str, Any]]) -> tuple[float, float]:
    """Return the least and the greatest y of all charts, which then can share them."""
    ys = [
        y
        for data in charts
        for line in data["lines"]
        for y in (*line["y"], *line.get("low", ()), *line.get("high", ()))
    ]
    return min(ys), max(ys)


def draw_chart(
    data: dict[str, Any],
    prefix: str,
    machine: str = "",
    y_limits: tuple[float, float] | None = None,
) -> str:
    """Return a chart as an SVG element.

    Parameters
    ----------
    data
        ``title``, ``xlabel``, ``ylabel``, ``xscale``, ``yscale`` ("linear" or "log"),
        and ``lines``: ``label``, ``x``, ``y``, and perhaps ``low`` and ``high`` (a
        band around the line) and ``dash`` (drawn dashed: a limit, not a result).
    prefix
        The id of the element.
    machine
        Who measured, as a second title.
    y_limits
        What the axis must reach; else what the data need.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{escape(prefix)}" role="img" '
        f'aria-label="{escape(describe_chart(data, machine), quote=True)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'fill="currentColor" font-size="{FONT}" overflow="visible" '
        'text-rendering="geometricPrecision">'
        f"{draw_marks(data, machine, y_limits)}</svg>"
    )


def draw_marks(
    data: dict[str, Any],
    machine: str = "",
    y_limits: tuple[float, float] | None = None,
) -> str:
    """Return what a chart shows, without a frame (see :func:`draw_chart`)."""
    xs = [x for line in data["lines"] for x in line["x"]]
    across = _Axis(min(xs), max(xs), data["xscale"], LEFT, WIDTH - RIGHT)
    up = _Axis(*(y_limits or limits([data])), data["yscale"], HEIGHT - BOTTOM, TOP)
    parts = [_titles(data, machine), _grid(data, across, up)]
    ends = []
    for number, line in enumerate(data["lines"]):
        points = [
            (across.at(x), up.at(y)) for x, y in zip(line["x"], line["y"], strict=True)
        ]
        ink = "currentColor"
        if not line.get("dash"):
            place = number % len(COLOURS)
            ink = f"var(--line-{place + 1}, {COLOURS[place]})"
        if "low" in line:
            parts.append(_band(line, across, up, ink))
        path = "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        dash = ' stroke-dasharray="5 3"' if line.get("dash") else ""
        parts.append(
            f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="1.6"{dash}/>'
        )
        if not line.get("dash"):
            parts += [_mark(MARKS[number % len(MARKS)], *at, ink) for at in points]
        ends.append((points[-1], line["label"], ink))
    parts.append(_names(ends))
    return "".join(parts)


def describe_chart(data: dict[str, Any], machine: str = "") -> str:
    """Say in words what a chart shows, from the data that it draws."""
    told = []
    for line in data["lines"]:
        if line["x"]:
            first, last = f"{line['y'][0]:.3g}", f"{line['y'][-1]:.3g}"
            ends = f"{first} at {line['x'][0]:.8g}, {last} at {line['x'][-1]:.8g}"
            told.append(f"{line['label']}: {ends}")
    where = f" on {machine}" if machine else ""
    axes = f"{data['ylabel']} against {data['xlabel']}"
    return f"{data['title']}{where}. {axes}. {'; '.join(told)}."


class _Axis:
    """Where a value stands between two ends, in units of the drawing."""

    def __init__(
        self, least: float, most: float, scale: str, start: float, end: float
    ) -> None:
        self.log = scale == "log"
        self.least, self.most = self._inner(least), self._inner(most)
        if self.most == self.least:
            self.least, self.most = self.least - 0.5, self.most + 0.5
        self.start, self.end = start, end

    def _inner(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def at(self, value: float) -> float:
        share = (self._inner(value) - self.least) / (self.most - self.least)
        return self.start + share * (self.end - self.start)

    def ticks(self, values: list[float] | None = None) -> list[float]:
        """Return where to put ticks: powers of two among the values, or round ones."""
        if self.log and values and all(_is_power_of_two(value) for value in values):
            step = max(1, round(len(values) / 4))
            return sorted(set(values))[::step]
        if self.log:
            powers = range(
                math.ceil(self.least - 1e-9), math.floor(self.most + 1e-9) + 1
            )
            found = [10.0**power for power in powers]
            if len(found) >= 3:
                return found
            some = [
                m * 10.0 ** math.floor(self.least + k)
                for k in (0, 1, 2)
                for m in (1, 2, 5)
            ]
            return [v for v in some if self.least <= math.log10(v) <= self.most]
        step = 10 ** math.floor(math.log10(self.most - self.least))
        first = math.ceil(self.least / step)
        return [step * k for k in range(first, math.floor(self.most / step) + 1)]


def _is_power_of_two(value: float) -> bool:
    return value >= 1 and value == int(value) and int(value).bit_count() == 1


def _titles(data: dict[str, Any], machine: str) -> str:
    title = f'<text x="0" y="12" font-weight="bold">{escape(data["title"])}</text>'
    if machine:
        title += f'<text x="0" y="27">{escape(machine)}</text>'
    return title


def _grid(data: dict[str, Any], across: _Axis, up: _Axis) -> str:
    """Draw the axes' ticks, their labels, and a quiet line for each tick of y."""
    xs = sorted({x for line in data["lines"] for x in line["x"]})
    parts = []
    for y in up.ticks():
        at = _n(up.at(y))
        parts.append(
            f'<path d="M{LEFT} {at}H{WIDTH - RIGHT}" stroke="currentColor" '
            f'stroke-opacity="0.18"/><text x="{LEFT - 5}" y="{at}" dy="0.35em" '
            f'text-anchor="end">{_value(y, data["ylabel"])}</text>'
        )
    foot = HEIGHT - BOTTOM
    for x in across.ticks(xs):
        at = _n(across.at(x))
        power = _is_power_of_two(x) and across.log
        text = (
            "2" + str(int(x).bit_length() - 1).translate(SUPERSCRIPT)
            if power
            else f"{x:g}"
        )
        parts.append(
            f'<path d="M{at} {foot}v4" stroke="currentColor"/>'
            f'<text x="{at}" y="{foot + 15}" text-anchor="middle">{text}</text>'
        )
    middle = _n((LEFT + WIDTH - RIGHT) / 2)
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(data['xlabel'])}</text>"
    )
    return "".join(parts)


def _value(value: float, label: str) -> str:
    """Write a tick of y, with its unit where the axis says microseconds."""
    if "microseconds" in label:
        for size, unit in MICROSECONDS:
            if value >= size * 0.999:
                return f"{value / size:g} {unit}"
        return f"{value:g} µs"
    return f"{value:g}"


def _band(line: dict[str, Any], across: _Axis, up: _Axis, ink: str) -> str:
    there = [
        (across.at(x), up.at(y)) for x, y in zip(line["x"], line["low"], strict=True)
    ]
    back = [
        (across.at(x), up.at(y)) for x, y in zip(line["x"], line["high"], strict=True)
    ]
    points = " ".join(f"{_n(x)},{_n(y)}" for x, y in [*there, *reversed(back)])
    return f'<polygon points="{points}" fill="{ink}" fill-opacity="0.25"/>'


def _mark(kind: str, x: float, y: float, ink: str) -> str:
    if kind == "circle":
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="2.6" fill="{ink}"/>'
    shapes = {
        "square": ((-2.4, -2.4), (2.4, -2.4), (2.4, 2.4), (-2.4, 2.4)),
        "up": ((0, -3.2), (3, 2.4), (-3, 2.4)),
        "down": ((0, 3.2), (3, -2.4), (-3, -2.4)),
        "diamond": ((0, -3.4), (3.4, 0), (0, 3.4), (-3.4, 0)),
    }
    points = " ".join(f"{_n(x + dx)},{_n(y + dy)}" for dx, dy in shapes[kind])
    return f'<polygon points="{points}" fill="{ink}"/>'


def _names(ends: list[tuple[tuple[float, float], str, str]]) -> str:
    """Write each line's name at its end, moved apart where they would overlap."""
    boxes = []
    for (x, y), label, ink in sorted(ends, key=lambda end: end[0][1]):
        lines = _wrapped(label)
        boxes.append([y - len(lines) * SMALL / 2, lines, (x, y), ink])
    bottom = TOP - 6.0
    for box in boxes:  # down, so that none overlaps the one above
        box[0] = max(box[0], bottom)
        bottom = box[0] + len(box[1]) * SMALL * 1.12 + 3
    overshoot = max(0.0, bottom - (HEIGHT - BOTTOM + 8))
    for box in reversed(boxes):  # and up again, as far as there is too little room
        height = len(box[1]) * SMALL * 1.12 + 3
        if overshoot and box[0] + height > HEIGHT - BOTTOM + 8 - 1e-6:
            box[0] = HEIGHT - BOTTOM + 8 - height
    for above, below in zip(reversed(boxes[:-1]), reversed(boxes[1:]), strict=True):
        above[0] = min(above[0], below[0] - len(above[1]) * SMALL * 1.12 - 3)
    parts = []
    left = WIDTH - RIGHT + TO_NAME
    for top, lines, (x, y), ink in boxes:
        middle = top + len(lines) * SMALL * 1.12 / 2
        parts.append(
            f'<path d="M{_n(x + 4)} {_n(y)}L{left - 3} {_n(middle)}" fill="none" '
            f'stroke="{ink}" stroke-width="0.8"/>'
        )
        for number, line in enumerate(lines):
            baseline = _n(top + (number + 0.82) * SMALL * 1.12)
            parts.append(
                f'<text x="{left}" y="{baseline}" font-size="{SMALL}" fill="{ink}" '
                f'font-weight="600">{escape(line)}</text>'
            )
    return "".join(parts)


def _wrapped(label: str) -> list[str]:
    """Break a name, an expression mostly, before its dots and after its blanks.

    What is too wide even so, a long word, is broken where it has to be.
    """
    lines = [""]
    for piece in label.replace(".", "\0.").replace(" ", " \0").split("\0"):
        if lines[-1] and not _fits(lines[-1] + piece.rstrip()):
            lines.append("")
        for letter in piece:
            if lines[-1] and not _fits(lines[-1] + letter.rstrip()):
                lines.append("")
            lines[-1] += letter
    return [line.strip() for line in lines]


def _fits(text: str) -> bool:
    return width_of(text) <= RIGHT - TO_NAME


def width_of(name: str) -> float:
    """Return how wide a line's name is in DejaVu Sans Bold, in units of the drawing.

    Other fonts that a reader may have are as wide as this one, or narrower.
    """
    return _font().getlength(name) / _font().size * SMALL


@functools.cache
def _font() -> Any:
    # Imported late: a build that draws no chart needs no font.
    import matplotlib
    from PIL import ImageFont

    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    return ImageFont.truetype(fonts / "DejaVuSans-Bold.ttf", 1000)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
