"""The index of error messages: raise each, try its cures, find a pasted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Register what the page is made with; web/pages.py arranges it."""
    from tensor_copies.errors import cards, search
    from tensor_copies.run import kernels

    for tag in ("wrong", "right"):
        kernels.watch(tag, "tensor_copies.errors.watched_cells")
    app.add_directive("error-box", cards.Box)
    app.add_directive("error-index", cards.ErrorIndex)
    app.add_directive("sign-legend", cards.Legend)
    app.add_directive("cures", cards.Cures)
    app.add_directive("wording", cards.Wording)
    app.add_directive("wordings", cards.Wordings)
    app.add_node(cards.error_index)
    app.connect("env-updated", search.write_messages)
    app.connect("doctree-resolved", cards.fill_desk)
    app.connect("html-page-context", cards.load_card_styles)
