"""The site around the pages: head, foot, addresses, search, weight, machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the writing of the pages, and to what is written beside them."""
    from tensor_copies.machine import outdated
    from tensor_copies.web import (
        files,
        foot,
        formulas,
        forwards,
        head,
        machines,
        not_found,
        search_entries,
        weight,
    )

    # A change makes Sphinx read the pages again, or write them again.
    app.add_config_value("site_repository", "", "env", types=str)
    app.add_config_value("site_is_indexed", True, "html", types=bool)
    outdated.add_key("machines", machines.key)
    app.add_directive("machines", machines.Machines)
    app.add_html_math_renderer(
        "mathml", (formulas.visit_inline, None), (formulas.visit_block, None)
    )
    app.connect("env-check-consistency", forwards.check)
    app.connect("doctree-read", head.keep_description)
    app.connect("html-page-context", foot.add_foot)
    app.connect("html-page-context", head.add_head)
    # After all that add a style or a script to single pages (500).
    app.connect("html-page-context", weight.trim, priority=900)
    # Between the writing of the pages and that of the search index.
    app.connect("html-collect-pages", not_found.make)
    # Before sphinx-reredirects writes the forwards (500).
    app.connect("html-collect-pages", forwards.give_addresses, priority=400)
    app.connect("html-collect-pages", search_entries.feed_again)
    app.connect("build-finished", search_entries.drop_words_of_no_page)
    app.connect("build-finished", head.copy_cards)
    app.connect("build-finished", files.write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
