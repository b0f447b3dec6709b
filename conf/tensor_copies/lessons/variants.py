"""Run programs with one call exchanged; a Python of its own, forked for each of them.

``python -m tensor_copies.lessons.variants SECONDS`` reads jobs as JSON and writes a
line for each: what the program prints, and what it prints with an exchange, as long as
that differs. torch is imported once; then as many forks as there are processors share
the jobs. Each program runs with the settings of a new Python (machine/isolation.py), a
time limit and a folder of its own. Assertions are left out: a wrong answer is to be
printed, not caught.

A fork costs ten times what most of these programs do. So a question has one: it runs
the program and its exchanges one after the other, as the gallery runs lessons. Another,
of all questions, runs again what may become an answer. What they do not agree on is no
answer: a program that measures, draws at random, or hangs on what ran before it.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import re
import signal
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from tensor_copies.machine import isolation

SECONDS_OF_GRACE = 20
NICER = 5  # than the process that reads pages, for which the build waits
# One that says what is not allowed teaches; one that says that a name or a method is
# not there only says that the exchange makes no sense.
TELLING = ("RuntimeError", "TypeError", "ValueError")
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
# What is found beyond two answers stands in for one that another machine prints.
ENOUGH = 3

Answer = dict[str, Any]


def examine(job: dict[str, Any]) -> dict[str, Any]:
    """Run a program, then its exchanges, until there are enough other answers.

    Parameters
    ----------
    job
        ``name`` of the lesson; ``blocks``, the program; ``asked``, the names that the
        question is about; ``exchanges``, each with ``block``, ``code``, ``named`` and
        ``late``.

    Returns
    -------
    dict
        ``right``: what the last block prints, or None if two runs disagree.
        ``wrong``: the answers, each with the ``number`` of its exchange, its ``text``
        and if it ``raises``.
    """
    blocks, name, asked = job["blocks"], job["name"], job["asked"]
    with _Runner() as runner:

        def run(program: list[str]) -> Answer | None:
            return runner.run(name, program)

        def again(program: list[str]) -> Answer | None:
            return _again.run(name, program)

        right = run(blocks)
        if right is None or right["raises"] or right != again(blocks):
            return {"right": None, "wrong": []}
        named: list[Answer] = []
        printing: list[Answer] = []
        raising: list[Answer] = []
        late: list[Answer] = []
        seen = {about(right["text"], asked)}
        for number, exchange in enumerate(job["exchanges"]):
            if len(named) + len(printing) >= ENOUGH:
                break
            changed = list(blocks)
            changed[exchange["block"]] = exchange["code"]
            answer = run(changed)
            if answer is None or not _is_telling(answer):
                continue
            core = about(answer["text"], [] if exchange["named"] else asked)
            if core in seen or answer["text"] == right["text"]:
                continue
            if answer != again(changed):
                continue
            seen.add(core)
            found = {"number": number, **answer}
            if exchange["named"]:
                named.append(found)
            elif answer["raises"]:
                raising.append(found)
            else:
                (late if exchange["late"] else printing).append(found)
    # One error teaches; two are a guess between errors.
    wrong = named + printing + raising[:1] + late + raising[1:]
    return {"right": right["text"], "wrong": wrong[:ENOUGH]}


def about(text: str, names: list[str]) -> str:
    """Return the lines of an output that say something of these names, if any do."""
    if not names:
        return text
    some = "|".join(rf"(?<![\w.]){re.escape(name)}(?!\w)" for name in names)
    lines = [line for line in text.split("\n") if re.search(some, line)]
    return "\n".join(lines) or text


def _is_telling(answer: Answer) -> bool:
    if not answer["text"].strip():
        return False
    return not answer["raises"] or answer["raises"] in TELLING


class _Runner:
    """A fork that runs programs one after the other, and a new one where it ends."""

    def __init__(self) -> None:
        self._child = 0

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child:
            self._end()

    def run(self, name: str, blocks: list[str]) -> Answer | None:
        """Return what the last block of a program prints, None if it fails."""
        if not self._child:
            self._start()
        signal.signal(signal.SIGALRM, lambda *_: _kill(self._child))
        signal.alarm(int(sys.argv[1]) + SECONDS_OF_GRACE)
        try:
            self._asks.write(json.dumps([name, blocks]) + "\n")
            self._asks.flush()
            said = self._answers.readline()
        except BrokenPipeError:
            said = ""
        signal.alarm(0)
        if not said:  # the program has ended its process
            self._end()
            return None
        return json.loads(said)

    def _start(self) -> None:
        sys.stdout.flush()
        asked, asks = os.pipe()
        answers, answered = os.pipe()
        self._child = os.fork()
        if not self._child:
            try:
                os.setsid()
                for number in (asks, answers):
                    os.close(number)
                quiet = os.open(os.devnull, os.O_WRONLY)
                for stream in (1, 2):
                    os.dup2(quiet, stream)
                with os.fdopen(asked) as programs, os.fdopen(answered, "w") as pipe:
                    for program in programs:
                        answer = _answer(*json.loads(program))
                        pipe.write(json.dumps(answer) + "\n")
                        pipe.flush()
            finally:
                os._exit(0)
        for number in (asked, answered):
            os.close(number)
        self._asks, self._answers = os.fdopen(asks, "w"), os.fdopen(answers)

    def _end(self) -> None:
        """End the fork with all that it has started."""
        _kill(self._child)
        os.waitpid(self._child, 0)
        self._child = 0
        for pipe in (self._asks, self._answers):
            with contextlib.suppress(OSError):  # what was not read by anyone
                pipe.close()


_again = _Runner()  # of each process that examines


def _kill(child: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(OSError):  # it may not lead a group yet
        os.kill(child, signal.SIGKILL)


def _answer(name: str, blocks: list[str]) -> Answer | None:
    isolation.prepare({}, name, "before")
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, int(sys.argv[1]), 1)
    namespace = {"__name__": "__main__", "__file__": name}
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            return _printed(name, blocks, namespace)
    finally:
        os.chdir("/")
        signal.setitimer(signal.ITIMER_REAL, 0)
        namespace.clear()
        gc.collect()


def _out_of_time(*_: object) -> None:
    raise TimeoutError("it ran too long")


def _printed(name: str, blocks: list[str], namespace: dict[str, Any]) -> Answer | None:
    printed, raised = "", None
    for place, block in enumerate(blocks):
        text, aside = io.StringIO(), io.StringIO()
        try:
            with (
                contextlib.redirect_stdout(text),
                contextlib.redirect_stderr(aside),
            ):
                exec(compile(block, name, "exec", optimize=1), namespace)
        except BaseException as error:
            raised = error
        printed = text.getvalue()
        if aside.getvalue() or (raised is not None and place < len(blocks) - 1):
            return None  # it warns, or the question is not even reached
    if raised is not None:
        kind = type(raised).__name__
        printed += f"{kind}: {_first_sentence(str(raised))}"
        return {"text": normal(printed), "raises": kind}
    return {"text": normal(printed), "raises": ""}


def _first_sentence(message: str) -> str:
    """Return the beginning of a message, to where it goes on for those who know."""
    return re.split(r"(?<=[.\w)])(?:\. |: (?=\[)|\n)", message, maxsplit=1)[0]


def normal(text: str) -> str:
    """Return an output without addresses and the blanks at the ends of its lines."""
    text = ADDRESS.sub("0x...", text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def main() -> None:
    """Examine the jobs of the standard input."""
    jobs = json.load(sys.stdin)
    os.nice(NICER)
    # What the isolation imports is imported before the first fork, once. It asks for
    # CUDA in the forks alone: a process that has asked cannot be forked any more.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    import matplotlib.pyplot  # noqa: F401
    import numpy.random  # noqa: F401
    import perfplot  # noqa: F401
    import torch

    # Not in the time that a program has.
    code = "".join(block for job in jobs for block in job["blocks"])
    if "optim" in code or "meta" in code:  # these import it, for two seconds
        import torch._dynamo  # noqa: F401

    gc.freeze()  # what is never collected is never copied into a fork
    # Libraries have threads of their own by now; none of them is forked in its work.
    warnings.filterwarnings("ignore", r".*fork\(\) may lead to deadlocks")
    together = max(1, min(os.cpu_count() or 1, len(jobs)))
    with ProcessPoolExecutor(together, get_context("fork")) as pool:
        for answer in pool.map(examine, jobs):
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
