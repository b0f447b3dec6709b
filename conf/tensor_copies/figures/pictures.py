"""A lesson's first picture outside its page: on cards, and where a link is shared.

A card stands in a page of this site, so its picture is part of that page and follows
the page's colours. A site that previews a link takes only a bitmap, so it gets a PNG.
Both are made from the drawing on the lesson's page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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
    "--line-4": "#a3387a",
    "--line-5": "#5b4bc4",
}
# The size that Facebook, Slack, Mastodon and others show uncropped, in pixels.
CARD_WIDTH, CARD_HEIGHT = 1200, 630
MARGIN, SIZE, LINE = 48, 44, 15
NARROW = 360  # of tensor_maps, which would bring torch along
WIDTH_OF_LETTER = 0.66  # of DejaVu Sans Bold, on average, in its size
VIEW = re.compile(r'viewBox="(0 0 [\d.]+ [\d.]+)"')
VARIABLE = re.compile(r"var\((--[\w-]+)(?:,\s*([^()]+))?\)")


def picture_of(source: Path, page: str) -> Path | None:
    """Return the first picture of the lesson that a page shows, if there is one."""
    folder, _, name = page.rpartition("/")
    picture = Path(source, folder, "images", f"sphx_glr_{name}{FIRST}")
    return picture if picture.exists() else None


def beside(picture: Path) -> Path:
    """Return where :func:`keep` puts the PNG of a picture."""
    name = f"{picture.name.removesuffix(FIRST)}_card.png"
    return picture.parent / "thumb" / name


def keep(markup: str, picture: Path, script: Path) -> None:
    """Write a picture of a lesson; if it is the first, also its PNG.

    Parameters
    ----------
    markup
        The drawing as it stands on the page, an ``<svg>``.
    picture
        Where the gallery keeps it, ``<folder>/sphx_glr_<lesson>_<number>.svg``.
    script
        The lesson, which begins with its title.
    """
    picture.write_text(markup, encoding="utf-8")
    if picture.name.endswith(FIRST):
        picture.parent.joinpath("thumb").mkdir(exist_ok=True)
        beside(picture).write_bytes(card(markup, title_of(script)))


def on_card(markup: str) -> str:
    """Return a drawing for a card of an overview, for the eye only.

    A card is too small for all of a map: it shows the graph, if there is one. What
    the drawing says in words is on the lesson's page, and so are its ids.
    """
    box, part = next(_parts(markup))
    if "<polygon" not in part:
        box, part = _whole(markup)
    part = re.sub(r' id="[^"]*"', "", part)
    return (
        f'<svg aria-hidden="true" viewBox="{box}" fill="currentColor" '
        f'font-size="11" text-rendering="geometricPrecision">{part}</svg>'
    )


def in_light(markup: str) -> str:
    """Replace what a drawing takes from its page by the colours of the light scheme."""
    markup = VARIABLE.sub(lambda found: COLOURS.get(found[1], found[2]), markup)
    markup = markup.replace("currentColor", COLOURS["currentColor"])
    return markup.replace("<svg ", '<svg font-family="sans-serif" ', 1)


def title_of(script: Path) -> str:
    """Return the title of a lesson as plain text."""
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    return (docstring or script.stem).partition("\n")[0].replace("``", "")


def card(markup: str, title: str) -> bytes:
    """Return a PNG with the title above the drawing.

    The graph and the memory of a tensor map, one above the other on a page, stand
    side by side: a card is wide and low.
    """
    # Imported late: a build that runs no lesson draws no card.
    import matplotlib
    import resvg_py

    room = CARD_WIDTH - 2 * MARGIN
    low = CARD_HEIGHT - MARGIN - SIZE / 2
    parts = list(_parts(in_light(markup)))
    width = room / len(parts)
    top = MARGIN + SIZE + MARGIN / 2
    drawings = "".join(
        f'<svg x="{MARGIN + width * place}" y="{top}" width="{width - MARGIN / 2}" '
        f'height="{low - top}" fill="#000000" font-size="11" overflow="visible" '
        f'preserveAspectRatio="xMidYMin" viewBox="{box}">{part}</svg>'
        for place, (box, part) in enumerate(parts)
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


def _whole(drawing: str) -> tuple[str, str]:
    """Return the viewBox and the content of a drawing."""
    root, content = drawing.removesuffix("</svg>").split(">", 1)
    return VIEW.search(root)[1], content


def _parts(drawing: str) -> Iterator[tuple[str, str]]:
    """Yield the viewBox and the content of each part of a drawing."""
    box, content = _whole(drawing)
    width, height = map(float, box.split()[2:])
    memory = re.search(r'<g id="[\w-]+-memory"><text[^>]* y="([\d.]+)"', content)
    if memory is None or memory.start() == 0:
        yield box, content
        return
    border = float(memory[1]) - LINE
    yield f"0 0 {width} {border}", content[: memory.start()]
    yield f"0 {border} {NARROW} {height - border}", content[memory.start() :]
