"""The code cells of a page (MyST), read without MyST-NB.

MyST-NB runs the cells when the site is built. A machine that records may have
neither it nor a parser of YAML, so the cells are found here: in fences of three or
more backticks or tildes, with options as ``:tags: [a, b]`` or between two ``---``,
where the tags may also be a list with dashes. What looks like a cell and is written
otherwise is refused with one line that names the page and the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sphinx.errors import SphinxError

FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})(.*)$")
CODE = "{code-cell}"
# What looks like a cell, wherever it stands.
LIKE_A_CELL = re.compile(r"[ \t>*+-]*(?:`{3,}|~{3,}|:{3,})[ \t]*\{code-cell\}")
OPTION = re.compile(r"([\w-]+)[ \t]*:(.*)$")
TAG = re.compile(r"""(["']?)([\w.-]+)\1""")


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
    found = []
    lines = page.read_text(encoding="utf-8").splitlines()
    for start, info, content in _fences(lines):
        if info is not None and info.startswith(CODE):
            found.append(_cell(page, start, content))
        elif info is None or info.startswith("{"):
            for place, line in enumerate(content):
                if LIKE_A_CELL.match(line):
                    raise BadCell(
                        f"{page.name}, line {start + place}: a cell cannot stand so. "
                        f"Write ```{CODE} at the very start of a line, outside of "
                        "other fences, lists and comments"
                    )
    return found


def _fences(lines: list[str]) -> Iterator[tuple[int, str | None, list[str]]]:
    """Yield each fence: its line, its info and its content.

    What stands outside of a fence comes line by line, with None for the info, and so
    does what MyST-NB does not look into.
    """
    place = 0
    while place < len(lines):
        opening = FENCE.match(lines[place])
        if opening is None or (opening[1][0] == "`" and "`" in opening[2]):
            yield place + 1, None, [lines[place]]
            place += 1
            continue
        marks, info = opening.groups()
        closing = re.compile(rf" {{0,3}}{marks[0]}{{{len(marks)},}}[ \t]*$")
        end = place + 1
        while end < len(lines) and not closing.match(lines[end]):
            end += 1
        content = lines[place + 1 : end]
        if marks[0] == ":" or not info.startswith(CODE):
            # Its first line may itself be a cell that is written wrongly.
            yield place + 1, None, [lines[place]]
            yield place + 2, None if marks[0] == ":" else info.lstrip(), content
        else:
            yield place + 1, info, content
        place = end + 1


def _cell(page: Path, line: int, content: list[str]) -> Cell:
    options, after = _options(content)
    tags: list[str] = []
    key = ""
    values: dict[str, list[str]] = {}
    for option in options:
        named = OPTION.match(option)
        key, value = named.groups() if named else (key, option)
        values.setdefault(key, []).append(value.strip())
    if "tags" in values:
        tags = _tags(page, line, [value for value in values["tags"] if value])
    elif "tags" in "".join(options) or "load" in values:
        raise _unread(page, line)
    # The first line of the code may be blank, to set it off from the options.
    if after < len(content) and not content[after].strip():
        after += 1
    code = "\n".join(content[after:])
    written = {key: " ".join(filter(None, lines)) for key, lines in values.items()}
    return Cell(line, line + 1 + after, tuple(tags), code, written)


def _options(content: list[str]) -> tuple[list[str], int]:
    """Return the lines of the options, less their colons, and where the code begins."""
    if content and content[0].startswith("---"):
        for place, line in enumerate(content[1:], 1):
            if line.startswith("---"):
                return content[1:place], place + 1
        return content[1:], len(content)
    place = 0
    while place < len(content) and re.match(r"[ \t]*:(?!::)", content[place]):
        place += 1
    return [line.lstrip()[1:].strip() for line in content[:place]], place


def _tags(page: Path, line: int, values: list[str]) -> list[str]:
    whole = " ".join(values)
    if whole.startswith("[") and whole.endswith("]"):
        items = [item.strip() for item in whole[1:-1].split(",") if item.strip()]
    elif all(value.startswith("- ") for value in values):
        items = [value[2:].strip() for value in values]
    else:
        raise _unread(page, line)
    found = [TAG.fullmatch(item) for item in items]
    if not all(found):
        raise _unread(page, line)
    return [tag[2] for tag in found]


def _unread(page: Path, line: int) -> BadCell:
    return BadCell(
        f"{page.name}, line {line}: the options of this cell cannot be read. Write its "
        "tags as `:tags: [one, two]`, and its code on the page"
    )
