"""A link from a lesson to the picture of its call in the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

from tensor_copies.atlas.data import live
from tensor_copies.explorer.page import address_of
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.outdated import depend_on

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def link_lesson(app: Sphinx, doctree: nodes.document) -> None:
    """Link to the first call that the Atlas has of the lesson, in its actions."""
    page = app.env.docname
    if page not in lesson_scripts(app) or "atlas" not in app.env.found_docs:
        return
    depend_on(app, "atlas")
    codes = (
        row["code"]
        for row in live()["operations"]
        if page.endswith(f"/{row['lesson']}") and not row["given"]
    )
    link = next(filter(None, (address_of(app, page, code) for code in codes)), None)
    rows = doctree.findall(nodes.container)
    row = next((row for row in rows if "lesson-actions" in row["classes"]), None)
    if link is not None and row is not None:
        words = nodes.reference("", "See it in the explorer", refuri=link)
        row += nodes.paragraph("", "", words)
