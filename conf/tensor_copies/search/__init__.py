"""What can be found: the sections of all pages, the questions, the search."""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the list of questions; connect to the reading and writing of pages."""
    from tensor_copies.gallery import PARALLEL
    from tensor_copies.search import index, page, questions

    app.connect("builder-inited", page.replace_search)
    app.add_directive("questions", questions.Questions)
    app.add_node(questions.question_index)
    # Before Sphinx collects the contents of a page (500), behind what orders entries.
    app.connect("doctree-read", questions.arrange, priority=400)
    app.connect("doctree-read", questions.fold_more, priority=410)
    app.connect("env-updated", index.write_index)
    app.connect("doctree-resolved", questions.fill_index)
    app.connect("doctree-resolved", questions.add_beside)
    app.connect("html-page-context", questions.tell_moved)
    app.connect("html-collect-pages", page.make)
    return PARALLEL
