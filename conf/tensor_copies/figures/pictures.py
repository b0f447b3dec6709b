"""The picture that opens a lesson, in the lesson's row in an overview.

It is the small form of a tensor map (maps.py), or a line chart. It becomes a part of
the overview and so follows its colours. A map is kept as data, and drawn when the
overview is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tensor_maps.pen import TEXT

from tensor_copies.figures.lead import lead_line

# What the gallery finds of a picture that is drawn when its page is read.
NO_DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
LEAST_WIDTH = 140  # a smaller drawing is not enlarged more than one of this width
# The block whose drawing this build has kept, by the card's file.
_kept: dict[Path, int] = {}


def card_file(source: Path, page: str) -> Path | None:
    """Return where is kept what the card of a lesson shows, if it has a drawing."""
    lesson = Path(source, page)
    path = _path(lesson.parent / "images", lesson.name)
    return path if path.exists() else None


def keep_for_card(
    drawn_from: dict[str, Any], picture: Path, script: Path, line: int
) -> None:
    """Keep the drawing of a block of a script, if it is the one for the lesson's card.

    That is the first of the block that opens the page, or else of the lesson: a chart
    opens some pages, and has none. It is kept as a ``drawing``, or as the ``map`` that
    it is drawn from.
    """
    path = _path(picture.parent, script.stem)
    lead = lead_line(script)
    known = _kept.get(path)
    if known is not None and (line != lead or known == lead):
        return
    _kept[path] = line
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(drawn_from), encoding="utf-8")


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
    return images / "thumb" / f"sphx_glr_{lesson}_card.json"
