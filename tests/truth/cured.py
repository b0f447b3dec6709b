"""Runs the cells of a page of messages, and says what each cure gives, of its own.

It knows nothing of the code that makes the pages: the function that gives the cures is
put in the place of the build's. A sign is seen by a write, and asked of autograd.
"""

import ast
import contextlib
import io
import os
import sys
import textwrap
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

Rows = list[list[str | None]]


def values(one: torch.Tensor | np.ndarray) -> list[Any]:
    return one.detach().tolist() if isinstance(one, torch.Tensor) else one.tolist()


def sign(subject: Any, result: Any) -> str | None:
    """Return what a write and autograd say of two values; None where neither can."""
    if not all(isinstance(one, torch.Tensor | np.ndarray) for one in (subject, result)):
        return None
    if result is subject:
        return "itself"
    if "meta" in f"{subject} {result}":
        return None
    signs = []
    if getattr(subject, "requires_grad", False):
        asked = getattr(result, "requires_grad", False)
        got = asked and torch.autograd.grad(result.sum(), subject, allow_unused=True)
        signs = ["flows" if got and got[0] is not None else "stops"]
    if isinstance(result, np.ndarray) and not result.flags.writeable:
        return None  # DLPack before torch 2.9
    old, inference = values(subject), getattr(result, "is_inference", bool)()
    with torch.inference_mode() if inference else torch.no_grad():
        result[(0,) * result.ndim] = 77
    return "-".join(["copies" if values(subject) == old else "shares", *signs])


def value_of(code: str, names: dict[str, Any]) -> Any:
    """Run code; return the value of its last line, if that has one."""
    *before, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        return exec(code, names)
    exec(compile(ast.Module(before, []), "cure", "exec"), names)
    return eval(ast.unparse(last), names)


def signs_of(cells: list[tuple[list[str], str]], folder: Path) -> Rows:
    """Run cells, given as tags and code, in a folder; return each cure and its sign."""
    os.chdir(folder)
    space: dict[str, Any] = {"__name__": "__main__"}
    rows, raising = [], ""

    def cures(
        subject: str,
        ranked: tuple[str, ...],
        wrong: tuple[str, ...] = (),
        *,
        folk: object = (),
        setup: str | None = None,
        away: bool = False,
    ) -> None:
        if setup is None:
            setup = ast.unparse(ast.parse(raising).body[:-1])
        for code in map(textwrap.dedent, (*ranked, *wrong)):
            names = {**space}
            try:
                exec(setup, names)
                seen = sign(names.get(subject), value_of(code, names))
            except Exception as error:
                seen = "raises " + type(error).__name__
            rows.append([code.strip(), None if away else seen])

    sys.modules["tensor_copies.errors.kernel"] = types.SimpleNamespace(cures=cures)
    warnings.simplefilter("ignore")
    for tags, code in cells:
        is_entry = {"raises-exception", "warning"} & {*tags}
        raising = code if is_entry else raising
        refused = (
            contextlib.suppress(Exception) if is_entry else contextlib.nullcontext()
        )
        with contextlib.redirect_stdout(io.StringIO()), refused:
            exec(code, space)
    return rows
