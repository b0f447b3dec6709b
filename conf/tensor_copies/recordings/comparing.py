"""What two machines' outputs have in common, and what differs between them.

Where all tensors of an output or a map are on one device, the name of that device is
no difference: ``tensor([1.], device='cuda:0')`` says what ``tensor([1.])`` says on a
CPU. Where they are on two devices, it is one.

Measured times differ from run to run. A block that measures, or that prints times, is
not compared: nothing in it is marked or counted.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Any

from docutils import nodes

from tensor_copies.run.clocks import takes_times
from tensor_copies.run.fingerprint import fingerprint

# A word with its points (`1.5`, `torch.float32`) is one token, a sign is another.
TOKENS = re.compile(r"\s+|\w+(?:\.\w+)*|[^\w\s]")
# Above this share, nearly all differs and marks only disturb.
MOST_MARKED = 0.5
# Comparing texts takes the square of their length.
LONGEST_MARKED = 10_000  # characters
DEVICE = re.compile(r",\s+device='[\w:]+'")
PLACED = ("tensors", "storages")  # the parts of a map whose entries have a device
TENSOR = re.compile(r"\btensor\(")
# What a printed time looks like.
TIME = re.compile(
    r"\d\s*(ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s)\b"
    r"|\b(nano|micro|milli)?seconds\b"
    r"|\d+(\.\d+)? times\b"
)


def is_measured(code: str, output: str) -> bool:
    """Whether a block measures times, or prints what was measured before."""
    return takes_times(code) or TIME.search(output) is not None


def on_one_device(text: str) -> str:
    """Return an output without the name of its device, if it has only one."""
    named = DEVICE.findall(text)
    if len(set(named)) == 1 and len(named) == len(TENSOR.findall(text)):
        return DEVICE.sub("", text)
    return text


def device_here() -> str:
    """Return what a lesson's device is called on this machine."""
    return "cuda:0" if fingerprint().device_kind == "cuda" else "cpu"


def map_on(device: str, observed: dict[str, Any]) -> dict[str, Any]:
    """Return a map as if it were of this device, if all that it shows is on one."""
    devices = {entry["device"] for part in PLACED for entry in observed[part]}
    if len(devices) != 1:
        return observed
    moved = {
        part: [entry | {"device": device} for entry in observed[part]]
        for part in PLACED
    }
    return observed | moved


def with_marks(text: str, others: list[str]) -> nodes.literal_block:
    """Return a text as a literal block with the parts marked that others lack."""
    tokens = TOKENS.findall(text)
    differs = [False] * len(tokens)
    for other in others:
        if len(text) + len(other) > LONGEST_MARKED:
            continue
        matcher = SequenceMatcher(a=tokens, b=TOKENS.findall(other), autojunk=False)
        for tag, start, stop, _, _ in matcher.get_opcodes():
            if tag in ("replace", "delete"):
                differs[start:stop] = [True] * (stop - start)
    for place in range(1, len(tokens) - 1):  # one mark for words side by side
        if tokens[place] == " " and differs[place - 1] and differs[place + 1]:
            differs[place] = True
    words = [d for token, d in zip(tokens, differs, strict=True) if not token.isspace()]
    if sum(words) > MOST_MARKED * len(words):
        differs = [False] * len(tokens)
    # The raw source is left empty, so that Sphinx does not highlight the text as
    # code, and the language keeps the gallery from looking for names in it.
    block = nodes.literal_block(
        "", "", classes=["sphx-glr-script-out"], language="none"
    )
    for different, run in groupby(zip(differs, tokens, strict=True), itemgetter(0)):
        piece = "".join(token for _, token in run)
        if different and not piece.isspace():
            block += nodes.inline(text=piece, classes=["differs"])
        else:
            block += nodes.Text(piece)
    return block
