"""Run programs with one call exchanged; a Python of its own, forked for each of them.

``python -m tensor_copies.lessons.variants SECONDS`` reads jobs as JSON and writes a
line for each: what the program prints, and what it prints with an exchange, as long as
that differs. torch is imported once. Each program runs in a fork with the settings of
a new Python (machine/isolation.py), a time limit and a folder of its own. Assertions
are left out: a wrong answer is to be printed, not caught.

A program that measures or draws at random prints something else each time: what two
runs do not agree on is no answer.
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
from typing import Any

from tensor_copies.machine import isolation

SECONDS_OF_GRACE = 20
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
    right = _twice(name, blocks)
    if right is None or right["raises"]:
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
        answer = _run(name, changed)
        if answer is None or not _is_telling(answer):
            continue
        core = about(answer["text"], [] if exchange["named"] else asked)
        if core in seen or answer["text"] == right["text"]:
            continue
        if answer != _run(name, changed):
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


def _twice(name: str, blocks: list[str]) -> Answer | None:
    answer = _run(name, blocks)
    return answer if answer == _run(name, blocks) else None


def _run(name: str, blocks: list[str]) -> Answer | None:
    """Run a program in a fork; return what its last block prints, None if it fails."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            os.setsid()
            answer = json.dumps(_answer(name, blocks))
            with os.fdopen(writing, "w") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(writing)
    signal.signal(signal.SIGALRM, lambda *_: _end(child))
    signal.alarm(int(sys.argv[1]) + SECONDS_OF_GRACE)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    signal.alarm(0)
    _end(child)  # with all that it has started
    return json.loads(said) if said else None


def _end(child: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)


def _answer(name: str, blocks: list[str]) -> Answer | None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    isolation.set_time_limit(int(sys.argv[1]))
    isolation.reset({}, name, "before")
    namespace = {"__name__": "__main__", "__file__": name}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
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
        os.chdir("/")
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
    # What the isolation imports is imported before the first fork, once. It asks for
    # CUDA in the forks alone: a process that has asked cannot be forked any more.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    import matplotlib.pyplot  # noqa: F401
    import numpy.random  # noqa: F401
    import perfplot  # noqa: F401
    import torch

    # Half of torch is imported when these are first used, which takes seconds.
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    torch.zeros(1).to("meta").clone()
    gc.freeze()  # what is never collected is never copied into a fork
    # Libraries have threads of their own by now; none of them is forked in its work.
    warnings.filterwarnings("ignore", r".*fork\(\) may lead to deadlocks")
    for job in jobs:
        print(json.dumps(examine(job)), flush=True)


if __name__ == "__main__":
    main()
