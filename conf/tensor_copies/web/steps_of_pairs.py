"""Stepping through the pairs of a page, wrong and right, as through a lesson."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies.errors.watched_cells import watched_pairs
from tensor_copies.lessons.player import FOLDER, as_script, button, write_file

# The headings of the pairs that have a button, by the name of their steps.
FACT = "steps_of_pairs"


def add_buttons(app: Sphinx, doctree: nodes.document) -> None:
    """Put a button below each pair whose steps there are."""
    page = app.env.docname
    pairs = [n for n in doctree.findall(nodes.container) if "pair" in n["classes"]]
    if not pairs:
        return
    steps, headings = watched_pairs(app, page), {}
    for pair in pairs:
        wrong = next(pair.findall(nodes.literal_block)).astext().strip()
        heading = next(pair.parent.findall(nodes.title)).astext()
        for name, data in steps.items():
            code = "\n".join(data["code"])
            if name not in headings and code.startswith(f"# Wrong\n{wrong}\n"):
                headings[name] = heading
                made = button(
                    app, _file(page, name), as_script(data), f"{name}-step", heading
                )
                pair.parent.insert(pair.parent.index(pair) + 1, made)
                break
    app.env.metadata[page][FACT] = headings


def publish_pairs(app: Sphinx) -> None:
    """Write the steps of each pair that has a button."""
    for page, facts in app.env.metadata.items():
        headings = facts.get(FACT, {})
        steps = watched_pairs(app, page) if headings else {}
        for name, heading in headings.items():
            write_file(
                app, _file(page, name), as_script({**steps[name], "title": heading})
            )


def _file(page: str, name: str) -> str:
    return f"{FOLDER}/steps/{page}/{name}.js"
