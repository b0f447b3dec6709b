"""Figures as part of the page: inline SVG in the reader's colours, with words.

The gallery's own scraper makes PNG files: a white slab on a dark page, and a file
name as alternative text. This one draws the same figures as SVG whose ink is the
colour of the page's text, and describes each from its own data.
"""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from pictures import keep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("figure.mplstyle")
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
        markup = draw(figure, prefix=path.stem)
        keep(markup, path, Path(block_vars["src_file"]))
        parts.append(".. raw:: html\n\n" + indent(as_figure(markup), "    ") + "\n")
    plt.close("all")
    return "\n".join(parts)


def as_figure(markup: str) -> str:
    """Return a drawing as a figure of a page."""
    return f'<figure class="lesson-figure">\n{markup}\n</figure>'


def draw(figure: Figure, prefix: str) -> str:
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
    words = escape(describe(figure), quote=True)
    root = f'<svg role="img" aria-label="{words}" stroke-linejoin="round" '
    return root + svg.removeprefix("<svg").lstrip()


def data_of(figure: Figure) -> dict[str, Any] | None:
    """Return what ``figure`` plots, or None if it is more than lines on axes.

    The keys are ``title``, ``xlabel``, ``ylabel``, ``xscale``, ``yscale``, and
    ``lines``: a list of ``label``, ``x`` and ``y``, rounded to four digits.
    """
    if len(figure.axes) != 1:
        return None
    (axes,) = figure.axes
    if axes.images or axes.collections or axes.patches or axes.texts or axes.tables:
        return None

    def rounded(values: Any) -> list[float]:
        return [float(f"{value:.4g}") for value in values]

    return {
        "title": axes.get_title(),
        "xlabel": axes.get_xlabel(),
        "ylabel": axes.get_ylabel(),
        "xscale": axes.get_xscale(),
        "yscale": axes.get_yscale(),
        "lines": [
            {
                "label": str(line.get_label()),
                "x": rounded(line.get_xdata()),
                "y": rounded(line.get_ydata()),
            }
            for line in axes.get_lines()
        ],
    }


def draw_data(data: dict[str, Any], prefix: str) -> str:
    """Draw what :func:`data_of` returned, in the site's style, as an SVG element."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    def plain(text: str) -> str:
        return text.replace("$", r"\$")  # never a formula

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.style.use(STYLE)
        figure = Figure()
        axes = figure.subplots()
        for line in data["lines"]:
            axes.plot(line["x"], line["y"], label=plain(line["label"]))
        axes.set(xscale=data["xscale"], yscale=data["yscale"])
        axes.set_title(plain(data["title"]))
        axes.set_xlabel(plain(data["xlabel"]))
        axes.set_ylabel(plain(data["ylabel"]))
        if any(not line["label"].startswith("_") for line in data["lines"]):
            axes.legend()
        return draw(figure, prefix)


def describe(figure: Figure) -> str:
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
