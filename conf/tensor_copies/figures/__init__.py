"""What lessons draw: tensor maps, steps, charts, tables; found, kept, put on a page."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive that the scrapers leave on a page."""
    from tensor_copies.figures.placed import Placed
    from tensor_copies.gallery import PARALLEL

    for kind in ("map", "table"):
        app.add_directive(f"lesson-{kind}", Placed)
    return PARALLEL


def figures_of(block: Any, block_vars: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data of all that a block drew or handed out, as the scrapers do."""
    from tensor_copies.figures import maps, plots, tables

    found = maps.requested_maps(block, block_vars)
    found += plots.open_charts(block, block_vars)
    table = tables.requested_table(block, block_vars)
    return found if table is None else [*found, {"table": table}]
