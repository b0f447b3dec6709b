"""Find an entry of the error index by its message, whole or in part.

A search for words does not know a message from a reader's terminal, with another device
or shape in it, from others. So the search has a list of all messages, live and recorded
(``_static/messages.js``), and the script that compares a reader's words with messages
(``static/find_message.js``), which the error index itself has too.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tensor_copies.errors.messages import KINDS, entries
from tensor_copies.recordings.format import BadRecording, seen_elsewhere

PAGE = "errors"
DATA = "messages.js"


def keep_labels(app: Sphinx, doctree: nodes.document) -> None:
    """Make an entry's label, which is stable, the only address of its section."""
    if app.env.docname == PAGE:
        labels = entries(Path(app.env.doc2path(PAGE)))
        for section in doctree.findall(nodes.section):
            section["ids"] = [*({*section["ids"]} & {*labels})] or section["ids"]


def list_messages(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the messages of the page's entries for the search page."""
    if app.env.docname != PAGE:
        return
    source = Path(app.env.doc2path(PAGE))
    labels = entries(source)
    try:
        others = seen_elsewhere(source)
    except BadRecording:  # the page's own cells have refused it, and say so
        others = []
    found = []
    for section in doctree.findall(nodes.section):
        label = section["ids"][0]
        if label in labels and (live := _printed_by_entry(section)):
            texts = [other.observed.get(label, {}).get("message") for other in others]
            title = next(section.findall(nodes.title)).astext()
            drawn = [one for one in section.findall(nodes.raw) if one.hasattr("met")]
            typed = {one["met"]: one["texts"] for one in drawn}
            met, older = typed.get(True, []), typed.get(False, [])
            told = list(dict.fromkeys([*met, live, *filter(None, texts), *older]))
            found.append({"anchor": label, "title": title, "texts": told})
    app.env.metadata[PAGE]["messages"] = json.dumps(found)


def _printed_by_entry(section: nodes.section) -> str:
    """Return what an entry's own cell printed, as one text."""
    cell = next(
        cell
        for cell in section.findall(nodes.container)
        if {f"tag_{kind}" for kind in KINDS} & set(cell["classes"])
    )
    blocks = cell.findall(nodes.literal_block)
    return "\n".join(b.astext().strip() for b in blocks if "stream" in b["classes"])


def write_messages(app: Sphinx, _: BuildEnvironment) -> None:
    """Write the list for the search: a script, so that it works from a file."""
    if app.builder.format != "html":
        return
    messages = app.env.metadata.get(PAGE, {}).get("messages", "[]")
    file = Path(app.outdir, "_static", DATA)
    file.parent.mkdir(parents=True, exist_ok=True)
    code = f"window.knownMessages = {json.dumps({'page': PAGE})};\n"
    code += f"window.knownMessages.entries = {messages};\n"
    file.write_text(code, encoding="utf-8")
