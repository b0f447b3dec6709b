"""Make the page of the search in the place of Sphinx's own.

Sphinx's own search finds whole pages that have every word. Ours finds sections, and any
word may be missing: ``static/search/`` does it in the browser. Without JavaScript its
page is a list of all pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

from tensor_copies.web.search_index import pages_in_order


def replace_search(app: Sphinx) -> None:
    """Let Sphinx write neither its search page nor its index."""
    if app.builder.format == "html":
        app.builder.search = False


def make(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Hand the page to Sphinx, in the frame that all pages have."""
    titles = app.env.titles
    search = {
        "title": "Search",
        "description": "Search lessons, error messages, calls and terms.",
        "all_pages": [(page, titles[page].astext()) for page in pages_in_order(app)],
    }
    yield "search", search, "search.html"
