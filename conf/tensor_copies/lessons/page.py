"""What a lesson's page has around its code, in the order in which it is put there."""

from __future__ import annotations

from pathlib import Path

from docutils.nodes import document
from sphinx.application import Sphinx

from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.lessons import (
    actions,
    checked,
    opening,
    overviews,
    player,
    predictions,
)
from tensor_copies.lessons.below import add_below
from tensor_copies.lessons.former import keep_former_addresses
from tensor_copies.lessons.lesson_page import read


def change_lesson(app: Sphinx, doctree: document) -> None:
    """Change a page of the gallery; leave every other page as it is."""
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        overviews.change_overview(app, doctree)
        return
    # A run that is new has another stamp at the foot of the page.
    app.env.note_dependency(str(Path(app.srcdir, f"{app.env.docname}.py.md5")))
    page = read(doctree, script)
    actions.offer_files(app, page)
    actions.link_to_colab(app, page)
    actions.leave_place_for_explorer(page)
    opening.open_with_figure(page)
    add_below(app, script, page.blocks)
    opening.open_with_file(page)
    player.play(app, page)
    # The folds take the outputs of all machines, so they come last.
    for block in page.blocks:
        block.name_outputs()
    opening.fold_setup(page)
    opening.fold_code(page)
    checked.fold_proofs(page)
    predictions.ask(app, page)
    page.write()
    opening.label_documents(doctree)
    keep_former_addresses(app, doctree)
