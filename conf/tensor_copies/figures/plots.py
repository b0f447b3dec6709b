"""Figures as part of the page: inline SVG in the reader's colours, with words.

The gallery's own scraper makes PNG files: a white slab on a dark page, and a file
name as alternative text. This one takes the data out of a figure of lines and draws
them as a chart of the site (charts.py). Any other figure is drawn by matplotlib as
SVG whose ink is the colour of the page's text. Each is described from its own data.
"""

from __future__ import annotations

import json
import re
from html import escape
from io import StringIO
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from tensor_copies.figures import charts
from tensor_copies.figures.pictures import Preview, keep

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

INK = "#010203"  # the colour that figure.mplstyle gives to text and axes


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reST of all open figures and close them (an image scraper).

    Each figure is also saved as a file; the first is the picture of the lesson.
    """
    import matplotlib.pyplot as plt

    parts = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
        data = data_of(figure)
        if data is None:
            markup = marks = draw_figure(figure, prefix=path.stem)
            width, height = (72.0 * inches for inches in figure.get_size_inches())
            words = describe_figure(figure)
        else:
            # Kept for a page that shows other machines' data beside it.
            path.with_suffix(".json").write_text(json.dumps(data), encoding="utf-8")
            markup, marks = charts.draw_chart(data, path.stem), charts.draw_marks(data)
            width, height = charts.WIDTH, charts.HEIGHT
            words = charts.describe_chart(data)
        path.write_text(markup, encoding="utf-8")  # the gallery looks for a file
        preview = Preview(words, [(0.0, width, height, marks)])
        keep(preview, path, Path(block_vars["src_file"]), block.lineno)
        parts.append(".. raw:: html\n\n" + indent(framed_figure(markup), "    ") + "\n")
    plt.close("all")
    return "\n".join(parts)


def framed_figure(markup: str) -> str:
    """Return a drawing as a figure of a page."""
    return f'<figure class="lesson-figure">\n{markup}\n</figure>'


def draw_figure(figure: Figure, prefix: str) -> str:
    """Return ``figure`` as an SVG element that can stand inside a page.

    Parameters
    ----------
    figure
        The matplotlib figure.
    prefix
        Put before every id in the drawing, since ids are unique in a page.
    """
    buffer = StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    # A style element inside a page applies to the whole page: say it on the root.
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    svg = svg.replace(INK, "currentColor")
    words = escape(describe_figure(figure), quote=True)
    root = f'<svg role="img" aria-label="{words}" stroke-linejoin="round" '
    return root + svg.removeprefix("<svg").lstrip()


def data_of(figure: Figure) -> dict[str, Any] | None:
    """Return what ``figure`` plots, or None if it is more than lines on axes.

    The keys are ``title``, ``xlabel``, ``ylabel``, ``xscale``, ``yscale``, and
    ``lines``: a list of ``label``, ``x`` and ``y``, rounded to four digits, with
    ``dash`` if it is not solid, and ``low`` and ``high`` if there is a band around it:
    a ``fill_between`` over the same x whose label is the line's after an underscore.
    """
    if len(figure.axes) != 1:
        return None
    (axes,) = figure.axes
    if axes.images or axes.patches or axes.texts or axes.tables or not axes.lines:
        return None
    lines = {str(line.get_label()): _line(line) for line in axes.get_lines()}
    for band in axes.collections:
        line = lines.get(str(band.get_label()).removeprefix("_"))
        if line is None or not _add_band(line, band):
            return None
    return {
        "title": axes.get_title(),
        "xlabel": axes.get_xlabel(),
        "ylabel": axes.get_ylabel(),
        "xscale": axes.get_xscale(),
        "yscale": axes.get_yscale(),
        "lines": list(lines.values()),
    }


def _line(line: Line2D) -> dict[str, Any]:
    data = {
        "label": str(line.get_label()),
        "x": _rounded(line.get_xdata()),
        "y": _rounded(line.get_ydata()),
    }
    return data if line.get_linestyle() == "-" else {**data, "dash": True}


def _add_band(line: dict[str, Any], band: Collection) -> bool:
    """Add the least and the greatest y of a filled outline at each x of a line."""
    (path,) = band.get_paths()
    at: dict[float, list[float]] = {}
    for x, y in path.vertices:
        at.setdefault(_rounded([x])[0], []).append(y)
    if sorted(at) != sorted(line["x"]):
        return False
    line["low"] = _rounded(min(at[x]) for x in line["x"])
    line["high"] = _rounded(max(at[x]) for x in line["x"])
    return True


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.4g}") if value < 1e4 else float(value) for value in values]


def describe_figure(figure: Figure) -> str:
    """Say in words what ``figure`` shows, from the same data that it draws."""
    return " ".join(_describe_axes(axes) for axes in figure.axes)


def _describe_axes(axes: Axes) -> str:
    across, up = axes.get_xlabel(), axes.get_ylabel()
    lines = []
    for line in axes.get_lines():
        xs, ys = line.get_xdata(), line.get_ydata()
        if len(xs) and not str(line.get_label()).startswith("_"):
            ends = f"{ys[0]:.3g} at {xs[0]:.6g}, {ys[-1]:.3g} at {xs[-1]:.6g}"
            lines.append(f"{line.get_label()}: {ends}")
    return f"{axes.get_title()}. {up} against {across}. {'; '.join(lines)}."
