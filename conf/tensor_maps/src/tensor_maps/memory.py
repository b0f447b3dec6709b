"""Find which memory tensors and arrays lie on, and which bytes of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from tensor_maps.reading import (
    address_range,
    is_array,
    number_text,
    shape_of,
    storage_address,
    strides_of,
    tried,
)

MOST_CELLS = 12
MOST_RUNS = 24
MOST_LISTED_ELEMENTS = 256


@dataclass
class _Memory:
    """Where the elements of one tensor or array are.

    ``start`` and ``stop`` are the addresses of the whole storage, ``first`` is that
    of element zero. A storage without an address has an ``identity`` instead, and
    its addresses count from zero.
    """

    device: str
    identity: int
    start: int
    stop: int
    first: int
    item_size: int
    shape: list[int]
    strides: list[int]
    cells: Callable[[], list[str]]

    @property
    def addressed(self) -> bool:
        return self.identity == 0


def see_storages(objects: list, tensors: list[dict]) -> list[dict]:
    """Return one entry per storage, and note in ``tensors`` which one each is on."""
    memories: dict[int, _Memory] = {}
    for number, value in enumerate(objects):
        found = _array_memory(value) if is_array(value) else _tensor_memory(value)
        if isinstance(found, str):
            tensors[number]["memory"] = found
        else:
            memories[number] = found
            if not found.addressed:
                tensors[number]["memory"] = "no memory address"
    storages = []
    for members in _lanes(memories):
        for number in members:
            tensors[number]["storage"] = len(storages)
        on_it = {number: memories[number] for number in members}
        storages.append(_storage(on_it, tensors))
    return storages


def _tensor_memory(tensor: torch.Tensor) -> _Memory | str:
    """Return where a tensor is, or in words why it is nowhere."""
    storage = tried(tensor.untyped_storage)
    shape, strides = shape_of(tensor), strides_of(tensor)
    if storage is None or shape is None or strides is None:
        layout = str(tensor.layout).removeprefix("torch.")
        return f"no storage of its own (layout {layout}, {type(tensor).__name__})"
    size = tried(storage.nbytes, 0)
    if size == 0:
        return "empty, no memory"
    address, item_size = storage_address(tensor), tensor.element_size()
    return _Memory(
        device=str(tensor.device),
        identity=0 if address else storage._cdata,
        start=address,
        stop=address + int(size),
        first=address + int(tensor.storage_offset()) * item_size,
        item_size=item_size,
        shape=shape,
        strides=strides,
        cells=partial(_tensor_cells, tensor, int(size) // item_size),
    )


def _tensor_cells(tensor: torch.Tensor, count: int) -> list[str]:
    """Return the values of the whole storage of a tensor."""
    # Plain: a conjugate or negated view has a mark that turns values when read.
    plain = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    plain.set_(tensor.untyped_storage(), 0, (count,), (1,))
    return [number_text(value) for value in plain.tolist()]


def _array_memory(array: Any) -> _Memory | str:
    """Return where an array is, or in words why it is nowhere."""
    if array.nbytes == 0:
        return "empty, no memory"
    item_size, (low, high) = array.itemsize, _array_reach(array)
    owner = array
    while is_array(owner.base):
        owner = owner.base
    base = owner.base
    whole = _tensor_memory(base) if isinstance(base, torch.Tensor) else ""
    if isinstance(whole, _Memory):
        start, stop, cells = whole.start, whole.stop, whole.cells
    else:
        start, stop = _array_reach(owner)
        cells = partial(_array_cells, owner)
    return _Memory(
        device="cpu",
        identity=0,
        start=min(start, low),
        stop=max(stop, high),
        first=array_address(array),
        item_size=item_size,
        shape=list(array.shape),
        strides=[stride // item_size for stride in array.strides],
        cells=cells,
    )


def _array_cells(array: Any) -> list[str]:
    return [number_text(value) for value in array.ravel(order="K").tolist()]


def array_address(array: Any) -> int:
    """Return the address of the first element of an array."""
    return array.__array_interface__["data"][0]


def _array_reach(array: Any) -> tuple[int, int]:
    return address_range(
        array_address(array), array.shape, array.strides, array.itemsize
    )


def _lanes(memories: dict[int, _Memory]) -> list[list[int]]:
    """Group what lies on the same storage, in the order of first appearance.

    Storages whose addresses overlap are one: ``torch.from_numpy(a[1:])`` makes a
    new storage object on the memory of ``a``.
    """
    ordered = sorted(
        memories,
        key=lambda n: (memories[n].device, memories[n].identity, memories[n].start),
    )
    lanes: list[list[int]] = []
    place, stop = None, 0
    for number in ordered:
        memory = memories[number]
        if place == (memory.device, memory.identity) and memory.start < stop:
            lanes[-1].append(number)
            stop = max(stop, memory.stop)
        else:
            lanes.append([number])
            place, stop = (memory.device, memory.identity), memory.stop
    return sorted(sorted(lane) for lane in lanes)


def _storage(members: dict[int, _Memory], tensors: list[dict]) -> dict:
    start = min(memory.start for memory in members.values())
    size = max(memory.stop for memory in members.values()) - start
    reader, cells = _cells(members, size)
    return {
        "bytes": size,
        "device": members[reader].device,
        "dtype": tensors[reader]["dtype"],
        "addressed": members[reader].addressed,
        "cells": cells,
        "windows": [
            _window(number, memory, start, size) for number, memory in members.items()
        ],
    }


def _cells(members: dict[int, _Memory], size: int) -> tuple[int, list[str] | None]:
    """Return who reads the whole storage, and its values if it is small."""
    for number, memory in members.items():
        count = size // memory.item_size
        sees_all = memory.addressed and memory.stop - memory.start == size
        if sees_all and count <= MOST_CELLS:
            cells = tried(memory.cells)
            if cells and len(cells) == count:
                return number, cells
    return next(iter(members)), None


def _window(number: int, memory: _Memory, start: int, size: int) -> dict:
    shape, item_size, first = memory.shape, memory.item_size, memory.first - start
    strides = [stride * item_size for stride in memory.strides]
    low, high = address_range(first, shape, strides, item_size)
    moves = [
        (length, stride)
        for length, stride in zip(shape, strides, strict=True)
        if stride != 0 and length > 1
    ]
    distinct = 0 if 0 in shape else math.prod(length for length, _ in moves)
    runs = [[low, high]]
    if distinct <= MOST_LISTED_ELEMENTS:
        runs = _runs(first, moves, item_size) if distinct else []
        runs = runs if len(runs) <= MOST_RUNS else [[low, high]]
    return {
        "tensor": number,
        "offset": (memory.first - memory.start) // item_size,
        "shape": shape,
        "strides": memory.strides,
        "runs": runs,
        "covers_all": [low, high] == [0, size] and distinct * item_size >= size,
    }


def _runs(first: int, moves: list[tuple[int, int]], item_size: int) -> list[list[int]]:
    """Return the stretches of bytes that a window touches, joined where they meet."""
    steps = [[at * stride for at in range(length)] for length, stride in moves]
    runs: list[list[int]] = []
    for begin in sorted({first + sum(step) for step in itertools.product(*steps)}):
        if runs and begin <= runs[-1][1]:
            runs[-1][1] = max(runs[-1][1], begin + item_size)
        else:
            runs.append([begin, begin + item_size])
    return runs
