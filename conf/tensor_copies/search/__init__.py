"""Make the site searchable: sections of all pages, the questions, the index."""

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the reading and writing of pages."""
    from tensor_copies.gallery import PARALLEL
    from tensor_copies.search import index, questions

    # templates/search.html has Sphinx's place, whose index finds only whole pages.
    StandaloneHTMLBuilder.search = False
    # Before Sphinx collects the contents of a page (500), behind what orders entries.
    app.connect("doctree-read", questions.arrange, priority=410)
    app.connect("env-updated", index.write_index)
    app.connect("doctree-resolved", questions.list_questions)
    return PARALLEL
