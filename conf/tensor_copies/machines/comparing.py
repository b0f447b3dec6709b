"""Compare outputs of two machines, but for times and the name of an only device.

Where all tensors of an output or a map are on one device, ``tensor([1.],
device='cuda:0')`` says what ``tensor([1.])`` says on a CPU. Where they are on two
devices, the name of each is a difference. But ``standin``, the simulated device, and
``meta``, to which a lesson goes without a GPU, say what ``cuda`` says.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tensor_copies.gallery.lessons import takes_times
from tensor_copies.machines.recording import Block
from tensor_copies.simulated import NAME

PRETENDED = re.compile(rf"\b(?:cuda|{NAME}|meta)(?::0)?\b")
DEVICE = re.compile(r",\s+device='[\w:]+'")
TENSOR = re.compile(r"\btensor\(")
PLACED = re.compile(r'"device": "[^"]*"')  # in the data of a map
# What a printed time looks like, or a share of it.
TIME = re.compile(
    r"\d\s*(ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s)\b"
    r"|\b(nano|micro|milli)?seconds\b"
    r"|\d+(\.\d+)? times\b"
)


def is_measured(code: str, output: str) -> bool:
    """Whether a block measures times, or prints what was measured before."""
    return takes_times(code) or TIME.search(output) is not None


def same(here: Block, there: Block) -> bool:
    """Whether two machines gave the same text and figures."""
    return same_text(here.text, there.text) and list(
        map(_on_one_device, here.figures)
    ) == list(map(_on_one_device, there.figures))


def same_text(one: str, other: str) -> bool:
    """Whether two outputs say the same."""
    return on_one_device(_on_cuda(one)) == on_one_device(_on_cuda(other))


def same_figure(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the data of two figures show the same."""
    return _on_one_device(one) == _on_one_device(other)


def on_one_device(text: str) -> str:
    """Return an output without the name of its device, if it has only one."""
    named = DEVICE.findall(text)
    if len(set(named)) == 1 and len(named) == len(TENSOR.findall(text)):
        return DEVICE.sub("", text)
    return text


def _on_cuda(text: str) -> str:
    return PRETENDED.sub("cuda", text)


def _on_one_device(figure: dict[str, Any]) -> str:
    text = _on_cuda(json.dumps(figure, sort_keys=True))
    return PLACED.sub("", text) if len(set(PLACED.findall(text))) == 1 else text
