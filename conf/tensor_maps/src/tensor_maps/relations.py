"""Tell whether tensors share memory, and which of them a gradient reaches."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from tensor_maps.find import argument_texts, name_values, parts_of
from tensor_maps.memory import EMPTY, NO_DATA, Memory, lanes, overlap, placed
from tensor_maps.reading import is_array, tried, unseen
from tensor_maps.ways import functions_behind, node_name
from tensor_maps.words import as_tuple, count_of

# A node that Python has seen is freed inside of the freeing of the one before it:
# a longer chain overflows the stack, which is smaller on Windows.
MOST_FOLLOWED = 4_000 if sys.platform == "win32" else 20_000


@dataclass(frozen=True)
class Sharing:
    """Whether two values use a common byte of memory, and in ``why`` how, or why not.

    ``known`` is False, and so is ``shares``, if one has no memory to compare, such as a
    sparse or nested tensor, one that wraps others, or one inside ``vmap``.
    """

    shares: bool
    why: str
    known: bool = True

    def __bool__(self) -> bool:
        return self.shares

    def __str__(self) -> str:
        return self.why

    __repr__ = __str__


def sharing(a: object, b: object, /) -> Sharing:
    """Tell whether two tensors or arrays share memory, and why.

    ``if sharing(x, y): ...`` is true if both use at least one common byte of memory, so
    a write to one can change the other. The text of the result says why: ``y is a view
    of x: offset 4, stride (1,)``. The call doesn't read or write any value.

    Parameters
    ----------
    a, b
        Tensors or NumPy arrays of any shape, layout and device, or objects that hold
        some, such as modules and lists. Every tensor in ``a`` is then compared with
        every tensor in ``b``. The text uses the names from your source code.

    Raises
    ------
    TypeError
        If one contains no tensor and no array.
    """
    __tracebackhide__ = True
    return sharing_in(sys._getframe(1), "sharing", (a, b), (0, 1))


def sharing_in(
    frame: FrameType, caller: str, values: tuple, pair: tuple[int, int]
) -> Sharing:
    """Compare two of the arguments of the call that a frame makes."""
    __tracebackhide__ = True
    texts = argument_texts(frame, len(values))
    names, sides = [texts[at] or f"argument {at + 1}" for at in pair], []
    for name, at in zip(names, pair, strict=True):
        sides.append(dict(parts_of(name, values[at])))
        if not sides[-1]:
            raise TypeError(
                f"{caller}() takes tensors, arrays, or modules and containers with "
                f"tensors in them, not {type(values[at]).__name__}"
            )
    with unseen():
        pairs = list(_pairs(*sides))
    found = [one for one in pairs if one.shares]
    if found:
        rest = f"; and {count_of(len(found) - 1, 'more pair')}" if found[1:] else ""
        return Sharing(True, found[0].why + rest)
    unknown = [one for one in pairs if not one.known]
    if unknown or len(sides[0]) == len(sides[1]) == 1:
        return (unknown or pairs)[0]
    return Sharing(False, f"no: nothing in {names[1]} shares memory with {names[0]}")


def _pairs(one: dict[str, Any], other: dict[str, Any]) -> Iterator[Sharing]:
    """Yield what can be said of pairs, but not of all that are on two storages."""
    values = [*one.items(), *other.items()]
    memories, nowhere = placed(value for _, value in values)
    for lane in [*lanes(memories), [*nowhere]]:
        here = [number for number in lane if number < len(one)]
        there = [number for number in lane if number >= len(one)]
        for a, b in itertools.product(here, there):
            (first, x), (second, y) = values[a], values[b]
            if x is y:
                yield Sharing(True, f"{first} and {second} are the same object")
            elif a in memories:
                yield _compare(first, x, memories[a], second, y, memories[b])
    for number, why in nowhere.items():
        has = "is " if why.startswith(("a ", "empty")) else "has "
        has = "" if why.startswith("it ") else has
        said = f"{values[number][0]} {has}{why.removeprefix('it ')}"
        known = why in (EMPTY, NO_DATA)
        yield Sharing(False, f"{'no' if known else 'not known'}: {said}", known)
    (first, x), (second, y) = values[0], values[-1]
    places = ["cpu" if is_array(value) else str(value.device) for value in (x, y)]
    if places[0] != places[1]:
        apart = f"no: {first} is on {places[0]} and {second} on {places[1]}"
        yield Sharing(False, apart)
    yield Sharing(False, f"no: {second} has its own memory")


def _compare(first: str, x: Any, a: Memory, second: str, y: Any, b: Memory) -> Sharing:
    """Say of two tensors on one storage what they share."""
    windows = [(one.first, one.shape, one.strides, one.item_size) for one in (a, b)]
    both = f"{first} and {second} share memory"
    if not overlap(*windows):
        ends = [end - min(a.start, b.start) for end in (*a.reach, *b.reach)]
        why = "no: one storage, but no byte in common ({} is within bytes {} to {}, "
        why += "{} is within bytes {} to {})"
        return Sharing(False, why.format(first, *ends[:2], second, *ends[2:]))
    storages = [tried(lambda t=t: t.untyped_storage()._cdata) for t in (x, y)]
    if is_array(x) != is_array(y):
        why = f"{both}, through NumPy"
    elif storages[0] != storages[1]:
        why = f"{both}, with a storage object each: through DLPack, NumPy or a buffer"
    elif windows[0] == windows[1]:
        why = f"{second} shares memory with {first}: same offset, shape and stride"
    elif _covers(a):
        why = f"{second} is a view of {first}: {_where(b)}"
    elif _covers(b):
        why = f"{first} is a view of {second}: {_where(a)}"
    else:
        each = f"{first} has {_where(a)}, {second} has {_where(b)}"
        why = f"{first} and {second} are views of one storage: {each}"
    return Sharing(True, why)


def _covers(memory: Memory) -> bool:
    """Whether a window begins at its storage and is as large."""
    size = math.prod(memory.shape) * memory.item_size
    return memory.first == memory.start and size == memory.stop - memory.start


def _where(memory: Memory) -> str:
    begin, size = memory.first - memory.start, memory.item_size
    if any(number % size for number in (begin, *memory.strides)):
        return f"offset {begin} bytes, strides {as_tuple(memory.strides)} in bytes"
    strides = as_tuple([stride // size for stride in memory.strides])
    return f"offset {begin // size}, stride {strides}"


def flows(loss: torch.Tensor, *values: object, **named: object) -> dict[str, bool]:
    """Return by name whether a gradient reaches a tensor from ``loss``.

    It follows the graph and doesn't run ``backward()``. A gradient counts even if its
    values will be zero.

    Parameters
    ----------
    loss
        A tensor of any shape.
    *values, **named
        Modules (all of their parameters and buffers), tensors, and containers of
        these, named as :func:`tensor_maps.tensor_map` names them. The parameters of
        a single module have their own names: ``flows(loss, net)["0.weight"]``.

    Raises
    ------
    TypeError
        If ``loss`` isn't a tensor.
    RuntimeError
        If the graph has more than 20,000 operations (4,000 on Windows), and some of
        the tensors weren't found among these.
    """
    __tracebackhide__ = True
    texts = argument_texts(sys._getframe(1), 1 + len(values))
    return flows_to("flows", loss, tensors_in(texts[1:], values, named))


def tensors_in(
    texts: list, values: tuple, named: dict, buffers: bool = True
) -> dict[str, torch.Tensor]:
    """Return tensors by name; those of a single module by the names it has for them."""
    found, _ = name_values(texts, values, named, buffers)
    if len(values) == 1 and not named and isinstance(values[0], torch.nn.Module):
        found = dict(values[0].named_parameters(remove_duplicate=False))
        if buffers:
            found |= values[0].named_buffers(remove_duplicate=False)
    return {n: one for n, one in found.items() if isinstance(one, torch.Tensor)}


def flows_to(caller: str, loss: Any, tensors: dict[str, Any]) -> dict[str, bool]:
    """Follow the graph behind ``loss`` until all tensors are met."""
    __tracebackhide__ = True
    if not isinstance(loss, torch.Tensor):
        raise TypeError(f"{caller}() takes a tensor as loss, not {type(loss).__name__}")
    with unseen():
        # Kept, so that no other function gets the id of one of these.
        begins = [tried(lambda t=t: t.grad_fn) for t in (loss, *tensors.values())]
        start, *keys = map(_key, (loss, *tensors.values()), begins)
        both = zip(keys, tensors.values(), strict=True)
        met = {start} if loss.requires_grad else set()
        missing = {key for key, tensor in both if tensor.requires_grad} - met
        for number, (here, _) in enumerate(functions_behind([(begins[0], None)])):
            if not missing:
                break
            if number >= MOST_FOLLOWED:
                raise RuntimeError(
                    f"{caller}() follows {MOST_FOLLOWED:,} operations, and the graph "
                    f"has more: {count_of(len(missing), 'tensor')} not found among them"
                )
            for function, output in here.next_functions:
                key = (id(function), output)
                if function is not None and node_name(function) == "AccumulateGrad":
                    key = (id(tried(lambda one=function: one.variable)), 0)
                met.add(key)
                missing.discard(key)
        flow = zip(tensors.items(), keys, strict=True)
        return {n: bool(one.requires_grad) and key in met for (n, one), key in flow}


def _key(tensor: torch.Tensor, function: object) -> tuple[int, int]:
    """Return what a tensor is in the graph: an output of a node, or a leaf."""
    return (id(tensor), 0) if function is None else (id(function), tensor.output_nr)
