"""Three answers to choose from: what a block shows, and what two other programs print.

No wrong answer is typed. Before pages are read, the programs of their questions are
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
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.lessons.exchanges import BadExchange, Exchange, exchanges
from tensor_copies.lessons.variants import normal
from tensor_copies.machine import progress
from tensor_copies.machine.beside import TIMES
from tensor_copies.machine.blocks import blocks_of
from tensor_copies.machine.code_keys import code_behind, key_of
from tensor_copies.machine.fingerprint import CONF, fingerprint
from tensor_copies.machine.freshness import run_path
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.markers import without_markers
from tensor_copies.recordings.cells import cells
from tensor_copies.recordings.comparing import on_one_device
from tensor_copies.recordings.format import PREDICT

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)
FOLDER = CONF.parent / "build" / "predictions"
MODULES = ("tensor_copies.lessons.exchanges", "tensor_copies.lessons.variants")
SECONDS = 30  # for one program; most take a tenth of one
SECONDS_A_QUESTION = 900
FEW_JOBS = 8
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
    return code_behind(MODULES)


def questions_of(app: Sphinx, page: str) -> list[Question]:
    """Return the questions of a lesson or a page, in order."""
    script = lesson_scripts(app).get(page)
    if script is not None:
        return _of_lesson(script)
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


def _of_lesson(script: Path) -> list[Question]:
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
    """Run the wrong answers of edited lessons while these run, if none measures time.

    Only of a few: of many the answers run beside the pages (:func:`prepare`).
    """
    app.answers, app.begun_answers = {}, {}
    scripts = {
        page: script
        for page, script in lesson_scripts(app).items()
        if not run_path(app, page).exists()
    }
    texts = [script.read_text(encoding="utf-8") for script in scripts.values()]
    if any(TIMES.search(text) for text in texts) or not hasattr(os, "fork"):
        return
    wanted = [
        one
        for page, script in scripts.items()
        for one in _of_lesson(script)
        if one.key not in _load(page)
    ]
    if 0 < len(wanted) <= FEW_JOBS and (os.cpu_count() or 1) > 1:
        _say(len(wanted))
        process = _start(SECONDS)
        # It reads all that it is asked before it begins to answer.
        process.stdin.write(json.dumps([one.job() for one in wanted]))
        process.stdin.close()
        process.stdin = None
        app.begun_answers = {tuple(one.key for one in wanted): process}


def end(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Wait for what :func:`begin` has begun: a page may measure time."""
    for keys, process in app.begun_answers.items():
        found = _answers_of(process, SECONDS_A_QUESTION * len(keys))
        app.answers |= dict(zip(keys, found, strict=True))


def prepare(app: Sphinx, env: BuildEnvironment, pages: list[str]) -> None:
    """Have the answers of the pages that are to be read: kept ones, or run now."""
    asking = {page: asked for page in pages if (asked := questions_of(app, page))}
    for page in asking:
        app.answers |= _load(page)
    wanted = [one for asked in asking.values() for one in asked]
    missing = [one for one in wanted if one.key not in app.answers]
    if missing and hasattr(os, "fork"):  # not on Windows
        _say(len(missing))
        found = run([one.job() for one in missing])
        app.answers |= {
            one.key: answer for one, answer in zip(missing, found, strict=True)
        }
    for page, asked in asking.items():
        _save(page, {q.key: app.answers[q.key] for q in asked if q.key in app.answers})


def _say(number: int) -> None:
    progress.say(f"Running the wrong answers to {number} questions")


def run(jobs: list[dict[str, Any]], seconds: int = SECONDS) -> list[dict[str, Any]]:
    """Run programs and their exchanges in a new Python (see variants.examine).

    Parameters
    ----------
    jobs
        The questions, see :meth:`Question.job`.
    seconds
        The time limit of each program.

    Raises
    ------
    ExtensionError
        If that Python ends early or takes far too long.
    """
    # Each of these Pythons takes seconds to start: one for a few questions is enough.
    together = max(1, min(os.cpu_count() or 1, len(jobs) // FEW_JOBS))
    parts = [jobs[first::together] for first in range(together)]
    with ThreadPoolExecutor(together) as pool:
        found = list(pool.map(partial(_run_part, seconds=seconds), parts))
    return [found[place % together][place // together] for place in range(len(jobs))]


def _run_part(jobs: list[dict[str, Any]], seconds: int) -> list[dict[str, Any]]:
    limit = SECONDS_A_QUESTION * len(jobs)
    return _answers_of(_start(seconds), limit, json.dumps(jobs))


def _start(seconds: int) -> subprocess.Popen[str]:
    """Start the Python that runs the programs."""
    command = [sys.executable, "-m", "tensor_copies.lessons.variants", str(seconds)]
    changing = ("PYTHONWARNINGS", "PYTHONOPTIMIZE")
    clean = {key: value for key, value in os.environ.items() if key not in changing}
    paths = [str(CONF), clean.get("PYTHONPATH", "")]
    clean["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=clean
    )


def _answers_of(
    process: subprocess.Popen[str], seconds: int, asked: str | None = None
) -> list[dict[str, Any]]:
    """Return what that Python found, within so many seconds."""
    with process:
        try:
            said, errors = process.communicate(asked, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise ExtensionError("the wrong answers took too long to run") from None
    if process.returncode != 0:
        last = errors.strip().rpartition("\n")[2]
        raise ExtensionError(f"the wrong answers could not be run: {last}")
    return [json.loads(line) for line in said.splitlines()]


def _file(page: str) -> Path:
    return FOLDER / f"{page.replace('/', '.')}.json"


def _load(page: str) -> dict[str, Any]:
    """Return what was kept for a page, if it is as it was written."""
    try:
        kept = json.loads(_file(page).read_text(encoding="utf-8"))
        answers = kept["answers"]
        return answers if kept["digest"] == key_of(json.dumps(answers)) else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _save(page: str, answers: dict[str, Any]) -> None:
    path = _file(page)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(f".{os.getpid()}")
    kept = {"digest": key_of(json.dumps(answers)), "answers": answers}
    aside.write_text(json.dumps(kept), encoding="utf-8")
    aside.replace(path)


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
    answer = app.answers.get(question.key)
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
