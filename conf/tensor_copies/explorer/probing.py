"""Run every chain of the explorer's calls on every kind of x; print what was seen.

``python -m tensor_copies.explorer.probing`` runs in a Python of its own, since it
has, where there is no GPU, the stand-in for a second device. The facts of
a chain are those that the Atlas's probe sees. In addition a chain is run again for
each write: into ``x`` and into ``y``, as a reader would type it, and where autograd
refuses that, under ``torch.no_grad()``.

A chain is not made longer once it raises: what follows would never run.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
import torch
from tensor_maps.atlas.calls import STATES, Operation
from tensor_maps.atlas.probes import Probe, first_paragraph, observe

from tensor_copies.explorer.chains import CALLS, LONGEST, code_of
from tensor_copies.stand_in import NAME, is_loaded

WRITES = {"x": "x[0] = 7", "y": "y[0] = 7"}


def devices() -> dict[str, str]:
    """Return the name of each device that this Python has, by its kind."""
    found = {"cpu": "the CPU"}
    if torch.cuda.is_available():
        return {**found, "cuda": f"CUDA ({torch.cuda.get_device_name()})"}
    if is_loaded():
        return {**found, NAME: "a stand-in for a GPU, in host memory"}
    return found


def look(keys: tuple[str, ...], state: str, device: str, other: str | None) -> dict:
    """Run a chain on a new ``x``; return what the probe and the writes saw.

    That is the Atlas's record, the memories as rows of values with the cells that each
    name holds, and what each write changed or raised.

    ``keys`` are the calls of the chain, keys of ``CALLS``, and ``state`` is a key of
    the Atlas's ``STATES``. ``other`` is what ``device`` means in ``.to(device)``: the
    kind of device that is not the CPU, or None where there is none.
    """
    code = f"y = {code_of(keys)}"
    given = "" if other is None else f'device = torch.device("{other}")'
    seen = {"facts": observe(_operation(code, given), state, device)}
    if seen["facts"]["error"] is not None:
        return seen
    seen |= _places(**_pair(code, given, state, device))
    seen["writes"] = {name: _write(name, code, given, state, device) for name in WRITES}
    return seen


def _operation(code: str, given: str) -> Operation:
    return Operation(code, code, "", "", "", given)


def _pair(code: str, given: str, state: str, device: str) -> dict[str, Any]:
    """Return an ``x`` and the ``y`` that a chain makes of it."""
    # The Atlas's own probe: the same x, run in the same way.
    probe = Probe(_operation(code, given), state, device)
    y = probe.run()
    return {"x": probe.x, "y": y}


def _places(x: Any, y: Any) -> dict[str, Any]:
    """Return each memory as a row of values, and which cells a name holds.

    ``cells`` has one row for ``x`` and, if ``y`` has a memory of its own, one for it.
    A number that is in no memory is a row of one cell that nothing holds.
    """
    memory_x, memory_y = _Memory(x), _Memory(y)
    cells, holds, move = [memory_x.values()], memory_y.held(), 0
    if memory_y.start is not None and memory_x.overlaps(memory_y):
        move = (memory_y.start - memory_x.start) // memory_x.item
    else:
        cells.append(memory_y.values())
    return {
        "cells": cells,
        "holds": [memory_x.held(), [place + move for place in holds]],
    }


class _Memory:
    """Where the values of a tensor, an array or a number lie."""

    def __init__(self, value: Any) -> None:
        self.start: int | None = None
        self.item = 1
        owner = value
        # An array may be a view of an array, and that of a tensor's memory.
        while isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        self.value, self.owner = value, owner
        if isinstance(owner, torch.Tensor):
            storage = owner.untyped_storage()
            self.start, self.bytes = storage.data_ptr(), storage.nbytes()
            self.item = owner.element_size()
        elif isinstance(owner, np.ndarray):
            self.start, self.bytes = owner.ctypes.data, owner.nbytes
            self.item = owner.itemsize

    def overlaps(self, other: _Memory) -> bool:
        """Whether the two lie in the same memory."""
        return (
            self.start < other.start + other.bytes
            and other.start < self.start + self.bytes
        )

    def values(self) -> list[float]:
        """Return all values of the memory, in its order."""
        if self.start is None:
            return [float(self.value)]
        count = self.bytes // self.item
        if isinstance(self.owner, np.ndarray):
            return self.owner.ravel(order="K").tolist()
        whole = self.owner.detach().as_strided((count,), (1,), 0)
        return whole.cpu().tolist()

    def held(self) -> list[int]:
        """Return the places in the memory of the values that the name shows."""
        value = self.value
        if self.start is None:
            return []
        if isinstance(value, torch.Tensor):
            first, steps = value.storage_offset(), value.stride()
        else:
            first = (value.ctypes.data - self.start) // self.item
            steps = tuple(step // self.item for step in value.strides)
        counts = [range(count) for count in value.shape]
        return [
            first + sum(map(prod, zip(place, steps, strict=True)))
            for place in product(*counts)
        ]


def _write(name: str, code: str, given: str, state: str, device: str) -> dict[str, Any]:
    """Write through one name; say what both memories hold then, or what it raises.

    ``refused`` is what the write raises as it stands; ``cells`` are the memories
    after it, or after it under ``torch.no_grad()`` if only autograd refused it.
    """
    refused = None
    for guarded in (state == "no_grad", True):
        pair = _pair(code, given, state, device)
        try:
            with torch.set_grad_enabled(not guarded):
                exec(WRITES[name], {}, pair)
        except Exception as error:
            said = f"{type(error).__name__}: {first_paragraph(str(error))}"
            refused = refused or said
        else:
            return {"refused": refused, "cells": _places(**pair)["cells"]}
    return {"refused": refused, "cells": None}


def chains(
    state: str, device: str, other: str | None, keys: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Run a chain and the longer ones that begin with it, unless it raises."""
    seen = look(keys, state, device, other)
    yield keys, seen
    if seen["facts"]["error"] is None and len(keys) < LONGEST:
        for key, call in CALLS.items():
            if other is not None or not call.needs_device:
                yield from chains(state, device, other, (*keys, key))


def main() -> None:
    """Print the devices, then one line for each chain."""
    torch.set_warn_always(True)  # or a warning would show in one chain alone
    warnings.simplefilter("ignore")  # the Atlas's probe looks at them itself
    found = devices()
    other = next((kind for kind in found if kind != "cpu"), None)
    print(json.dumps({"devices": found, "states": STATES}))
    for device, state in product(found, STATES):
        for keys, seen in chains(state, device, other):
            print(json.dumps([device, state, list(keys), seen]))


if __name__ == "__main__":
    main()
