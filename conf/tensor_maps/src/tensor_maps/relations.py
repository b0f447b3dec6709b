"""Tell whether tensors share memory, and which of them a gradient reaches."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from tensor_maps.find import argument_texts, name_values, parts_of
from tensor_maps.memory import EMPTY, NO_DATA, Memory, lanes, overlap, placed
from tensor_maps.reading import is_array, tried, unseen
from tensor_maps.ways import functions_behind, key_of, node_name
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
    return compare(sys._getframe(1), "sharing", (a, b))[0]


def compare(frame: FrameType, caller: str, values: tuple) -> list[Sharing]:
    """Compare each two of the arguments of the call that a frame makes."""
    __tracebackhide__ = True
    takes = f"{caller}() takes tensors, arrays, modules or containers"
    if len(values) < 2:
        raise TypeError(f"{takes}, at least two, not {len(values)}")
    sides = []
    for number, text in enumerate(argument_texts(frame, len(values))):
        name = text or f"argument {number + 1}"
        sides.append((name, parts_of(name, values[number])))
        if not sides[-1][1]:
            kind = type(values[number]).__name__
            raise TypeError(f"{takes} with tensors in them, not {kind}")
    with unseen():
        return [_compare(*two) for two in itertools.combinations(sides, 2)]


def _compare(one: tuple[str, dict], other: tuple[str, dict]) -> Sharing:
    """Compare each tensor in one value with each in the other."""
    values = [*one[1].items(), *other[1].items()]
    memories, nowhere = placed(value for _, value in values)
    shared, apart = [], [f"no: {other[0]} has its own memory"]
    for lane in [*lanes(memories), [*nowhere]]:
        split = sum(number < len(one[1]) for number in lane)
        for a, b in itertools.product(lane[:split], lane[split:]):
            (first, x), (second, y) = values[a], values[b]
            if x is y:
                shared.append(f"{first} and {second} are the same object")
            elif a in memories:
                common, how = _how(first, x, memories[a], second, y, memories[b])
                (shared if common else apart).append(how)
    if shared:
        more = f"; and {count_of(len(shared) - 1, 'more pair')}" if shared[1:] else ""
        return Sharing(True, shared[0] + more)
    for number, why in nowhere.items():
        because = f"because of {values[number][0]}: {why}"
        if why not in (EMPTY, NO_DATA):
            return Sharing(False, f"not known, {because}", known=False)
        apart.append(f"no, {because}")
    if len(values) > 2:
        apart.append(f"no: nothing in {other[0]} shares memory with {one[0]}")
    return Sharing(False, apart[-1])


def _how(
    first: str, x: Any, a: Memory, second: str, y: Any, b: Memory
) -> tuple[bool, str]:
    """Return whether two tensors on one storage have a common byte, and in words."""
    windows = [(one.first, one.shape, one.strides, one.item_size) for one in (a, b)]
    storages = [tried(lambda t=t: t.untyped_storage()._cdata) for t in (x, y)]
    each = f"{first} has {_where(a)}, {second} has {_where(b)}"
    if not overlap(*windows):
        return False, f"no: one storage, but no byte in common: {each}"
    how = f"{first} and {second} are views of one storage: {each}"
    if storages[0] != storages[1]:
        way = "NumPy" if is_array(x) != is_array(y) else "DLPack, NumPy or a buffer"
        how = f"{first} and {second} share memory, through {way}"
    elif windows[0] == windows[1]:
        how = f"{second} shares memory with {first}: same offset, shape and stride"
    elif _covers(a):
        how = f"{second} is a view of {first}: {_where(b)}"
    elif _covers(b):
        how = f"{first} is a view of {second}: {_where(a)}"
    return True, how


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
        these, named as :func:`tensor_maps.tensor_map` names them:
        ``flows(loss, net)["net.0.weight"]``.

    Raises
    ------
    TypeError
        If ``loss`` isn't a tensor.
    RuntimeError
        If the graph has more than 20,000 operations (4,000 on Windows), and some of
        the tensors weren't found among these.
    """
    __tracebackhide__ = True
    whys = why_not_reached(sys._getframe(1), "flows", loss, values, named)
    return {name: not why for name, why in whys.items()}


def why_not_reached(
    frame: FrameType, caller: str, loss: Any, values: tuple, named: dict | None = None
) -> dict[str, str]:
    """Return by name why no gradient reaches a tensor, or "" if one does.

    Of a module it has all parameters, and its buffers where ``named`` is not None.
    """
    __tracebackhide__ = True
    if not isinstance(loss, torch.Tensor):
        raise TypeError(f"{caller}() takes a tensor as loss, not {type(loss).__name__}")
    text, *texts = argument_texts(frame, 1 + len(values))
    found, _ = name_values(texts, values, named or {}, buffers=named is not None)
    tensors = {n: one for n, one in found.items() if isinstance(one, torch.Tensor)}
    if named is None and not tensors:
        raise TypeError(f"{caller}() takes modules and tensors after loss, not none")
    with unseen():
        # All are kept, so that no function gets the id of another.
        starts = [tried(lambda t=t: t.grad_fn) for t in (loss, *tensors.values())]
        walk = functions_behind(starts[:1])
        held = [*itertools.islice(walk, MOST_FOLLOWED)]
        key, *keys = map(key_of, (loss, *tensors.values()), starts)
        met = {key}
        for function, output in itertools.chain(*(one.next_functions for one in held)):
            key = (id(function), output)
            if function is not None and node_name(function) == "AccumulateGrad":
                key = (id(tried(lambda one=function: one.variable)), 0)
            met.add(key)
        goes_on = next(walk, None) is not None
    why = "no path in the graph of" if loss.requires_grad else "there is no graph of"
    whys = {}
    for (name, tensor), key in zip(tensors.items(), keys, strict=True):
        whys[name] = "" if key in met else f"{why} {text or 'loss'}"
        if not tensor.requires_grad:
            whys[name] = "requires_grad is False"
        elif key not in met and goes_on:
            raise RuntimeError(
                f"{caller}() follows {MOST_FOLLOWED:,} operations, and the graph has "
                f"more: {name} was not found among them"
            )
    return whys
