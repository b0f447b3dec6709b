"""Three answers to choose from: what a block shows, and what two exchanges print.

No wrong answer is typed: before pages are read, the programs of their questions are run
(programs.py), and what they print is kept. The right answer is the live output. What
another machine printed is never offered as wrong.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from textwrap import shorten

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from tensor_copies.lessons import programs
from tensor_copies.lessons.questions import Question, questions_of
from tensor_copies.recordings.comparing import on_one_device
from tensor_copies.run import kept_json, progress
from tensor_copies.run.apart import AT_ONCE, run_apart
from tensor_copies.run.code_keys import hash_of, key_of
from tensor_copies.run.fingerprint import CONF, SHAPING, fingerprint, version_of

KEPT = CONF.parent / "build" / "predictions" / "answers.json"
MOST_KEPT = 400  # questions, of a few branches
# Of the programs of one page, most of which take less than a second.
LIMITS = {"seconds": 60, "megabytes": 8000}
MOST_LINES, MOST_CHARACTERS = 2, 128  # of an answer, on a screen that is wide
SENTENCE = re.compile(r"\. |: \[|\n")  # ends what is shown of an error
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def key(question: Question) -> str:
    """Return the key of what the programs of a question print."""
    versions = [version_of(package) for package in SHAPING]
    run_by = [hash_of(Path(one.__file__)) for one in (programs, programs.isolation)]
    made_of = [question.programs, fingerprint().signature, versions, run_by]
    return key_of(json.dumps(made_of))


def run_missing(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Run the programs of questions on these pages that were not run before."""
    app.answers = kept_json.load(KEPT) or {}
    lacking = [
        [
            one
            for one in questions_of(app, page)
            if one.exchanges and key(one) not in app.answers
        ]
        for page in pages
    ]
    if missing := list(filter(None, lacking)):
        progress.say(f"Running {2 * sum(map(len, missing))} wrong answers")
        app.answers |= run(missing)
        kept_json.save(KEPT, dict([*app.answers.items()][-MOST_KEPT:]))


def run(pages: list[list[Question]]) -> dict[str, list[programs.Printed]]:
    """Return what the programs print and raise, by the keys of the questions."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        printed = [one for page in pool.map(_run_page, pages) for one in page]
    asked = [one for page in pages for one in page]
    return {key(one): printed[4 * n : 4 * n + 4] for n, one in enumerate(asked)}


def _run_page(page: list[Question]) -> list[programs.Printed]:
    """Run the four programs of each question of a page in one process."""
    name = page[0].where.partition(",")[0]
    all_blocks = [blocks for one in page for blocks in one.programs]
    return run_apart(name, programs.run_all, name, all_blocks, **LIMITS)


def choices_for(
    question: Question, answers: list[list[str]], live: str, elsewhere: list[str]
) -> list[tuple[list[str], str, bool]]:
    """Return the choices: their lines, what is said of each, and if it is right.

    Of ``answers``, see :func:`run`; ``live`` is the output on the page, ``elsewhere``
    that of other machines. Whatever is no other answer raises an ``ExtensionError``.
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
    others = {on_one_device(normal(text)) for text in elsewhere}
    texts = [
        text for text in said if text == right or on_one_device(text) not in others
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
    text = re.sub(r"\b0x[0-9a-f]{6,}", "0x...", text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
