"""Read the cells of a page of docs/; spread the pages over Sphinx's processes."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from myst_nb.core.read import read_myst_markdown_notebook
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


@dataclass(frozen=True)
class Cell:
    """One code cell: the line of its fence, its tags, its code, all of its options."""

    line: int
    tags: tuple[str, ...]
    code: str
    options: dict[str, Any]


def cells(page: Path) -> tuple[Cell, ...]:
    """Return the code cells of a page, in order."""
    return cells_in(page.read_text(encoding="utf-8"))


@cache  # several rooms ask, and a page takes 40 milliseconds
def cells_in(text: str) -> tuple[Cell, ...]:
    """Return the code cells of a text, in order."""
    notebook = read_myst_markdown_notebook(text, add_source_map=True)
    lines = notebook.metadata.source_map
    return tuple(
        Cell(line, tuple(cell.metadata.get("tags", ())), cell.source, cell.metadata)
        for cell, line in zip(notebook.cells, lines, strict=True)
        if cell.cell_type == "code"
    )


def spread_pages(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Spread the pages over the processes in which Sphinx reads them.

    Sphinx gives each a run of pages, some five in all. Pages that compute take long.
    """
    texts = {page: env.doc2path(page).read_text(encoding="utf-8") for page in pages}
    pages.sort(key=lambda page: "file_format: mystnb" not in texts[page])
    pages[:] = [page for start in range(5) for page in pages[start::5]]
