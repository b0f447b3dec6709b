"""What a code block of a lesson hands out: a list of dictionaries, one for each row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config


def handed_out(
    block: Any,
    block_vars: dict[str, Any],
    marker: str,
    what: str,
    cell: Callable[[Any], Any] = str,
) -> dict[str, Any] | None:
    """Return what a block's marker names as columns and rows, or None without one.

    Without rows it is None too: a machine may have nothing to measure. ``what`` it
    should be is for the message; ``cell`` makes of a value what is kept.

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
    if rows == []:
        return None
    try:
        columns = list(rows[0])
        assert all(list(row) == columns for row in rows)
    except (AssertionError, IndexError, KeyError, TypeError):
        raise ExtensionError(
            f"{Path(block_vars['src_file']).name}: the block on line {block.lineno} "
            f"hands out {name!r} as {what}, which is not a list of dictionaries with "
            "the same keys"
        ) from None
    cells = [[cell(value) for value in row.values()] for row in rows]
    return {"columns": [str(column) for column in columns], "rows": cells}


def path_of(block_vars: dict[str, Any], ending: str) -> Path:
    """Return where something that a lesson hands out is kept: beside its pictures."""
    images = Path(block_vars["image_path_iterator"].image_path.format(0)).parent
    return images / f"sphx_glr_{Path(block_vars['src_file']).stem}_{ending}"
