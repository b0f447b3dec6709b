"""What a lesson's page has around its code, in the order in which it is put there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensor_copies.lessons import actions, opening, overviews, player, predictions
from tensor_copies.lessons.lesson_page import read
from tensor_copies.recordings import beside, live, shown
from tensor_copies.run.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx


def change_lesson(app: Sphinx, doctree: document) -> None:
    """Change a page of the gallery; leave every other page as it is."""
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        overviews.change_overview(app, doctree)
        return
    page = read(doctree, script)
    actions.say_place(app, page)
    actions.offer_files(app, page)
    actions.link_to_colab(app, page)
    actions.leave_place_for_explorer(page)
    player.add_button(app, page)
    beside.say_tables_once(app, page.blocks)
    live.bound_outputs(script, page.blocks)
    shown.add_recordings(app, script, page.blocks)
    # The folds take the outputs of all machines, so they come last.
    predictions.ask(app, page)
    opening.fold_setup(page)
    opening.fold_code(page)
    page.write()
