"""Keep what the search knows of index entries when a build writes only some pages.

Sphinx loads the search index of the last build, but for the index entries: those of
the pages that it does not write again would be lost (the rows of the Atlas, the terms
of the glossary). So these pages are handed to the indexer once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def feed_again(app: Sphinx) -> list[Any]:
    """Index every page that has index entries; return no page to be added."""
    if getattr(app.builder, "indexer", None) is not None:
        for page, entries in app.env.get_domain("index").entries.items():
            if entries:
                title = app.env.titles[page].astext()
                app.builder.index_page(page, app.env.get_doctree(page), title)
    return []
