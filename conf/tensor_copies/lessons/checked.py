"""What a lesson's page folds below the output of a block: the proof of what it says.

These are the assertions at the end of a block, and the prints right before them if each
says what it prints: the output then has all that they say. A block that does nothing
else keeps its prints in sight. Script, notebook, recordings and the copy buttons have
the whole block.
"""

from __future__ import annotations

import ast
from itertools import takewhile

from docutils import nodes

from tensor_copies.lessons.blocks import set_text
from tensor_copies.lessons.lesson_page import LessonPage
from tensor_copies.lessons.opening import FOLDED
from tensor_copies.markup import fold

CHECKED = "checked"  # the class of the fold


def fold_proofs(page: LessonPage) -> None:
    """Fold the proof of each block whose code is in sight."""
    for block in page.blocks:
        if block.fold is None:
            block.proof = take_proof(block.code)


def take_proof(code: nodes.literal_block) -> list[nodes.admonition]:
    """Take the proof off a block's code; return the fold with it, if there is one."""
    text = code.astext()
    shown, proof = split(text)
    if not proof:
        return []
    folded = code.deepcopy()
    set_text(code, shown)
    set_text(folded, proof)
    # The search and the text for machines read the block as it was written.
    code["whole"], folded["whole"] = text, ""
    return [fold(words_of(proof), folded, kind=f"{FOLDED} {CHECKED}")]


def split(code: str) -> tuple[str, str]:
    """Return what is shown of a block's code, and what is folded, if something is."""
    body = ast.parse(code).body
    asserted = len(list(takewhile(_is_assertion, reversed(body))))
    if not asserted or asserted == len(body):
        return code, ""
    proof = list(takewhile(_is_proof, reversed(body)))
    labelled = all(_is_assertion(one) or _has_label(one) for one in proof)
    count = len(proof) if labelled and len(proof) < len(body) else asserted
    first, last = body[-count], body[-count - 1]
    if first.lineno <= last.end_lineno:  # both are on one line
        return code, ""
    lines = code.splitlines(keepends=True)
    begin = first.lineno - 1
    while begin > last.end_lineno and lines[begin - 1].lstrip().startswith("#"):
        begin -= 1  # a comment right above belongs to what is below it
    return "".join(lines[:begin]).rstrip() + "\n", "".join(lines[begin:])


def words_of(proof: str) -> str:
    """Return the line of a fold, which says how much is in it."""
    body = ast.parse(proof).body
    if all(map(_is_assertion, body)):
        return f"Checked by {_count(len(body), 'assertion')}"
    lines = sum(one.end_lineno - one.lineno + 1 for one in body)
    return f"Printed and checked by {_count(lines, 'line')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _is_assertion(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assert)


def _is_proof(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assert() | ast.Expr(ast.Call(ast.Name("print"))):
            return True
    return False


def _has_label(statement: ast.Expr) -> bool:
    """Whether a print begins with words, or says of which expression its value is."""
    match statement.value.args:
        case [ast.Constant(str(text)), *_]:
            pieces = [text]
        case [ast.JoinedStr(values), *_]:
            pieces = [one.value for one in values if isinstance(one, ast.Constant)]
        case _:
            pieces = []
    return any(letter.isalpha() for letter in "".join(pieces))
