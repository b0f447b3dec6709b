"""The explorer's data: probed once, kept, packed small, and handed to the script.

The probes (probing.py) run in a Python of their own and what they saw is kept
(kept.py). Thousands of chains have a few hundred outcomes, so each list,
text, picture and outcome is written once and named by its number: that is what the
reader's browser gets (``_static/explorer_data.js``), and :class:`Explorer` reads the
same for the pictures that are drawn here.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from sphinx.errors import SphinxError
from sphinx.util import logging

from tensor_copies.explorer.chains import CALLS, LONGEST
from tensor_copies.machine.fingerprint import CONF, fingerprint

logger = logging.getLogger(__name__)
BUILD = CONF.parent / "build"
TIME_LIMIT = 600  # seconds
# What the packed list of an outcome's facts holds, in order: all that the Atlas's
# probe sees, but for what is asked of CUDA's queue and allocator.
FACTS = (
    "error", "same_object", "shares_memory", "gradient_flows", "requires_grad",
    "is_leaf", "new_bytes", "changes_x", "result", "moved", "grad_fn", "warning",
    "strides_kept", "shares_version",
)  # fmt: skip
TEXTS = {"error", "result", "grad_fn", "warning"}
SEVEN = 7  # what the writes write
FIRST_LETTER = 35  # of the numbers in the packed data

Chain = tuple[str, ...]
Seen = dict[tuple[str, str, Chain], dict[str, Any]]


class ExplorerFailed(SphinxError):
    """The probes did not end well; the message is one line."""

    category = "The explorer"


def probe(cache: Path = BUILD / "stand_in") -> tuple[dict[str, Any], Seen]:
    """Run all chains in a new Python.

    Return the devices and the kinds of x, each by its key; and what was seen, by
    device, kind of x and chain. ``cache`` is the folder that keeps the compiled
    stand-in, the second device where there is no GPU.

    Raises
    ------
    ExplorerFailed
        If a probe fails or does not end.
    """
    try:
        done = _run(cache)
    except subprocess.TimeoutExpired:
        raise ExplorerFailed(f"the probes took more than {TIME_LIMIT} s") from None
    if done.returncode != 0:
        said = done.stderr.strip().rpartition("\n")[2]
        raise ExplorerFailed(f"a probe failed: {said}")
    head, *rows = map(json.loads, done.stdout.splitlines())
    seen = {(device, state, tuple(keys)): one for device, state, keys, one in rows}
    return head, seen


def _run(cache: Path) -> subprocess.CompletedProcess[str]:
    """Run the probes with the stand-in where this machine has no other device."""
    command = ("-m", "tensor_copies.explorer.probing")
    # Imported late: it imports torch, which a build that probes nothing does not.
    from tensor_copies.stand_in import NoStandIn, new_python

    if fingerprint().device_kind == "cpu":
        try:
            return new_python(*command, seconds=TIME_LIMIT, cache=cache)
        except NoStandIn as missing:
            logger.info("Explorer: %s", str(missing).partition("\n")[0])
    return new_python(*command, with_device=False, seconds=TIME_LIMIT)


class _Table:
    """Values that are written once and named by their number."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, value: Any) -> int:
        return self._places.setdefault(json.dumps(value), len(self._places))

    def values(self) -> list[Any]:
        return [json.loads(text) for text in self._places]


def pack(head: dict[str, Any], seen: Seen) -> dict[str, Any]:
    """Write each list, text, scene and outcome once; return what JSON can hold.

    A scene is the memories before the writes, the cells that x and y hold, and for
    each write what it raised as it stands and the cells that it set to 7 (null where
    it could not be made). ``seen`` has a letter for each chain, device and kind of x,
    in this order and as :func:`walk` meets the chains; it is the place of the outcome
    among ``outcomes``, and where a beginning of the chain raises there is none. An
    outcome is two letters: the place of its record, and one more than the place of
    its scene, or 0 where it has none.
    """
    texts, lists, scenes, facts = (_Table() for _ in range(4))
    texts.place(None)

    def scene(one: dict[str, Any]) -> int | None:
        if "cells" not in one:
            return None
        cells = [_whole(row) for row in one["cells"]]
        writes = []
        for write in one["writes"].values():
            after = write["cells"]
            changed = after and [
                lists.place(_changed(*rows))
                for rows in zip(cells, map(_whole, after), strict=True)
            ]
            writes.append([texts.place(write["refused"]), changed])
        rows = [lists.place(row) for row in cells]
        held = [lists.place(row) for row in one["holds"]]
        return scenes.place([rows, held, *writes])

    def outcome(one: dict[str, Any]) -> str:
        record = dict(one["facts"])
        away = record["result_device"] not in (None, record["device"])
        record["moved"] = None if record["result_device"] is None else away
        values = [
            texts.place(record[name]) if name in TEXTS else _small(record[name])
            for name in FACTS
        ]
        seen_at = scene(one)
        pair = facts.place(values), 0 if seen_at is None else seen_at + 1
        return "".join(chr(FIRST_LETTER + place) for place in pair)

    found = {key: outcome(one) for key, one in seen.items()}
    # The most frequent first: their letters take one byte.
    frequent = [text for text, _ in Counter(found.values()).most_common()]
    letters = {text: chr(FIRST_LETTER + place) for place, text in enumerate(frequent)}
    two = len(head["devices"]) > 1
    calls = [key for key, call in CALLS.items() if two or not call.needs_device]
    return {
        "devices": head["devices"],
        "states": head["states"],
        "calls": {key: CALLS[key].code for key in calls},
        # Of these it is not known what they do where there is a second device.
        "unknown": [key for key in calls if CALLS[key].by_device and not two],
        "longest": LONGEST,
        "facts": FACTS,
        "texts": texts.values(),
        "lists": lists.values(),
        "scenes": scenes.values(),
        "records": facts.values(),
        "outcomes": "".join(frequent),
        "seen": "".join(
            letters[found[device, state, chain]]
            for chain in walk(calls)
            for device, state in product(head["devices"], head["states"])
            if (device, state, chain) in found
        ),
    }


