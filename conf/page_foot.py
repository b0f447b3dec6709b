"""The stamp at the foot of each page: who ran what the page shows, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from freshness import stamp

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def add_stamp(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Hand the stamp to the template of a page that has a document of its own."""
    context["stamp"] = stamp(app, page) if doctree is not None else ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("html-page-context", add_stamp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
