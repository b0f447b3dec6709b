"""What a lesson's page has around its code, in the order in which it is put there."""

from __future__ import annotations

from docutils.nodes import document
from sphinx.application import Sphinx

from tensor_copies.lessons import (
    actions,
    checked,
    opening,
    overviews,
    player,
    predictions,
)
from tensor_copies.lessons.former import keep_former_addresses
from tensor_copies.lessons.lesson_page import read
from tensor_copies.recordings import beside, live, shown
from tensor_copies.run.lesson_list import lesson_scripts


def change_lesson(app: Sphinx, doctree: document) -> None:
    """Change a page of the gallery; leave every other page as it is."""
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        overviews.change_overview(app, doctree)
        return
    page = read(doctree, script)
    actions.offer_files(app, page)
    actions.link_to_colab(app, page)
    actions.leave_place_for_explorer(page)
    beside.say_tables_once(app, page.blocks)
    live.bound_outputs(script, page.blocks)
    shown.add_recordings(app, script, page.blocks)
    opening.open_with_timeline(page)
    player.play(app, page)
    # The folds take the outputs of all machines, so they come last.
    opening.fold_setup(page)
    opening.fold_code(page)
    checked.fold_proofs(page)
    predictions.ask(app, page)
    page.write()
    opening.label_documents(doctree)
    keep_former_addresses(app, doctree)
