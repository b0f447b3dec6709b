"""What the tests of tensor_maps share: programs that are watched, and other Pythons."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree

import numpy as np
import tensor_maps
import torch
from conftest import PATIENCE
from tensor_maps import Steps

SOURCES = Path(tensor_maps.__file__).parents[1]


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


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


def problems_of_data(data: dict) -> Iterator[str]:
    """Yield what the viewer relies on and is not so."""
    json.dumps(data)
    used = {step["drawing"] for step in data["steps"]} - {None}
    if used != set(range(len(data["drawings"]))) or len(data["captions"]) != len(used):
        yield f"drawings {used}"
    if not data["steps"]:
        yield "no steps"
    for drawing in data["drawings"]:
        svg = ElementTree.fromstring(drawing)
        if svg.get("role") != "img" or not svg.get("aria-label") or svg.get("id"):
            yield drawing[:200]
    for step in data["steps"]:
        lines = 1 <= step["first"] <= step["last"] <= len(data["code"])
        if not lines or not data["code"][step["first"] - 1].strip():
            yield f"lines {step}"
        if not step["said"].endswith(".") or "\n" in step["said"]:
            yield f"sentence {step}"
        if not all(1 <= turn <= turns for turn, turns in step["turn"]):
            yield f"turns {step}"


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
