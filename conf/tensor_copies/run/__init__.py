"""The machine that runs the examples: what it is, how it runs them, what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Connect around the gallery, which runs the lessons at ``builder-inited`` 500.

    What has one event and one priority is called in the order of these lines.
    """
    from tensor_copies.run import (
        ahead,
        apart,
        folds,
        freshness,
        kernels,
        lesson_list,
        outdated,
        silence,
        sources,
    )

    folds.add_to(app)
    app.add_config_value("lesson_time_limit", 120, "", int)
    app.add_config_value("memory_limit", 8000, "", int)
    # Sphinx reads all pages again when the first changes, and writes them again when
    # the second does.
    app.add_config_value("pages_are_made_from", "", "env", str)
    app.add_config_value("pages_are_dressed_in", "", "html", str)
    app.connect("config-inited", kernels.take_over)
    # Before the gallery, which would fail on an unfit script without its name.
    for begin in (sources.require_sound, freshness.drop_what_is_stale, apart.begin):
        app.connect("builder-inited", begin, priority=400)
    # After the gallery: note what ran, and stop here if a lesson failed.
    app.connect("builder-inited", freshness.settle, priority=600)
    app.connect("env-get-outdated", outdated.find_outdated)
    # Pages that take times run before anything runs beside them.
    app.connect("env-before-read-docs", kernels.run_pages, priority=300)
    app.connect("env-before-read-docs", ahead.begin, priority=300)
    app.connect("env-updated", sources.require_no_circle, priority=40)
    # Before anything moves the outputs of a page.
    app.connect("doctree-read", silence.require_run, priority=390)
    # After all that note another file that a page depends on.
    app.connect("doctree-read", freshness.depend_on_run, priority=890)
    app.connect("doctree-read", outdated.note_files, priority=890)
    # Before any file is added to the folder, which this may empty.
    app.connect("env-updated", outdated.write_what_changed, priority=50)
    # The last words of the build, before what is stale.
    app.connect("build-finished", freshness.report, priority=900)
    app.connect("build-finished", lesson_list.report_unknown, priority=900)
