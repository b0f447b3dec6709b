"""What the tests of tensor_maps share: programs that are watched, and other Pythons."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import tensor_maps
import torch
from reading import PATIENCE
from tensor_maps import Steps

SOURCES = Path(tensor_maps.__file__).parents[1]


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def named_in(program: str) -> dict[str, Any]:
    """Run a program; return its tensors and arrays."""
    names: dict[str, Any] = {"torch": torch, "np": np, "nn": torch.nn, "leaf": leaf}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of prototypes
        exec(program, names)
    kinds = (torch.Tensor, np.ndarray)
    return {n: v for n, v in names.items() if isinstance(v, kinds) and n != "_"}


def ran(program: str, namespace: dict[str, Any] | None = None, **options: Any) -> Steps:
    """Watch a program, which may raise at its end only."""
    names = {"torch": torch, "np": np, "nn": torch.nn, **(namespace or {})}
    seen = Steps(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen.run(dedent(program), names)
    assert not seen.failed, seen.failed
    return seen


def told(seen: Steps) -> list[str]:
    """Return the sentence of each step."""
    assert not seen.failed, seen.failed
    return [one.said for one in seen]


def python(
    *arguments: str | Path, path: str = sys.executable, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a Python, by default this one, that finds the package from any folder."""
    variables = {"PYTHONPATH": str(SOURCES), "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [path, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, **variables, **options.pop("env", {})},
        **options,
    )
