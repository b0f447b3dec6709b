"""Runs lessons alone and watched, each in a process of its own, and compares.

``python watching.py LESSON...``, with the package on Python's path, writes a line
of JSON for each lesson: its name, and what is wrong with it.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensor_maps import Steps


def run(script: Path, watch: bool) -> tuple[str, Any, str]:
    """Run a lesson; return what it prints, what it leaves, and how watching went.

    It leaves the state of chance, and its tensors by name, as text.
    """
    source, names = script.read_text(encoding="utf-8"), {"__name__": "__main__"}
    seen, heard, went = Steps(script.stem), io.StringIO(), ""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    code = compile(source, str(script), "exec", dont_inherit=True)
    output = contextlib.redirect_stdout(heard)
    folder = tempfile.TemporaryDirectory()
    with folder as name, contextlib.chdir(name), output:
        if watch:
            seen.follow(source, str(script))
        exec(code, names)
        seen.stop()
    left = {
        name: str(value)
        for name, value in names.items()
        if isinstance(value, torch.Tensor | np.ndarray) and value.nbytes < 1000
    }
    if watch:
        printed = "".join(step["printed"] for step in seen.data(0)["steps"])
        went = seen.failed or "lost what was printed" * (printed != heard.getvalue())
    return heard.getvalue(), (torch.get_rng_state().tolist(), left), went


def compare(script: Path, context: Any) -> str:
    """Return what is wrong with a lesson when it is watched."""
    found = []
    for watch in (False, True):
        with context.Pool(1) as one:
            found.append(one.apply(run, (script, watch)))
    differ = "it does something else when watched" * (found[0][:2] != found[1][:2])
    return "; ".join(filter(None, [differ, found[1][2]]))


def main() -> None:
    """Compare the lessons whose scripts are named."""
    # A fork has imported torch already.
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    for name in sys.argv[1:]:
        wrong = compare(Path(name), context)
        print(json.dumps({"lesson": Path(name).stem, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    main()
