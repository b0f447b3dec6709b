"""What is changed on a page that computes, in the order in which it is done.

And the link from a lesson to the picture of its call in the explorer, whose author
names the call with a marker in the first block::

    # sphinx_gallery_try = "x.detach()"
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tensor_copies.errors import cards, elsewhere, pairs, search
from tensor_copies.explorer.chains import chain_of, nearest
from tensor_copies.explorer.page import address_of
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.lessons.actions import TRY, explorer_link
from tensor_copies.lessons.predictions import ask_in_cells
from tensor_copies.web import questions, steps_of_pairs


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
    ask_in_cells(app, doctree)
    steps_of_pairs.add_buttons(app, doctree)
    questions.arrange(app, doctree)


def make_link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link to the call that the author has named, if home has the explorer."""
    for place in list(doctree.findall(explorer_link)):
        code = place["code"]
        link = address_of(app, page, code)
        if chain_of(code) is None or (link is None and address_of(app, page, "x.t()")):
            found = " or ".join(nearest(code)) or 'a chain such as "x.detach()"'
            raise ExtensionError(
                f"{place['where']}: sphinx_gallery_{TRY} names {code!r}, which the "
                f"explorer does not show: write {found}"
            )
        words = [nodes.Text("Try "), nodes.literal(text=code)]
        words.append(nodes.Text(" in the explorer"))
        shown = nodes.paragraph("", "", nodes.reference("", "", *words, refuri=link))
        place.replace_self([shown] if link else [])
