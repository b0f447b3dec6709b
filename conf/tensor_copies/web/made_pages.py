"""Pages that no source has: the search, forwards, and what a wrong address shows.

Sphinx's own search finds whole pages that have every word. Ours finds sections, and any
word may be missing: ``static/search/`` does it in the browser. Without JavaScript its
page is a list of all pages.

A forward leads on from the name that a page had before (``redirects`` in conf.py).

The last page is shown at any depth below the site's address, so its links begin at the
root of the host: for that the build must know the address. Without one they stay
relative, as on every other page (sphinx-notfound-page would begin them at the root of
any host, and takes private names of Sphinx for it).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

from tensor_copies.web.search_index import pages_in_order


def replace_search(app: Sphinx) -> None:
    """Let Sphinx write neither its search page nor its index."""
    if app.builder.format == "html":
        app.builder.search = False


def make(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Hand the pages to Sphinx, in the frame that all pages have."""
    search = {
        "title": "Search",
        "description": "Search lessons, error messages, calls and terms.",
        "all_pages": [
            (page, app.env.titles[page].astext()) for page in pages_in_order(app)
        ],
    }
    yield "search", search, "search.html"
    for old, new in app.config.redirects.items():
        if new not in app.env.found_docs or old in app.env.found_docs:
            raise ConfigError(
                f"redirects in conf.py: {old} forwards to {new}, but a forward leads "
                "from a name that is no page to one that is."
            )
        yield old, {"moved_to": new}, "moved.html"
    base = app.config.html_baseurl
    not_found = {
        "title": "No page has this address",
        "description": "No page has this address. Search the site, or start at home.",
        "has_explorer": "has_explorer" in app.env.metadata[app.config.root_doc],
        "has_errors": "errors" in app.env.found_docs,
        "pageurl": None,  # it has no address of its own
        "links_begin_at": urlsplit(base).path if base else None,
    }
    yield "404", not_found, "404.html"
