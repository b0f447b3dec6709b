"""Below a message: what another machine says in its place, where that differs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies import simulated
from tensor_copies.errors.cards import address_of_device
from tensor_copies.errors.messages import entries, families, observe_messages
from tensor_copies.errors.search import entry_cell, printed_by
from tensor_copies.gallery.isolation import prepare
from tensor_copies.gallery.kept import BY_PAGES, Kept, key_of
from tensor_copies.gallery.machine import Machine
from tensor_copies.machines.recording import recordings, simulated_machine
from tensor_copies.markup import TEMPLATES

NOTHING = "no message"


def messages_of(page: str, text: str, second_device: bool) -> dict[str, list[str]]:
    """Run the entries of a page with this text.

    Return the key of the code and the message of each, by its anchor.
    """
    prepare({}, page)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, page)
        path.write_text(text, encoding="utf-8")
        keys = {anchor: key_of(one.code) for anchor, one in entries(path).items()}
        if second_device:
            simulated.load_device()
            path.write_text(simulated.with_its_name(text), encoding="utf-8")
        given = observe_messages(path)
    return {anchor: [keys[anchor], message] for anchor, message in given.items()}


def _simulated(page: Path) -> Kept | None:
    """Return what the simulated device says, if a page has entries that may ask it."""
    text = page.read_text(encoding="utf-8")
    asks = simulated.with_its_name(text) != text
    if recordings() or not simulated.is_wanted() or not asks:
        return None
    name = f"messages-{page.stem}"
    return Kept(name, BY_PAGES, messages_of, (page.name, text, True))


def want(app: Sphinx) -> None:
    """Have the build run the entries of all pages on the simulated device."""
    for page in families(Path(app.srcdir)):
        if (kept := _simulated(page)) is not None:
            kept.want()


def _elsewhere(page: Path) -> Iterator[tuple[Machine, dict[str, list[str]]]]:
    """Yield the other machines, and what :func:`messages_of` a page gave there."""
    for one in recordings():
        yield one.machine, one.messages.get(page.stem, {})
    if (kept := _simulated(page)) is not None:
        yield simulated_machine(), kept.value()


def add_wordings(app: Sphinx, doctree: nodes.document) -> None:
    """Put below what an entry's cell raised what other machines say instead."""
    source = Path(app.env.doc2path(app.env.docname))
    labels = entries(source) if source.suffix == ".md" else {}
    elsewhere = list(_elsewhere(source)) if labels else []
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
