"""The machine that runs the examples: what it is, how it runs them, what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect around the gallery, which runs the lessons at ``builder-inited`` 500."""
    from tensor_copies.machine import (
        freshness,
        isolation,
        kernels,
        lesson_list,
        progress,
    )

    app.add_config_value("lesson_time_limit", 120, "", int)
    app.connect("config-inited", isolation.take_time_limit)
    app.connect("config-inited", progress.tell_limit)
    app.connect("config-inited", kernels.take_over)
    # The gallery would fail on such a script without its name.
    app.connect("builder-inited", lesson_list.require_readable, priority=350)
    # Before the gallery: it must not keep what another machine, or another tool, made.
    app.connect("builder-inited", freshness.drop_what_is_stale, priority=400)
    # After the gallery: note what ran, and stop here if a lesson failed.
    app.connect("builder-inited", freshness.settle, priority=600)
    # Around all that happens to a page while it is read.
    app.connect("source-read", progress.begin_page, priority=100)
    app.connect("doctree-read", freshness.depend_on_run)
    app.connect("doctree-read", progress.end_page, priority=900)
    # Before any file is added to the pages that remain.
    app.connect("build-finished", freshness.remove_orphans, priority=400)
    # The last words of the build, before what is stale.
    app.connect("build-finished", freshness.report, priority=900)
    app.connect("build-finished", lesson_list.report_unknown, priority=940)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
