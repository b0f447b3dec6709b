"""The page that a host shows for an address that leads nowhere.

It is shown at any depth below the site's address, so its links begin at the root of
the host: for that the build must know the address. Without one they stay relative, as
on every other page (sphinx-notfound-page would begin them at the root of any host,
and takes private names of Sphinx for it).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx


def make(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Hand the page to Sphinx, in the frame that all pages have."""
    base = app.config.html_baseurl
    context = {
        "title": "No page has this address",
        "description": "No page has this address. Search the site, or begin at home.",
        "pageurl": None,  # it has no address of its own
        "links_begin_at": urlsplit(base).path if base else None,
    }
    yield "404", context, "404.html"
