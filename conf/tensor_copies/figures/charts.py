"""Charts of a lesson: ratios with their spread, bars or lines, in the reader's colours.

A chart is made from plain data (see :func:`figures.plots.data_of`), so that one that
another machine recorded looks like one of this build. Ratios and bars are a table
(charts.html): its words can be read aloud and wrapped.

The data of a chart are ``title``, the conclusion, and ``xlabel``, what is shown, with
code between backticks; and

- ``panels``, one for each size: ``title``, ``note`` (the time of what all others are
  divided by) and ``rows``: ``name``, ``low``, ``middle`` and ``high`` of the ratio,
  and ``text`` where the ratio is told from 1;
- or ``bars``: ``name``, ``value`` and ``text``;
- or ``lines``: ``name``, ``xs`` and ``ys``; and beside them ``ylabel`` and the axes
  ``across`` and ``up``: their ``ends``, ``log``, and ``ticks``, places with words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup, escape
from tensor_maps.pen import safe_width

from tensor_copies.markup import TEMPLATES

HALVES = {-1: "½", -2: "¼", -3: "⅛"}
MOST_TICKS = 6
# From the outermost value or tick to the edge, in powers of two. On the right there is
# room for the number of the slowest.
MARGIN, ROOM = 0.3, 0.9
# Hundredths of the width that a number in words needs.
WORDS = 60
FULL = 74  # of a hundred: on a phone no number has room behind a bar that ends later
READING = (
    "A dot left of 1 is a faster call. Its bar is the middle half of all rounds. Only "
    "calls whose whole bar is clearly on one side of 1 have a number."
)
# Of a chart of lines, in pixels: all of it, its edges, the least between two names,
# and what is beside the longest name.
WIDE, HIGH, LEFT, TOP, BOTTOM, APART, BESIDE = 380, 190, 52, 10, 40, 16, 12
DASHES = ("none", "7 4", "2 4", "7 3 2 3", "none")


def draw(data: dict[str, Any], prefix: str) -> str:
    """Return a chart as an HTML figure; ``prefix`` is its id."""
    explained, ticks, part = data["xlabel"], [], {"bars": [], "drawing": ""}
    if "lines" in data:
        part["drawing"] = _framed(data)
        explained = data["ylabel"]
    elif "bars" in data:
        part |= _bars(data, _longest(data["bars"]))
    else:
        axis = _Axis(data)
        part |= _ratios(data, axis)
        ticks = [
            {"value": 2.0**power, "at": axis.share(2.0**power), "text": _tick(power)}
            for power in axis.ticks
        ]
        explained = f"{explained}. {READING}"
    return TEMPLATES.get_template("figures/charts.html").render(
        chart=part,
        prefix=prefix,
        verdict=data["title"],
        explained=explained,
        ticks=ticks,
    )


class _Axis:
    """The axis of all ratios of a chart: powers of two, 1 in sight.

    All medians stand on it; a bar that goes on for long is cut at its end.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        values = [
            math.log2(row["middle"])
            for panel in data["panels"]
            for row in panel["rows"]
        ]
        self.least = min(-1.0, *values) - MARGIN
        self.most = max(1.0, *values) + ROOM
        # The number 1 is always among them.
        step = 1 + math.floor((self.most - self.least) / MOST_TICKS)
        self.ticks = [
            power
            for power in range(math.ceil(self.least), math.floor(self.most) + 1)
            if power % step == 0
        ]

    def share(self, ratio: float) -> float:
        """Return where a ratio stands, in hundredths of the width."""
        place = (math.log2(ratio) - self.least) / (self.most - self.least)
        return round(100 * min(max(place, 0.0), 1.0), 1)


def kind_of(row: dict[str, Any]) -> str:
    """Return whether a ratio is slower or faster beyond the spread, or the same."""
    if not row.get("text"):
        return "same"
    return "slower" if row["middle"] > 1 else "faster"


def in_words(row: dict[str, Any]) -> str:
    """Return a ratio that is told from 1 as a reader says it, else nothing."""
    kind, middle = kind_of(row), row["middle"]
    if kind == "same":
        return ""
    if kind == "slower":
        return f"{middle:.1f}×"
    return f"{1 / middle:.{int(1 / middle < 3)}f}× faster"


