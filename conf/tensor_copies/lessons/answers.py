"""Three answers to choose from: what a block shows, and what two exchanges print.

No wrong answer is typed: the programs of the questions of a page are run in a fresh
process (programs.py), and what they print is kept. The right answer is the live output.
What another machine printed is never offered as wrong.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path
from textwrap import shorten

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tensor_copies.gallery.kept import Kept, key_of
from tensor_copies.lessons import programs
from tensor_copies.lessons.questions import Question, questions_of, sources
from tensor_copies.machines.comparing import plain, same_text

CODE = ("tensor_copies/lessons/programs.py", "tensor_copies/gallery/isolation.py")
MOST_LINES, MOST_CHARACTERS = 2, 128  # of an answer, on a screen that is wide
SENTENCE = re.compile(r"\. |: \[|\n")  # ends what is shown of an error
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def _kept(source: Path) -> Kept | None:
    """Return what the programs of the questions of a page print, if it has some."""
    asked = [one for one in questions_of(source) if one.exchanges]
    if not asked:
        return None
    blocks = [program for one in asked for program in one.programs]
    return Kept(f"answers-{source.stem}", CODE, programs.run_all, (source.name, blocks))


def want(app: Sphinx) -> None:
    """Have the build run the programs of all questions."""
    for source in sources(app):
        if (kept := _kept(source)) is not None:
            kept.want()


def answers_of(source: Path, question: Question) -> list[programs.Printed]:
    """Return what the four programs of a question print, and the errors they raise."""
    asked = [one for one in questions_of(source) if one.exchanges]
    place = 4 * [one.line for one in asked].index(question.line)
    return _kept(source).value()[place : place + 4]


def choices_for(
    question: Question, answers: list[list[str]], live: str, elsewhere: list[str]
) -> list[tuple[list[str], str, bool]]:
    """Return the choices: their lines, what is said of each, and if it is right.

    Of ``answers``, see :func:`answers_of`; ``live`` is the output on the page,
    ``elsewhere`` that of other machines. Whatever is no other answer raises an
    ``ExtensionError``.
    """
    right, (first, *wrong, last) = normal(live), answers
    if first != last or first[1] or normal(first[0]) != right:
        raise ExtensionError(
            f"{question.where} has another answer each time: seed it, name no exchange"
        )
    said, raising = {right: "Right."}, set()
    for exchange, (text, error) in zip(question.exchanges, wrong, strict=True):
        text = normal(text + SENTENCE.split(error)[0])
        if error and not exchange.raises:
            bad = f"raises {error.partition(':')[0]}: write 'old -> new raises' if a "
            raise ExtensionError(f"{exchange.where} {bad}reader may expect it")
        if exchange.raises and not error:
            raise ExtensionError(f"{exchange.where} raises nothing: drop 'raises'")
        if not text or text in said:
            bad = "prints nothing else: exchange what changes the output"
            raise ExtensionError(f"{exchange.where} {bad}")
        raising |= {text} if error else set()
        said[text] = (
            f"No. {exchange.said} it {'raises that error' if error else 'prints that'}."
        )
    others = [normal(text) for text in elsewhere]
    texts = [
        text
        for text in said
        if text == right or not any(same_text(text, other) for other in others)
    ]
    texts.sort(key=lambda text: key_of(question.blocks[-1], text))
    shown = _shown(texts, raising)
    if max(map(len, shown)) > MOST_LINES or any(shown.count(one) > 1 for one in shown):
        raise ExtensionError(
            f"{question.where} has answers that differ in over {MOST_LINES} lines: "
            "exchange what changes fewer, or print less"
        )
    if len(texts) < 2:
        return []
    return [(shown[n], said[text], text == right) for n, text in enumerate(texts)]


def _shown(texts: list[str], raising: set[str]) -> list[list[str]]:
    """Return the lines that differ. A tensor that is printed over lines is one line."""
    whole = [re.sub(r",\n\s+", ", ", text).split("\n") for text in texts]
    printed = [
        own for own, text in zip(whole, texts, strict=True) if text not in raising
    ]
    differ = [len({*row}) > 1 for row in zip_longest(*printed)]
    shown = []
    for own, text in zip(whole, texts, strict=True):
        kept = [line for line, differs in zip(own, differ, strict=False) if differs]
        kept = own[-1:] if text in raising else kept or own
        width = MOST_CHARACTERS // len(kept)
        shown.append([shorten(line, width, placeholder=ELLIPSIS) for line in kept])
    return shown


def normal(text: str) -> str:
    """Return an output without addresses and the blanks at the ends of its lines."""
    return plain(re.sub(r"\b0x[0-9a-f]{6,}", "0x...", text))
