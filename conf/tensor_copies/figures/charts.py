"""Charts of a lesson: ratios with their spread, or bars, in the reader's colours.

A chart is made from plain data (see :func:`figures.plots.data_of`), so that one that
another machine recorded looks like the live one. On a page it is a table
(charts.html); on a card, where nothing can be read aloud or wrapped, it is SVG.

The data of a chart are ``title``, the conclusion, and ``xlabel``, what is shown; and

- ``panels``, one for each size: ``title``, ``note`` (the time of what all others are
  divided by) and ``rows``: ``name``, ``low``, ``middle`` and ``high`` of the ratio,
  and ``text`` where the ratio is told from 1;
- or ``bars``: ``name``, ``value`` and ``text``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATE = "charts.html"
HALVES = {-1: "½", -2: "¼"}
MOST_TICKS = 5
# From the outermost value or tick to the edge, in powers of two.
MARGIN = 0.3
READING = "Dot: the median. Bar: the middle half. A number: beyond the spread."
# A card's drawing, in pixels: two sizes side by side, each row under its name.
CARD_WIDTH, ROW, HEAD, LETTER, GAP = 260, 34, 21, 13, 16
COLOURS = {
    "slower": "var(--line-2, #b84500)",
    "faster": "var(--line-3, #007a5a)",
    "same": "currentColor",
}


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
    return _templates().get_template(TEMPLATE).render(context)


def describe(data: dict[str, Any]) -> str:
    """Say in words what a chart shows, from the data that it draws."""
    if "bars" in data:
        told = [f"{bar['name']}: {bar['text']}" for bar in data["bars"]]
    else:
        told = [
            f"{panel['title']}: "
            + ", ".join(f"{row['name']} {row['middle']:.3g}" for row in panel["rows"])
            for panel in data["panels"]
        ]
    return " ".join([*data["title"].split(), f"{data['xlabel']}.", "; ".join(told)])


def draw_on_card(data: dict[str, Any]) -> tuple[str, int]:
    """Return a small drawing of a chart, CARD_WIDTH wide, and its height."""
    if "bars" in data:
        heads, width = [""], float(CARD_WIDTH)
        most = _longest(data["bars"])
        rows = [
            (bar["name"], [_card_bar(bar["value"] / most * width)])
            for bar in data["bars"]
        ]
    else:
        axis = _Axis([data])
        chosen = [data["panels"][0], data["panels"][-1]][: len(data["panels"])]
        heads = [panel["title"] for panel in chosen]
        width = (CARD_WIDTH - GAP * (len(heads) - 1)) / len(heads)
        rows = [
            (row["name"], [_card_dot(one["rows"][k], axis, width) for one in chosen])
            for k, row in enumerate(chosen[0]["rows"])
        ]
    parts = [
        f'<text x="{_n(place * (width + GAP))}" y="{LETTER}" font-size="{LETTER}" '
        f'font-weight="bold">{escape(head)}</text>'
        for place, head in enumerate(heads)
    ]
    for number, (name, tracks) in enumerate(rows):
        top = HEAD + number * ROW
        parts.append(
            f'<text x="0" y="{top + LETTER}" font-size="{LETTER}" '
            f'font-family="monospace">{escape(_shortened(name))}</text>'
        )
        parts += [
            f'<g transform="translate({_n(place * (width + GAP))} {top + 24})">'
            f"{track}</g>"
            for place, track in enumerate(tracks)
        ]
    return "".join(parts), HEAD + len(rows) * ROW


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


@functools.cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined, autoescape=True,
    )  # fmt: skip


def _card_dot(row: dict[str, Any], axis: _Axis, width: float) -> str:
    ink = COLOURS[kind_of(row)]
    one, low, middle, high = (
        _n(axis.share(ratio) * width / 100)
        for ratio in (1.0, row["low"], row["middle"], row["high"])
    )
    return (
        f'<path d="M{one} -9V9" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<path d="M0 0H{_n(width)}" stroke="currentColor" stroke-opacity="0.15"/>'
        f'<path d="M{low} 0H{high}" stroke="{ink}" stroke-opacity="0.5" '
        f'stroke-width="5"/><circle cx="{middle}" r="5" fill="{ink}"/>'
    )


def _card_bar(width: float) -> str:
    size = f'width="{_n(width)}" height="12"'
    return f'<rect y="-6" {size} rx="2" fill="var(--line-1, #0060b0)"/>'


def _shortened(name: str) -> str:
    """Cut a name that is wider than a card, by the widths of its letters."""
    if width_of(name) <= CARD_WIDTH:
        return name
    while width_of(f"{name}…") > CARD_WIDTH:
        name = name[:-1]
    return f"{name}…"


def width_of(name: str) -> float:
    """Return how wide a name is in DejaVu Sans Mono, the widest of such fonts."""
    return _font().getlength(name) / _font().size * LETTER


@functools.cache
def _font() -> Any:
    # Imported late: a build that draws no chart needs no font.
    import matplotlib
    from PIL import ImageFont

    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    return ImageFont.truetype(fonts / "DejaVuSansMono.ttf", 1000)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
