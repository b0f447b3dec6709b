"""A lesson's first picture outside its page: on cards, and where a link is shared.

A card stands in a page of this site, so its picture is part of that page and follows
the page's colours. A site that previews a link takes only a bitmap, so it gets a PNG.
Both are made from the drawing on the lesson's page.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

FIRST = "_001.svg"  # how the gallery numbers the first picture of a lesson
# What stands for the page's colours where there is no page: Furo's, and conf.py's.
COLOURS = {
    "currentColor": "#000000",
    "--color-brand-primary": "#0a4bff",
    "--color-foreground-muted": "#4f5158",
    "--color-background-primary": "#ffffff",
    "--line-1": "#0060b0",
    "--line-2": "#b84500",
    "--line-3": "#007a5a",
}
# The size that Facebook, Slack, Mastodon and others show uncropped, in pixels.
CARD_WIDTH, CARD_HEIGHT = 1200, 630
MARGIN, SIZE = 48, 44
WIDTH_OF_LETTER = 0.66  # of DejaVu Sans Bold, on average, in its size
VARIABLE = re.compile(r"var\((--[\w-]+)(?:,\s*([^()]+))?\)")


@dataclass(frozen=True)
class Preview:
    """The first picture of a lesson, for others than its page.

    ``parts`` stand one above the other, each with its top, width, height and marks
    (SVG without a frame); the first ``shown`` are enough for a card.
    """

    words: str
    parts: list[tuple[float, float, float, str]]
    shown: int


def preview_file(source: Path, page: str) -> Path | None:
    """Return where the preview of the lesson that a page shows is kept, if it is."""
    folder, _, name = page.rpartition("/")
    path = Path(source, folder, "images", "thumb", f"sphx_glr_{name}_card.json")
    return path if path.exists() else None


def load_preview(path: Path) -> Preview:
    """Read a preview."""
    return Preview(**json.loads(path.read_text(encoding="utf-8")))


def keep(preview: Preview, picture: Path, script: Path) -> None:
    """Keep the preview of a lesson's picture, if it is the first, and its PNG.

    Parameters
    ----------
    preview
        What the picture shows.
    picture
        Where the gallery keeps it, ``<folder>/sphx_glr_<lesson>_<number>.svg``.
    script
        The lesson, which begins with its title.
    """
    if picture.name.endswith(FIRST):
        name = f"{picture.name.removesuffix(FIRST)}_card.json"
        path = picture.parent / "thumb" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(asdict(preview)), encoding="utf-8")
        path.with_suffix(".png").write_bytes(card(preview, title_of(script)))


def on_card(preview: Preview) -> str:
    """Return a drawing for a card of an overview, for the eye only.

    What it says in words is on the lesson's page.
    """
    _, widths, heights, marks = zip(*preview.parts[: preview.shown], strict=True)
    return (
        f'<svg aria-hidden="true" viewBox="0 0 {max(widths):g} {sum(heights):g}" '
        'fill="currentColor" font-size="11" text-rendering="geometricPrecision">'
        f"{''.join(marks)}</svg>"
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
    """Return a PNG with the title above the drawing.

    The graph and the memory of a tensor map, one above the other on a page, stand
    side by side: a card is wide and low.
    """
    # Imported late: a build that runs no lesson draws no card.
    import matplotlib
    import resvg_py

    room = CARD_WIDTH - 2 * MARGIN
    low = CARD_HEIGHT - MARGIN - SIZE / 2
    width = room / len(preview.parts)
    top = MARGIN + SIZE + MARGIN / 2
    drawings = "".join(
        f'<svg x="{MARGIN + width * place}" y="{top}" width="{width - MARGIN / 2}" '
        f'height="{low - top}" fill="#000000" font-size="11" overflow="visible" '
        f'preserveAspectRatio="xMidYMin" viewBox="0 {above:g} {wide:g} {high:g}">'
        f"{in_light(marks)}</svg>"
        for place, (above, wide, high, marks) in enumerate(preview.parts)
    )
    size = min(SIZE, room / (WIDTH_OF_LETTER * len(title)))
    whole = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{CARD_WIDTH}" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" height="{CARD_HEIGHT}">'
        f'<g font-family="DejaVu Sans"><text x="{MARGIN}" y="{MARGIN + 26}" '
        f'font-size="{size:.1f}" font-weight="bold">{escape(title)}</text>'
        f'<text x="{CARD_WIDTH - MARGIN}" y="{CARD_HEIGHT - 22}" font-size="24" '
        f'text-anchor="end" fill="#0a4bff">Tensor Copies</text></g>{drawings}</svg>'
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
