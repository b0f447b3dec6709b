"""What the error index tells its readers to write, read from its source.

The page's cells run each cure and stop the build where one does not hold
(:mod:`tensor_copies.errors.page`): what stands in the source has been proved.
"""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tensor_copies.errors.messages import entries
from tensor_copies.recordings.cells import cells

CALL = "cures"
RANKED = 1  # the place of the ranked cures among the arguments


@dataclass(frozen=True)
class BestCure:
    """What an entry says to write first, and in words what it is for."""

    code: str
    words: str


def best_cures(page: Path) -> dict[str, BestCure]:
    """Return the first cure of each entry of a page (MyST), by the entry's anchor."""
    by_line = {entry.line: anchor for anchor, entry in entries(page).items()}
    found: dict[str, BestCure] = {}
    anchor = None
    for cell in cells(page):
        anchor = by_line.get(cell.code_line, anchor)
        ranked = _ranked(cell.code) if anchor is not None else None
        if ranked is not None and anchor not in found:
            code, about = next(iter(ranked.items()))
            words = about if isinstance(about, str) else about[0]
            found[anchor] = BestCure(without_name(code), words)
    return found


def _ranked(code: str) -> dict[str, str | tuple[str, str]] | None:
    """Return the ranked cures that a cell hands over, or None if it has none."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            if name == CALL and len(node.args) > RANKED:
                return ast.literal_eval(node.args[RANKED])
    return None


def without_name(code: str) -> str:
    """Return the code of a cure without a last line that only names its result."""
    *before, last = textwrap.dedent(code).strip().split("\n")
    return "\n".join(before if before and last.isidentifier() else [*before, last])
