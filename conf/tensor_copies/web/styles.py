"""Styles of single pages: a page names them in its front matter (``styles:``)."""

from __future__ import annotations

from sphinx.application import Sphinx


def add_styles(app: Sphinx, page: str, *_: object) -> None:
    """Load what a page names, files in ``static/`` with blanks between them."""
    for name in app.env.metadata.get(page, {}).get("styles", "").split():
        app.add_css_file(name)
