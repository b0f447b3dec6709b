"""The marker comments of a lesson: what they ask for, and the script without them.

A marker is a comment that begins with ``sphinx_gallery_``. Some are the gallery's own;
ours ask for maps (figures/maps.py), samples (figures/samples.py), predictions
(lessons/predictions.py) and for the first screen of a page (lessons/opening.py)::

    # sphinx_gallery_setup = True    in the first block: it is folded
    # sphinx_gallery_lead = True     the first figure of the block opens the page
    # sphinx_gallery_tensor_map_lead = "w, z"    a map of these does, drawn here
    # sphinx_gallery_timeline = "what_waits"     a diagram of timelines.toml does
    # sphinx_gallery_tensor_map_graph = True     the block's map shows its operations

No reader meets them: neither page, notebook nor download shows one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.run.blocks import blocks_of

SETUP, LEAD, MAP_LEAD = "setup", "lead", "tensor_map_lead"
TIMELINE = "timeline"
LINE = re.compile(r"^[ \t]*#[ \t]*sphinx_gallery_\w+.*(?:\n|\Z)", re.MULTILINE)


def without_markers(script: str) -> str:
    """Return the text of a script without its marker comments."""
    return LINE.sub("", script)


def setup_line(script: Path) -> int | None:
    """Return the line of the block that is the setup of a lesson, if one is.

    Raises ``ExtensionError`` if another block than the first is marked.
    """
    blocks = _marked(script)
    marked = [line for line, asked in blocks if asked.get(SETUP)]
    if marked and marked != [blocks[0][0]]:
        raise ExtensionError(
            f"{script.name}: the block on line {marked[-1]} is marked as the setup; "
            f"only the first block can be: remove sphinx_gallery_{SETUP} there"
        )
    return marked[0] if marked else None


def lead_line(script: Path) -> int | None:
    """Return the line of the block whose first figure opens the page, if one does.

    Where a timeline opens it, none does. Raises ``ExtensionError`` if more than one
    block is marked.
    """
    opening = {LEAD, MAP_LEAD, TIMELINE}
    marked = [line for line, asked in _marked(script) if opening & set(asked)]
    if len(marked) > 1:
        raise ExtensionError(
            f"{script.name}: the blocks on lines {', '.join(map(str, marked))} each "
            f"ask to open the page. Leave sphinx_gallery_{LEAD} or {MAP_LEAD} in one"
        )
    return marked[0] if marked and not timeline_of(script) else None


def timeline_of(script: Path) -> tuple[int, str] | None:
    """Return the line and the name of the timeline that opens the page, if one does."""
    asked = ((line, asked.get(TIMELINE)) for line, asked in _marked(script))
    return next(((line, name) for line, name in asked if name), None)


def _marked(script: Path) -> list[tuple[int, dict[str, Any]]]:
    """Return the line of each code block, and what its markers ask for."""
    return [
        (block.lineno, extract_file_config(block.content))
        for block in blocks_of(script)
        if block.type == "code"
    ]
