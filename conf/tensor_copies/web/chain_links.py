"""A link from a lesson to the picture of its call in the explorer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

from tensor_copies.atlas.data import live
from tensor_copies.explorer.chains import CALLS
from tensor_copies.explorer.page import address_of
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.outdated import depend_on

if TYPE_CHECKING:
    from sphinx.application import Sphinx


# A name, and calls of the explorer on it.
CHAIN = re.compile(
    rf"\b[a-z]\w*((?:{'|'.join(re.escape(call.code) for call in CALLS.values())})+)"
)


def link_lesson(app: Sphinx, doctree: nodes.document) -> None:
    """Link to the call that a lesson is about, in its actions.

    That is the first one that the Atlas has of the lesson, or else the first that its
    script names.
    """
    page = app.env.docname
    script = lesson_scripts(app).get(page)
    if script is None or "atlas" not in app.env.found_docs:
        return
    depend_on(app, "atlas")
    codes = [
        row["code"]
        for row in live()["operations"]
        if page.endswith(f"/{row['lesson']}") and not row["given"]
    ]
    codes += chains_in(script)
    link = next(filter(None, (address_of(app, page, code) for code in codes)), None)
    rows = doctree.findall(nodes.container)
    row = next((row for row in rows if "lesson-actions" in row["classes"]), None)
    if link is not None and row is not None:
        words = nodes.reference("", "See it in the explorer", refuri=link)
        row += nodes.paragraph("", "", words)


def chains_in(script: Path) -> list[str]:
    """Return the chains of calls that a script names, each of a tensor ``x``.

    Nearly every script has an element read and a leaf made: these are left out.
    """
    # Whether a copy waits is no matter of the explorer.
    text = re.sub(r", non_blocking=\w+", "", script.read_text(encoding="utf-8"))
    chains = [f"x{found[1]}" for found in CHAIN.finditer(text)]
    return [code for code in chains if code not in ("x[0]", "x.requires_grad_()")]
