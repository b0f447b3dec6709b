"""The index of error messages: raise each, try its cures, find a pasted one."""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what the page is made with, and connect what arranges it."""
    from tensor_copies.errors import cards, elsewhere, pairs, search
    from tensor_copies.gallery import PARALLEL

    app.connect("builder-inited", elsewhere.want, priority=440)
    app.add_directive("error-box", cards.Box)
    app.add_directive("error-index", cards.ErrorIndex)
    app.add_directive("sign-legend", cards.Legend)
    app.add_directive("cures", cards.Cures)
    app.add_directive("wordings", cards.Wordings)
    app.add_node(cards.error_index)
    # Before Sphinx collects the contents of a page (500). The last three move what the
    # first three look for.
    for change in (
        search.keep_labels,
        elsewhere.add_wordings,
        search.list_messages,
        cards.arrange,
        pairs.arrange,
        cards.fill_index,
    ):
        app.connect("doctree-read", change, priority=400)
    app.connect("env-updated", search.write_messages)
    app.connect("doctree-resolved", cards.fill_desk)
    app.connect("html-page-context", cards.load_card_styles)
    return PARALLEL
