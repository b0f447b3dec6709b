"""Arrange a lesson's page, ask its questions, list the lessons, offer their files."""

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives and connect the events, in the order in which they happen."""
    from tensor_copies.gallery import PARALLEL
    from tensor_copies.lessons import downloads, listing, page, player, predict
    from tensor_copies.machines import below

    app.add_directive("predict", predict.Predict)
    app.add_directive("lessons", listing.Lessons)
    app.add_directive("path", listing.Path)
    app.add_directive("remember", listing.Remember)
    app.connect("builder-inited", below.want, priority=450)
    # Before Sphinx collects titles, contents and downloads of a page (500).
    app.connect("doctree-read", page.arrange_lesson, priority=400)
    app.connect("doctree-read", predict.arrange_questions, priority=410)
    app.connect("doctree-read", listing.show_groups_in_menu, priority=510)
    app.connect("doctree-resolved", listing.fill_lists)
    app.connect("html-page-context", listing.follow_path)
    app.connect("build-finished", downloads.finish)
    app.connect("build-finished", player.publish_steps)
    return PARALLEL
