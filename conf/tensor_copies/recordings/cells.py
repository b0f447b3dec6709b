"""The code cells of a page (MyST), read without MyST-NB.

MyST-NB runs the cells when the site is built. A machine that records may have neither
it nor a parser of YAML. So the cells have one spelling, in which all pages are written:
backticks at the start of a line, ``:tags: [a, b]`` below. What looks like a cell and is
written otherwise is refused with one line that names the page and the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from sphinx.errors import SphinxError

CELL = re.compile(
    r"^(```+)\{code-cell\}.*\n"
    r"(?P<options>---\n(?:.*\n)*?---\n|(?::.*\n)*)\n?"
    r"(?P<code>(?:.*\n)*?)\1[ \t]*$",
    re.MULTILINE,
)
# What looks like a cell, wherever it stands.
LIKE_A_CELL = re.compile(r"^[ \t>*+-]*(?:`{3,}|~{3,}|:{3,})[ \t]*\{code-cell\}", re.M)
OPTION = re.compile(r"^[: ]*([\w-]+): *(.*)$", re.MULTILINE)
TAGS = re.compile(r"\[[\w., -]*\]")


class BadCell(SphinxError):
    """A cell is not one that can be recorded; the message names page and line."""

    category = "Cell"


@dataclass(frozen=True)
class Cell:
    """One code cell: the line of its fence and of its code, its tags and code.

    ``options`` are all that stand above the code, the tags too, as they are written.
    """

    line: int
    code_line: int
    tags: tuple[str, ...]
    code: str
    options: dict[str, str] = field(default_factory=dict, compare=False)


def cells(page: Path) -> list[Cell]:
    """Return the code cells of a page, in order.

    Raises
    ------
    BadCell
        If a cell, or its tags, are written in a way that is not read here.
    """
    text = page.read_text(encoding="utf-8")
    found = {cell.start(): cell for cell in CELL.finditer(text)}
    return [
        _cell(page, text, found.get(like.start()), like.start())
        for like in LIKE_A_CELL.finditer(text)
    ]


def _cell(page: Path, text: str, cell: re.Match | None, start: int) -> Cell:
    line = text.count("\n", 0, start) + 1
    above = cell["options"] if cell else "tags"
    options = dict(OPTION.findall(above))
    tags = options.get("tags", "" if "tags" in above else "[]")
    if "load" in options or not TAGS.fullmatch(tags):
        raise BadCell(
            f"{page.name}, line {line}: this cell cannot be read. Write "
            "```{code-cell} at the very start of a line, outside of other fences, its "
            "tags below as `:tags: [one, two]`, its code on the page"
        )
    return Cell(
        line,
        text.count("\n", 0, cell.start("code")) + 1,
        tuple(re.findall(r"[\w.-]+", tags)),
        cell["code"].removesuffix("\n"),
        options,
    )
