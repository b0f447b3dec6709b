"""Run every chain of the explorer's calls on every kind of x; return what was seen.

It runs in a fresh process, which has the simulated device where there is no GPU. The
facts of a chain are those that the Atlas's probe sees. In addition a chain is run again
for each write: into ``x`` and into ``y``, as a reader would type it, and where autograd
refuses that, under ``torch.no_grad()``.

A chain is not made longer once it raises: what follows would never run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch
from tensor_maps.atlas.calls import STATES, Operation
from tensor_maps.atlas.probes import Probe, first_paragraph, observe

from tensor_copies.explorer.chains import (
    CALLS,
    LONGEST,
    Chain,
    can_follow,
    expression_of,
)
from tensor_copies.explorer.data import Seen
from tensor_copies.simulated import NAME

WRITES = {"x": "x[0] = 7", "y": "y[0] = 7"}
ITEM = 4  # bytes of an element


def devices_here() -> dict[str, str]:
    """Return the name of each device that this Python has, by its kind."""
    found = {"cpu": "the CPU"}
    if torch.cuda.is_available():
        return {**found, "cuda": f"CUDA ({torch.cuda.get_device_name()})"}
    if hasattr(torch, NAME):
        return {**found, NAME: "a simulated GPU, in host memory"}
    return found


def probe_chain(keys: Chain, state: str, device: str, other: str | None) -> dict:
    """Run a chain on a new ``x``; return what the probe and the writes saw.

    That is the Atlas's record, the memories as rows of values with the cells that each
    name holds, those that were made on the way, and what each write changed or raised.
    ``other`` is what ``device`` means in ``.to(device)``: the kind of device that is
    not the CPU, or None.
    """
    code = f"y = {expression_of(keys)}"
    given = "" if other is None else f'device = torch.device("{other}")'
    run = Operation(code, code, "", "", "", given), state, device
    seen = {"facts": observe(*run)}
    if seen["facts"]["error"] is not None:
        return seen
    pair = _new_pair(*run)
    seen |= _places(**pair) | {"shape": list(getattr(pair["y"], "shape", ()))}
    seen["between"] = _memories_between(keys, *run)
    return seen | {"writes": {name: _written(name, *run) for name in WRITES}}


def _new_pair(operation: Operation, state: str, device: str) -> dict[str, Any]:
    """Return an ``x`` and the ``y`` that a chain makes of it."""
    # The Atlas's own probe: the same x, run in the same way.
    probe = Probe(operation, state, device)
    y = probe.run()
    return {"x": probe.x, "y": y}


def _places(x: Any, y: Any) -> dict[str, Any]:
    """Return each memory as a row of values, and which cells a name holds.

    ``cells`` has one row for ``x`` and, if ``y`` has a memory of its own, one for it.
    A number that is in no memory is a row of one cell that nothing holds.
    """
    start, cells_of_x, held_by_x = _memory_and_cells(x)
    first, cells_of_y, held_by_y = _memory_and_cells(y)
    if first is None or not -len(cells_of_y) < first - start < len(cells_of_x):
        return {"cells": [cells_of_x, cells_of_y], "holds": [held_by_x, held_by_y]}
    held = [place + first - start for place in held_by_y]
    return {"cells": [cells_of_x], "holds": [held_by_x, held]}


def _memory_and_cells(value: Any) -> tuple[int | None, list[float], list[int]]:
    """Return where a memory begins, its values, and the places that the name shows.

    All are counted in elements, each a float32.
    """
    if not isinstance(value, torch.Tensor | np.ndarray):
        return None, [float(value)], []
    owner = value
    # An array may be a view of an array, and that of a tensor's memory.
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    owner, value = (
        torch.from_numpy(one) if isinstance(one, np.ndarray) else one.detach()
        for one in (owner, value)
    )
    storage = owner.untyped_storage()
    start, count = storage.data_ptr() // ITEM, storage.nbytes() // ITEM
    whole = owner.as_strided((count,), (1,), 0).tolist()
    places = torch.arange(count).as_strided(
        value.shape, value.stride(), value.data_ptr() // ITEM - start
    )
    return start, whole, places.flatten().tolist()


def _memories_between(
    keys: Chain, operation: Operation, state: str, device: str
) -> list[dict[str, Any]]:
    """Return the memories that a chain makes on its way, and y's; [] if y's is alone.

    Each is told by the call that made it. ``flows`` says whether a gradient flows back
    from there to the memory before it; of y's own nothing else is read.
    """
    lines = [f"steps.append(steps[-1]{CALLS[key].code})" for key in keys]
    text = "\n".join(["steps = [x]", *lines, "y = steps[-1]"])
    probe = Probe(replace(operation, code=text), state, device)
    y = probe.run()  # the steps stay alive, so no address is used twice
    steps, found = probe.names["steps"], []
    last = steps[0]
    codes = [CALLS[key].code for key in keys]
    codes[:1] = (f"x{code}" for code in codes[:1])
    made = [
        (code, value)
        for code, one, value in zip(codes, steps, steps[1:], strict=False)
        if not _overlap(one, value)
    ]
    for code, value in made:
        _, cells, held = _memory_and_cells(value)
        tensor = isinstance(value, torch.Tensor)
        end = y if value is made[-1][1] else value
        found.append(
            {
                "code": code,
                "cells": cells,
                "holds": held,
                "shape": list(getattr(value, "shape", ())),
                "moved": tensor and value.device.type != device,
                "requires_grad": value.requires_grad if tensor else None,
                "is_leaf": tensor and value.is_leaf,
                "flows": _flows_back(end, last),
            }
        )
        last = value
    return found if len(found) > 1 else []


def _overlap(one: Any, other: Any) -> bool:
    """Whether two tensors or arrays are on one memory."""
    (start, cells, _), (begin, others, _) = map(_memory_and_cells, (one, other))
    if start is None or begin is None:
        return False
    return -len(others) < begin - start < len(cells)


def _flows_back(value: Any, source: Any) -> bool:
    """Whether a gradient flows from a value to the one that it was made from."""
    both = value, source
    if not all(isinstance(one, torch.Tensor) and one.requires_grad for one in both):
        return False
    found = torch.autograd.grad(
        value.sum(), source, allow_unused=True, retain_graph=True
    )
    return found[0] is not None


def _written(
    name: str, operation: Operation, state: str, device: str
) -> dict[str, Any]:
    """Write through one name; say what both memories hold then, or what it raises.

    ``refused`` is what the write raises as it stands; ``cells`` are the memories
    after it, or after it under ``torch.no_grad()`` if only autograd refused it.
    """
    refused = None
    for guarded in (state == "no_grad", True):
        pair = _new_pair(operation, state, device)
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
    state: str, device: str, other: str | None, keys: Chain = ()
) -> Iterator[tuple[Chain, dict[str, Any]]]:
    """Run a chain and the longer ones that begin with it, unless it raises."""
    seen = probe_chain(keys, state, device, other)
    yield keys, seen
    if seen["facts"]["error"] is None and len(keys) < LONGEST:
        for key, call in CALLS.items():
            there = other is not None or not call.needs_device
            if there and can_follow(keys, key):
                yield from chains(state, device, other, (*keys, key))


def probe_chains() -> tuple[dict[str, Any], Seen]:
    """Run all chains.

    Return the devices and the kinds of x, each by its key; and what was seen, by
    device, kind of x and chain.
    """
    torch.set_warn_always(True)  # or a warning would show in one chain alone
    warnings.simplefilter("ignore")  # the Atlas's probe looks at them itself
    found = devices_here()
    other = next((kind for kind in found if kind != "cpu"), None)
    seen = {
        (device, state, keys): one
        for device, state in product(found, STATES)
        for keys, one in chains(state, device, other)
    }
    return {"devices": found, "states": STATES}, seen
