"""Run every probe of the Atlas in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

import torch

from tensor_maps.atlas.calls import (
    ALL_STATES,
    COLUMNS,
    SUBJECTS,
    available,
    libraries,
)
from tensor_maps.atlas.probes import probe_all


def run(kinds: list[str] | None = None) -> dict[str, Any]:
    """Run every probe beside this process; return all there is to know.

    ``x`` is on these kinds of devices, or on all that are here. An operation that ends
    its process is recorded as one that does, and the probes go on behind it in another.

    Raises
    ------
    SystemExit
        If a probe itself failed; the message says what it raised.
    """
    records: list[dict[str, Any]] = []
    atlas = {"states": ALL_STATES, "columns": COLUMNS, "subjects": SUBJECTS}
    atlas |= {"libraries": libraries(), "records": records}
    atlas["operations"] = [asdict(operation) for operation in available()]
    # A fork has imported torch already, but torch built for a GPU refuses it in forks.
    built = any(vars(torch.version).get(name) for name in ("cuda", "hip", "xpu"))
    forks = sys.platform == "linux" and not built
    context = multiprocessing.get_context("fork" if forks else "spawn")
    while True:
        answers, told = context.Pipe(duplex=False)
        arguments = (len(records), kinds, told)
        child = context.Process(target=_tell_all, args=arguments)
        child.start()
        told.close()
        current = None
        with suppress(EOFError):
            while True:
                kind, content = answers.recv()
                current = content if kind == "probing" else None
                if kind == "record":
                    records.append(content)
                elif kind == "failed":
                    sys.exit(content)
        child.join()
        if child.exitcode == 0:
            return atlas
        if current is None:  # it has ended before the first probe
            sys.exit(f"no probe could run: {_ending(child.exitcode)}")
        current["error"] = f"Python ended: {_ending(child.exitcode)}"
        records.append(current)


def _tell_all(first: int, kinds: list[str] | None, told: Connection) -> None:
    """Run the probes from number ``first`` on; tell each step to who waits for it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what libraries print, above all when they end the process
        os.dup2(nothing, stream)
    with suppress(ImportError):  # a crash that is expected leaves no core file
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        for step in probe_all(first, kinds):
            told.send(step)
    except Exception as error:
        told.send(("failed", f"{type(error).__name__}: {error}"))


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
