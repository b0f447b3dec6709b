"""What other machines saw: the files, their check, and how pages show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect between a lesson's actions (400) and its predictions (460)."""
    from tensor_copies.recordings import beside, folded, live, provenance, shown

    app.add_node(provenance.output_head, html=(provenance.visit_output_head, None))
    app.add_node(provenance.machine_tabs, html=(provenance.visit_machine_tabs, None))
    app.add_directive("lesson-chart", beside.LessonChart)
    app.add_directive("lesson-map", beside.LessonMap)
    app.add_directive("lesson-table", beside.LessonTable)
    app.connect("source-read", live.require_readable)
    # What a table says need not be said again.
    app.connect("doctree-read", beside.say_tables_once, priority=430)
    # A recording is compared with what the page shows.
    app.connect("doctree-read", live.bound_outputs, priority=440)
    # The predictions move the outputs that this finds; Sphinx collects pictures at 500.
    app.connect("doctree-read", shown.add_recordings, priority=450)
    # After the predictions, which look for the code.
    app.connect("doctree-read", folded.fold_code, priority=470)
    # After the report: what is stale is the last thing that is said.
    app.connect("build-finished", shown.report_stale, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
