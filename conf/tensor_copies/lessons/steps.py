"""Stepping through a lesson: the button that opens it, and the files behind it.

The viewer is that of ``tensor_maps.py``, which shows a reader's own steps; the site
publishes it from there. Neither it nor the steps of a lesson are loaded before the
button is pressed (static/code.js), and without scripts there is no button.
"""

from __future__ import annotations

import ast
import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.osutil import relative_uri

from tensor_copies.figures.steps import steps_file
from tensor_copies.machine.code_keys import hash_of
from tensor_copies.machine.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

FOLDER = "_static"
# What the viewer is called in tensor_maps.py, and on the site.
VIEWER = {"STEPS_SCRIPT": "steps.js", "STEPS_STYLE": "steps.css"}


class step_through(nodes.General, nodes.Element):
    """The button that opens the steps of a lesson."""


def add_button(app: Sphinx, doctree: nodes.document) -> None:
    """Put the button into the row of actions of a lesson that has steps."""
    page = app.env.docname
    if page not in lesson_scripts(app):
        return
    kept = steps_file(Path(app.srcdir), page)
    if kept is None:
        return
    app.env.note_dependency(kept)
    for row in doctree.findall(nodes.container):
        if "lesson-actions" in row["classes"]:
            # Another version is another address: a browser keeps what it has loaded.
            address = f"{published_name(page)}?v={hash_of(kept)[:8]}"
            row += step_through(address=address, page=page)
            return


def published_name(page: str) -> str:
    """Return where the steps of a lesson are on the site."""
    section, name = page.split("/")[-2:]
    return f"{FOLDER}/steps/{section}/{name}.js"


def visit_step_through(self: HTML5Translator, node: step_through) -> None:
    """Write the button, which the script shows."""
    here = self.builder.get_target_uri(node["page"])
    address = escape(relative_uri(here, node["address"]))
    self.body.append(
        '<button type="button" class="step-through" id="step" '
        f'data-steps="{address}" hidden>Step through</button>\n'
    )
    raise nodes.SkipNode


def publish(app: Sphinx, error: Exception | None) -> None:
    """Write the viewer, and the steps of each lesson, as files that a page loads."""
    if error is not None or app.builder.format != "html":
        return
    wanted = {}
    for page in lesson_scripts(app):
        if (kept := steps_file(Path(app.srcdir), page)) is not None:
            data = json.loads(kept.read_text(encoding="utf-8"))
            data["title"] = app.env.titles[page].astext()
            text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
            wanted[published_name(page)] = f"tensorCopiesSteps({text});\n"
    if wanted:
        source = Path(app.confdir, "standalone", "tensor_maps.py")
        for name, text in _strings(source).items():
            if name in VIEWER:
                wanted[f"{FOLDER}/{VIEWER[name]}"] = text
    for name, text in wanted.items():
        path = Path(app.outdir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _strings(module: Path) -> dict[str, str]:
    """Return what a module calls its strings; read, not imported: torch takes long."""
    return {
        target.id: statement.value.value
        for statement in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
