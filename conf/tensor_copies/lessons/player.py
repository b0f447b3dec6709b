"""The player: the first picture of a lesson plays its events.

The viewer is that of ``tensor_maps``, which shows a reader's own steps; the site
publishes it from there. Neither it nor the steps of a lesson are loaded before a button
or a key of the picture is pressed (static/code.js). Without scripts it is a picture,
with the statement that led to it and what that did.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri
from tensor_maps.pen import text_width
from tensor_maps.steps.viewer import asset

from tensor_copies.figures.steps import steps_file
from tensor_copies.gallery.kept import key_of
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.markup import TEMPLATES

FOLDER = "_static"
VIEWER = ("steps.js", "steps.css")


def with_player(app: Sphinx, lead: nodes.raw) -> nodes.raw:
    """Return the picture that opens a page, with a player if the lesson has steps."""
    name = app.env.docname
    if (kept := steps_file(app.srcdir, name)) is None:
        return lead
    app.env.note_dependency(kept)
    text = kept.read_text(encoding="utf-8")
    data = json.loads(text)
    if data["lead"] is None:
        return lead
    markup = TEMPLATES.get_template("lessons/player.html").render(
        address=_address(app, published_name(name), text),
        picture=Markup(lead.astext()),
        **shown_first(data),
    )
    return nodes.raw("", markup, format="html")


def shown_first(data: dict[str, Any]) -> dict[str, Any]:
    """Return what the player shows before anything is loaded: the event that leads."""
    told = [step for step in data["steps"] if step["event"]]
    step = data["steps"][data["lead"]]
    first, *more = data["code"][step["first"] - 1 : step["last"]]
    return {
        "wide": data["wide"],
        "high": data["high"],
        "number": told.index(step) + 1,
        "count": len(told),
        "statement": first.strip() + " \N{HORIZONTAL ELLIPSIS}" * bool(more),
        "said": step["said"],
        # Room is left for it: nothing below the player moves.
        "longest": max((one["said"] for one in told), key=text_width),
    }


def _address(app: Sphinx, file: str, text: str) -> str:
    """Return the address of steps from the page that is read.

    Another ``text`` of them makes another address: a browser keeps what it has loaded.
    """
    page = app.builder.get_target_uri(app.env.docname)
    return relative_uri(page, f"{file}?v={key_of(text)[:8]}")


def published_name(page: str) -> str:
    """Return where the steps of a lesson are on the site."""
    return "/".join([FOLDER, "steps", *page.split("/")[-2:]]) + ".js"


def publish_steps(app: Sphinx, error: Exception | None) -> None:
    """Write the viewer, and the steps of each lesson, as files that a page loads."""
    if error is not None or app.builder.format != "html":
        return
    for page in lesson_scripts(app):
        if (kept := steps_file(app.srcdir, page)) is not None:
            data = json.loads(kept.read_text(encoding="utf-8"))
            data["title"] = app.env.titles[page].astext()
            write_file(app, published_name(page), as_script(data))
    for name in VIEWER:
        write_file(app, f"{FOLDER}/{name}", asset(name))


def as_script(data: dict[str, Any]) -> str:
    """Return steps as a script that hands them to the viewer.

    A page opened from a disk may load a script, but no data.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"tensorCopiesSteps({text});\n"


def write_file(app: Sphinx, name: str, text: str) -> None:
    """Write a file of the built site."""
    path = Path(app.outdir, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
