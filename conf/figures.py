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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#010203"  # the colour that figure.mplstyle gives to text and axes


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reST of all open figures and close them (an image scraper).

    Each figure is also saved as a file, from which the gallery makes the thumbnail.
    """
    import matplotlib.pyplot as plt

    parts = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
        markup = draw(figure, prefix=path.stem)
        path.write_text(markup, encoding="utf-8")
        html = f'<figure class="lesson-figure">\n{markup}\n</figure>'
        parts.append(".. raw:: html\n\n" + indent(html, "    ") + "\n")
    plt.close("all")
    return "\n".join(parts)


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
