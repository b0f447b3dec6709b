"""Write marks of SVG, and measure how much room text takes.

The font of a drawing is that of its page, which is not known here. Text is measured in
Helvetica; in a box it gets ``textLength`` where another font could leave the box.
"""

import re
import tomllib
import unicodedata
from itertools import accumulate
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

# Pixels. A drawing is not scaled down: its letters stay as high as they are drawn.
EDGE, TEXT, SMALL, LINE = 2.0, 13.0, 12.0, 15.0
INK = "currentColor"
FAINT = "var(--color-foreground-muted, #6b6f76)"
PAPER = "var(--color-background-primary, #fff)"
FRAME = "var(--color-background-border, #c9ccd1)"
TROUBLE = "var(--status-wrong, #9c1f18)"
# Of memories, in order of appearance; all later ones are FAINT with a number.
_LINES = (("1", "#0060b0"), ("2", "#b84500"), ("3", "#007a5a"), ("4", "#a3387a"))
COLOURS = tuple(f"var(--line-{number}, {colour})" for number, colour in _LINES)
# The same names in a drawing without a page, in light and in dark.
LIGHT = (
    "color:#16181b;--line-1:#0060b0;--line-2:#b84500;--line-3:#007a5a;--line-4:#a3387a;"
    "--color-foreground-muted:#5a5e66;--color-background-primary:#fff;"
    "--color-background-border:#c9ccd1;--status-wrong:#9c1f18"
)
DARK = (
    "color:#e6e7e9;--line-1:#6cb6ff;--line-2:#f2a05c;--line-3:#3fcf9f;--line-4:#f08cc6;"
    "--color-foreground-muted:#a0a4ac;--color-background-primary:#131416;"
    "--color-background-border:#43464d;--status-wrong:#ff8f85"
)
ALONE_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"

_WIDTHS = tomllib.loads(Path(__file__).with_name("helvetica.toml").read_text("utf-8"))
# How wide each letter is, from space to tilde, in plain and in bold text.
ADVANCES = {
    bold: dict(zip(map(chr, range(32, 127)), _WIDTHS[name], strict=True))
    for name, bold in (("plain", False), ("bold", True))
}
# Verdana and DejaVu Sans, the widest of the common fonts, against Helvetica.
SAFE = 1.25


def rect(x: float, y: float, width: float, height: float, look: str = "") -> str:
    """Return a rectangle; ``look`` is its other attributes."""
    x, y, width, height = map(rounded, (x, y, width, height))
    look = f" {look}" if look else ""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}"{look}/>'


def line_mark(d: str, colour: str, wide: float, dash: str = "", name: str = "") -> str:
    """Return a line along the data of a path; ``name`` is its class."""
    name = f'class="{name}" ' if name else ""
    dash = f' stroke-dasharray="{dash}"' if dash else ""
    look = f'fill="none" stroke="{colour}" stroke-width="{wide:g}"{dash}'
    return f'<path {name}d="{d}" {look}/>'


def placed(template: str, *numbers: float) -> str:
    """Return the data of a path, with lengths in the places of its ``{}``."""
    return template.format(*map(rounded, numbers))


def text_mark(
    text: str,
    x: float,
    y: float,
    *,
    size: float = TEXT,
    bold: bool = False,
    fill: str = "",
    anchor: str = "middle",
    room: float | None = None,
    look: str = "",
) -> str:
    """Return a text on the line ``y``, in no font wider than its room."""
    text = printable(text)
    look += f'x="{rounded(x)}" y="{rounded(y)}"'
    look += f' font-size="{size:g}"' if size != TEXT else ""
    look += ' font-weight="700"' if bold else ""
    look += f' text-anchor="{anchor}"' if anchor != "start" else ""
    look += f' fill="{fill}"' if fill else ""
    if room is not None:  # a text is squeezed before it is cut
        text = _shorten(text, room / 0.85, size, bold)
        wide = text_width(text, size, bold)
        if wide * SAFE > room:
            length = rounded(min(wide, room))
            look += f' textLength="{length}" lengthAdjust="spacingAndGlyphs"'
    return f"<text {look}>{escape(text)}</text>"


