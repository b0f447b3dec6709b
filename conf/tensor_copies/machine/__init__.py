"""The machine that runs the examples: what it is, how it runs them, what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect around the gallery, which runs the lessons at ``builder-inited`` 500."""
    from tensor_copies.machine import (
        apart,
        background,
        early_work,
        folds,
        freshness,
        kept,
        kernels,
        lesson_list,
        outdated,
        progress,
        silence,
        sphinx_process,
        written,
    )

    folds.add_to(app)
    outdated.add_key("files", outdated.files_of)
    app.add_config_value("lesson_time_limit", 120, "", int)
    app.add_config_value("memory_limit", 8000, "", int)
    app.connect("config-inited", apart.take_limits)
    app.connect("config-inited", progress.tell_limit)
    app.connect("config-inited", kernels.take_over)
    # All is imported now, and no lesson has run yet.
    app.connect("builder-inited", sphinx_process.collect_garbage, priority=50)
    # Before MyST-NB opens its cache, and before the gallery: neither must keep what
    # is damaged, or what another machine or another tool made.
    app.connect("builder-inited", kept.drop_damaged_pages, priority=100)
    # The gallery would fail on such a script without its name.
    app.connect("builder-inited", lesson_list.require_readable, priority=350)
    app.connect("builder-inited", freshness.drop_what_is_stale, priority=400)
    # When it is known which lessons run, and before the first does.
    app.connect("builder-inited", early_work.begin, priority=450)
    # After the gallery: note what ran, and stop here if a lesson failed.
    app.connect("builder-inited", freshness.settle, priority=600)
    # What lessons have imported stays.
    app.connect("builder-inited", sphinx_process.collect_garbage, priority=610)
    # When all that makes sources has done so, and before Sphinx asks for dates.
    app.connect("builder-inited", outdated.forget_dates, priority=950)
    app.connect("env-get-outdated", outdated.find_outdated)
    # Before the wrong answers (500), which run beside the pages.
    app.connect("env-before-read-docs", kernels.run_ahead, priority=300)
    # After the pages were put in order by their questions (500).
    app.connect("env-before-read-docs", early_work.read_last, priority=600)
    app.connect("doctree-read", silence.require_run)
    # Around all that happens to a page while it is read.
    app.connect("source-read", progress.begin_page, priority=100)
    app.connect("doctree-read", freshness.depend_on_run)
    # After all that note another file that a page depends on.
    app.connect("doctree-read", outdated.depend_on_files, priority=890)
    app.connect("doctree-read", progress.end_page, priority=900)
    # Before any file is added to the folder, which this may empty.
    app.connect("env-updated", written.write_what_changed, priority=50)
    app.connect("build-finished", kernels.stop, priority=100)
    app.connect("build-finished", background.stop, priority=110)
    # The last words of the build, before what is stale.
    app.connect("build-finished", freshness.report, priority=900)
    app.connect("build-finished", lesson_list.report_unknown, priority=940)
    app.connect("build-finished", kept.trust_pages, priority=990)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
