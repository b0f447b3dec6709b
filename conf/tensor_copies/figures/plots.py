"""Matplotlib figures (interim)."""

import io
import re
from html import escape
from pathlib import Path

from tensor_copies.figures.maps import as_rest

COLOURS = {"#000000": "currentColor"}
ID = re.compile(r'\b(id="|href="#|url\(#)')
DRAWN = re.compile(r"(?s)(<svg.+?>).*?(<g .+</svg>)")


def scrape(block, block_vars, gallery_conf):
    return as_rest([one["chart"] for one in open_charts(block, block_vars)])


def open_charts(block, block_vars):
    import matplotlib.pyplot as plt

    name = f"{Path(block_vars['src_file']).stem}-{block.lineno}"
    found = [
        {"chart": figure_html(plt.figure(n), f"{name}-{n}")} for n in plt.get_fignums()
    ]
    plt.close("all")
    return found


def figure_html(figure, prefix):
    axes = figure.axes
    title = figure.get_suptitle() or axes[0].get_title()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    head, drawing = DRAWN.search(text.getvalue()).groups()
    size = re.search(r'viewBox="[^"]+"', head)[0]
    drawing = ID.sub(rf"\1{prefix}-", drawing)
    return f'<figure class="chart"><figcaption>{escape(title)}</figcaption>\n<svg role="img" aria-label="{escape(title)}" {size}>{drawing}</figure>'
