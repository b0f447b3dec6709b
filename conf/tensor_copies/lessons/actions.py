"""The row of actions under the title of a lesson: where it stands, what can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

from tensor_copies.lessons.notebooks import BRANCH, GPU, offered_script
from tensor_copies.run.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from tensor_copies.lessons.lesson_page import LessonPage

LABELS = {".py": "Script (.py)", ".ipynb": "Notebook (.ipynb)"}
COLAB = "https://colab.research.google.com/github"


class explorer_link(nodes.paragraph):
    """The place of the link to the explorer, which is filled when pages are written."""


def say_place(app: Sphinx, page: LessonPage) -> None:
    """Say which of how many lessons it is."""
    lessons = list(lesson_scripts(app))
    text = f"Lesson {lessons.index(app.env.docname) + 1} of {len(lessons)}"
    page.actions.append(nodes.paragraph(text=text, classes=["lesson-place"]))


def offer_files(app: Sphinx, page: LessonPage) -> None:
    """Link to the script, without its marker comments, and to the notebook."""
    page.files[".py"]["reftarget"] = f"/{offered_script(app.env.docname)}"
    for ending, label in LABELS.items():
        link = page.files[ending]
        link.clear()
        link += nodes.inline(text=label)
        page.actions.append(nodes.paragraph("", "", link))


def link_to_colab(app: Sphinx, page: LessonPage) -> None:
    """Link to the notebook on Colab, if the site has a repository."""
    if repository := app.config.site_repository.removeprefix("https://github.com/"):
        name = app.env.docname.partition("/")[2]
        address = f"{COLAB}/{repository}/blob/{BRANCH}/{name}.ipynb"
        link = nodes.reference("", f"Colab ({GPU} GPU)", refuri=address)
        page.actions.append(nodes.paragraph("", "", link))


def leave_place_for_explorer(page: LessonPage) -> None:
    """Leave a place for the link to the call that the lesson is about."""
    page.actions.append(explorer_link())
