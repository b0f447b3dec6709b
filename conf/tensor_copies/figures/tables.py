"""What a lesson hands out: tables, columns on the page, printed text for who runs it.

A code block hands out a list of dictionaries, one for each row, all with the same
keys, the names of the columns, with a comment that neither page nor notebook shows::

    print(*rows[0], sep=" | ")
    for row in rows:
        print(*row.values(), sep=" | ")
    # sphinx_gallery_table = "rows"

What is printed in just this form stands on the page as the table, and nowhere else.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

MARKER = "table"
CLASS = "lesson-table"
BETWEEN = " | "
# What code does, and words that could be read as code: "read-only", "yes".
CODE = (
    *(ast.Call, ast.Subscript, ast.Attribute, ast.BinOp),
    *(ast.Assign, ast.AugAssign, ast.If),
)
WORDS = re.compile(r"[A-Za-z]\w*(-\w+)*")
NUMBER = re.compile(r"-?\d[\d.,]*( ?[%×]| [A-Za-zµ]{1,3})?$|–$")


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Keep the table that a block hands out; return the reST of its place."""
    table = requested_table(block, block_vars)
    if table is None:
        return ""
    path = path_of(block_vars, f"table_{block.lineno}.json")
    path.write_text(json.dumps({"table": table}), encoding="utf-8")
    return f".. lesson-table:: {path.stem}\n"


def requested_table(block: Any, block_vars: dict[str, Any]) -> dict[str, Any] | None:
    """Return the table that a block hands out as columns and rows, or None.

    Each cell is the text that ``print`` writes for it.
    """
    return handed_out(block, block_vars, MARKER, "a table")


def handed_out(
    block: Any,
    block_vars: dict[str, Any],
    marker: str,
    what: str,
    cell: Callable[[Any], Any] = str,
) -> dict[str, Any] | None:
    """Return what a block's marker names as columns and rows, or None without one.

    Without rows it is None too: a machine may have nothing to measure. ``what`` it
    should be is for the message; ``cell`` makes of a value what is kept.

    Raises
    ------
    ExtensionError
        If the marker names something else than a list of dictionaries with the same
        keys.
    """
    name = extract_file_config(block.content).get(marker)
    if name is None:
        return None
    rows = block_vars["example_globals"].get(name)
    if rows == []:
        return None
    try:
        columns = list(rows[0])
        assert all(list(row) == columns for row in rows)
    except (AssertionError, IndexError, KeyError, TypeError):
        raise ExtensionError(
            f"{Path(block_vars['src_file']).name}: the block on line {block.lineno} "
            f"hands out {name!r} as {what}, which is not a list of dictionaries with "
            "the same keys"
        ) from None
    cells = [[cell(value) for value in row.values()] for row in rows]
    return {"columns": [str(column) for column in columns], "rows": cells}


def path_of(block_vars: dict[str, Any], ending: str) -> Path:
    """Return where something that a lesson hands out is kept: beside its pictures."""
    images = Path(block_vars["image_path_iterator"].image_path.format(0)).parent
    return images / f"sphx_glr_{Path(block_vars['src_file']).stem}_{ending}"


def as_text(table: dict[str, Any]) -> str:
    """Return what a script prints that prints a table."""
    lines = [table["columns"], *table["rows"]]
    return "\n".join(BETWEEN.join(cells) for cells in lines)


def without_table(text: str, table: dict[str, Any]) -> str:
    """Return a printed text without a table, if it is printed as a whole there."""
    before, found, after = f"\n{text}\n".partition(f"\n{as_text(table)}\n")
    return "\n".join((before, after)).strip("\n") if found else text


def table_node(table: dict[str, Any]) -> nodes.table:
    """Return a table as a part of a page.

    Code is set as code. Where a phone shows a row as a card, each cell is led by the
    name of its column.
    """
    columns, rows = table["columns"], table["rows"]
    numbers = [
        all(NUMBER.match(row[place]) for row in rows) for place in range(len(columns))
    ]
    group = nodes.tgroup(cols=len(columns))
    # The first cell of a row is its head.
    group += [nodes.colspec(colwidth=1, stub=int(not k)) for k in range(len(columns))]
    head = nodes.row("", *map(_entry, columns, numbers))
    body = nodes.tbody()
    for cells in rows:
        entries = list(map(_entry, cells, numbers))
        for name, entry in zip(columns[1:], entries[1:], strict=True):
            label = nodes.inline(text=f"{name} ", classes=["column-name"])
            entry[0].insert(0, label)
        body += nodes.row("", *entries)
    group += [nodes.thead("", head), body]
    # What was printed stays as it is: a quote in it is no typographer's.
    return nodes.table("", group, classes=[CLASS], support_smartquotes=False)


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
    return isinstance(done, CODE) and any(map(_is_name, ast.walk(done)))


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def _entry(text: str, number: bool) -> nodes.entry:
    """Return a cell, with its text as code if it is code."""
    words = nodes.literal(text=text) if is_code(text) else nodes.Text(text)
    classes = ["number"] if number else []
    return nodes.entry("", nodes.paragraph("", "", words), classes=classes)