def _ratios(data: dict[str, Any], axis: _Axis) -> dict[str, Any]:
    columns = [
        part | {"cells": [_cell(row, axis) for row in part["rows"]]}
        for part in data["panels"]
    ]
    names = [row["name"] for row in data["panels"][0]["rows"]]
    pairs = []
    for start in range(0, len(columns), 2):
        pair = columns[start : start + 2]
        # What a phone shows of it: the rows in which something differs.
        found = [{part["cells"][k]["kind"] for part in pair} for k in range(len(names))]
        quiet = [kinds <= {"same", "base"} for kinds in found]
        alike = [
            name for name, kinds in zip(names, found, strict=True) if kinds == {"same"}
        ]
        at = " and ".join(part["title"] for part in pair) if all(quiet) else ""
        pairs.append({"columns": pair, "quiet": quiet, "alike": alike, "none_at": at})
    return {"names": names, "pairs": pairs}


def _longest(bars: Iterable[dict[str, Any]]) -> float:
    """Return the length that all are shares of; of bars without any, some length."""
    return max(bar["value"] for bar in bars) or 1.0


def _bars(data: dict[str, Any], most: float) -> dict[str, Any]:
    share_of = [round(100 * bar["value"] / most, 1) for bar in data["bars"]]
    shares = zip(data["bars"], share_of, strict=True)
    return {"bars": [bar | {"share": share} for bar, share in shares]}


def _cell(row: dict[str, Any], axis: _Axis) -> dict[str, Any]:
    low, middle, high = row["low"], row["middle"], row["high"]
    cell = {"middle": axis.share(middle), "text": in_words(row)}
    if low == high:  # it is what the others are divided by
        return {**cell, "kind": "base", "words": "1, what the others are divided by"}
    words = f"{middle:.3g}, middle half {low:.3g} to {high:.3g}"
    left, right = axis.share(low), axis.share(high)
    beside = {"at": right, "dx": 6, "anchor": "start"}
    is_faster = kind_of(row) == "faster"
    is_full = right > (100 - WORDS if is_faster else FULL)
    if (is_faster or is_full) and left > WORDS:
        beside = {"at": left, "dx": -6, "anchor": "end"}
    elif is_full:
        beside = {"at": 100, "dx": -4, "anchor": "end"}
    ends = {"left": left, "right": right, **beside}
    return {**cell, **ends, "kind": kind_of(row), "words": words}


def _tick(power: int) -> str:
    if power < 0:
        return HALVES.get(power, f"1/{2**-power}")
    return f"{2**power}×" if power else "1"


def line_marks(data: dict[str, Any]) -> str:
    """Return a chart of lines as parts of an SVG drawing of WIDE x HIGH pixels.

    Each line has its name at its end; where ends meet, the names are moved apart.
    """
    room = max(safe_width(line["name"], 13, bold=True) for line in data["lines"])
    across, up = (LEFT, WIDE - room - BESIDE), (HIGH - BOTTOM, TOP)
    lines = []
    for number, (line, dash) in enumerate(zip(data["lines"], DASHES, strict=False)):
        xs = _scale(line["xs"], data["across"], *across)
        ys = _scale(line["ys"], data["up"], *up)
        points = " ".join(f"{x:g},{y:g}" for x, y in zip(xs, ys, strict=True))
        drawn = {"ink": f"--line-{number + 1}", "dash": dash, "points": points}
        lines.append(drawn | {"name": line["name"], "end": xs[-1], "y": ys[-1]})
    last = -APART
    for line in sorted(lines, key=lambda line: line["y"]):
        last = line["y"] = max(line["y"], last + APART)
    ticks = {
        "x": _ticks(data["across"], *across),
        "y": _ticks(data["up"], *up),
    }
    said = {"lines": lines, "ticks": ticks, "xlabel": data["xlabel"]}
    size = {"width": WIDE, "height": HIGH, "left": LEFT, "right": across[1]}
    return TEMPLATES.get_template("figures/lines.html").render(said | size)


def _framed(data: dict[str, Any]) -> str:
    said = "; ".join(
        f"{line['name']}: {', '.join(f'{y:.3g}' for y in line['ys'])}"
        for line in data["lines"]
    )
    words = escape(f"{data['ylabel']} against {data['xlabel']}. {said}.")
    return Markup(
        f'<svg role="img" aria-label="{words}" viewBox="0 0 {WIDE} {HIGH}">'
        f"{line_marks(data)}</svg>"
    )


def _ticks(axis: dict[str, Any], start: float, end: float) -> list[tuple[float, str]]:
    places = _scale([place for place, _ in axis["ticks"]], axis, start, end)
    return [(at, said) for at, (_, said) in zip(places, axis["ticks"], strict=True)]


def _scale(
    values: list[float], axis: dict[str, Any], start: float, end: float
) -> list[float]:
    to = math.log2 if axis["log"] else float
    low, high = map(to, axis["ends"])
    return [
        round(start + (end - start) * (to(v) - low) / (high - low), 1) for v in values
    ]
