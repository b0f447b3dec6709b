"""What a code block of a lesson hands out: a list of dictionaries, one for each row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config


def rows_of(
    block: Any, block_vars: dict[str, Any], marker: str, what: str
) -> list[dict[str, Any]] | None:
    """Return the rows that a block's marker names, or None without that marker.

    Parameters
    ----------
    block, block_vars
        As the gallery gives them to a scraper.
    marker
        The name behind ``sphinx_gallery_`` in the comment.
    what
        What the rows are to be, for the message: "a table", "samples".

    Raises
    ------
    ExtensionError
        If the marker names something else than a list of dictionaries with the same
        keys.
    """
    name = extract_file_config(block.content).get(marker)
    if name is None:
        return None
    rows = block_vars["example_globals"].get(name)
    try:
        columns = list(rows[0])
        assert all(list(row) == columns for row in rows)
    except (AssertionError, IndexError, KeyError, TypeError):
        raise ExtensionError(
            f"{Path(block_vars['src_file']).name}: the block on line {block.lineno} "
            f"hands out {name!r} as {what}, which is not a list of dictionaries with "
            "the same keys"
        ) from None
    return rows
