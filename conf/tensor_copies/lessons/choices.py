"""Three answers to choose from: what a block shows, and what two other programs print.

No wrong answer is typed. While pages are read, the programs of their questions are
run with one call exchanged (exchanges.py, variants.py), and what they print is kept
under ``build/predictions``, by the key of the program and of the code that exchanges
and runs it. So a wrong answer comes with the exchange that makes it true.

The right answer is the live output. A question is left without choices where the
program prints something else when it is run again, or no two exchanges print something
else. What another machine printed is never offered as wrong.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.lessons.exchanges import BadExchange, Exchange, exchanges
from tensor_copies.lessons.variants import normal
from tensor_copies.machine import kept_json, progress
from tensor_copies.machine.blocks import blocks_of
from tensor_copies.machine.clocks import takes_times
from tensor_copies.machine.code_keys import SHAPES_ANSWERS, digest_of, key_of
from tensor_copies.machine.fingerprint import CONF, fingerprint
from tensor_copies.machine.freshness import run_path
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.markers import without_markers
from tensor_copies.machine.processes import beside_others
from tensor_copies.recordings.cells import cells
from tensor_copies.recordings.comparing import on_one_device
from tensor_copies.recordings.format import PREDICT

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)
FOLDER = CONF.parent / "build" / "predictions"
SECONDS = 30  # for one program; most take a tenth of one
SECONDS_A_QUESTION = 900
FEW = 8  # questions; the answers to more do not hide beside a few lessons
ASK = "What does it print?"  # on a page that computes
INSTEAD = "predict_instead"
CODE = re.compile(r"``(.+?)``")
MOST_LINES = 6  # of an answer; of a longer one the lines that differ are shown


@dataclass(frozen=True)
class Choice:
    """One answer: what it shows, what is said of it, and whether it is right.

    ``shared`` are the lines that all answers to the question have.
    """

    lines: tuple[str, ...]
    shared: frozenset[str]
    said: str
    is_right: bool


@dataclass(frozen=True)
class Question:
    """A question of a page, and the program that it is about.

    Attributes
    ----------
    name
        The file name of the lesson or page, for messages and tracebacks.
    line
        Where the block or cell begins.
    words
        The question; code stands between double backticks.
    blocks
        The program: the code blocks up to the one that is asked about.
    named
        The exchanges that the author has named.
    alone
        Whether the blocks before the last one are programs of their own.
    """

    name: str
    line: int
    words: str
    blocks: tuple[str, ...]
    named: tuple[str, ...]
    alone: bool

    @cached_property
    def key(self) -> str:
        """The key of the answers: the program, who runs it, and how."""
        asked = asdict(self)
        del asked["line"]  # what stands above without being run changes it
        return key_of(fingerprint().signature, json.dumps(asked), _key_of_the_code())

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """The programs with one call exchanged."""
        try:
            return exchanges(list(self.blocks), list(self.named), only_last=self.alone)
        except BadExchange as bad:
            raise ExtensionError(f"{self.name}, line {self.line}: {bad}") from None

    def job(self) -> dict[str, Any]:
        """Return what the process that runs the programs is told."""
        fields = ("block", "code", "named", "late")
        return {
            "name": self.name,
            "blocks": self.blocks,
            "asked": CODE.findall(self.words),
            "exchanges": [
                {field: getattr(one, field) for field in fields}
                for one in self.exchanges
            ],
        }


@cache
def _key_of_the_code() -> str:
    return digest_of(*SHAPES_ANSWERS)


def questions_of(app: Sphinx, page: str) -> list[Question]:
    """Return the questions of a lesson or a page, in order."""
    script = lesson_scripts(app).get(page)
    if script is not None:
        return of_lesson(script)
    source = Path(app.env.doc2path(page))
    if source.suffix != ".md" or "predict" not in source.read_text(encoding="utf-8"):
        return []
    found, program = [], []
    for cell in cells(source):
        program.append(cell.code)
        if "predict" in cell.tags:
            named = [cell.options.get(INSTEAD, "").strip("'\"")]
            found.append(_question(source, cell.line, ASK, program, named, True))
    return found


def of_lesson(script: Path) -> list[Question]:
    """Return the questions of a lesson."""
    found, program = [], []
    for kind, content, line in blocks_of(script):
        if kind != "code":
            continue
        program.append(without_markers(content))
        if not re.search(PREDICT, content, re.MULTILINE):
            continue
        asked = extract_file_config(content)
        words = asked.get("predict")
        named = [text for name, text in asked.items() if name.startswith(INSTEAD)]
        if not isinstance(words, str) or not words.strip():
            raise ExtensionError(
                f"{script.name}: the block on line {line} has a prediction "
                'without a question: write sphinx_gallery_predict = "What ...?"'
            )
        found.append(_question(script, line, words, program, named, False))
    return found


def _question(
    source: Path,
    line: int,
    words: str,
    program: list[str],
    named: Iterable[str],
    alone: bool,
) -> Question:
    written = tuple(str(one) for one in named if one)
    return Question(source.name, line, words, tuple(program), written, alone)


def begin(app: Sphinx) -> None:
    """Run the wrong answers of edited lessons while these run, if none takes times.

    Only of a few: of many the answers run beside the pages (:func:`run_missing`).
    """
    app.answers, app.asking = {}, {}
    scripts = {
        page: script
        for page, script in lesson_scripts(app).items()
        if not run_path(app, page).exists()
    }
    texts = [script.read_text(encoding="utf-8") for script in scripts.values()]
    if any(map(takes_times, texts)) or (os.cpu_count() or 1) < 2:
        return
    wanted = [
        one
        for page, script in scripts.items()
        for one in of_lesson(script)
        if one.key not in _load(page)
    ]
    if len(wanted) <= FEW:
        _begin(app, wanted)


def wait(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Wait for what :func:`begin` has begun: a page may take times."""
    for answer in app.answers.values():
        answer.result(SECONDS_A_QUESTION * FEW)


