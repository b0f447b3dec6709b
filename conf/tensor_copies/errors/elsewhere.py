"""Below a message: what another machine says in its place, where that differs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies import simulated
from tensor_copies.errors.cards import address_of_device
from tensor_copies.errors.messages import (
    NOTHING,
    entries,
    families,
    observe_messages,
)
from tensor_copies.errors.search import entry_cell, is_family, printed_by
from tensor_copies.gallery.isolation import prepare
from tensor_copies.gallery.kept import BY_PAGES, Kept, key_of
from tensor_copies.machines.others import given_elsewhere, simulated_run
from tensor_copies.markup import TEMPLATES


def messages_of(page: str, text: str, simulate: bool = True) -> dict[str, list[str]]:
    """Run the entries of a page with this text, on the simulated device or here.

    Return the key of the code and the message of each, by its anchor.
    """
    name = Path(page).name
    prepare({}, name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(text, encoding="utf-8")
        keys = {anchor: key_of(one.code) for anchor, one in entries(path).items()}
        if simulate:
            simulated.load_device()
            path.write_text(simulated.with_its_name(text), encoding="utf-8")
        given = observe_messages(path)
    return {anchor: [keys[anchor], message] for anchor, message in given.items()}


def _simulated(page: Path) -> Kept | None:
    return simulated_run("messages", BY_PAGES, messages_of, page)


def want(app: Sphinx) -> None:
    """Have the build run the entries of all pages on the simulated device."""
    for page in families(Path(app.srcdir)):
        if (kept := _simulated(page)) is not None:
            kept.want()


def add_wordings(app: Sphinx, doctree: nodes.document) -> None:
    """Put below what an entry's cell raised what other machines say instead."""
    if not is_family(app.env.docname):
        return
    source = Path(app.env.doc2path(app.env.docname))
    given = given_elsewhere(
        lambda one: one.messages.get(source.stem, {}), _simulated(source)
    )
    elsewhere = list(given)
    labels = entries(source)
    for section in doctree.findall(nodes.section):
        anchor = section["ids"][0]
        if anchor not in labels:
            continue
        cell = entry_cell(section)
        live = "\n".join(printed_by(cell))
        key = key_of(labels[anchor].code)
        others = [
            {
                "text": message or f"({NOTHING})",
                "label": machine.label,
                "torch": machine.torch,
                "is_simulated": machine.device_kind == "simulated",
            }
            for machine, messages in elsewhere
            for its_key, message in [messages.get(anchor, ["", ""])]
            if its_key == key and message != live
        ]
        if others:
            markup = TEMPLATES.get_template("errors/wording.html").render(
                others=others, about_device=address_of_device(app)
            )
            texts = [one["text"] for one in others]
            cell.children[-1] += nodes.raw("", markup, format="html", others=texts)
