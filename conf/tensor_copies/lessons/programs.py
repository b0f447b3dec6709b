"""Run the programs of questions: a Python of its own, a process for each page.

Reads JSON: for each page the file's name and its programs, each a list of blocks.
Writes what the last block of each prints and the error that ends it; the last of them
are missing where the process ends, or takes too long.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import warnings
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection, wait


def answer(name: str, programs: list[list[str]], pipe: Connection) -> None:
    """Run the programs of one page and send what they print."""
    import torch

    if hasattr(signal, "alarm"):  # not on Windows
        signal.alarm(int(sys.argv[1]))  # it ends the process
    os.mkdir(name)  # noqa: PTH102  what the programs of pages write is kept apart
    os.chdir(name)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", r".*is non-interactive, and thus cannot")
    torch.set_warn_always(True)
    for program in programs:
        pipe.send(run(name, program))


def run(name: str, blocks: list[str]) -> tuple[str, str]:
    """Return what the last block prints, without assertions, and what it raises."""
    namespace, printed = {"__name__": "__main__", "__file__": name}, io.StringIO()
    try:
        for block in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, name, "exec", optimize=1), namespace)
    except Exception as error:
        return printed.getvalue(), f"{type(error).__name__}: {error}"
    return printed.getvalue(), ""


def main() -> None:
    """Run the programs of all pages, as many pages at once as there are processors."""
    text, running = sys.stdin.read(), {}
    import torch  # once, for all that are forked

    if "optim" in text:
        import torch._dynamo  # noqa: F401  an optimizer imports it, for a second
    context = get_context("fork" if "fork" in get_all_start_methods() else "spawn")
    waiting = list(enumerate(json.loads(text)))
    answers: list[list[tuple[str, str]]] = [[] for _ in waiting]
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            number, page = waiting.pop()
            here, there = context.Pipe(duplex=False)
            context.Process(target=answer, args=(*page, there)).start()
            there.close()
            running[here] = answers[number]
        for here in wait([*running]):
            try:
                running[here].append(here.recv())
            except EOFError:
                del running[here]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
