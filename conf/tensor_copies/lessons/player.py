"""Build the player: the first picture of a lesson, which plays its events.

The viewer is that of ``tensor_maps``, which shows a reader's own steps; the site
publishes it from there. Neither it nor the steps of a lesson are loaded before a button
or a key of the picture is pressed (static/code.js). Without scripts it is a picture,
with the statement that led to it and what that did.
"""

import json
from itertools import zip_longest
from pathlib import Path
from textwrap import dedent
from typing import Any

from docutils import nodes
from markupsafe import Markup
from sphinx.application import Sphinx
from tensor_maps.steps.viewer import asset

from tensor_copies.figures.steps import SIZE, steps_file
from tensor_copies.gallery.kept import key_of
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.markup import TEMPLATES

FOLDER = "_static"
VIEWER = ("steps.js", "steps.css")
# What is drawn on a name tag.
SIGNS = {
    'data-sign="leaf"': "Double outline: a leaf that requires grad.",
    'data-sign="frozen"': "Lock: frozen.",
    "data-new": "Thick outline: in this step.",
}


def with_player(app: Sphinx, lead: nodes.raw) -> nodes.raw:
    """Return the picture that opens a page, with a player if the lesson has steps."""
    page = app.env.docname
    kept = steps_file(app.srcdir, page)
    if not kept.exists():
        return lead
    app.env.note_dependency(kept)
    text = kept.read_text(encoding="utf-8")
    # A browser keeps what it has loaded: other steps have another address.
    address = f"{'../' * page.count('/')}{published(page)}?v={key_of(text)[:8]}"
    markup = TEMPLATES.get_template("lessons/player.html").render(
        address=address, **shown_first(json.loads(text))
    )
    return nodes.raw("", markup, format="html")


def shown_first(data: dict[str, Any]) -> dict[str, Any]:
    """Return what the player shows before anything is loaded: the event that leads."""
    told = [step for step in data["steps"] if step["event"]]
    lead = data["steps"][data["lead"]]
    picture = data["drawings"][lead["drawing"]]
    drawn = "".join(data["drawings"])
    statements = [_statement(data, step) for step in told]
    said = [step["said"] for step in told]
    lines = zip_longest(*(one.split("\n") for one in statements), fillvalue="")
    each_longest = [max(those, key=len) for those in lines]
    return {
        "wide": data["wide"],
        "high": data["high"],
        "own": SIZE.search(picture)[1],
        "picture": Markup(picture),
        "number": told.index(lead) + 1,
        "statements": statements,
        "said": lead["said"],
        # Of the others the viewer shows which are drawn, step by step.
        "signs": [
            (mark, words, mark in picture)
            for mark, words in SIGNS.items()
            if mark in drawn
        ],
        # Room is left for it: nothing below the player moves.
        "longest": ["\n".join(each_longest), max(said, key=len)],
    }


def _statement(data: dict[str, Any], step: dict[str, Any]) -> str:
    """Return a statement, of a long one its first lines."""
    lines = data["code"][step["first"] - 1 : step["last"]]
    text = dedent("\n".join(lines)).split("\n")
    return "\n".join([*text[:3], "\N{HORIZONTAL ELLIPSIS}"] if text[4:] else text)


def published(page: str) -> str:
    """Return where the steps of a lesson are on the site."""
    return "/".join([FOLDER, "steps", *page.split("/")[-2:]]) + ".js"


def publish_steps(app: Sphinx, error: Exception | None) -> None:
    """Write the viewer, and the steps of each lesson, as files that a page loads."""
    if error is not None or app.builder.format != "html":
        return
    files = {f"{FOLDER}/{name}": asset(name) for name in VIEWER}
    for page in lesson_scripts(app):
        kept = steps_file(app.srcdir, page)
        if kept.exists():
            data = json.loads(kept.read_text(encoding="utf-8"))
            data["title"] = app.env.titles[page].astext()
            files[published(page)] = as_script(data)
    for name, text in files.items():
        path = Path(app.outdir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def as_script(data: dict[str, Any]) -> str:
    """Return steps as a script: a page from a disk may load that, but no data."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"tensorCopiesSteps({text});\n"
