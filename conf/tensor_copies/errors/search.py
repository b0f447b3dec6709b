"""Find an entry of the error index by its message, whole or in part.

A search for words does not know a message from a reader's terminal, with another device
or shape in it, from others. So the search has a list of all messages, live and recorded
(``_static/messages.js``), and the script that compares a reader's words with messages
(``static/find_message.js``), which the error index itself has too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tensor_copies.errors.messages import DESK, KINDS, entries

DATA = "messages.js"


def is_family(page: str) -> bool:
    """Whether a page has entries of the error index."""
    return page.startswith(f"{DESK}/")


def keep_labels(app: Sphinx, doctree: nodes.document) -> None:
    """Make an entry's label, which is stable, the only address of its section."""
    page = app.env.docname
    if is_family(page):
        labels = entries(Path(app.env.doc2path(page)))
        for section in doctree.findall(nodes.section):
            section["ids"] = [*({*section["ids"]} & {*labels})] or section["ids"]


def list_messages(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the messages of a page's entries for what leads to them."""
    page = app.env.docname
    if not is_family(page):
        return
    source = Path(app.env.doc2path(page))
    labels = entries(source)
    found = []
    for section in doctree.findall(nodes.section):
        label = section["ids"][0]
        if label not in labels:
            continue
        if live := "\n".join(printed_by(entry_cell(section))):
            title = next(section.findall(nodes.title)).astext()
            drawn = list(section.findall(nodes.raw))
            typed = {one["met"]: one["texts"] for one in drawn if one.hasattr("met")}
            met, older = typed.get(True, []), typed.get(False, [])
            there = [text for one in drawn for text in one.get("others", ())]
            told = list(dict.fromkeys([*met, live, *there, *older]))
            entry = {"page": page, "anchor": label, "title": title, "texts": told}
            found.append(entry)
    app.env.metadata[page]["messages"] = found


def known_messages(env: BuildEnvironment) -> list[dict[str, Any]]:
    """Return the entries of all pages, as the list on the error index has them."""
    return [
        entry
        for page in env.toctree_includes.get(DESK, ())
        for entry in env.metadata[page].get("messages", [])
    ]


def entry_cell(section: nodes.section) -> nodes.container:
    """Return the cell of an entry that raises its message."""
    tags = {f"tag_{kind}" for kind in KINDS}
    cells = section.findall(nodes.container)
    return next(cell for cell in cells if tags & set(cell["classes"]))


def printed_by(cell: nodes.container) -> list[str]:
    """Return what a cell printed."""
    blocks = cell.findall(nodes.literal_block)
    return [b.astext().strip() for b in blocks if "stream" in b["classes"]]


def write_messages(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the list for the search: a script, so that it works from a file."""
    if app.builder.format != "html":
        return
    uri = app.builder.get_target_uri
    known = [
        {"address": f"{uri(one.pop('page'))}#{one['anchor']}", **one}
        for one in known_messages(env)
    ]
    file = Path(app.outdir, "_static", DATA)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(known, ensure_ascii=False, separators=(",", ":"))
    file.write_text(f"window.knownMessages={text};\n", encoding="utf-8")
