"""Find which memory tensors and arrays lie on, and which bytes of it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from tensor_maps.reading import (
    address_range,
    is_array,
    is_lazy,
    is_meta,
    number_text,
    shape_of,
    storage_address,
    strides_of,
    tried,
)

MOST_CELLS = 12
MOST_RUNS = 24
MOST_LISTED_ELEMENTS = 256
# Why there is no memory: that is then no question, and not unknown.
EMPTY, NO_DATA = "empty, no memory", "it has no data"
# What the tensors inside a sparse or a nested tensor are got by.
_PARTS = ("_values", "_indices", "values", "crow_indices", "col_indices",
          "ccol_indices", "row_indices")  # fmt: skip


@dataclass
class Memory:
    """Where the elements of one tensor or array are.

    ``start`` and ``stop`` are the addresses of the whole storage, ``first`` is that
    of element zero, ``strides`` are in bytes.
    """

    device: str
    start: int
    stop: int
    first: int
    item_size: int
    shape: list[int]
    strides: list[int]
    cells: Callable[[], list[str]]


def see_storages(objects: list, tensors: list[dict]) -> list[dict]:
    """Return one entry per storage, and note in ``tensors`` which one each is on."""
    memories, nowhere = placed(objects)
    for number, why in nowhere.items():
        tensors[number]["memory"] = why
        for part in _wrapped(objects[number]):
            inner = tried(partial(_tensor_memory, part))
            for other, memory in memories.items():
                if isinstance(inner, Memory) and len(lanes({0: inner, 1: memory})) == 1:
                    names = tensors[number]["names"]
                    tensors[other]["memory"] = f"a part of {names[0]}"
    storages = []
    for members in lanes(memories):
        for number in members:
            tensors[number]["storage"] = len(storages)
        on_it = {number: memories[number] for number in members}
        storages.append(_storage(on_it, tensors))
    return storages


def placed(objects: Iterable[Any]) -> tuple[dict[int, Memory], dict[int, str]]:
    """Return by number where tensors and arrays are, and why others are nowhere."""
    memories, nowhere = {}, {}
    for number, value in enumerate(objects):
        look = _array_memory if is_array(value) else _tensor_memory
        found = tried(partial(look, value), "no memory that can be read")
        (nowhere if isinstance(found, str) else memories)[number] = found
    return memories, nowhere


def _tensor_memory(tensor: torch.Tensor) -> Memory | str:
    if tried(lambda: is_meta(tensor), False):
        return NO_DATA
    storage = tried(tensor.untyped_storage)
    shape, strides = shape_of(tensor), strides_of(tensor)
    if storage is None or shape is None or strides is None:
        return _why_no_storage(tensor)
    size, address = int(storage.nbytes()), storage_address(tensor)
    if size == 0:
        return EMPTY
    if not address:
        return "it wraps other tensors" if _wrapped(tensor) else "no memory address"
    if is_lazy(tensor):
        return "it is copied when it is first written to"
    item_size = tensor.element_size()
    return Memory(
        device=str(tensor.device),
        start=address,
        stop=address + size,
        first=address + int(tensor.storage_offset()) * item_size,
        item_size=item_size,
        shape=shape,
        strides=[stride * item_size for stride in strides],
        cells=partial(_tensor_cells, tensor, size // item_size),
    )


def _wrapped(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the tensors inside a tensor that has no memory of its own."""
    found = [tensor]
    for one in found:  # which grows on the way
        parts = list(tried(lambda t=one: vars(t), {}).values())
        if type(one) is torch.Tensor and (one.is_nested or one.layout != torch.strided):
            parts += [tried(lambda t=one, n=name: getattr(t, n)()) for name in _PARTS]
        found += [
            part
            for part in parts
            if issubclass(type(part), torch.Tensor)
            and not any(part is other for other in found)
        ]
    return found[1:]


def _why_no_storage(tensor: torch.Tensor) -> str:
    wrapped = torch._C._functorch
    for inside, is_wrapper in (
        ("vmap", wrapped.is_batchedtensor),
        ("a transform of torch.func", wrapped.is_gradtrackingtensor),
        ("functionalize", wrapped.is_functionaltensor),
    ):
        if tried(lambda ask=is_wrapper: ask(tensor), False):
            return f"no storage: it stands for a tensor inside {inside}"
    layout = str(tensor.layout).removeprefix("torch.")
    if tensor.is_nested:
        return f"a nested tensor (layout {layout})"
    return f"no storage (layout {layout}, {type(tensor).__name__})"


def _tensor_cells(tensor: torch.Tensor, count: int) -> list[str]:
    """Return the values of the whole storage of a tensor."""
    # Plain: a conjugate or negated view has a mark that turns values when read.
    plain = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    plain.set_(tensor.untyped_storage(), 0, (count,), (1,))
    return [number_text(value) for value in plain.tolist()]


def _array_memory(array: Any) -> Memory | str:
    owner = array
    while is_array(owner.base):
        owner = owner.base
    base, (low, high) = owner.base, array_reach(array)
    whole = _tensor_memory(base) if isinstance(base, torch.Tensor) else None
    if isinstance(whole, Memory):
        start, stop, cells = whole.start, whole.stop, whole.cells
    elif owner.nbytes == 0:
        return EMPTY
    else:
        start, stop = array_reach(owner)
        cells = partial(_array_cells, owner)
    return Memory(
        device="cpu",
        start=min(start, low),
        stop=max(stop, high),
        first=array_address(array),
        item_size=array.itemsize,
        shape=list(array.shape),
        strides=list(array.strides),
        cells=cells,
    )


