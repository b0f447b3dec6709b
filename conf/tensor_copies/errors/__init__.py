"""The index of error messages: raise each, try its cures, find a pasted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect; the labels before Sphinx reads the headings of a page (500)."""
    from tensor_copies.errors import search

    app.connect("doctree-read", search.keep_labels, priority=400)
    app.connect("doctree-read", search.list_messages, priority=450)
    app.connect("env-updated", search.write_messages)
    app.connect("html-page-context", search.add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
