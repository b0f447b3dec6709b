"""Keep what the search knows of index entries when a build writes only some pages.

Sphinx loads the search index of the last build, but for the index entries: those of
the pages that it does not write again would be lost (the rows of the Atlas, the terms
of the glossary). So these pages are handed to the indexer once more. And it keeps the
words that no page has any more, as words of no page: these are dropped.
"""

from __future__ import annotations

import json
from pathlib import Path
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


def drop_words_of_no_page(app: Sphinx, exception: Exception | None) -> None:
    """Make the index of words what a clean build makes it."""
    path = Path(app.outdir, "searchindex.js")
    if exception is not None or not path.exists():
        return
    before, _, rest = path.read_text(encoding="utf-8").partition("(")
    index, after = rest[: rest.rindex(")")], rest[rest.rindex(")") :]
    data = json.loads(index)
    for kind in ("terms", "titleterms"):
        data[kind] = {word: pages for word, pages in data[kind].items() if pages != []}
    for pages in data["indexentries"].values():
        pages.sort()
    said = json.dumps(data, separators=(",", ":"), sort_keys=True)
    path.write_text(f"{before}({said}{after}", encoding="utf-8")
