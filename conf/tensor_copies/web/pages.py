"""What is changed on a page that computes, in the order in which it is done."""

from __future__ import annotations

from docutils.nodes import document
from sphinx.application import Sphinx

from tensor_copies.errors import cards, pairs, search
from tensor_copies.lessons.predictions import ask_in_cells
from tensor_copies.recordings.live import bound_cells
from tensor_copies.run.lesson_list import lesson_scripts
from tensor_copies.web import questions, steps_of_pairs


def change_page(app: Sphinx, doctree: document) -> None:
    """Change a page that is no lesson: cells, errors, pairs, questions."""
    if app.env.docname in lesson_scripts(app):
        return
    bound_cells(app, doctree)
    search.keep_labels(app, doctree)
    search.list_messages(app, doctree)
    # These move what was looked for before.
    cards.arrange(app, doctree)
    pairs.arrange(app, doctree)
    cards.fill_index(app, doctree)
    ask_in_cells(app, doctree)
    steps_of_pairs.add_buttons(app, doctree)
    questions.arrange(app, doctree)
