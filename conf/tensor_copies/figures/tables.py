"""Show printed lines with ``|`` between their parts as a table of the page.

Lines that a lesson prints with `` | `` between their cells, two or more with as many
cells each, are shown as a table; a reader who runs the script reads the same lines.
"""

import ast
import re
from itertools import groupby

from docutils import nodes

BETWEEN = " | "
# What code does, and words that could be read as code: "read-only", "yes".
CODE = (
    *(ast.Call, ast.Subscript, ast.Attribute, ast.BinOp),
    *(ast.Assign, ast.AugAssign, ast.If),
)
WORDS = re.compile(r"[A-Za-z]\w*(-\w+)*")
NUMBER = re.compile(r"-?\d[\d.,]*( ?[%×]| [A-Za-zµ]{1,3})?$|–$")


def with_tables(block: nodes.literal_block) -> list[nodes.Element]:
    """Return a printed text as texts and tables."""
    parts: list[nodes.Element] = []
    lines = block.astext().strip("\n").split("\n")
    for between, group in groupby(lines, lambda line: line.count(BETWEEN)):
        rows = list(group)
        if between and len(rows) > 1:
            parts.append(table_of([row.split(BETWEEN) for row in rows]))
        elif text := "\n".join(rows).strip("\n"):
            attributes = block.non_default_attributes()
            parts.append(nodes.literal_block(text, text, **attributes))
    return parts


def table_of(rows: list[list[str]]) -> nodes.table:
    """Return rows, the first of which is the head, as a part of a page.

    Code is set as code. Where a phone shows a row as a card, each cell is led by the
    name of its column.
    """
    head, *body = rows
    numbers = [all(map(NUMBER.match, column)) for column in zip(*body, strict=True)]
    group = nodes.tgroup(cols=len(head))
    # The first cell of a row is its head.
    group += [nodes.colspec(colwidth=1, stub=int(not k)) for k in range(len(head))]
    group += nodes.thead("", _row(head, numbers, [""] * len(head)))
    group += nodes.tbody("", *(_row(cells, numbers, ["", *head[1:]]) for cells in body))
    # What was printed stays as it is: a quote in it is no typographer's.
    return nodes.table("", group, classes=["printed"], support_smartquotes=False)


def _row(cells: list[str], numbers: list[bool], names: list[str]) -> nodes.row:
    row = nodes.row()
    for cell, number, name in zip(cells, numbers, names, strict=True):
        words = nodes.literal(text=cell) if is_code(cell) else nodes.Text(cell)
        label = nodes.inline(text=f"{name} ", classes=["column-name"]) if name else ""
        paragraph = nodes.paragraph("", "", *filter(None, (label, words)))
        row += nodes.entry("", paragraph, classes=["number"] if number else [])
    return row


def is_code(text: str) -> bool:
    """Whether a text is Python that does something with a name: ``x + 1``, ``a[::2]``.

    A word alone may be both, and is code only as short as names in lessons are.
    """
    if WORDS.fullmatch(text):
        return len(text) == 1
    try:
        (done,) = ast.parse(text + " pass" * text.endswith(":")).body
    except (SyntaxError, ValueError):
        return False
    done = done.value if isinstance(done, ast.Expr) else done
    done = done.left if isinstance(done, ast.Compare) else done
    return isinstance(done, CODE) and any(
        isinstance(node, ast.Name) for node in ast.walk(done)
    )
