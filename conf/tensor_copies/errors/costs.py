"""What a cure costs: run it, here or on the stand-in, and look at what comes out.

``python -m tensor_copies.errors.costs`` reads cures as JSON from its standard input,
runs them with the stand-in in the place of CUDA and prints what each costs. It is a
Python of its own because a second device changes what torch says in some messages.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import textwrap
import warnings
from dataclasses import asdict, astuple, dataclass
from html import escape
from typing import Any

import numpy as np
import torch

from tensor_copies.errors.messages import said
from tensor_copies.machine.fingerprint import CONF
from tensor_copies.stand_in import CACHE, NoStandIn, for_stand_in, load

NO_DEVICE = 2  # the exit status where nothing can compile the stand-in


@dataclass(frozen=True)
class Cure:
    """What the page says of a cure, or of what people wrongly write.

    ``setup`` runs before the ``code``, whose last expression is compared with the
    tensor named ``subject``; ``truth`` must then hold. One that is ``strict`` may
    neither raise nor warn.
    """

    anchor: str
    setup: str
    code: str
    subject: str
    truth: str
    strict: bool


def cost_of(cure: Cure, space: dict[str, Any]) -> str:
    """Run a cure; return in words (HTML) what it does to memory and gradients.

    Parameters
    ----------
    cure
        What to run.
    space
        The names that its code finds.

    Raises
    ------
    AssertionError
        If a strict cure raises or warns, or its expression is not true.
    """
    code, subject, truth, strict = cure.code, cure.subject, cure.truth, cure.strict
    body = ast.parse(textwrap.dedent(code)).body
    value = body.pop().value if isinstance(body[-1], ast.Expr) else None
    name = f"the cure {code!r} of {cure.anchor}"
    with warnings.catch_warnings():
        # A cure that warns is none; what people wrongly write may do so.
        warnings.simplefilter("error" if strict else "ignore")
        try:
            exec(compile(cure.setup, cure.anchor, "exec"), space)
            exec(compile(ast.Module(body, []), name, "exec"), space)
            last = ast.Expression(value) if value else "None"
            space["result"] = result = eval(compile(last, name, "eval"), space)
            true = eval(truth, space)
        except Exception as error:
            if strict or truth != "True":
                raise AssertionError(f"{name}: {said(error)}") from error
            return f"raises <code>{type(error).__name__}</code>"
    assert true, f"{name}: not true: {truth}"
    before = space.get(subject)
    if before is None or before is result or not _is_data(result):
        itself = f"returns <code>{escape(subject)}</code> itself"
        return itself if subject and before is result else ""
    words = ["shares memory" if _share(before, result) else "new memory"]
    if isinstance(before, torch.Tensor) and before.requires_grad:
        words.append("gradients flow" if _flows(before, result) else "gradient cut")
    return ", ".join(words)


def _is_data(value: object) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray)


def _share(one: Any, other: Any) -> bool:
    """Compare the bytes that two tensors or arrays stand on."""
    (device, a, b), (elsewhere, c, d) = map(_bytes, (one, other))
    return device == elsewhere and a < d and c < b


def _bytes(value: Any) -> tuple[str, int, int]:
    if isinstance(value, np.ndarray):
        return "cpu", *np.lib.array_utils.byte_bounds(value)
    storage = value.untyped_storage()
    if storage.device.type == "meta":  # no data: the storage itself stands for it
        return str(value.device), storage._cdata, storage._cdata + 1
    return str(value.device), storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _flows(before: torch.Tensor, result: Any) -> bool:
    """Look for a tensor in the graph of a result (which may hold no data)."""
    waiting = [getattr(result, "grad_fn", None)]
    while waiting:
        node = waiting.pop()
        if node is None:
            continue
        if node is before.grad_fn or getattr(node, "variable", None) is before:
            return True
        waiting.extend(following for following, _ in node.next_functions)
    return False


def costs_on_stand_in(cures: list[Cure]) -> list[str]:
    """Return what cures cost with the stand-in in the place of CUDA.

    Returns
    -------
    list of str
        A text for each cure; all are empty where there is no compiler.

    Raises
    ------
    AssertionError
        As :func:`cost_of`.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tensor_copies.errors.costs"],
        input=json.dumps([asdict(cure) for cure in cures]),
        capture_output=True,
        text=True,
        cwd=CONF,
        env=os.environ | {"PYTHONWARNINGS": ""},
    )
    if done.returncode == NO_DEVICE:
        return [""] * len(cures)
    assert done.returncode == 0, done.stderr.strip().rpartition("\n")[2]
    return json.loads(done.stdout)


def main() -> int:
    """Print the costs of the cures on the standard input."""
    try:
        load(CACHE)
    except NoStandIn:
        return NO_DEVICE
    costs = []
    for cure in json.load(sys.stdin):
        anchor, setup, code, *rest = astuple(Cure(**cure))
        there = Cure(anchor, for_stand_in(setup), for_stand_in(code), *rest)
        costs.append(cost_of(there, {"np": np, "torch": torch, "gpu": True}))
    print(json.dumps(costs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