def run_missing(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Begin to run the wrong answers of the pages that are to be read.

    Meanwhile the lessons that ask nothing are read. Other pages come last: they may
    wait for more than that.
    """
    asking = {page: asked for page in pages if (asked := questions_of(app, page))}
    for page in asking:
        for key, answer in _load(page).items():
            app.answers[key] = kept = Future()
            kept.set_result(answer)
    wanted = [one for asked in asking.values() for one in asked]
    _begin(app, [one for one in wanted if one.key not in app.answers])
    lessons = lesson_scripts(app)
    pages.sort(key=lambda page: (page not in lessons, page in asking))
    app.asking = {page: [one.key for one in asked] for page, asked in asking.items()}
    if app.parallel > 1:  # the processes that read pages see nothing of our threads
        for one in wanted:
            _answer_to(app, one)


def keep_answers(app: Sphinx, exception: Exception | None) -> None:
    """Keep the answers that there are, also if the build has failed."""
    there = {
        key: answer.result()
        for key, answer in app.answers.items()
        if answer.done() and answer.exception() is None
    }
    for page, keys in app.asking.items():
        kept_json.save(_file(page), {key: there[key] for key in keys if key in there})


def _begin(app: Sphinx, questions: list[Question]) -> None:
    if questions and hasattr(os, "fork"):  # not on Windows
        progress.say(f"Running the wrong answers to {len(questions)} questions")
        begun = run([one.job() for one in questions])
        app.answers |= zip((one.key for one in questions), begun, strict=True)


def _answer_to(app: Sphinx, question: Question) -> dict[str, Any] | None:
    """Return the answers to a question when they are there; None without forks."""
    answer = app.answers.get(question.key)
    limit = SECONDS_A_QUESTION * max(1, len(app.answers))
    try:
        return None if answer is None else answer.result(limit)
    except TimeoutError:
        raise ExtensionError("the wrong answers took too long to run") from None


def run(
    jobs: list[dict[str, Any]], seconds: int = SECONDS
) -> list[Future[dict[str, Any]]]:
    """Begin to run programs and their exchanges in a new Python (variants.examine).

    Parameters
    ----------
    jobs
        The questions, see :meth:`Question.job`.
    seconds
        The time limit of each program.

    Returns
    -------
    list
        What :func:`variants.examine` returns, to come one after the other. If that
        Python ends early, those that are left raise an ``ExtensionError``.
    """
    answers: list[Future[dict[str, Any]]] = [Future() for _ in jobs]
    changing = ("PYTHONWARNINGS", "PYTHONOPTIMIZE")
    clean = {key: value for key, value in os.environ.items() if key not in changing}
    command = [sys.executable, "-m", "tensor_copies.lessons.variants", str(seconds)]
    done = (command, beside_others(clean), json.dumps(jobs), answers)
    Thread(target=_pass_on, args=done, daemon=True).start()
    return answers


def _pass_on(
    command: list[str],
    environment: dict[str, str],
    jobs: str,
    answers: list[Future[dict[str, Any]]],
) -> None:
    """Run the Python that answers, and pass on each answer when it comes."""
    pipe, last = subprocess.PIPE, ""
    try:
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=errors,
                text=True,
                env=environment,
                cwd=CONF,  # lessons change ours
            ) as process,
        ):
            process.stdin.write(jobs)
            process.stdin.close()
            for answer, line in zip(answers, process.stdout, strict=False):
                answer.set_result(json.loads(line))
            process.wait()
            errors.seek(0)
            last = errors.read().strip().rpartition("\n")[2]
    except (OSError, ValueError) as error:  # it has ended, or said something else
        last = str(error)
    problem = ExtensionError(f"the wrong answers could not be run: {last}")
    for answer in answers:
        if not answer.done():
            answer.set_exception(problem)


def _file(page: str) -> Path:
    return FOLDER / f"{page.replace('/', '.')}.json"


def _load(page: str) -> dict[str, Any]:
    """Return what was kept for a page, by the keys of its questions."""
    return kept_json.load(_file(page)) or {}


def choices_for(
    app: Sphinx, question: Question, live: str, elsewhere: list[str]
) -> list[Choice]:
    """Return the answers to choose from in their order, or none.

    Parameters
    ----------
    app
        The application.
    question
        The question.
    live
        What the page shows as the output of the block.
    elsewhere
        What other machines printed where that differs.
    """
    answer = _answer_to(app, question)
    if answer is None or answer["right"] is None:
        return []
    numbers = {wrong["number"] for wrong in answer["wrong"]}
    for number, one in enumerate(question.exchanges):
        if one.named and number not in numbers:
            logger.warning(
                "%s, line %s: the exchange prints nothing else: %s",
                *(question.name, question.line, one.said.replace("``", "`")),
                type="predictions",
            )
    right = normal(live)
    others = {on_one_device(normal(text)) for text in [live, *elsewhere]}
    wrong = [one for one in answer["wrong"] if on_one_device(one["text"]) not in others]
    if answer["right"] != right or len(wrong) < 2:
        return []
    said = {right: "Right."}
    for one in wrong[:2]:
        verb = "raises that error" if one["raises"] else "prints that"
        said[one["text"]] = f"No. {question.exchanges[one['number']].said} it {verb}."
    texts = sorted(said, key=lambda text: key_of(question.blocks[-1], text))
    lines = _lines([text.split("\n") for text in texts])
    shared = frozenset.intersection(*map(frozenset, lines))
    return [
        Choice(tuple(shown), shared, said[text], text == right)
        for text, shown in zip(texts, lines, strict=True)
    ]


def _lines(texts: list[list[str]]) -> list[list[str]]:
    """Return the lines that are shown: all of short answers, or those that differ."""
    if max(map(len, texts)) <= MOST_LINES:
        return texts
    shared = set.intersection(*map(set, texts))
    rest = [[line for line in text if line not in shared] for text in texts]
    return rest if all(rest) else texts
