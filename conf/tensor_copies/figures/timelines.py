"""Timelines: who waits for whom on a GPU, drawn from a document and not from a run.

Most machines that build the site have no GPU. So a lesson on waiting opens with a
diagram that calls itself one and names its document; a cell asks for it by name::

    # sphinx_gallery_timeline = "non_blocking"

timelines.toml has their data. Each part is a drawing of one width, which fits a phone:
two stand beside each other on a wide page, and below each other on a narrow one.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

from tensor_copies.figures.lead import timeline_of
from tensor_copies.figures.pictures import on_card
from tensor_copies.markup import TEMPLATES

LANES = {
    **{"cpu": "CPU (your Python)", "copy": "Copy engine", "gpu": "GPU kernels"},
    **{"side": "Side stream", "now": "Current stream"},
}
# The colour of a bar; what waits has none, and a broken outline.
INKS = {"run": "--line-1", "copy": "--line-2", "kernel": "--line-3", "wait": ""}
WIDTH, LANE, BAR, LINE = 276, 48, 24, 17  # pixels; LINE is of the text of a mark
LONGEST = 10  # the end of the time axis


@cache
def _known() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def timeline_for(script: Path) -> tuple[int, str] | None:
    """Return the line of the block that asks for a timeline, and the timeline as HTML.

    Raises ``ExtensionError`` for a name that timelines.toml does not have.
    """
    asked = timeline_of(script)
    return asked and (asked[0], draw(_named(script, *asked)))


def _named(script: Path, line: int, name: str) -> dict[str, Any]:
    if name not in _known():
        raise ExtensionError(
            f"{script.name}: the block on line {line} asks for the timeline {name!r}. "
            f"figures/timelines.toml has {', '.join(_known())}: name one of them"
        )
    return _known()[name]


def draw(timeline: dict[str, Any]) -> str:
    """Return a timeline as an HTML figure."""
    runs = [run | drawing(run) for run in timeline["runs"]]
    context = timeline | {"runs": runs, "width": WIDTH}
    return TEMPLATES.get_template("figures/timelines.html").render(context)


def card(script: Path) -> str | None:
    """Return the last part of a lesson's timeline as the picture on its card, if any.

    It is the surprise; the first part shows what one expects.
    """
    asked = timeline_of(script)
    if asked is None:
        return None
    part = drawing(_named(script, *asked)["runs"][-1])
    template = TEMPLATES.get_template("figures/timeline_part.html")
    marks = template.render(part=part, width=WIDTH)
    return on_card(WIDTH, part["height"], marks)


def drawing(run: dict[str, Any]) -> dict[str, Any]:
    """Return where the lanes, bars and marks of a part are, in pixels."""
    lanes = [
        {
            "name": said,
            "top": place * LANE,
            "bars": [_bar(place, *bar) for bar in run[lane]],
        }
        for place, (lane, said) in enumerate(
            (lane, said) for lane, said in LANES.items() if lane in run
        )
    ]
    bottom = len(lanes) * LANE
    marks = [
        {"x": _x(time), "text": text, "y": bottom + LINE * (place + 1) - 4}
        | {"anchor": "end" if time > LONGEST / 2 else "start"}
        for place, (time, text) in enumerate(run["marks"])
    ]
    return {"lanes": lanes, "marks": marks, "height": bottom + LINE * len(marks) + 3}


def _bar(lane: int, start: float, end: float, kind: str, text: str) -> dict[str, Any]:
    left, right = _x(start), _x(end)
    box = {"x": left + 1, "y": lane * LANE + LANE - BAR - 6, "width": right - left - 2}
    return box | {"ink": INKS[kind], "text": text, "height": BAR}


def _x(time: float) -> float:
    return 1 + round((WIDTH - 2) * time / LONGEST, 1)
