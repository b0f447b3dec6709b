"""Make random programs, as source text, from statements as readers write them.

A statement is tried before it is kept: a program goes on, and where a statement raises
it stands in a ``try``, or at the end.
"""

import contextlib
import io
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import torch
from independent import is_readable

NAMES = ("a", "b", "c", "d", "e", "h", "k", "m")
MADE = {"best", "box", "net", "opt"}
KINDS = {"t": torch.Tensor, "u": torch.Tensor, "r": np.ndarray, "q": list, "o": dict}
MANY = "globals().update({f'x{k}': torch.full((2,), float(k)) for k in range(45)})"
SOURCE = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8") + "\n"
TEXTS = re.findall(r"(?ms)^=== ([a-z ]+) (\d+)\n(.*?)\n\n", SOURCE)
TEXT = {heading: text for heading, _, text in TEXTS}
WEIGHTS = [int(weight) for _, weight, _ in TEXTS]


def _filled(chance: random.Random, namespace: dict[str, Any]) -> str:
    """Return a statement that names what is there, or nothing."""
    count = len(TEXTS) - ("net" not in namespace)
    ((*_, texts),) = chance.choices(TEXTS[:count], WEIGHTS[:count])
    text = chance.choice(texts.split("\n"))
    if any(re.search(rf"\b{one}\b(?! =)", text) for one in MADE - namespace.keys()):
        return ""
    fills = dict(zip("nv", chance.sample(NAMES, 2), strict=True))
    for letter, kind in KINDS.items():
        found = [n for n in NAMES if isinstance(namespace.get(n), kind)]
        if not found and f"{{{letter}" in text:
            return ""
        fills[letter] = chance.choice(found or [""])
    return text.format(i=chance.randint(2, 9), **fills)


def _sure(text: str) -> str:
    handler = "except Exception as wrong:\n    print(type(wrong).__name__)"
    return f"try:\n{indent(text, '    ')}\n{handler}"


def _raises(text: str, namespace: dict[str, Any]) -> bool:
    with quiet():
        try:
            exec(text, namespace)
        except Exception:
            return True
    return False


def random_program(seed: int) -> str:
    """Return a program of 5 to 15 statements; of one number, always the same."""
    chance = random.Random(seed)
    namespace: dict[str, Any] = {}
    lines = [TEXT["begin"]]
    lines += [TEXT["begin of modules"]] if chance.random() < 0.2 else []
    exec("\n".join(lines), namespace)
    wanted, many = chance.randint(5, 15), chance.random() < 0.1
    at_the_end = chance.random() < 0.1
    while len(lines) <= wanted:
        if many and len(lines) == wanted // 2:
            exec(MANY, namespace)
            lines.append(MANY)
        text = _filled(chance, namespace)
        if not text:
            continue
        if chance.random() < 0.12:  # a statement may hold in the first turn only
            body = [text, *filter(None, [_filled(chance, namespace)])]
            text = f"for turn in range({chance.choice((2, 3, 5))}):\n"
            text += "\n".join(indent(_sure(one), "    ") for one in body)
        last = len(lines) == wanted
        if not _raises(text, namespace) or (last and at_the_end):
            lines.append(text)
        elif chance.random() < 0.2:
            lines.append(_sure(text))
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Yield what is printed; what PyTorch warns of is not at issue."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as text:
        warnings.simplefilter("ignore")
        yield text


def named_by(seed: int) -> dict[str, Any]:
    """Return what can be read of the plain names that a program ends with."""
    namespace: dict[str, Any] = {}
    with quiet(), contextlib.suppress(Exception):
        exec(random_program(seed), namespace)
    return {n: v for n, v in namespace.items() if n in NAMES and is_readable(v)}
