"""Figures as part of the page: charts of the site, drawn from the figure's data.

The gallery's own scraper makes PNG files: a white slab on a dark page, and a file
name as alternative text. This one takes the data out of a figure of ratios, bars or
lines, and the page draws them as a chart of the site (charts.py). Any other figure is
refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError

from tensor_copies.figures import charts
from tensor_copies.figures.pictures import NO_DRAWING, keep_for_card, on_card

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reST of all open figures and close them (an image scraper).

    The data of each is kept as a file, from which the page draws it; the first
    drawing of lines is the picture of the lesson.
    """
    parts = []
    for data in open_charts(block, block_vars):
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
        path.write_text(NO_DRAWING, encoding="utf-8")  # the gallery looks for a file
        path.with_suffix(".json").write_text(json.dumps(data), encoding="utf-8")
        if "lines" in data:
            drawing = on_card(charts.WIDE, charts.HIGH, charts.line_marks(data))
            kept = {"drawing": drawing}
            keep_for_card(kept, path, Path(block_vars["src_file"]), block.lineno)
        parts.append(f".. lesson-chart:: {path.stem}\n")
    return "\n".join(parts)


def open_charts(block: Any, block_vars: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data of all open figures, and close them.

    Raises
    ------
    ExtensionError
        If a figure is no chart of the site.
    """
    import matplotlib.pyplot as plt

    found = [data_of(plt.figure(number)) for number in plt.get_fignums()]
    plt.close("all")
    if None in found:
        raise ExtensionError(
            f"{Path(block_vars['src_file']).name}: the block on line {block.lineno} "
            "draws a figure that is no chart of this site: draw horizontal bars with "
            "bar_label, or lines with labels (figures/plots.py says more)"
        )
    return found


def data_of(figure: Figure) -> dict[str, Any] | None:
    """Return what ``figure`` shows as a chart of the site, or None if it is none.

    One is a row of axes, each with one horizontal ``errorbar`` over names: the ratios
    of one size. Its title is the size, and on a second line a time; a text at a row
    is the ratio in words; the title above all is the conclusion. The other is axes
    with one ``barh`` over names and a ``bar_label``, or with nothing but lines, each
    with a label, or with a text at its end. charts.py has the keys.
    """
    panels = [_ratios_of(axes) for axes in figure.axes]
    if panels and None not in panels:
        title, xlabel = figure.get_suptitle(), figure.get_supxlabel()
        return {"title": title, "xlabel": xlabel, "panels": panels}
    if len(figure.axes) == 1 and (bars := _bars_of(figure.axes[0])) is not None:
        (axes,) = figure.axes
        return {"title": axes.get_title(), "xlabel": axes.get_xlabel(), "bars": bars}
    if len(figure.axes) == 1 and (lines := _lines_of(figure.axes[0])) is not None:
        (axes,) = figure.axes
        said = {"title": axes.get_title(), "xlabel": axes.get_xlabel()}
        said |= {"ylabel": axes.get_ylabel(), "lines": lines}
        across = _axis(axes.xaxis, axes.get_xlim(), axes.get_xscale())
        return said | {
            "across": across,
            "up": _axis(axes.yaxis, axes.get_ylim(), axes.get_yscale()),
        }
    return None


def _lines_of(axes: Axes) -> list[dict[str, Any]] | None:
    """Return the lines that axes show, or None if they show something else."""
    drawn = axes.get_lines()
    if axes.images or axes.patches or axes.containers or not drawn:
        return None
    names = [str(line.get_label()) for line in drawn]
    if axes.texts and len(axes.texts) == len(drawn):
        names = [text.get_text().strip() for text in axes.texts]
    elif axes.texts or any(name.startswith("_") for name in names):
        return None
    return [
        {"name": name}
        | {"xs": _rounded(line.get_xdata()), "ys": _rounded(line.get_ydata())}
        for name, line in zip(names, drawn, strict=True)
    ]


def _axis(axis: Axis, ends: tuple[float, float], scale: str) -> dict[str, Any]:
    """Return the ends of an axis, whether it is logarithmic, and its ticks."""
    low, high = ends
    at = [float(place) for place in axis.get_ticklocs() if low <= place <= high]
    said = axis.get_major_formatter().format_ticks(at)
    ticks = [list(tick) for tick in zip(at, said, strict=True)]
    return {"ends": _rounded(ends), "log": scale == "log", "ticks": ticks}


def _ratios_of(axes: Axes) -> dict[str, Any] | None:
    """Return the ratios that axes show, or None if they show something else."""
    from matplotlib.container import ErrorbarContainer

    if axes.images or axes.patches or len(axes.containers) != 1:
        return None
    (drawn,) = axes.containers
    if not isinstance(drawn, ErrorbarContainer) or not drawn.has_xerr:
        return None
    line, _, bars = drawn.lines
    names = list(line.get_ydata(orig=True))
    ends = bars[0].get_segments()
    if len(ends) != len(names) or not all(isinstance(name, str) for name in names):
        return None
    said = {round(text.get_position()[1]): text.get_text() for text in axes.texts}
    rows = []
    for name, value, between in zip(names, line.get_xdata(), ends, strict=True):
        (start, _), (end, _) = between
        low, middle, high = _rounded([start, value, end])
        row = {"name": name, "low": low, "middle": middle, "high": high}
        rows.append(row | {"text": said.get(len(rows), "").strip()})
    title, _, note = axes.get_title().partition("\n")
    return {"title": title, "note": note, "rows": rows}


def _bars_of(axes: Axes) -> list[dict[str, Any]] | None:
    """Return the horizontal bars that axes show, or None if they show something else.

    A bar's name is where it stands; its text is its label.
    """
    from matplotlib.container import BarContainer

    if axes.images or axes.lines or len(axes.containers) != 1:
        return None
    (drawn,) = axes.containers
    if not isinstance(drawn, BarContainer) or drawn.orientation != "horizontal":
        return None
    if len(axes.texts) != len(drawn):
        return None
    places = [bar.get_y() + bar.get_height() / 2 for bar in drawn]
    names = axes.yaxis.get_major_formatter().format_ticks(places)
    values = _rounded(bar.get_width() for bar in drawn)
    texts = [text.get_text().strip() for text in axes.texts]
    return [
        {"name": name, "value": value, "text": text}
        for name, value, text in zip(names, values, texts, strict=True)
    ]


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
