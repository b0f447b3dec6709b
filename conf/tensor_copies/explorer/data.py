"""The explorer's data: packed small for the reader's browser, and read again here.

Thousands of chains have a few hundred outcomes, so each list, text, picture and outcome
is written once and named by its number: that is what the reader's browser gets
(``_static/explorer_data.js``), and :class:`Explorer` reads the same for the pictures
that are drawn here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

from tensor_copies.explorer.chains import (
    CALLS,
    LONGEST,
    TENSORS_ONLY,
    TO_ARRAY,
    Chain,
    walk,
)

# What the packed list of an outcome's facts holds, in order: all that the Atlas's
# probe sees, but for what is asked of CUDA's queue and allocator.
FACTS = (
    "error", "same_object", "shares_memory", "gradient_flows", "requires_grad",
    "is_leaf", "new_bytes", "changes_x", "result", "moved", "grad_fn", "warning",
    "strides_kept", "shares_version",
)  # fmt: skip
# And of a memory that was made on the way, behind the call, cells, holds and shape.
ROWS = "cells", "holds", "shape"
STEP = "moved", "requires_grad", "is_leaf", "flows"
TEXTS = {"error", "result", "grad_fn", "warning"}
SEVEN = 7  # what the writes write
FIRST_LETTER = 35  # of the numbers in the packed data

Seen = dict[tuple[str, str, Chain], dict[str, Any]]


class Numbers(dict):
    """Things that are written once, each with its number."""

    def number(self, thing: Any) -> int:
        """Return the number of a thing, a new one if it is new."""
        return self.setdefault(thing, len(self))


def pack(head: dict[str, Any], seen: Seen) -> dict[str, Any]:
    """Write each list, text, scene and outcome once; return what JSON can hold.

    A scene is the memories before the writes, the cells that x and y hold, for each
    write what it raised as it stands and the cells that it set to 7 (null where it
    could not be made), the shape of y, and the memories on the way. ``seen`` has a
    letter for each chain, device and kind of x, in this order and as :func:`walk` meets
    the chains; it is the place of the outcome among ``outcomes``, and where a beginning
    of the chain raises there is none. An outcome is two letters: the place of its
    record, and one more than the place of its scene, or 0 where it has none.
    """
    texts, lists, scenes, facts = (Numbers() for _ in range(4))
    texts.number(None)

    def numbers(rows: list[list[float]]) -> tuple[int, ...]:
        return tuple(lists.number(tuple(row)) for row in rows)

    def scene(one: dict[str, Any]) -> int:
        cells = [_whole(row) for row in one["cells"]]
        writes = []
        for write in one["writes"].values():
            changed = None
            if write["cells"]:
                pairs = zip(cells, map(_whole, write["cells"]), strict=True)
                changed = numbers([_changed(*pair) for pair in pairs])
            writes.append((texts.number(write["refused"]), changed))
        shape = lists.number(tuple(one["shape"]))
        between = tuple(map(step, one["between"]))
        return scenes.number(
            (numbers(cells), numbers(one["holds"]), *writes, shape, between)
        )

    def step(one: dict[str, Any]) -> tuple[Any, ...]:
        rows = numbers([_whole(one["cells"]), one["holds"], one["shape"]])
        facts = tuple(_small(one[key]) for key in STEP)
        return (texts.number(one["code"]), *rows, facts)

    def outcome(one: dict[str, Any]) -> str:
        record = dict(one["facts"])
        there = record["result_device"]
        record["moved"] = None if there is None else there != record["device"]
        values = tuple(
            texts.number(record[name]) if name in TEXTS else _small(record[name])
            for name in FACTS
        )
        pair = facts.number(values), scene(one) + 1 if "cells" in one else 0
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
        "arrays": TO_ARRAY,
        "tensors": TENSORS_ONLY,
        "facts": FACTS,
        "texts": list(texts),
        "lists": list(lists),
        "scenes": list(scenes),
        "records": list(facts),
        "outcomes": "".join(frequent),
        "seen": "".join(
            letters[found[device, state, chain]]
            for chain in walk(calls)
            for device, state in product(head["devices"], head["states"])
            if (device, state, chain) in found
        ),
    }


def _small(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _whole(row: list[float]) -> list[float]:
    return [int(value) if value == int(value) else value for value in row]


def _changed(before: list[float], after: list[float]) -> list[int]:
    """Return the places where a write has put its 7."""
    places = [at for at, value in enumerate(before) if after[at] != value]
    assert all(after[at] == SEVEN for at in places), f"{before} became {after}"
    assert SEVEN not in before, f"{before} has what a write writes"
    return places


class Explorer:
    """What was seen of every chain, unpacked."""

    def __init__(self, packed: dict[str, Any]) -> None:
        self.packed = packed
        self.devices: dict[str, str] = packed["devices"]
        self.states: dict[str, str] = packed["states"]
        self.calls: dict[str, str] = packed["calls"]
        places = [ord(letter) - FIRST_LETTER for letter in packed["outcomes"]]
        pairs = zip(places[::2], places[1::2], strict=True)
        self.outcomes = [self._outcome(*pair) for pair in pairs]
        self._seen: Seen = {}
        letters = iter(packed["seen"])
        for chain in walk(self.calls):
            for condition in product(self.devices, self.states):
                before = self._seen.get((*condition, chain[:-1]))
                if not chain or (before is not None and before["error"] is None):
                    number = ord(next(letters)) - FIRST_LETTER
                    self._seen[*condition, chain] = self.outcomes[number]

    def __iter__(self) -> Iterator[tuple[str, str, Chain]]:
        """Go through what was run: device, kind of x and chain."""
        return iter(self._seen)

    def __contains__(self, key: tuple[str, str, Chain]) -> bool:
        return key in self._seen

    def seen(self, device: str, state: str, chain: Chain) -> dict[str, Any]:
        """Return what a chain did: the facts by name, and the ``scene``.

        Raises
        ------
        KeyError
            If the chain was not run, since a beginning of it raises.
        """
        return self._seen[device, state, chain]

    def memory_of_x(self, device: str, state: str) -> list[float]:
        """Return the memory of x before a call."""
        return self.seen(device, state, ())["scene"]["cells"][0]

    def _outcome(self, record: int, scene: int) -> dict[str, Any]:
        """Unpack an outcome: its record, and its scene (from 1) if it has one."""
        texts = self.packed["texts"]
        values = zip(FACTS, self.packed["records"][record], strict=True)
        found = {
            name: texts[value] if name in TEXTS else value for name, value in values
        }
        return {**found, "scene": self._scene(scene - 1) if scene else None}

    def _scene(self, number: int) -> dict[str, Any]:
        lists, texts = self.packed["lists"], self.packed["texts"]
        rows, held, x, y, shape, *between = self.packed["scenes"][number]
        return {
            "cells": [lists[row] for row in rows],
            "holds": [lists[row] for row in held],
            "shape": lists[shape],
            "writes": {
                name: {
                    "refused": texts[refused],
                    "changed": changed and [lists[row] for row in changed],
                }
                for name, (refused, changed) in (("x", x), ("y", y))
            },
            # What is published has pictures of these in their place.
            "between": [
                {
                    "code": texts[code],
                    **dict(zip(ROWS, map(lists.__getitem__, row), strict=True)),
                    **dict(zip(STEP, facts, strict=True)),
                }
                for steps in between
                for code, *row, facts in steps
            ],
        }
