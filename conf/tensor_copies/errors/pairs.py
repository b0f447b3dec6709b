"""Set wrong and right side by side, and mark the lines in which they differ.

Two cells of a page that are tagged ``wrong`` and ``right`` are a pair. What stands
above each goes with it.
"""

import re
from difflib import SequenceMatcher

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SIDES = {"tag_wrong": "Wrong", "tag_right": "Right"}
# What only tells that another line has done another thing.
TELLS = re.compile(r"\s*(print\(|assert\b)")


def differing(one: str, other: str) -> tuple[list[int], list[int]]:
    """Return the numbers of the lines, from 1, that each of two texts has alone.

    Blank ones are left out. One that prints or asserts counts only where no other does.
    """
    texts = one.splitlines(), other.splitlines()
    alone: tuple[list[int], list[int]] = ([], [])
    for tag, *ends in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if tag != "equal":
            alone[0].extend(range(*ends[:2]))
            alone[1].extend(range(*ends[2:]))
    for text, numbers in zip(texts, alone, strict=True):
        written = [at for at in numbers if text[at].strip()]
        doing = [at for at in written if not TELLS.match(text[at])]
        numbers[:] = [at + 1 for at in doing or written]
    return alone


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Set the pairs of a page side by side.

    Raises
    ------
    ExtensionError
        If a cell tagged ``wrong`` is not followed by one tagged ``right``.
    """
    cells = [
        (tag, cell)
        for cell in doctree.findall(nodes.container)
        for tag in SIDES
        if tag in cell["classes"]
    ]
    if [tag for tag, _ in cells] != [*SIDES] * (len(cells) // 2):
        rule = "after each cell tagged `wrong` stands one `right`"
        raise ExtensionError(f"{app.env.docname}: {rule}")
    for (_, wrong), (_, right) in zip(cells[::2], cells[1::2], strict=True):
        _set_side_by_side(wrong, right)


def _set_side_by_side(wrong: nodes.container, right: nodes.container) -> None:
    section = wrong.parent
    first = middle = section.index(wrong)
    end = section.index(right)
    while isinstance(section[first - 1], nodes.paragraph | nodes.bullet_list):
        first -= 1
    for part in ("cell_input", "cell_output"):
        parts = [one for one in (*wrong, *right) if part in one["classes"]]
        blocks = [one.next_node(nodes.literal_block) for one in parts]
        if len(blocks) == 2 and None not in blocks:
            lines = differing(*(block.astext() for block in blocks))
            for block, numbers in zip(blocks, lines, strict=True):
                block["highlight_args"] = {"hl_lines": numbers}
    sides = []
    above = section[first:middle], section[middle + 1 : end]
    for side, cell, prose in zip(SIDES.values(), (wrong, right), above, strict=True):
        head = nodes.paragraph("", "", nodes.strong(text=side), classes=["side"])
        about = nodes.container("", head, *prose)
        sides.append(nodes.container("", about, cell, classes=[side.lower()]))
    section["classes"] = ["mistake"]
    section[first : end + 1] = [nodes.container("", *sides, classes=["pair"])]