def walk(calls: list[str], chain: Chain = ()) -> Iterator[Chain]:
    """Go through all chains, each before the longer ones that begin with it."""
    yield chain
    if len(chain) < LONGEST:
        for key in calls:
            yield from walk(calls, (*chain, key))


def _small(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _whole(row: list[float]) -> list[float]:
    return [int(value) if value == int(value) else value for value in row]


def _changed(before: list[float], after: list[float]) -> list[int]:
    """Return the places where a write has put its 7."""
    places = [
        n
        for n, pair in enumerate(zip(before, after, strict=True))
        if len(set(pair)) > 1
    ]
    if any(after[place] != SEVEN for place in places) or SEVEN in before:
        raise ExplorerFailed(f"a write changed {before} to {after}")
    return places


class Explorer:
    """What was seen of every chain, unpacked."""

    def __init__(self, packed: dict[str, Any]) -> None:
        self.packed = packed
        self.devices: dict[str, str] = packed["devices"]
        self.states: dict[str, str] = packed["states"]
        self.calls: dict[str, str] = packed["calls"]
        self._numbers: dict[tuple[str, str, Chain], int] = {}
        letters = iter(packed["seen"])
        conditions = list(product(self.devices, self.states))
        for chain in walk(list(self.calls)):
            for condition in conditions:
                before = self._numbers.get((*condition, chain[:-1]))
                if not chain or (before is not None and not self._raises(before)):
                    number = ord(next(letters)) - FIRST_LETTER
                    self._numbers[*condition, chain] = number

    def __iter__(self) -> Iterator[tuple[str, str, Chain]]:
        """Go through what was run: device, kind of x and chain."""
        return iter(self._numbers)

    def __contains__(self, key: tuple[str, str, Chain]) -> bool:
        return key in self._numbers

    def seen(self, device: str, state: str, chain: Chain) -> dict[str, Any]:
        """Return what a chain did: the facts by name, and the ``scene``.

        Raises
        ------
        KeyError
            If the chain was not run, since a beginning of it raises.
        """
        return self._seen(self._numbers[device, state, chain])

    def outcomes(self) -> Iterator[dict[str, Any]]:
        """Go through all that chains did, each once."""
        yield from map(self._seen, range(len(self.packed["outcomes"]) // 2))

    def row_of_x(self, device: str, state: str) -> int:
        """Return the number of the list that is the memory of x before a call."""
        _, scene = self._outcome(self._numbers[device, state, ()])
        return self.packed["scenes"][scene - 1][0][0]

    def _seen(self, number: int) -> dict[str, Any]:
        packed = self.packed
        record, scene = self._outcome(number)
        values = zip(FACTS, packed["records"][record], strict=True)
        found = {
            name: packed["texts"][value] if name in TEXTS else value
            for name, value in values
        }
        return {**found, "scene": self._scene(scene - 1) if scene else None}

    def _outcome(self, number: int) -> tuple[int, int]:
        """Return the place of an outcome's record, and that of its scene or 0."""
        record, scene = self.packed["outcomes"][2 * number : 2 * number + 2]
        return ord(record) - FIRST_LETTER, ord(scene) - FIRST_LETTER

    def _raises(self, number: int) -> bool:
        record = self.packed["records"][self._outcome(number)[0]]
        return self.packed["texts"][record[FACTS.index("error")]] is not None

    def _scene(self, number: int) -> dict[str, Any]:
        lists, texts = self.packed["lists"], self.packed["texts"]
        rows, held, *writes = self.packed["scenes"][number]
        return {
            "cells": [lists[row] for row in rows],
            "holds": [lists[row] for row in held],
            "writes": {
                name: {
                    "refused": texts[refused],
                    "changed": changed and [lists[row] for row in changed],
                }
                for name, (refused, changed) in zip("xy", writes, strict=True)
            },
        }
