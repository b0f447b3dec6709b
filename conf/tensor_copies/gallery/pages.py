"""Read the cells of a page of docs/; spread the pages over Sphinx's processes."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from myst_nb.core.read import read_myst_markdown_notebook
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.parallel import make_chunks


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
    """Let each process that reads pages begin with its share of those that compute.

    These take long. Sphinx cuts the list into runs; a process that is free takes one.
    """
    texts = {page: env.doc2path(page).read_text(encoding="utf-8") for page in pages}
    pages.sort(key=lambda page: "file_format: mystnb" not in texts[page])
    runs = make_chunks(pages, app.parallel)[: app.parallel]
    first, count = pages[: sum(map(len, runs))], len(runs)
    pages[: len(first)] = [page for at in range(count) for page in first[at::count]]
