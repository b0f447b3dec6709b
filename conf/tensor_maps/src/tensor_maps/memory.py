"""Find which memory tensors and arrays lie on, and which bytes of it."""

import ctypes
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from tensor_maps.reading import (
    address_range,
    is_array,
    is_meta,
    number_text,
    shape_of,
    storage_address,
    tried,
)

MOST_CELLS = 12
# Of a larger window, or one in more pieces, no runs are listed.
MOST_LISTED_ELEMENTS, MOST_RUNS = 256, 24
# Steps, after which a byte is taken to be common. Windows that PyTorch makes need few.
MOST_TRIES = 100_000
# Why there is no memory: that is then no question, and not unknown.
EMPTY, NO_DATA = "empty, no memory", "it has no data"
# What the tensors inside a sparse or a nested tensor are got by.
_PARTS = ("_values", "_indices", "values", "crow_indices", "col_indices",
          "ccol_indices", "row_indices")  # fmt: skip


class Memory(NamedTuple):
    """Where the elements of one tensor or array are.

    ``start`` and ``stop`` are the addresses of the whole storage. The others are a
    window: the address of element zero, the shape, the strides in bytes and the size
    of an element.
    """

    device: str
    start: int
    stop: int
    first: int
    shape: Sequence[int]
    strides: Sequence[int]
    item_size: int


def see_storages(objects: list, tensors: list[dict]) -> list[dict]:
    """Return one entry per storage, and note in ``tensors`` which one each is on."""
    memories, nowhere = placed(objects)
    for number, why in nowhere.items():
        tensors[number]["memory"] = why
        for inner in placed(_wrapped(objects[number]))[0].values():
            for other, memory in memories.items():
                if len(lanes({0: inner, 1: memory})) == 1:
                    whole = tensors[number]["names"][0]
                    tensors[other]["memory"] = f"a part of {whole}"
    storages = []
    for lane in lanes(memories):
        for number in lane:
            tensors[number]["storage"] = len(storages)
        on_it = {number: memories[number] for number in lane}
        storages.append(_storage(on_it, objects, tensors))
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
    storage, shape = tried(tensor.untyped_storage), shape_of(tensor)
    strides = tried(lambda: [int(stride) for stride in tensor.stride()])
    if storage is None or shape is None or strides is None:
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return "no storage: it stands for a tensor inside a transform of torch.func"
        layout = str(tensor.layout).removeprefix("torch.")
        if tensor.is_nested:
            return f"a nested tensor (layout {layout})"
        return f"no storage (layout {layout}, {type(tensor).__name__})"
    size, address = int(storage.nbytes()), storage_address(tensor)
    if size == 0:
        return EMPTY
    if not address:
        return "it wraps other tensors" if _wrapped(tensor) else "no memory address"
    if torch._C._is_cow_tensor(tensor):
        return "it is copied when it is first written to"
    item_size = tensor.element_size()
    first = address + int(tensor.storage_offset()) * item_size
    in_bytes = [stride * item_size for stride in strides]
    place = str(tensor.device), address, address + size
    return Memory(*place, first, shape, in_bytes, item_size)


