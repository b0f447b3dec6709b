"""What other machines saw: the files, their check, and how pages show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Register what recordings are shown with; lessons/page.py shows them."""
    from tensor_copies.recordings import beside, live, others, provenance

    app.add_node(provenance.output_head, html=(provenance.visit_output_head, None))
    app.add_node(provenance.machine_tabs, html=(provenance.visit_machine_tabs, None))
    for kind in ("chart", "map", "table"):
        app.add_directive(f"lesson-{kind}", beside.Kept)
    app.connect("source-read", live.require_short)
    # After the report: what is stale is the last thing that is said.
    app.connect("build-finished", others.report_stale, priority=950)
