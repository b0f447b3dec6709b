"""What can be found: the sections of all pages, the search and what it knows."""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the end of reading, and to the pages that are made then."""
    from tensor_copies.gallery import PARALLEL
    from tensor_copies.search import index, page

    app.connect("builder-inited", page.replace_search)
    app.connect("env-updated", index.write_index)
    app.connect("html-collect-pages", page.make)
    return PARALLEL
