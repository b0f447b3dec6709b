"""The place of a lesson: its number in the table of contents and on its page.

The gallery makes a table of contents for each section. The sidebar has one instead,
of all lessons, with a number and a short name each: the reading order. The overviews
of the sections keep their addresses, but "Next" and "Previous" pass them by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

from tensor_copies.machine.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def list_in_order(app: Sphinx, doctree: nodes.document) -> None:
    """Put one table of all lessons in the place of those of the sections."""
    page = app.env.docname
    galleries = app.config.sphinx_gallery_conf["gallery_dirs"]
    found = list(doctree.findall(addnodes.toctree))
    if page in {f"{gallery}/index" for gallery in galleries} and found:
        for place, tree in enumerate(found):
            if place == 0:
                tree["entries"] = [
                    (f"{number} \N{MIDDLE DOT} {_short(lesson)}", lesson)
                    for number, lesson in enumerate(lesson_scripts(app), 1)
                ]
                tree["includefiles"] = [lesson for _, lesson in tree["entries"]]
            else:
                tree.parent.remove(tree)
    elif page.endswith("/index") and page.startswith(tuple(galleries)):
        for tree in found:
            tree.parent.remove(tree)
        app.env.metadata[page]["orphan"] = True


def say_place(app: Sphinx, doctree: nodes.document) -> None:
    """Say on the page of a lesson which of how many it is."""
    lessons = list(lesson_scripts(app))
    if app.env.docname not in lessons:
        return
    number = lessons.index(app.env.docname) + 1
    for row in doctree.findall(nodes.container):
        if "lesson-actions" in row["classes"]:
            text = f"Lesson {number} of {len(lessons)}"
            row.insert(0, nodes.paragraph(text=text, classes=["lesson-place"]))
            return


def _short(lesson: str) -> str:
    return lesson.rpartition("/")[2].replace("_", " ")
