"""The short title of a lesson: its name in the sidebar, and in "Next" and "Previous".

An author writes it into the first block, as a marker::

    # sphinx_gallery_short_title = "Flags inside no_grad"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.gallery.lessons import blocks_of, lesson_scripts

SHORT_TITLE = "short_title"
LONGEST = 28  # characters: one line of the sidebar


def of_first_block(script: Path, name: str) -> tuple[Any, str]:
    """Return the value of a marker of the first block, and where it stands.

    Without the marker the value is None, and the place that of the block.
    """
    blocks = [block for block in blocks_of(script) if block.type == "code"]
    value = extract_file_config(blocks[0].content).get(name) if blocks else None
    lines = enumerate(script.read_text(encoding="utf-8").split("\n"), 1)
    marked = (number for number, row in lines if f"sphinx_gallery_{name}" in row)
    first = blocks[0].lineno if blocks else 1
    return value, f"{script.name}, line {next(marked, first)}"


def short_title(script: Path) -> str:
    """Return the short title of a lesson.

    Raises ``ExtensionError`` if there is none, or one that is too long or has markup.
    """
    title, where = of_first_block(script, SHORT_TITLE)
    if not isinstance(title, str) or not title.strip():
        raise ExtensionError(
            f"{where}: the lesson has no short title: write "
            f'sphinx_gallery_{SHORT_TITLE} = "..." into its first block'
        )
    if len(title) > LONGEST or "`" in title:
        raise ExtensionError(
            f"{where}: the short title {title!r} has {len(title)} characters: at most "
            f"{LONGEST} fit, of plain text without backticks"
        )
    return title


def require_all(app: Sphinx) -> None:
    """Refuse a bad short title before any lesson runs."""
    for script in lesson_scripts(app).values():
        short_title(script)
