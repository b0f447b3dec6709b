"""Stepping through code: the button that opens its steps, and the files behind it.

The viewer is that of ``tensor_maps``, which shows a reader's own steps; the site
publishes it from there. Neither it nor the steps of a lesson are loaded before the
button is pressed (static/code.js), and without scripts there is no button.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri
from tensor_maps.steps.viewer import asset

from tensor_copies.figures.steps import NOT_SHOWN, steps_file
from tensor_copies.lessons.page import actions_of
from tensor_copies.machine.code_keys import key_of
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.outdated import depend_on
from tensor_copies.recordings.other_steps import (
    as_published,
    in_few_words,
    other_steps,
    weight_of,
)

FOLDER = "_static"
MOST_WITH_OTHERS = 12_000  # bytes, compressed, of a lesson's own steps
VIEWER = ("steps.js", "steps.css")


def add_button(app: Sphinx, doctree: nodes.document) -> None:
    """Put the button into the row of actions of a lesson that has steps."""
    page = app.env.docname
    script = lesson_scripts(app).get(page)
    kept = steps_file(Path(app.srcdir), page)
    if script is None or kept is None:
        return
    app.env.note_dependency(kept)
    depend_on(app, "recordings")
    text = kept.read_text(encoding="utf-8")
    others = as_published(other_steps(app, script, json.loads(text)), script.stem)
    elsewhere = json.dumps(others, ensure_ascii=False)
    _elsewhere(app, page).parent.mkdir(parents=True, exist_ok=True)
    _elsewhere(app, page).write_text(elsewhere, encoding="utf-8")
    text += elsewhere if others["files"] else ""
    actions_of(doctree).append(button(app, published_name(page), text, "step"))


def _elsewhere(app: Sphinx, page: str) -> Path:
    """Return where it is kept what other machines did otherwise: with the doctree."""
    return Path(app.doctreedir, f"{page}.steps.json")


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


def publish(app: Sphinx, error: Exception | None) -> None:
    """Write the viewer, and the steps of each lesson, as files that a page loads."""
    if error is not None or app.builder.format != "html":
        return
    for page in lesson_scripts(app):
        if (kept := steps_file(Path(app.srcdir), page)) is not None:
            data = json.loads(kept.read_text(encoding="utf-8"))
            data["title"] = app.env.titles[page].astext()
            for name in NOT_SHOWN:
                del data[name]
            others = json.loads(_elsewhere(app, page).read_text(encoding="utf-8"))
            name = published_name(page)
            write(app, name, with_others(data, others["own"]))
            for file, text in others["files"].items():
                write(app, f"{name.rpartition('/')[0]}/{file}", text)
    for name in VIEWER:
        write(app, f"{FOLDER}/{name}", asset(name))


def with_others(data: dict[str, Any], own: dict[str, Any]) -> str:
    """Return a lesson's steps with what is said of other machines, light to load."""
    text = as_script(data | own)
    if own and weight_of(text) > MOST_WITH_OTHERS:
        text = as_script(data | in_few_words(own))
    return text


def as_script(data: dict[str, Any]) -> str:
    """Return steps as a script that hands them to the viewer.

    A page opened from a disk may load a script, but no data.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"tensorCopiesSteps({text});\n"


def write(app: Sphinx, name: str, text: str) -> None:
    """Write a file of the built site."""
    path = Path(app.outdir, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
