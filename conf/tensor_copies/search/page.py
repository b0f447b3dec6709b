"""Make the page of the search in the place of Sphinx's own.

Sphinx's own search finds whole pages that have every word. Ours finds sections, and any
word may be missing: ``static/search/`` does it in the browser. Without JavaScript its
page is a list of all pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

from tensor_copies.search.sections import all_sections


def replace_search(app: Sphinx) -> None:
    """Let Sphinx write neither its search page nor its index (``builder-inited``)."""
    if app.builder.format == "html":
        app.builder.search = False


def make(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Hand the page to Sphinx, in the frame that all have (``html-collect-pages``)."""
    titles = app.env.titles
    search = {
        "title": "Search",
        "description": "Search lessons, error messages, calls and terms.",
        "all_pages": [(page, titles[page].astext()) for page in all_sections(app)],
    }
    yield "search", search, "search.html"
