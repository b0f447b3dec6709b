"""Wrong and right side by side, with the lines marked in which they differ.

Two cells of a page that are tagged ``wrong`` and ``right`` are a pair. What stands
above each goes with it. Which lines differ is found by comparing the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tensor_copies.errors.cards import FACT

WORDS = {"tag_wrong": "Wrong", "tag_right": "Right"}
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
    found = []
    for numbers, text in zip(differing(*texts), texts, strict=True):
        written = [number for number in numbers if text[number - 1].strip()]
        doing = [number for number in written if not TELLS.match(text[number - 1])]
        found.append(doing or written)
    return found[0], found[1]


def differing_in_words(numbers: Sequence[int]) -> str:
    """Say which lines differ, as in ``lines 2 and 4 to 6 differ``; or nothing."""
    said: list[str] = []
    for first in (number for number in numbers if number - 1 not in numbers):
        last = first
        while last + 1 in numbers:
            last += 1
        run = range(first, last + 1)
        said += [f"{first} to {last}"] if len(run) > 2 else map(str, run)
    if len(numbers) < 2:
        return "".join(f"line {number} differs" for number in said)
    return (
        f"lines {' and '.join(filter(None, (', '.join(said[:-1]), said[-1])))} differ"
    )


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Set the pairs of a page side by side.

    Raises
    ------
    ExtensionError
        If a cell tagged ``wrong`` is not followed by one tagged ``right``.
    """
    page = app.env.docname
    found = [
        (word, cell)
        for cell in doctree.findall(nodes.container)
        for tag, word in WORDS.items()
        if tag in cell["classes"]
    ]
    if [word for word, _ in found] != [*WORDS.values()] * (len(found) // 2):
        raise ExtensionError(
            f"{page}: after each cell tagged `wrong` stands one tagged `right`"
        )
    for (_, wrong), (_, right) in zip(found[::2], found[1::2], strict=True):
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
    code = [_block_in(cell, "cell_input") for cell in (wrong, right)]
    output = [_block_in(cell, "cell_output") for cell in (wrong, right)]
    lines = differing_code(*(block.astext() for block in code))
    _mark_lines(code, lines)
    if None not in output:
        texts = (block.astext().splitlines() for block in output)
        _mark_lines(output, differing(*texts))
    sides = []
    for word, cell, prose, numbers in zip(
        WORDS.values(), (wrong, right), above, lines, strict=True
    ):
        head = nodes.paragraph("", "", nodes.strong(text=word), classes=["side"])
        if where := differing_in_words(numbers):
            head += nodes.Text(f": {where}")
        about = nodes.container("", head, *prose)
        sides.append(nodes.container("", about, cell, classes=[word.lower()]))
    if "mistake" not in section["classes"]:
        section["classes"].append("mistake")
    section[first : end + 1] = [nodes.container("", *sides, classes=["pair"])]


def _block_in(cell: nodes.container, part: str) -> nodes.literal_block | None:
    for container in cell.children:
        if part in container["classes"]:
            return next(container.findall(nodes.literal_block), None)
    return None


def _mark_lines(
    blocks: Sequence[nodes.literal_block], lines: tuple[list[int], list[int]]
) -> None:
    for block, numbers in zip(blocks, lines, strict=True):
        if numbers:
            block["highlight_args"] = {"hl_lines": numbers}
