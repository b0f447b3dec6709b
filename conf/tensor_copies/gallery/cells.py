"""Read the code cells of a MyST page as MyST-NB does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

CONFIG = MdParserConfig(enable_extensions={"colon_fence", "deflist"})


@dataclass(frozen=True)
class Cell:
    """One code cell: the line of its fence, its tags and its code.

    ``options`` are what else stands above the code.
    """

    line: int
    tags: tuple[str, ...]
    code: str
    options: dict[str, Any]


def cells(page: Path) -> list[Cell]:
    """Return the code cells of a page, in order."""
    return cells_in(page.read_text(encoding="utf-8"))


def cells_in(text: str) -> list[Cell]:
    """Return the code cells of a text, in order."""
    notebook = _read(text)
    lines = notebook.metadata.source_map
    return [
        Cell(line, tuple(cell.metadata.get("tags", ())), cell.source, cell.metadata)
        for cell, line in zip(notebook.cells, lines, strict=True)
        if cell.cell_type == "code"
    ]


@cache  # several rooms ask, and a page takes 40 milliseconds
def _read(text: str) -> Any:
    return read_myst_markdown_notebook(text, CONFIG, add_source_map=True)