def _wrapped(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the tensors inside a tensor that has no memory of its own."""
    found = [tensor]
    for one in found:  # which grows on the way
        parts = [*tried(partial(vars, one), {}).values()]
        if type(one) is torch.Tensor and (one.is_nested or one.layout != torch.strided):
            parts += [tried(lambda t=one, n=name: getattr(t, n)()) for name in _PARTS]
        inner = [part for part in parts if issubclass(type(part), torch.Tensor)]
        found += [part for part in inner if all(part is not one for one in found)]
    return found[1:]


def _array_memory(array: Any) -> Memory | str:
    owner = array
    while is_array(owner.base):
        owner = owner.base
    start, stop = array_reach(owner)
    if isinstance(owner.base, torch.Tensor):
        whole = _tensor_memory(owner.base)
        start, stop = (start, stop) if isinstance(whole, str) else whole[1:3]
    window = array_address(array), [*array.shape], [*array.strides], array.itemsize
    return Memory("cpu", start, stop, *window) if start < stop else EMPTY


def array_address(array: Any) -> int:
    """Return the address of the first element of an array."""
    return array.__array_interface__["data"][0]


def array_reach(array: Any) -> tuple[int, int]:
    """Return where the memory that an array's elements are in begins and ends."""
    window = array_address(array), array.shape, array.strides, array.itemsize
    return address_range(*window)


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


def _storage(members: dict[int, Memory], objects: list, tensors: list[dict]) -> dict:
    start = min(memory.start for memory in members.values())
    size = max(memory.stop for memory in members.values()) - start
    reader, cells = next(iter(members)), None
    for number, memory in members.items():
        if cells is None and memory.stop - memory.start == size:
            cells = tried(partial(_cells, objects[number], memory))
            reader = reader if cells is None else number
    return {
        "bytes": size,
        "device": members[reader].device,
        "dtype": tensors[reader]["dtype"],
        "cells": cells,
        "windows": [
            _window(number, memory, start, size) for number, memory in members.items()
        ],
    }


def _cells(value: Any, memory: Memory) -> list[str] | None:
    """Return the values of the whole storage of a tensor or an array, if they are few.

    Bytes that no element fills raise an error.
    """
    size = memory.stop - memory.start
    count = size // memory.item_size
    if count > MOST_CELLS:
        return None
    if is_array(value):
        from numpy import frombuffer  # which is there, as an array is

        data = (ctypes.c_char * size).from_address(memory.start)
        plain = frombuffer(data, value.dtype)
    else:
        # Plain: a conjugate or negated view has a mark that turns values when read.
        plain = torch.empty(0, dtype=value.dtype, device=value.device)
        plain.set_(value.untyped_storage(), 0, (count,), (1,))
    return [number_text(number) for number in plain.tolist()]


def _window(number: int, memory: Memory, start: int, size: int) -> dict:
    *_, shape, strides, item_size = memory
    first = memory.first - start
    low, high = address_range(first, shape, strides, item_size)
    moves = [
        (length, stride)
        for length, stride in zip(shape, strides, strict=True)
        if length == 0 or (stride and length > 1)
    ]
    distinct = math.prod(length for length, _ in moves)
    few = distinct <= MOST_LISTED_ELEMENTS
    runs = _runs(first, moves, item_size) if few else [[low, high]]
    whole = not any(stride % item_size for stride in strides)
    return {
        "tensor": number,
        "offset": None if first % item_size else first // item_size,
        "offset_bytes": first,
        "shape": shape,
        "strides": [s // item_size for s in strides] if whole else None,
        "stride_bytes": strides,
        "runs": runs if len(runs) <= MOST_RUNS else [[low, high]],
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


def overlap(
    one: tuple[int, Sequence[int], Sequence[int], int],
    other: tuple[int, Sequence[int], Sequence[int], int],
) -> bool:
    """Whether two windows have a byte in common.

    A window is told as in :class:`Memory`.

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
    tries = itertools.count()

    def reaches(least: int, most: int, terms: list[tuple[int, int]]) -> bool:
        """Whether a sum of at most so many of each stride is between two numbers."""
        least, most = max(least, 0), min(most, sum(map(math.prod, terms)))
        # All sums are multiples of what divides all strides.
        divisor = math.gcd(*(stride for stride, _ in terms)) or 1
        if most // divisor * divisor < least:
            return False
        if not terms or next(tries) > MOST_TRIES:
            return True
        (stride, count), *rest = terms
        first = max(0, -((sum(map(math.prod, rest)) - least) // stride))
        return any(
            reaches(least - number * stride, most - number * stride, rest)
            for number in range(first, min(count, most // stride) + 1)
        )

    # An element of `one` begins less than its size before the other, or the other way.
    largest_first = sorted(counts.items(), reverse=True)
    return reaches(1 - one[3] - low, other[3] - 1 - low, largest_first)