def small_mark(text: str, x: float, y: float, **look: Any) -> str:
    """Return a small faint text; the parameters are those of :func:`text_mark`."""
    return text_mark(text, x, y, **{"size": SMALL, "fill": FAINT} | look)


def group(name: str, marks: str, **attributes: str) -> str:
    """Return marks that belong together, with a class for those who move them."""
    more = "".join(
        f" {key.replace('_', '-')}={quoteattr(printable(value))}"
        for key, value in attributes.items()
    )
    return f"<g class={quoteattr(name)}{more}>{marks}</g>"


def text_width(text: str, size: float = TEXT, bold: bool = False) -> float:
    """Return how wide a text is in Helvetica."""
    advances, wide = ADVANCES[bold], 0
    for letter in text:
        if letter in advances:
            wide += advances[letter]
        elif not unicodedata.combining(letter):
            wide += 1000 if unicodedata.east_asian_width(letter) in "FW" else 620
    return wide * size / 1000


def safe_width(text: str, size: float = TEXT, bold: bool = False) -> float:
    """Return how wide a text is in the widest of the common fonts."""
    return SAFE * text_width(text, size, bold)


def _shorten(text: str, room: float, size: float = TEXT, bold: bool = False) -> str:
    """Return a text, cut with an ellipsis where it is wider than the room."""
    if text_width(text, size, bold) <= room + 0.01:
        return text
    room -= text_width("\N{HORIZONTAL ELLIPSIS}", size, bold)
    while text and text_width(text, size, bold) > room:
        text = text[:-1]
    return text and text + "\N{HORIZONTAL ELLIPSIS}"


def wrap(text: str, room: float, size: float = SMALL) -> list[str]:
    """Return a text as lines that fit the room in any font, if its words do."""
    lines = [""]
    # A fact stays whole where it can: "stride (1, 3)" is broken last.
    for number, piece in enumerate(re.split(r", (?![^\[(]*[\])])", text)):
        joined = f"{lines[-1]}, {piece}" if number else piece
        if safe_width(joined + ",", size) <= room:
            lines[-1] = joined
            continue
        if number:
            lines[-1:] = [lines[-1] + ",", ""]
        for word in piece.split(" "):
            joined = f"{lines[-1]} {word}" if lines[-1] else word
            if lines[-1] and safe_width(joined + ",", size) > room:
                lines.append(word)
            else:
                lines[-1] = joined
    return lines


def tinted(colour: str) -> str:
    """Return the attributes of a fill in a light tint of a colour."""
    return f'fill="{colour}" fill-opacity=".15"'


def printable(text: str) -> str:
    """Replace what no XML may hold, not even escaped, and every line end."""
    mark = "\N{REPLACEMENT CHARACTER}"
    return "".join(letter if letter.isprintable() else mark for letter in text)


def rounded(value: float) -> str:
    """Return a length for SVG, to a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:g}"


def spread(
    wanted: list[float], widths: list[float], gap: float, room: float
) -> list[float]:
    """Return centres near to ``wanted``, apart by widths and gap, within the room."""
    # Without the widths of those to the left, centres only have to ascend. Those that
    # would not are pushed to the right, and to the left, and set half-way.
    starts = [0.0, *accumulate(width + gap for width in widths)]
    half = [start + width / 2 for start, width in zip(starts, widths, strict=False)]
    slack = max(0.0, room - (starts[-1] - gap))
    free = [want - at for want, at in zip(wanted, half, strict=True)]
    right = accumulate(free, max)
    left = [*accumulate(reversed(free), min)][::-1]
    return [
        at + min(max((one + other) / 2, 0.0), slack)
        for at, one, other in zip(half, right, left, strict=True)
    ]
