"""A link from a lesson to the picture of its call in the explorer."""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies.atlas.data import live_atlas
from tensor_copies.explorer.chains import CALLS
from tensor_copies.explorer.page import address_of
from tensor_copies.lessons.actions import explorer_link
from tensor_copies.run.lesson_list import lesson_scripts

# A name, and calls of the explorer on it.
CHAIN = re.compile(
    rf"\b[a-z]\w*((?:{'|'.join(re.escape(call.code) for call in CALLS.values())})+)"
)


def make_link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link to the call that a lesson is about.

    That is the first one that the Atlas has of the lesson (its calls are in the key of
    the explorer), or else the first that its script names.
    """
    for place in list(doctree.findall(explorer_link)):
        if "atlas" not in app.env.found_docs:
            place.parent.remove(place)
            continue
        codes = [
            row["code"]
            for row in live_atlas()["operations"]
            if page.endswith(f"/{row['lesson']}") and not row["given"]
        ]
        codes += chains_in(lesson_scripts(app)[page])
        links = (address_of(app, page, code) for code in codes)
        link = next(filter(None, links), None)
        words = nodes.reference("", "See it in the explorer", refuri=link)
        place.replace_self([nodes.paragraph("", "", words)] if link else [])


def chains_in(script: Path) -> list[str]:
    """Return the chains of calls that a script names, each of a tensor ``x``.

    Nearly every script has an element read and a leaf made: these are left out.
    """
    # Whether a copy waits is no matter of the explorer.
    text = re.sub(r", non_blocking=\w+", "", script.read_text(encoding="utf-8"))
    chains = [f"x{found[1]}" for found in CHAIN.finditer(text)]
    return [code for code in chains if code not in ("x[0]", "x.requires_grad_()")]
