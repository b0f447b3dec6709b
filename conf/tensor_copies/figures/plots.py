"""Put matplotlib figures into a lesson's page: inline SVG in the colours of the theme.

The gallery's own scraper makes images, which keep their colours on a dark page and are
scaled down on a phone. The style (charts.mplstyle) has a colour for each variable of
site.css; here the one is replaced by the other.
"""

import io
import re
import zlib
from html import escape
from typing import Any

COLOURS = {
    "#000000": "currentColor",
    "#0060b0": "var(--line-1)",
    "#b84500": "var(--line-2)",
    "#007a5a": "var(--line-3)",
    "#a3387a": "var(--line-4)",
    "#5b4bc4": "var(--line-5)",
}
SCALE = 1.3  # of a figure's points on a wide page
LONG = 20  # letters of a name that has no room at the end of a line
DRAWN = re.compile(r'(?s)<svg[^>]+viewBox="0 0 ([\d.]+) ([\d.]+)".*?(<g .+)</svg>')
# Ids and turns by zero that nothing refers to, and digits after the second decimal.
JUNK = re.compile(
    r' id="(?:figure|axes|patch|line2d|text|[xy]tick|legend|matplotlib|Line|Err)[^"]*"'
    r'| transform="rotate\(-0[^"]*"|(?<=\.\d\d)\d{2,}(?=[\s"])'
)
ID = re.compile(r'\b(id="|(?:xlink:)?href="#|url\(#)')
CALL = re.compile(r"[\w.]+\(\S*\)")


def open_charts() -> list[dict[str, str]]:
    """Return all open figures as HTML, each under ``chart``, and close them."""
    import matplotlib.pyplot as plt

    charts = [{"chart": chart_of(plt.figure(n))} for n in plt.get_fignums()]
    plt.close("all")
    return charts


def chart_of(figure: Any) -> str:
    """Return a figure as HTML: its title as caption, its drawing as SVG."""
    axes = figure.axes[0]
    title, words = axes.get_title(), words_of(axes)
    axes.set_title("")
    names = [str(line.get_label()) for line in lines_of(axes)]
    named = axes.get_legend() and names and max(map(len, names)) < LONG
    if named and axes.get_yscale() == "linear":
        name_lines(axes)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    width, height, drawing = DRAWN.search(text.getvalue()).groups()
    for colour, variable in COLOURS.items():
        drawing = drawing.replace(colour, variable)
    drawing = JUNK.sub("", drawing)
    drawing = ID.sub(rf"\1c{zlib.crc32(drawing.encode())}-", drawing)
    spoken = f"{title.rstrip('.')}. {words}"
    verdict = CALL.sub(r"<code>\g<0></code>", escape(title, quote=False))
    return (
        f'<figure class="chart"><figcaption>{verdict}</figcaption>\n'
        f'<svg role="img" aria-label="{escape(spoken)}" '
        f'viewBox="0 0 {width} {height}" width="{SCALE * float(width):.0f}" '
        f'fill="currentColor">{" ".join(drawing.split())}</svg></figure>'
    )


def words_of(axes: Any) -> str:
    """Return in words what the axes show: lines, the texts of bars, points of rows."""
    from matplotlib.container import ErrorbarContainer

    labels = filter(None, [axes.get_ylabel(), axes.get_xlabel()])
    said = [f"A chart of {' against '.join(labels)}"]
    said += [
        f"{line.get_label()}: {', '.join(f'{y:.3g}' for y in line.get_ydata())}"
        for line in lines_of(axes)
    ]
    names = [name.get_text() for name in axes.get_yticklabels()]
    texts = [text.get_text() for text in axes.texts]
    said += [f"{name}: {text}" for name, text in zip(names, texts, strict=False)]
    for points in axes.containers:
        if isinstance(points, ErrorbarContainer):
            values = zip(names, points.lines[0].get_xdata(), strict=True)
            each = ", ".join(f"{name} {x:.3g}" for name, x in values)
            said.append(f"{points.get_label()}: {each}")
    return ". ".join(said) + "."


def lines_of(axes: Any) -> list[Any]:
    """Return the lines that have a name."""
    lines = axes.get_lines()
    return [line for line in lines if not str(line.get_label()).startswith("_")]


def name_lines(axes: Any) -> None:
    """Name each line at its end, in its colour, in the place of a legend."""
    axes.get_legend().remove()
    low, high = axes.get_ylim()
    last = low - high
    for line in sorted(lines_of(axes), key=lambda line: line.get_ydata()[-1]):
        x, y = line.get_xdata()[-1], line.get_ydata()[-1]
        last = max(y, last + (high - low) / 11)  # names that would meet move up
        at = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(line.get_label(), (x, last), color=line.get_color(), **at)
