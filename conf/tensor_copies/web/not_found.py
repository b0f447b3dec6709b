"""The page that a host shows for an address that leads nowhere.

It is shown at any depth below the site's address, so its links begin at the root of
the host: for that the build must know the address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGE = "404"
BODY = """<section><h1>No page has this address</h1>
<p>It may have moved. Search for it, or begin <a href="{home}">at home</a>, with
<a href="{lessons}">the lessons</a> or in <a href="{index}">the index</a>.</p>
<form action="{search}" method="get" class="search-again">
<label for="search-again">Words, a call, or a pasted error message</label>
<input id="search-again" name="q" type="search" autocomplete="off">
<button type="submit">Search</button>
</form></section>"""
# Links that are relative to the page: no scheme, not from the root, not of the page.
_RELATIVE = re.compile(
    r'(?<=\s)(href|src|action|data-content_root|srcset)="(?![a-z]+:|/|#)(?:\./)?'
)


def make(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Hand the page to Sphinx, in the frame that all pages have."""
    uri = app.builder.get_target_uri
    body = BODY.format(
        home=uri(app.config.root_doc),
        lessons=uri("auto_examples/index"),
        index="genindex.html",
        search=uri("search"),
    )
    context = {
        "title": "No page has this address",
        "body": body,
        "description": "No page has this address. Search the site, or begin at home.",
        "pageurl": None,  # it has no address of its own
    }
    yield PAGE, context, "page.html"


def anchor_links(app: Sphinx, exception: Exception | None) -> None:
    """Make the page's links begin at the root of the host."""
    if exception is not None or app.builder.name != "html":
        return
    page = Path(app.outdir, f"{PAGE}.html")
    if app.config.html_baseurl:
        root = urlsplit(app.config.html_baseurl).path
        text = page.read_text(encoding="utf-8")
        text = _RELATIVE.sub(rf'\1="{root}', text)
        page.write_text(text, encoding="utf-8")
