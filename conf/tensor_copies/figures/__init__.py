"""What lessons draw: tensor maps, steps, charts, and tables of what they print."""

from pathlib import Path
from textwrap import indent
from typing import Any

from tensor_copies.figures import maps, plots


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reST of all that a block drew (an image scraper)."""
    prefix = f"{Path(block_vars['src_file']).stem}-{block.lineno}"
    drawn = [drawn_figure(one, prefix) for one in figures_of(block, block_vars)]
    head = ".. raw:: html\n    :class: figure\n\n"
    return "\n".join(f"{head}{indent(one, '    ')}\n" for one in drawn)


def figures_of(block: Any, block_vars: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data of all that a block drew, as a recording keeps them."""
    return [*maps.requested_maps(block, block_vars), *plots.open_charts()]


def drawn_figure(data: dict[str, Any], prefix: str) -> str:
    """Return the markup of what :func:`figures_of` gave; ``prefix`` begins its ids."""
    return data.get("chart") or maps.map_html(data, prefix)
