"""The place of a lesson: its number in the table of contents and on its page.

The sidebar has the sections, and below each its lessons, with the number that a lesson
has among all of them and a short name: the reading order. "Next" and "Previous" pass
the overviews of the sections by (see page.py).
"""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from tensor_copies.lessons.page import actions_of
from tensor_copies.machine.lesson_list import lesson_scripts


def list_in_order(app: Sphinx, doctree: nodes.document) -> None:
    """List the sections on the overview of all, and on theirs their lessons."""
    lessons = list(lesson_scripts(app))
    (gallery,) = app.config.sphinx_gallery_conf["gallery_dirs"]
    folder, _, name = app.env.docname.rpartition("/")
    if name != "index" or not folder.startswith(gallery):
        return
    trees = list(doctree.findall(addnodes.toctree))
    if not trees:  # there are no lessons in it
        app.env.metadata[app.env.docname]["orphan"] = True
        return
    first, *others = trees
    for tree in others:
        tree.parent.remove(tree)
    if folder == gallery:
        sections = dict.fromkeys(lesson.rpartition("/")[0] for lesson in lessons)
        first["entries"] = [(None, f"{section}/index") for section in sections]
    else:
        first["entries"] = [
            (f"{number} \N{MIDDLE DOT} {words_of(lesson)}", lesson)
            for number, lesson in enumerate(lessons, 1)
            if lesson.startswith(f"{folder}/")
        ]
    first["includefiles"] = [entry for _, entry in first["entries"]]


def say_place(app: Sphinx, doctree: nodes.document) -> None:
    """Say on the page of a lesson which of how many it is."""
    lessons = list(lesson_scripts(app))
    if app.env.docname not in lessons:
        return
    text = f"Lesson {lessons.index(app.env.docname) + 1} of {len(lessons)}"
    said = nodes.paragraph(text=text, classes=["lesson-place"])
    actions_of(doctree).insert(0, said)


def words_of(lesson: str) -> str:
    """Return the short name of a lesson: its title is a line long."""
    return lesson.rpartition("/")[2].replace("_", " ")
