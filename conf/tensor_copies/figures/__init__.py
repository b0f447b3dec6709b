"""What lessons draw: tensor maps, steps, charts, and tables of what they print."""

from __future__ import annotations

from typing import Any

from tensor_copies.figures import maps, plots


def figures_of(block: Any, block_vars: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data of all that a block drew, as a recording keeps them."""
    found = maps.requested_maps(block, block_vars)
    return [*found, *plots.open_charts(block, block_vars)]


def drawn_figure(data: dict[str, Any], prefix: str) -> str:
    """Return the markup of what :func:`figures_of` gave; ``prefix`` begins its ids."""
    return data.get("chart") or maps.map_html(data, prefix)
