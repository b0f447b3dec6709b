"""Marks of SVG, and how wide text is."""

from __future__ import annotations

import unicodedata
from xml.sax.saxutils import escape

from tensor_maps.words import Mark, size_of

# Sizes in pixels. A drawing is never scaled down, so that its letters stay as high as
# they are drawn, and this wide it fits a phone of 320 pixels.
NARROW, EDGE = 280.0, 2.0
LETTER = 12.0
# Of each letter in SF Mono, the widest of the common monospaced fonts, by its size.
ADVANCE = 0.618
LINE, PADDING = 15.0, 6.0
BETWEEN_BOXES, BETWEEN_LAYERS, LANE_OF_EDGE, DOUBLE = 10.0, 24.0, 2.0, 8.0
CELL, TAG, STEM, BADGE = 24.0, 20.0, 10.0, 9.0
# Of a memory with a letter: where its cells begin, and the most room for them.
LEFT = EDGE + 2 * BADGE + 6
ROOM = NARROW - EDGE - LEFT
FAINT = "var(--color-foreground-muted, #6b6f76)"
# Ends of the opening of a <text>.
MIDDLE, BOLD = ' text-anchor="middle"', ' font-weight="bold"'
QUIET = f' fill="{FAINT}"'
ON_COLOUR = ' fill="var(--color-background-primary, #fff)"'


class Pen:
    """What is drawn so far, as marks of SVG, and how far it reaches."""

    def __init__(self) -> None:
        self.marks: list[str] = []
        self.right = self.bottom = 0.0

    def reach(self, right: float, bottom: float) -> None:
        """Make the drawing as large as this."""
        self.right, self.bottom = max(self.right, right), max(self.bottom, bottom)

    def rect(self, x: float, y: float, width: float, height: float, look: str) -> None:
        """Draw a rectangle; ``look`` is its other attributes."""
        size = f'width="{rounded(width)}" height="{rounded(height)}"'
        self.marks.append(f'<rect x="{rounded(x)}" y="{rounded(y)}" {size} {look}/>')
        self.reach(x + width, y + height)

    def line(self, path: str, look: str) -> None:
        """Draw a line, which is not filled."""
        self.marks.append(f'<path d="{path}" fill="none" {look}/>')

    def text(self, text: str, x: float, y: float, look: str = "") -> None:
        """Write on the line ``y``, in the middle if the look says so."""
        if not text:
            return
        place = f'x="{rounded(x)}" y="{rounded(y)}"'
        self.marks.append(f"<text {place}{look}>{escape(printable(text))}</text>")
        self.reach(x + text_width(text) / (2 if MIDDLE in look else 1), y + 3)

    def lines(
        self, text: str, x: float, y: float, joint: str = ", ", look: str = ""
    ) -> float:
        """Write a text on as many lines as it needs; return where they end."""
        for line in _wrap(text.split(joint), joint, NARROW - EDGE - x):
            self.text(line, x, y + 11, look)
            y += LINE
        return y

    def badge(self, mark: Mark, x: float, y: float) -> None:
        """Draw the letter of a memory."""
        place = f'cx="{rounded(x)}" cy="{rounded(y)}" r="{BADGE:g}"'
        self.marks.append(f'<circle {place} fill="{mark.colour}"/>')
        self.text(mark.letter, x, y + 4.3, MIDDLE + BOLD + ON_COLOUR)

    def tag(self, name: str, x: float, y: float, width: float, colour: str) -> None:
        """Draw the name of a tensor as a tag of the colour of its memory."""
        self.rect(x, y, width, TAG, f'rx="{TAG / 2:g}" fill="{colour}"')
        name = shorten(name, width - 2 * PADDING)
        self.text(name, x + width / 2, y + 14, MIDDLE + BOLD + ON_COLOUR)

    def cells(
        self, storage: dict, x: float, y: float, width: float, colour: str = ""
    ) -> None:
        """Draw a memory: a cell for each value if it is small, else its size."""
        cells = storage["cells"] or [size_of(storage["bytes"])]
        ink, each = colour or "currentColor", width / len(cells)
        dash = "" if storage["addressed"] else ' stroke-dasharray="4 3"'
        for at, cell in enumerate(cells):
            new = at in storage.get("changed_cells", ())
            tint = tinted(ink) if colour else 'fill="none"'
            fill = f'fill="{ink}"' if new else tint
            left = x + at * each
            self.rect(left, y, each, CELL, f'{fill} stroke="{ink}"{dash}')
            look = MIDDLE + (BOLD + ON_COLOUR if new else "")
            self.text(shorten(cell, each - 3), left + each / 2, y + 16, look)


def tag_width(name: str, room: float) -> float:
    """Return how wide a tag is, at most as wide as the room for it."""
    return min(room, text_width(name) + 2 * (PADDING + 1))


def cells_width(storage: dict, room: float) -> float:
    """Return how wide a row of cells is, at most as wide as the room for it."""
    if not storage["cells"]:
        return min(room, text_width(size_of(storage["bytes"])) + 4 * PADDING)
    longest = max(map(text_width, storage["cells"]))
    return min(room, len(storage["cells"]) * max(CELL, longest + 2 * PADDING))


def tinted(colour: str) -> str:
    """Return the attributes of a fill in a light tint of a colour."""
    return f'fill="{colour}" fill-opacity=".14"'


def printable(text: str) -> str:
    """Replace what no XML may hold, not even escaped, and every line end."""
    mark = "\N{REPLACEMENT CHARACTER}"
    return "".join(letter if letter.isprintable() else mark for letter in text)


def text_width(text: str) -> float:
    """Return how wide a text is in a monospaced font of 12 pixels."""
    wide = sum(unicodedata.east_asian_width(letter) in "FW" for letter in text)
    return ADVANCE * LETTER * (len(text) + wide)


def shorten(text: str, room: float) -> str:
    """Return a text, cut with an ellipsis where it is wider than the room."""
    if text_width(text) <= room + 0.01:
        return text
    while text and text_width(text) + ADVANCE * LETTER > room:
        text = text[:-1]
    return text and text + "\N{HORIZONTAL ELLIPSIS}"


def _wrap(pieces: list[str], joint: str, room: float) -> list[str]:
    """Join pieces into lines that fit; what does not fit a line is shortened."""
    lines = [""]
    for piece in pieces:
        joined = f"{lines[-1]}{joint}{piece}" if lines[-1] else piece
        if lines[-1] and text_width(joined + joint.rstrip()) > room:
            lines[-1] += joint.rstrip()
            lines.append(piece)
        else:
            lines[-1] = joined
    return [shorten(line, room) for line in lines if line]


def rounded(value: float) -> str:
    """Return a length for SVG, to a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:g}"
