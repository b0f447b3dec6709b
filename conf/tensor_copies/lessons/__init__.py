"""What the page of a lesson has beside its code, and what is made of all lessons."""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect; page.py has what is done to a lesson's page, in order."""
    from tensor_copies.gallery import PARALLEL
    from tensor_copies.lessons import (
        actions,
        answers,
        below,
        notebooks,
        overviews,
        page,
        player,
        predictions,
        remember,
        short_titles,
    )

    app.add_directive("remember", remember.Remember)
    app.add_directive("score", predictions.Score)
    # Before the gallery: a lesson without a title need not run.
    app.connect("builder-inited", short_titles.require_all, priority=410)
    # After the gallery (500) and after a failed lesson has stopped the build (600).
    app.connect("builder-inited", notebooks.finish_all, priority=700)
    app.connect("builder-inited", below.want, priority=450)
    app.connect("builder-inited", answers.want, priority=460)
    # Before Sphinx collects the contents, files and pictures of a page (500).
    app.connect("doctree-read", page.change_lesson, priority=400)
    # When every lesson has been read.
    app.connect("doctree-resolved", remember.fill_remembered)
    app.connect("doctree-resolved", actions.make_link)
    app.connect("html-page-context", overviews.lead_on)
    app.connect("build-finished", player.publish_steps)
    return PARALLEL
