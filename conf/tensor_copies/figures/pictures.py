"""The picture that opens a lesson, on the lesson's card in an overview.

It is the small form of a tensor map (maps.py), or a line chart. It becomes a part of
the overview and so follows its colours.
"""

from __future__ import annotations

from pathlib import Path

from tensor_maps.pen import TEXT

from tensor_copies.machine.markers import lead_line

LEAST_WIDTH = 216  # a smaller drawing is not enlarged more than one of this width
# The block whose first picture this build has kept, by the card's file.
_kept: dict[Path, int] = {}


def card_file(source: Path, page: str) -> Path | None:
    """Return where the drawing for the card of a lesson is, if it has one."""
    lesson = Path(source, page)
    path = _path(lesson.parent / "images", lesson.name)
    return path if path.exists() else None


def keep(drawing: str, picture: Path, script: Path, line: int) -> None:
    """Keep a drawing for the lesson's card if its picture opens the page.

    The gallery numbers the pictures of a lesson; the block on this line of the script
    made this one. Where no block is marked to open the page, the first picture does.
    """
    lead = lead_line(script)
    if not (picture.stem.endswith("_001") if lead is None else line == lead):
        return
    path = _path(picture.parent, script.stem)
    if path.exists() and lead is not None and _kept.get(path) == line:
        return  # a second picture of the same block
    _kept[path] = line
    path.parent.mkdir(exist_ok=True)
    path.write_text(drawing, encoding="utf-8")


def on_card(width: float, height: float, marks: str) -> str:
    """Return marks as a drawing for the eye only: the lesson's page has the words."""
    wide = max(width, LEAST_WIDTH)
    return (
        f'<svg aria-hidden="true" '
        f'viewBox="{(width - wide) / 2:g} 0 {wide:g} {height:g}" '
        f'fill="currentColor" font-size="{TEXT:g}" text-rendering="geometricPrecision">'
        f"{marks}</svg>"
    )


def _path(images: Path, lesson: str) -> Path:
    return images / "thumb" / f"sphx_glr_{lesson}_card.svg"
