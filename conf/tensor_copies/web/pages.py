"""What is changed on a page that computes, in the order in which it is done."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies.errors import cards, elsewhere, pairs, search
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.web import questions


def change_page(app: Sphinx, doctree: nodes.document) -> None:
    """Change a page that is no lesson: cells, errors, pairs, questions."""
    if app.env.docname in lesson_scripts(app):
        return
    search.keep_labels(app, doctree)
    elsewhere.add_wordings(app, doctree)
    search.list_messages(app, doctree)
    # These move what was looked for before.
    cards.arrange(app, doctree)
    pairs.arrange(app, doctree)
    cards.fill_index(app, doctree)
    questions.arrange(app, doctree)
