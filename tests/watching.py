"""Runs lessons twice, alone and watched, and compares: a Python of its own.

``python tests/watching.py LESSON...``, with conf/ on Python's path, writes a line of
JSON for each lesson: what is wrong with it (an empty list if nothing is), and the
seconds of the processor that it took alone and watched. The truth about each statement
is read from the tensors themselves, between statements that are run one by one.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensor_copies.machine import isolation
from tensor_copies.machine.apart import run_apart
from tensor_maps import Steps
from tensor_maps.steps.facts import MOST_OBSERVED

MODULE = {"__name__": "__main__"}
SMALL = 64  # bytes of which the values are compared
UNDRAWN = 0  # names a picture has: the pictures are most of the work, and not asked for
Truth = dict[str, dict[str, Any]]


def run_steps(
    source: str, namespace: dict[str, Any], title: str | None = None
) -> Steps:
    """Run code in a namespace, and return what became of its tensors."""
    seen = Steps(title)
    seen.run(source, namespace)
    return seen


def truth_of(namespace: dict[str, Any]) -> Truth:
    """Return by name what PyTorch itself says of tensors, NumPy of arrays."""
    with torch._C.DisableTorchFunctionSubclass():
        return {
            name: _tensor(value) if isinstance(value, torch.Tensor) else _array(value)
            for name, value in namespace.items()
            if not name.startswith("_") and isinstance(value, torch.Tensor | np.ndarray)
            if not isinstance(value, torch.Tensor) or _is_readable(value)
        }


def _is_readable(tensor: torch.Tensor) -> bool:
    """Whether PyTorch tells where a tensor stands in the graph."""
    try:
        return tensor.grad_fn is None or True
    except RuntimeError:  # a view from inference mode whose base was written to
        return False


def _array(array: np.ndarray) -> dict[str, Any]:
    small = array.nbytes <= SMALL
    return {
        "object": id(array),
        "version": None,
        "address": array.__array_interface__["data"][0],
        "function": None,
        "requires_grad": False,
        "gradient": None,
        "values": repr(array.tolist()) if small else None,
    }


def _tensor(tensor: torch.Tensor) -> dict[str, Any]:
    reads = tensor.layout == torch.strided and not tensor.is_meta
    small = reads and tensor.numel() * tensor.element_size() <= SMALL
    storage = tensor.untyped_storage() if reads else None
    if storage is not None and storage.device.type == "meta":  # a fake tensor's
        reads = small = False
    kept = tensor.is_leaf or tensor.retains_grad
    gradient = tensor.grad if kept else None
    return {
        "object": id(tensor),
        "version": None if tensor.is_inference() else tensor._version,
        "address": storage.data_ptr() if reads and storage.nbytes() else None,
        "function": tensor.grad_fn.name() if tensor.grad_fn is not None else None,
        "requires_grad": tensor.requires_grad,
        "retains_grad": tensor.retains_grad,
        "gradient": None if gradient is None else repr(gradient.tolist()),
        "values": repr(tensor.detach().tolist()) if small else None,
    }


def watched(
    source: str, file: str, namespace: dict[str, Any]
) -> tuple[Steps, list[tuple[ast.stmt, Truth]]]:
    """Run a program statement by statement, watched; return the truth after each."""
    seen, truths = Steps("a program"), []
    with seen.following(source, file):
        for statement in ast.parse(source).body:
            alone = ast.Module([statement], [])
            exec(compile(alone, file, "exec", dont_inherit=True), namespace)
            truths.append((statement, truth_of(namespace)))
    return seen, truths


def problems(seen: Steps, truths: list[tuple[ast.stmt, Truth]]) -> list[str]:
    """Return where the steps are not what the tensors themselves have said."""
    if seen.failed:
        return [seen.failed]
    found: list[str] = []
    data, looks = seen.data(UNDRAWN)["steps"], [step.after for step in seen._steps]
    before: Truth = {}
    at = 0
    for statement, truth in truths:
        here = []
        while at < len(data) and data[at]["first"] <= statement.end_lineno:
            here.append(at)
            at += 1
        where = f"line {statement.lineno}"
        differ = {n for n in truth if _differs(before.get(n), truth[n])}
        if here:
            changed = {name for step in here for name in data[step]["changed"]}
            plain = {n for n in changed if n.isidentifier() and n in truth}
            if not differ <= changed:
                found.append(
                    f"{where}: {differ - changed} changed, and no step says so"
                )
            simple = not hasattr(statement, "body") and len(here) == 1
            if simple and plain - differ:
                found.append(f"{where}: {plain - differ} did not change")
            found += [f"{where}: {wrong}" for wrong in _compare(looks[here[-1]], truth)]
        elif differ:
            found.append(f"{where}: {differ} changed, and there is no step")
        before = truth
    return found


def _differs(was: dict[str, Any] | None, now: dict[str, Any]) -> bool:
    return was != now


def _compare(look: Any, truth: Truth) -> list[str]:
    """Compare one look, what is compared of it and what is drawn, with the truth."""
    found = []
    observed = look.observed
    seen_of = {name: seen for seen in observed["tensors"] for name in seen["names"]}
    for name, true in truth.items():
        if name not in look.facts:
            found.append(f"{name} was not looked at")
            continue
        fact, seen = look.facts[name], seen_of.get(name)
        function = true["function"] and true["function"].rpartition("::")[2]
        told = [
            ("version compared", fact.version, true["version"]),
            ("grad_fn", fact.graph, function),
            ("requires_grad compared", fact.requires_grad, true["requires_grad"]),
        ]
        if seen is not None:
            told += [
                ("version", seen["version"], true["version"]),
                ("requires_grad", seen["requires_grad"], true["requires_grad"]),
            ]
        found += [
            f"the {what} of {name} is {other}, and {one} was seen"
            for what, one, other in told
            if one != other
        ]
        if seen is None:
            # Every name is compared, and of many names only some are drawn.
            if len(look.facts) <= MOST_OBSERVED:
                found.append(f"{name} is not drawn, and there is room for it")
            continue
        drawn = seen["gradient"] not in (None, "None")
        if drawn != (true["gradient"] is not None):
            found.append(f"the gradient of {name} is {true['gradient']}")
    placed = [n for n in truth if truth[n]["address"] and n in seen_of]
    tensors = [n for n in placed if truth[n]["version"] is not None]
    for one in tensors:
        for other in tensors:
            shares = truth[one]["address"] == truth[other]["address"]
            drawn = seen_of[one]["storage"] == seen_of[other]["storage"]
            # Storages that overlap are drawn as one, whatever their first address.
            if shares and not drawn:
                found.append(f"{one} and {other} share, and are drawn apart")
    return found


def _start(name: str) -> None:
    # Each lesson ends with a full collection, and some make many. What was imported,
    # with torch's compiler a million objects, need not be searched again each time.
    gc.freeze()
    isolation.prepare({}, name, "before")
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def compare(script: Path) -> dict[str, Any]:
    """Run a lesson alone, watched as a whole, and watched statement by statement."""
    source = script.read_text(encoding="utf-8")
    texts, wrong = [], []
    seconds = {}
    for how in ("alone", "watched"):
        heard, namespace = io.StringIO(), dict(MODULE)
        seen = Steps(script.stem)
        _start(script.name)
        began = time.process_time()
        with contextlib.redirect_stdout(heard):
            code = compile(source, str(script), "exec", dont_inherit=True)
            if how == "alone":
                exec(code, namespace)
            else:
                with seen.following(source, str(script)):
                    exec(code, namespace)
        seconds[how] = time.process_time() - began
        texts.append((heard.getvalue(), torch.get_rng_state().tolist()))
    if texts[0] != texts[1]:
        wrong.append("it prints something else, or draws others, when watched")
    told = "".join(step["printed"] for step in seen.data(UNDRAWN)["steps"])
    if told != texts[1][0]:
        wrong.append("the steps do not have all that was printed")
    _start(script.name)
    with contextlib.redirect_stdout(io.StringIO()):
        one_by_one, truths = watched(source, str(script), dict(MODULE))
    wrong += problems(one_by_one, truths)
    return {"lesson": script.stem, "wrong": wrong, **seconds}


def main() -> None:
    """Compare the lessons whose scripts are named."""
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            limits = {"seconds": 600, "megabytes": 8000, "folder": Path(folder)}
            seen = run_apart(Path(name).name, compare, Path(name), **limits)
            print(json.dumps(seen), flush=True)
            os.chdir("/")


if __name__ == "__main__":
    main()
