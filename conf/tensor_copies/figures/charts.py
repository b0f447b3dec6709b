"""Charts of a lesson: ratios with their spread, or bars, in the reader's colours.

A chart is made from plain data (see :func:`figures.plots.data_of`), so that one that
another machine recorded looks like the live one. It is a table (charts.html): its
words can be read aloud and wrapped.

The data of a chart are ``title``, the conclusion, and ``xlabel``, what is shown; and

- ``panels``, one for each size: ``title``, ``note`` (the time of what all others are
  divided by) and ``rows``: ``name``, ``low``, ``middle`` and ``high`` of the ratio,
  and ``text`` where the ratio is told from 1;
- or ``bars``: ``name``, ``value`` and ``text``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tensor_copies.run.templates import TEMPLATES

HALVES = {-1: "½", -2: "¼"}
MOST_TICKS = 5
# From the outermost value or tick to the edge, in powers of two.
MARGIN = 0.3
READING = "Dot: the median. Bar: the middle half. A number: beyond the spread."


@dataclass(frozen=True)
class Panel:
    """The chart of one machine; ``name`` is empty if there is only one."""

    name: str
    prefix: str
    data: dict[str, Any]


def draw(panels: list[Panel]) -> str:
    """Return the charts of one or more machines as one HTML figure, on one scale."""
    first, ticks = panels[0].data, []
    explained = first["xlabel"]
    if "bars" in first:
        most = _longest(bar for panel in panels for bar in panel.data["bars"])
        parts = [_bars(panel.data, most) for panel in panels]
    else:
        axis = _Axis(panel.data for panel in panels)
        parts = [_ratios(panel.data, axis) for panel in panels]
        ticks = [
            {"value": 2.0**power, "at": axis.share(2.0**power), "text": _tick(power)}
            for power in axis.ticks
        ]
        explained = f"{explained}. {READING}"
    shown = [
        {"name": panel.name, "prefix": panel.prefix, "verdict": panel.data["title"]}
        | part
        for panel, part in zip(panels, parts, strict=True)
    ]
    context = {"panels": shown, "explained": explained, "ticks": ticks}
    return TEMPLATES.get_template("figures/charts.html").render(context)


class _Axis:
    """The axis of all ratios of some charts: powers of two, 1 in sight.

    All medians stand on it; a bar that goes on for long is cut at its end.
    """

    def __init__(self, charts: Iterable[dict[str, Any]]) -> None:
        values = [
            math.log2(row["middle"])
            for data in charts
            for panel in data["panels"]
            for row in panel["rows"]
        ]
        self.least = min(-1.0, *values) - MARGIN
        self.most = max(1.0, *values) + MARGIN
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


def _ratios(data: dict[str, Any], axis: _Axis) -> dict[str, Any]:
    columns = [
        part | {"cells": [_cell(row, axis) for row in part["rows"]]}
        for part in data["panels"]
    ]
    names = [row["name"] for row in data["panels"][0]["rows"]]
    return {"names": names, "columns": columns, "bars": []}


def _longest(bars: Iterable[dict[str, Any]]) -> float:
    """Return the length that all are shares of; of bars without any, some length."""
    return max(bar["value"] for bar in bars) or 1.0


def _bars(data: dict[str, Any], most: float) -> dict[str, Any]:
    share_of = [round(100 * bar["value"] / most, 1) for bar in data["bars"]]
    shares = zip(data["bars"], share_of, strict=True)
    return {"bars": [bar | {"share": share} for bar, share in shares]}


def _cell(row: dict[str, Any], axis: _Axis) -> dict[str, Any]:
    low, middle, high = row["low"], row["middle"], row["high"]
    cell = {"middle": axis.share(middle), "text": row.get("text", "")}
    if low == high:  # it is what the others are divided by
        return {**cell, "kind": "base", "words": "1, what the others are divided by"}
    words = f"{middle:.3g}, middle half {low:.3g} to {high:.3g}"
    ends = {"left": axis.share(low), "right": axis.share(high)}
    return {**cell, **ends, "kind": kind_of(row), "words": words}


def _tick(power: int) -> str:
    if power < 0:
        return HALVES.get(power, f"1/{2**-power}")
    return f"{2**power}×" if power else "1"
