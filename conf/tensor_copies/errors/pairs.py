"""Wrong and right side by side, with the lines marked in which they differ.

Two cells of a page that are tagged ``wrong`` and ``right`` are a pair. What stands
above each goes with it. Which lines differ is found by comparing the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.errors import ExtensionError

from tensor_copies.errors.cards import FACT

if TYPE_CHECKING:
    from sphinx.application import Sphinx

WRONG, RIGHT = "tag_wrong", "tag_right"
# What only tells that another line has done another thing.
TELLS = re.compile(r"\s*(print\(|assert\b)")


def differing(one: Sequence[str], other: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the numbers of the lines, from 1, that each of two texts has alone."""
    alone: tuple[list[int], list[int]] = ([], [])
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            alone[0].extend(range(a + 1, b + 1))
            alone[1].extend(range(c + 1, d + 1))
    return alone


def differing_code(one: str, other: str) -> tuple[list[int], list[int]]:
    """Return the lines in which two codes differ, blank ones left out.

    A line that prints or asserts is one only where there are no others.
    """
    texts = one.splitlines(), other.splitlines()
    alone = [
        [number for number in numbers if text[number - 1].strip()]
        for numbers, text in zip(differing(*texts), texts, strict=True)
    ]
    first, second = (
        [number for number in numbers if not TELLS.match(text[number - 1])] or numbers
        for numbers, text in zip(alone, texts, strict=True)
    )
    return first, second


def in_words(numbers: Sequence[int]) -> str:
    """Say which lines differ, as in ``lines 2 and 4 to 6 differ``; or nothing."""
    if not numbers:
        return ""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said: list[str] = []
    for run in runs:
        said += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
    whole = ", ".join(said[:-1]) + (" and " if said[1:] else "") + said[-1]
    return f"line {whole} differs" if len(numbers) == 1 else f"lines {whole} differ"


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Set the pairs of a page side by side.

    Raises
    ------
    ExtensionError
        If a cell tagged ``wrong`` is not followed by one tagged ``right``.
    """
    page = app.env.docname
    cells = [
        cell
        for cell in doctree.findall(nodes.container)
        if {WRONG, RIGHT} & set(cell["classes"])
    ]
    kinds = [WRONG if WRONG in cell["classes"] else RIGHT for cell in cells]
    if kinds != [WRONG, RIGHT] * (len(kinds) // 2):
        raise ExtensionError(
            f"{page}: after each cell tagged `wrong` stands one tagged `right`"
        )
    for wrong, right in zip(cells[::2], cells[1::2], strict=True):
        if wrong.parent is not right.parent:
            raise ExtensionError(f"{page}: `wrong` and `right` stand in one section")
        _set_side_by_side(wrong, right)
        app.env.metadata[page][FACT] = True


def _set_side_by_side(wrong: nodes.container, right: nodes.container) -> None:
    section = wrong.parent
    start, end = section.index(wrong), section.index(right)
    first = start
    while isinstance(section[first - 1], nodes.paragraph | nodes.bullet_list):
        first -= 1
    above = [section[first:start], section[start + 1 : end]]
    code = [_block(cell, "cell_input") for cell in (wrong, right)]
    lines = differing_code(*(block.astext() for block in code))
    output = [_block(cell, "cell_output") for cell in (wrong, right)]
    if None not in output:
        texts = [block.astext().splitlines() for block in output]
        for block, numbers in zip(output, differing(*texts), strict=True):
            _mark(block, numbers)
    sides = []
    for cell, prose, block, numbers, word in zip(
        (wrong, right), above, code, lines, ("Wrong", "Right"), strict=True
    ):
        _mark(block, numbers)
        where = in_words(numbers)
        head = nodes.paragraph("", "", nodes.strong(text=word), classes=["side"])
        if where:
            head += nodes.Text(f": {where}")
        about = nodes.container("", head, *prose)
        sides.append(nodes.container("", about, cell, classes=[word.lower()]))
    if "mistake" not in section["classes"]:
        section["classes"].append("mistake")
    section[first : end + 1] = [nodes.container("", *sides, classes=["pair"])]


def _block(cell: nodes.container, part: str) -> nodes.literal_block | None:
    for container in cell.children:
        if part in container["classes"]:
            return next(container.findall(nodes.literal_block), None)
    return None


def _mark(block: nodes.literal_block, numbers: Sequence[int]) -> None:
    if numbers:
        block["highlight_args"] = {"hl_lines": list(numbers)}
