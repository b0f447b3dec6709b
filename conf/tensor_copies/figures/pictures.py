"""The picture that opens a lesson, outside its page: on cards, and on shared links.

A card stands in a page of this site, so its picture is part of that page and follows
the page's colours. A site that previews a link takes only a bitmap, so it gets a PNG.
Both show the small form of a tensor map (maps.py), or the chart of the lesson's page.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

from tensor_maps.pen import TEXT

from tensor_copies.machine.markers import lead_line

FIRST = "_001.svg"  # how the gallery numbers the first picture of a lesson
NUMBER = re.compile(r"_\d+\.svg$")
# The block whose first picture this build has kept, by the preview's file.
_kept: dict[Path, int] = {}
# Where there is no page, its colours are what a drawing names behind each; but these.
COLOURS = {"currentColor": "#000000", "--color-foreground-muted": "#4f5158"}
# The size that Facebook, Slack, Mastodon and others show uncropped, in pixels.
CARD_WIDTH, CARD_HEIGHT = 1200, 630
MARGIN, SIZE = 48, 44
LEAST_WIDTH = 216  # of what a card shows: what is smaller is not enlarged more
BETWEEN = 24  # in units of the drawings
WIDTH_OF_LETTER = 0.66  # of DejaVu Sans Bold, on average, in its size
VARIABLE = re.compile(r"var\((--[\w-]+),\s*([^()]+)\)")


@dataclass(frozen=True)
class Preview:
    """The first picture of a lesson, for others than its page.

    ``parts`` stand side by side, each with its top, width, height and marks (SVG
    without a frame); a card has the first. ``shows`` is what a map is a sign of:
    memory that is "shared" or "copied", or nothing.
    """

    words: str
    parts: list[tuple[float, float, float, str]]
    shows: str = ""


def preview_file(source: Path, page: str) -> Path | None:
    """Return where the preview of the lesson that a page shows is kept, if it is."""
    folder, _, name = page.rpartition("/")
    path = Path(source, folder, "images", "thumb", f"sphx_glr_{name}_card.json")
    return path if path.exists() else None


def load_preview(path: Path) -> Preview:
    """Read a preview."""
    return Preview(**json.loads(path.read_text(encoding="utf-8")))


def keep(preview: Preview, picture: Path, script: Path, line: int) -> None:
    """Keep the preview of a lesson's picture, if it opens the page, and its PNG.

    The gallery keeps the picture as ``<folder>/sphx_glr_<lesson>_<number>.svg``; the
    block on this line of the script drew it. Where no block is marked to open the page,
    the first picture does.
    """
    lead = lead_line(script)
    if not (picture.name.endswith(FIRST) if lead is None else line == lead):
        return
    path = picture.parent / "thumb" / NUMBER.sub("_card.json", picture.name)
    if path.exists() and lead is not None and _kept.get(path) == line:
        return  # another picture of the same block
    _kept[path] = line
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(preview)), encoding="utf-8")
    path.with_suffix(".png").write_bytes(card(preview, title_of(script)))


def on_card(preview: Preview) -> str:
    """Return a drawing for a card of an overview, for the eye only.

    What it says in words is on the lesson's page.
    """
    _, width, height, marks = preview.parts[0]
    wide = max(width, LEAST_WIDTH)
    return (
        f'<svg aria-hidden="true" '
        f'viewBox="{(width - wide) / 2:g} 0 {wide:g} {height:g}" '
        f'fill="currentColor" font-size="{TEXT:g}" text-rendering="geometricPrecision">'
        f"{marks}</svg>"
    )


def in_light(marks: str) -> str:
    """Replace what a drawing takes from its page by the colours of the light scheme."""
    marks = VARIABLE.sub(lambda found: COLOURS.get(found[1], found[2]), marks)
    return marks.replace("currentColor", COLOURS["currentColor"])


def title_of(script: Path) -> str:
    """Return the title of a lesson as plain text."""
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    return (docstring or script.stem).partition("\n")[0].replace("``", "")


def card(preview: Preview, title: str) -> bytes:
    """Return a PNG with the title above the drawing, or above several side by side."""
    # Imported late: a build that runs no lesson draws no card.
    import matplotlib
    import resvg_py

    room = CARD_WIDTH - 2 * MARGIN
    low = CARD_HEIGHT - MARGIN - SIZE / 2
    top = MARGIN + SIZE + MARGIN / 2
    # On one scale, and on one line at the foot.
    high = max(height for _, _, height, _ in preview.parts)
    drawings, wide = "", 0.0
    for above, width, height, marks in preview.parts:
        place = f"translate({wide:g} {high - height - above:g})"
        drawings += f'<g transform="{place}">{in_light(marks)}</g>'
        wide += width + BETWEEN
    picture = (
        f'<svg x="{MARGIN}" y="{top}" width="{room}" height="{low - top}" '
        f'fill="#000000" font-size="{TEXT:g}" overflow="visible" '
        f'viewBox="0 0 {wide - BETWEEN:g} {high:g}">{drawings}</svg>'
    )
    size = min(SIZE, room / (WIDTH_OF_LETTER * len(title)))
    whole = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{CARD_WIDTH}" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" height="{CARD_HEIGHT}">'
        f'<g font-family="DejaVu Sans"><text x="{MARGIN}" y="{MARGIN + 26}" '
        f'font-size="{size:.1f}" font-weight="bold">{escape(title)}</text>'
        f'<text x="{CARD_WIDTH - MARGIN}" y="{CARD_HEIGHT - 22}" font-size="24" '
        f'text-anchor="end" fill="#0a4bff">Tensor Copies</text></g>{picture}</svg>'
    )
    # The fonts that come with matplotlib, so that every machine draws the same.
    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    return resvg_py.svg_to_bytes(
        svg_string=whole,
        background="#ffffff",
        skip_system_fonts=True,
        font_files=[str(font) for font in sorted(fonts.glob("DejaVuSans*.ttf"))],
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
        monospace_family="DejaVu Sans Mono",
    )
