"""The questions of a lesson or a page, and what their authors exchange in the programs.

Wrong answers are what a program prints with something exchanged: ``old -> new``, or
``old ->`` to leave it out, or ``old -> new raises`` where a reader may expect an error.
``old`` is looked for from the end of the asked block upwards.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.gallery.lessons import blocks_of, lesson_scripts, without_markers
from tensor_copies.gallery.pages import cells

ASK = "What does it print?"  # on a page that computes
INSTEAD = "predict_instead"
PREDICT = r"^[ \t]*#[ \t]*sphinx_gallery_predict\b"
EXCHANGE = re.compile(r"(.+?)\s*->\s*(.*?)\s*(\braises)?")


class Exchange(NamedTuple):
    """Another program: where it is named, and how readers are told of it."""

    where: str
    blocks: list[str]
    said: str
    raises: bool


class Question(NamedTuple):
    """A question, its program (all blocks up to the asked one) and two other ones."""

    line: int  # of the asked block
    where: str
    words: str  # code is between double backticks
    blocks: list[str]
    exchanges: list[Exchange]

    @property
    def programs(self) -> list[list[str]]:
        """What is run: last the right program again, which must print the same."""
        return [self.blocks, *(one.blocks for one in self.exchanges), self.blocks]


def sources(app: Sphinx) -> list[Path]:
    """Return the scripts of lessons and the pages that may ask."""
    return [*lesson_scripts(app).values(), *sorted(Path(app.srcdir).glob("*.md"))]


def source_of(app: Sphinx) -> Path:
    """Return the source of the page that is read: the script of a lesson."""
    page = app.env.docname
    return lesson_scripts(app).get(page) or Path(app.env.doc2path(page))


def questions_of(source: Path) -> list[Question]:
    """Return the questions of a lesson or a page, in order."""
    if source.suffix == ".py":
        return of_lesson(source)
    if source.suffix != ".md" or "predict" not in source.read_text("utf-8"):
        return []
    found, program = [], []
    for cell in cells(source):
        program.append(cell.code)
        if "predict" in cell.tags:
            found.append(_question(source, cell.line, ASK, program, cell.options))
    return found


def of_lesson(script: Path) -> list[Question]:
    """Return the questions of a lesson."""
    found, program = [], []
    for kind, content, line in blocks_of(script):
        if kind == "code":
            program.append(without_markers(content))
        if kind == "code" and re.search(PREDICT, content, re.MULTILINE):
            named = extract_file_config(content)
            if not isinstance(named.get("predict"), str):
                raise ExtensionError(
                    f"{script.name}: the block on line {line} has a prediction "
                    'without a question: write sphinx_gallery_predict = "What ...?"'
                )
            found.append(_question(script, line, named["predict"], program, named))
    return found


def _question(
    source: Path, line: int, words: str, program: list[str], named: Mapping[str, Any]
) -> Question:
    texts = [str(text) for name, text in named.items() if name.startswith(INSTEAD)]
    where = f"{source.name}, line {line}: the question"
    if len(texts) not in (0, 2):
        raise ExtensionError(f"{where} needs {INSTEAD} and {INSTEAD}_2, or neither")
    exchanges = [_exchange(source, line, program, text) for text in texts]
    return Question(line, where, words, [*program], exchanges)


def _exchange(source: Path, line: int, program: list[str], text: str) -> Exchange:
    named = re.compile(rf"{INSTEAD}.*[\"' ]{re.escape(text)}[\"']?\s*$")
    lines = enumerate(source.read_text("utf-8").split("\n"), 1)
    line = next((number for number, row in lines if named.search(row)), line)
    where = f"{source.name}, line {line}: the exchange '{text}'"
    written = EXCHANGE.fullmatch(text.strip())
    old, new, raises = written.groups("") if written else ("", "", "")
    place = max(
        (n for n, block in enumerate(program) if old and old in block), default=-1
    )
    if place < 0:
        raise ExtensionError(f"{where} is no 'old -> new' with old code of the program")
    before, _, after = program[place].rpartition(old)
    changed = f"{before}{new or 'pass'}{after}"
    try:
        ast.parse(changed)
    except SyntaxError:
        raise ExtensionError(f"{where} leaves no Python: name a whole call") from None
    begin, end = before.rpartition("\n")[2], re.split(r"\n|  #", after)[0]
    was, now = (f"{begin}{code}{end}".strip().rstrip(",") for code in (old, new))
    said = f"With ``{now}``" if new else f"Without ``{old}``"
    if new and now in map(str.strip, program[place].split("\n")):  # elsewhere
        said += f" in the place of ``{was}``"
    blocks = [*program[:place], changed, *program[place + 1 :]]
    return Exchange(where, blocks, said, bool(raises))