def _array_cells(array: Any) -> list[str]:
    return [number_text(value) for value in array.ravel(order="K").tolist()]


def array_address(array: Any) -> int:
    """Return the address of the first element of an array."""
    return array.__array_interface__["data"][0]


def array_reach(array: Any) -> tuple[int, int]:
    """Return where the memory that an array's elements are in begins and ends."""
    first = array_address(array)
    if array.size == 0:
        return first, first
    return address_range(first, array.shape, array.strides, array.itemsize)


def lanes(memories: dict[int, Memory]) -> list[list[int]]:
    """Group what lies on the same storage, in the order of first appearance.

    Storages whose addresses overlap are one: ``torch.from_numpy(a[1:])`` makes a
    new storage object on the memory of ``a``.
    """
    found: list[list[int]] = []
    device, stop = None, 0
    ordered = sorted(memories.items(), key=lambda one: (one[1].device, one[1].start))
    for number, memory in ordered:
        if device == memory.device and memory.start < stop:
            found[-1].append(number)
            stop = max(stop, memory.stop)
        else:
            found.append([number])
            device, stop = memory.device, memory.stop
    return sorted(sorted(lane) for lane in found)


def _storage(members: dict[int, Memory], tensors: list[dict]) -> dict:
    start = min(memory.start for memory in members.values())
    size = max(memory.stop for memory in members.values()) - start
    reader, cells = _cells(members, size)
    return {
        "bytes": size,
        "device": members[reader].device,
        "dtype": tensors[reader]["dtype"],
        "cells": cells,
        "windows": [
            _window(number, memory, start, size) for number, memory in members.items()
        ],
    }


def _cells(members: dict[int, Memory], size: int) -> tuple[int, list[str] | None]:
    """Return who reads the whole storage, and its values if it is small."""
    for number, memory in members.items():
        count = size // memory.item_size
        if memory.stop - memory.start == size and count <= MOST_CELLS:
            cells = tried(memory.cells)
            if cells and len(cells) == count:
                return number, cells
    return next(iter(members)), None


def _window(number: int, memory: Memory, start: int, size: int) -> dict:
    shape, item_size, first = memory.shape, memory.item_size, memory.first - start
    low, high = address_range(first, shape, memory.strides, item_size)
    moves = [
        (length, stride)
        for length, stride in zip(shape, memory.strides, strict=True)
        if stride != 0 and length > 1
    ]
    distinct = 0 if 0 in shape else math.prod(length for length, _ in moves)
    runs = [[low, high]]
    if distinct <= MOST_LISTED_ELEMENTS:
        runs = _runs(first, moves, item_size) if distinct else []
        runs = runs if len(runs) <= MOST_RUNS else [[low, high]]
    whole = not any(stride % item_size for stride in memory.strides)
    return {
        "tensor": number,
        "offset": None if first % item_size else first // item_size,
        "offset_bytes": first,
        "shape": shape,
        "strides": [s // item_size for s in memory.strides] if whole else None,
        "stride_bytes": memory.strides,
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


# Tries, after which a byte is taken to be common. Windows that PyTorch makes need few.
MOST_TRIES = 100_000


def overlap(
    one: tuple[int, Sequence[int], Sequence[int], int],
    other: tuple[int, Sequence[int], Sequence[int], int],
) -> bool:
    """Whether two windows have a byte in common.

    A window is the address of its first element, its shape, its strides in bytes and
    the size of an element.

    The difference of two addresses, one of each window, is a sum of counts times
    strides. It is looked for among the differences at which two elements overlap.
    """
    if 0 in one[1] or 0 in other[1]:
        return False
    counts: Counter[int] = Counter()
    low = one[0] - other[0]
    for (_, shape, strides, _), sign in ((one, 1), (other, -1)):
        for length, stride in zip(shape, strides, strict=True):
            # Counted from the end where the sum would fall.
            low += min(0, sign * stride * (length - 1))
            if stride and length > 1:
                counts[abs(stride)] += length - 1
    terms = sorted(counts.items(), reverse=True)
    # An element of `one` begins less than its size before the other, or the other way.
    return _reaches(1 - one[3] - low, other[3] - 1 - low, terms)


def _reaches(least: int, most: int, terms: list[tuple[int, int]]) -> bool:
    """Whether a sum of at most so many of each stride is between two numbers."""
    reach, common = [0], [0]
    for stride, count in reversed(terms):
        reach.append(reach[-1] + stride * count)
        common.append(math.gcd(common[-1], stride))
    tries, waiting = 0, [(len(terms), least, most)]
    while waiting:
        left, least, most = waiting.pop()
        tries += 1
        if tries > MOST_TRIES:
            return True
        least, most = max(least, 0), min(most, reach[left])
        if least > most:
            continue
        # All sums are multiples of what divides all strides.
        if left == 0 or most // common[left] * common[left] < least:
            if left == 0:
                return True
            continue
        stride, count = terms[len(terms) - left]
        first = max(0, -((reach[left - 1] - least) // stride))
        last = min(count, most // stride)
        if last - first > MOST_TRIES:
            return True
        waiting += [
            (left - 1, least - number * stride, most - number * stride)
            for number in range(first, last + 1)
        ]
    return False
