"""The machine that runs the examples: what it is, how it runs them, what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect around the gallery, which runs the lessons at ``builder-inited`` 500."""
    from tensor_copies.machine import (
        ahead,
        apart,
        folds,
        freshness,
        kernels,
        lesson_list,
        outdated,
        silence,
        sphinx_process,
    )

    folds.add_to(app)
    app.add_config_value("lesson_time_limit", 120, "", int)
    app.add_config_value("memory_limit", 8000, "", int)
    # Sphinx reads all pages again when the first changes, and writes them again when
    # the second does.
    app.add_config_value("pages_are_made_from", "", "env", str)
    app.add_config_value("pages_are_dressed_in", "", "html", str)
    app.connect("config-inited", kernels.take_over)
    # All is imported now, and no lesson has run yet.
    app.connect("builder-inited", sphinx_process.collect_garbage, priority=50)
    # The gallery would fail on such a script without its name.
    app.connect("builder-inited", lesson_list.require_readable, priority=350)
    app.connect("builder-inited", freshness.drop_what_is_stale, priority=400)
    # When it is known which lessons will run.
    app.connect("builder-inited", apart.begin, priority=450)
    # After the gallery: note what ran, and stop here if a lesson failed.
    app.connect("builder-inited", freshness.settle, priority=600)
    app.connect("env-get-outdated", outdated.find_outdated)
    # Before all that runs beside pages: the wrong answers too (500).
    app.connect("env-before-read-docs", kernels.run_timed, priority=300)
    app.connect("env-before-read-docs", ahead.begin, priority=310)
    app.connect("doctree-read", silence.require_run)
    app.connect("doctree-read", kernels.report)
    app.connect("doctree-read", freshness.depend_on_run)
    # After all that note another file that a page depends on.
    app.connect("doctree-read", outdated.note_files, priority=890)
    # Before any file is added to the folder, which this may empty.
    app.connect("env-updated", outdated.write_what_changed, priority=50)
    # The last words of the build, before what is stale.
    app.connect("build-finished", freshness.report, priority=900)
    app.connect("build-finished", lesson_list.report_unknown, priority=940)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
