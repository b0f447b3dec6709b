"""The answers of questions: each is what the program named with it prints.

The questions come from the built pages. A wrong answer names a statement; it takes the
place of the last one with the same target, or of the one that is named too. That
program is run in a fresh process, and has to print the answer or to raise it.
"""

import ast
import contextlib
import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from bs4 import Tag
from reading import LESSONS, SITE, soup
from tensor_copies.gallery import isolation
from tensor_copies.lessons.predict import is_printed

NOTE = re.compile(
    r"No\. (With|Without) `(.+?)`(?: in the place of `(.+)`)? it prints that\."
)
BREAK = "\n# -- next block\n"
FEWEST = 55  # questions with answers, of lessons and of the page that tests a reader
PAGES = {name: lesson.path for name, lesson in LESSONS.items()
         if ".. predict:: " in lesson.text}  # fmt: skip
PAGES["self_check"] = SITE / "self_check.html"


def asked(name: str) -> list[Tag]:
    """Return the questions with answers of a page."""
    return soup(PAGES[name]).select("fieldset.predict-choices")


def program_of(question: Tag) -> list[str]:
    """Return the blocks of code above a question, without those of other programs."""
    blocks: list[str] = []
    for pre in question.find_all_previous("pre"):
        above = pre.parent.parent
        if {"highlight-Python", "highlight-ipython3"} & set(above["class"]):
            is_proof = above.find_parent(class_="checked")
            if not is_proof:  # it does not hold in a program that was changed
                blocks.insert(0, pre.get_text())
    return blocks


def changed(program: str, note: str) -> str | None:
    """Return a program with what the note of a wrong answer names, if it names that."""
    if (found := NOTE.fullmatch(note)) is None:
        return None
    kind, code, place = found.groups()
    if kind == "Without":
        code, place = "pass", code
    if place:
        before, old, after = program.rpartition(place)
        assert old, f"the program has no {place}"
        return before + code + after
    target = target_of(ast.parse(code).body[0])
    same = [one for one in ast.walk(ast.parse(program)) if target_of(one) == target]
    last = max((one for one in same if target), key=lambda one: one.lineno)
    lines = program.split("\n")
    indent = lines[last.lineno - 1][: last.col_offset]
    lines[last.lineno - 1 : last.end_lineno] = [indent + code]
    return "\n".join(lines)


def target_of(node: ast.AST) -> str:
    """Return what a statement assigns to, as it is written."""
    match node:
        case ast.Assign(targets=targets):
            return ", ".join(map(ast.unparse, targets))
        case ast.AugAssign(target=target):
            return ast.unparse(target)
    return ""


def run(name: str, programs: list[str]) -> list[str]:
    """Return what the last block of each program prints, and the error that ends it."""
    isolation.prepare({}, name, "before")
    given = []
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        for program in programs:
            space, printed = {"__name__": "__main__"}, io.StringIO()
            try:
                for block in program.split(BREAK):
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        exec(compile(block, name, "exec", optimize=1), space)
            except Exception as error:
                printed.write(f"\n{type(error).__name__}: {error}")
            given.append(printed.getvalue())
    return given


@pytest.mark.parametrize("name", PAGES)
def test_an_answer_is_what_its_program_prints(site: Path, name: str) -> None:
    programs, answers = [], []
    for question in asked(name):
        program = BREAK.join(program_of(question))
        choices = {one.parent.code.get_text(): one for one in question.select("input")}
        is_right = [one.has_attr("data-right") for one in choices.values()]
        assert len(choices) == 3 and is_right.count(True) == 1
        for answer, choice in choices.items():
            note = choice["data-said"]
            made = program if choice.has_attr("data-right") else changed(program, note)
            assert made is not None and (made == program) == (note == "Right."), note
            programs.append(made)
            answers.append((answer, note))
    given = isolation.in_fresh_process(run, f"{name}.py", programs)
    for (answer, note), printed in zip(answers, given, strict=True):
        assert is_printed(answer, printed), f"{note} It prints {printed!r}"


def test_questions_are_asked_and_no_place_tells_the_answer(site: Path) -> None:
    questions = [one.select("input") for name in PAGES for one in asked(name)]
    rights = [[one.has_attr("data-right") for one in inputs] for inputs in questions]
    places = [one.index(True) for one in rights]
    assert len(places) >= FEWEST
    assert min(map(places.count, range(3))) > len(places) / 6
