"""Stepping through the pairs of a page, wrong and right, as through a lesson."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tensor_copies.errors.watching import one_below_the_other, pair_steps
from tensor_copies.lessons.player import FOLDER, as_script, button, write_file

LABEL = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
FACT = "steps_of_pairs"  # of a page that has some


def add_buttons(app: Sphinx, doctree: nodes.document) -> None:
    """Put a button below each pair that was watched.

    What was seen of it stays beside the button, as one: it is published from there.
    """
    page = app.env.docname
    if not next(doctree.findall(pair_steps), None):
        return
    labels = set(LABEL.findall(Path(app.env.doc2path(page)).read_text("utf-8")))
    names: set[str] = set()
    for pair in doctree.findall(nodes.container):
        if "pair" not in pair["classes"]:
            continue
        halves = list(pair.findall(pair_steps))
        for half in halves:
            half.parent.remove(half)
        section = pair.parent
        label = next((one for one in section["ids"] if one in labels), None)
        if label is None or len(halves) != 2:
            raise ExtensionError(
                f"{page}: a pair stands in a section with a label, and both its cells "
                f"are tagged: see {section['ids'][0]}"
            )
        name = label if label not in names else f"{label}-2"
        names.add(name)
        data = one_below_the_other(*(half["data"] for half in halves))
        heading = next(section.findall(nodes.title)).astext()
        data["title"] = heading
        file = f"{FOLDER}/steps/{page}/{name}.js"
        place = section.index(pair) + 1
        section.insert(place, [
            button(app, file, as_script(data), f"{name}-step", heading),
            pair_steps(data=data, file=file),
        ])  # fmt: skip
    app.env.metadata[page][FACT] = True


def publish_pairs(app: Sphinx) -> None:
    """Write the steps of each pair that has a button."""
    for page, facts in app.env.metadata.items():
        if FACT in facts:
            shutil.rmtree(Path(app.outdir, FOLDER, "steps", page), ignore_errors=True)
            for steps in app.env.get_doctree(page).findall(pair_steps):
                write_file(app, steps["file"], as_script(steps["data"]))
