"""What the page of a lesson has beside its code, and what is made of all lessons."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect around the recordings (``doctree-read`` 450)."""
    from tensor_copies.lessons import (
        answers,
        calls,
        notebooks,
        opening,
        page,
        places,
        predictions,
        remember,
        steps,
    )

    app.add_directive("calls", calls.Calls)
    app.add_directive("remember", remember.Remember)
    app.add_directive("score", predictions.Score)
    # After the gallery (500) and after a failed lesson has stopped the build (600).
    app.connect("builder-inited", notebooks.finish_all, priority=700)
    # Before pages run (300), of which one may take times.
    app.connect("env-before-read-docs", answers.run_missing, priority=250)
    # Before Sphinx collects the tables of contents (500).
    app.connect("doctree-read", places.list_in_order, priority=400)
    # Before Sphinx collects the files and pictures of a page (500).
    app.connect("doctree-read", page.change_page, priority=400)
    app.connect("doctree-read", places.say_place, priority=410)
    # At the end of the row, after the link to the explorer (420).
    app.connect("doctree-read", steps.add_button, priority=430)
    # After the recordings: these move the outputs that they look for.
    app.connect("doctree-read", opening.open_page, priority=455)
    app.connect("doctree-read", predictions.add_predictions, priority=460)
    # When every lesson has been read.
    app.connect("doctree-resolved", remember.fill)
    app.connect("html-page-context", page.lead_on)
    app.connect("build-finished", steps.publish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
