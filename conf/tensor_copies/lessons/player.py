"""Stepping through code: the button that opens its steps, and the files behind it.

The viewer is that of ``tensor_maps``, which shows a reader's own steps; the site
publishes it from there. Neither it nor the steps of a lesson are loaded before the
button is pressed (static/code.js), and without scripts there is no button.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri
from tensor_maps.steps.viewer import asset

from tensor_copies.figures.steps import steps_file
from tensor_copies.run.code_keys import key_of
from tensor_copies.run.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from tensor_copies.lessons.lesson_page import LessonPage

FOLDER = "_static"
VIEWER = ("steps.js", "steps.css")


def add_button(app: Sphinx, page: LessonPage) -> None:
    """Put the button into the row of actions of a lesson that has steps."""
    name = app.env.docname
    if (kept := steps_file(app.srcdir, name, page.script)) is None:
        return
    app.env.note_dependency(kept)
    text = kept.read_text(encoding="utf-8")
    page.actions.append(button(app, published_name(name), text, "step"))


def button(app: Sphinx, file: str, text: str, name: str, of: str = "") -> nodes.raw:
    """Return a button, which the script shows, that opens steps in a published file.

    Another ``text`` of them makes another address: a browser keeps what it has loaded.
    ``name`` begins the addresses of single steps. Where a page has several buttons,
    ``of`` says what this one steps through.
    """
    page = app.builder.get_target_uri(app.env.docname)
    address = relative_uri(page, f"{file}?v={key_of(text)[:8]}")
    more = {"aria-label": f"Step through: {of}"} if of else {}
    attributes = {"id": name, "data-steps": address, **more}
    said = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    return nodes.raw(
        "",
        f'<button type="button" class="step-through" {said} hidden>Step through'
        "</button>\n",
        format="html",
    )


def published_name(page: str) -> str:
    """Return where the steps of a lesson are on the site."""
    return "/".join([FOLDER, "steps", *page.split("/")[-2:]]) + ".js"


def publish_steps(app: Sphinx, error: Exception | None) -> None:
    """Write the viewer, and the steps of each lesson, as files that a page loads."""
    if error is not None or app.builder.format != "html":
        return
    for page, script in lesson_scripts(app).items():
        if (kept := steps_file(app.srcdir, page, script)) is not None:
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
