"""Tell whether tensors share memory, and which leaves a gradient reaches."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from tensor_maps.find import argument_texts, name_values, parts_of
from tensor_maps.memory import EMPTY, NO_DATA, Memory, lanes, overlap, placed
from tensor_maps.reading import is_array, tried, unseen
from tensor_maps.ways import functions_behind, node_name
from tensor_maps.words import as_tuple, count_of, listing

# A node that Python has seen is freed inside of the freeing of the one before it:
# a longer chain overflows the stack, which is smaller on Windows.
MOST_FOLLOWED = 4_000 if sys.platform == "win32" else 20_000


@dataclass(frozen=True)
class Sharing:
    """Whether two values share memory: true if they use a common byte.

    Attributes
    ----------
    shares
        Whether they use a common byte.
    why
        A sentence that says how, or why not. ``str()`` returns it.
    known
        False if one has no memory to compare, such as a sparse or nested tensor, or
        a tensor inside ``vmap``. ``shares`` is then False.
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
        Tensors or NumPy arrays of any shape, layout and device, or modules, optimizers,
        dicts, lists and tuples of these. Every tensor in ``a`` is then compared with
        every tensor in ``b``. The text uses the names from your source code.

    Raises
    ------
    TypeError
        If one is of another type, or contains no tensor.

    Notes
    -----
    Memory of other processes is ignored. If a file or a shared memory block is mapped
    twice, only Linux lets the function see that it's the same memory.
    """
    return sharing_in(sys._getframe(1), "sharing", (a, b), (0, 1))


def sharing_in(
    frame: FrameType, caller: str, values: tuple, pair: tuple[int, int]
) -> Sharing:
    """Compare two of the arguments of the call that a frame makes."""
    texts = argument_texts(frame, len(values))
    names = [texts[at] or f"argument {at + 1}" for at in pair]
    a, b = (values[at] for at in pair)
    sides = [dict(parts_of(name, v)) for name, v in zip(names, (a, b), strict=True)]
    for value, parts in zip((a, b), sides, strict=True):
        if not parts:
            raise TypeError(
                f"{caller}() takes tensors, arrays, or modules and containers with "
                f"tensors in them, not {type(value).__name__}"
            )
    pairs = list(_pairs(*sides))
    found = [one for one in pairs if one.shares]
    if found:
        rest = f"; and {count_of(len(found) - 1, 'more pair')}" if found[1:] else ""
        return Sharing(True, found[0].why + rest)
    unknown = [one for one in pairs if not one.known]
    if unknown:
        return unknown[0]
    if len(sides[0]) == len(sides[1]) == 1:
        return pairs[0] if pairs else _apart(*sides[0].popitem(), *sides[1].popitem())
    return Sharing(False, f"no: nothing in {names[1]} shares memory with {names[0]}")


def _apart(first: str, a: Any, second: str, b: Any) -> Sharing:
    places = ["cpu" if is_array(one) else str(one.device) for one in (a, b)]
    why = f"no: {second} has its own memory"
    if places[0] != places[1]:
        why = f"no: {first} is on {places[0]} and {second} on {places[1]}"
    return Sharing(False, why)


def _pairs(one: dict[str, Any], other: dict[str, Any]) -> list[Sharing]:
    """Return what can be said of each pair that is on one storage, or nowhere."""
    values = [*one.items(), *other.items()]
    found = []
    with unseen():
        memories, nowhere = placed(value for _, value in values)
    for number, why in nowhere.items():
        name = values[number][0]
        has = "" if why.startswith("it ") else "has "
        has = "is " if why.startswith(("a ", "empty")) else has
        known = why in (EMPTY, NO_DATA)
        said = (
            f"{'no' if known else 'not known'}: {name} {has}{why.removeprefix('it ')}"
        )
        found.append(Sharing(False, said, known))
    for lane in lanes(memories):
        here = [number for number in lane if number < len(one)]
        there = [number for number in lane if number >= len(one)]
        for a, b in itertools.product(here, there):
            (first, x), (second, y) = values[a], values[b]
            found.append(_compare(first, x, memories[a], second, y, memories[b]))
    name_of = {id(values[at][1]): values[at][0] for at in nowhere if at < len(one)}
    for name, value in other.items():
        if id(value) in name_of:
            same = f"{name_of[id(value)]} and {name} are the same object"
            found.append(Sharing(True, same))
    return found


def common(a: Memory, b: Memory) -> bool:
    """Whether two windows on one storage have a byte in common."""
    windows = [(one.first, one.shape, one.strides, one.item_size) for one in (a, b)]
    return overlap(*windows)


def _compare(first: str, x: Any, a: Memory, second: str, y: Any, b: Memory) -> Sharing:
    """Say of two tensors on one storage what they share."""
    if x is y:
        return Sharing(True, f"{first} and {second} are the same object")
    if not common(a, b):
        begin = min(a.start, b.start)
        return Sharing(
            False,
            f"no: one storage, but no byte in common ({_bytes(first, a, begin)}, "
            f"{_bytes(second, b, begin)})",
        )
    through = _through(x, y)
    if through:
        return Sharing(True, f"{first} and {second} share memory, {through}")
    same = [getattr(a, part) == getattr(b, part) for part in ("first", "item_size")]
    if all(same) and (a.shape, a.strides) == (b.shape, b.strides):
        equal = "same offset, shape and stride"
        return Sharing(True, f"{second} shares memory with {first}: {equal}")
    if _covers(a):
        return Sharing(True, f"{second} is a view of {first}: {_where(b)}")
    if _covers(b):
        return Sharing(True, f"{first} is a view of {second}: {_where(a)}")
    each = f"{first} has {_where(a)}, {second} has {_where(b)}"
    return Sharing(True, f"{first} and {second} are views of one storage: {each}")


def _through(x: Any, y: Any) -> str:
    """Say through what two objects have the memory of one storage."""
    arrays = is_array(x) + is_array(y)
    if arrays == 2:
        return ""
    if arrays:
        return "through NumPy"
    if tried(lambda: x.untyped_storage()._cdata == y.untyped_storage()._cdata, True):
        return ""
    return "with a storage object each: through DLPack, NumPy or a buffer"


def _covers(memory: Memory) -> bool:
    """Whether a window begins at its storage and is as large."""
    size = memory.item_size
    for length in memory.shape:
        size *= length
    return memory.first == memory.start and size == memory.stop - memory.start


def _where(memory: Memory) -> str:
    begin, size = memory.first - memory.start, memory.item_size
    numbers = [begin, *memory.strides]
    if any(number % size for number in numbers):
        return f"offset {begin} bytes, strides {as_tuple(memory.strides)} in bytes"
    strides = as_tuple([stride // size for stride in memory.strides])
    return f"offset {begin // size}, stride {strides}"


def _bytes(name: str, memory: Memory, begin: int) -> str:
    low, high = memory.reach
    return f"{name} is within bytes {low - begin} to {high - begin}"


def groups(*values: object, **named: object) -> list[list[str]]:
    """Return the names that share memory, as lists of at least two names.

    Two names are in the same list if their tensors use a common byte, or if another
    tensor connects them. For example, a base connects two views that don't overlap.

    Parameters
    ----------
    *values, **named
        Tensors, arrays, and modules, optimizers and containers of these, named as
        :func:`tensor_maps.tensor_map` names them. A sparse or nested tensor has no
        memory to compare, so it only shares with itself.

    Returns
    -------
    list
        Ordered by the first name of each list; ``[]`` if nothing is shared.
    """
    texts = argument_texts(sys._getframe(1), len(values))
    found, _ = name_values(texts, values, named)
    names, objects = list(found), list(found.values())
    group = list(range(len(names)))  # of each, the number of one before it

    def root(number: int) -> int:
        while group[number] != number:
            number = group[number]
        return number

    def join(one: int, other: int) -> None:
        first, second = sorted((root(one), root(other)))
        group[second] = first

    of_object: dict[int, int] = {}
    for number, value in enumerate(objects):
        join(of_object.setdefault(id(value), number), number)
    with unseen():
        memories, _ = placed(objects)
    for lane in lanes(memories):
        for one, other in itertools.combinations(lane, 2):
            if root(one) != root(other) and common(memories[one], memories[other]):
                join(one, other)
    joined: dict[int, list[str]] = {}
    for number, name in enumerate(names):
        joined.setdefault(root(number), []).append(name)
    return [one for one in joined.values() if len(one) > 1]


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
    return flows_in(sys._getframe(1), "flows", loss, values, named)[0]


def flows_in(
    frame: FrameType,
    caller: str,
    loss: Any,
    values: tuple,
    named: dict[str, Any],
    buffers: bool = True,
) -> tuple[dict[str, bool], dict[str, Any]]:
    """Do what :func:`flows` does, and return the tensors by name too."""
    if not isinstance(loss, torch.Tensor):
        raise TypeError(f"{caller}() takes a tensor as loss, not {type(loss).__name__}")
    if len(values) == 1 and not named and isinstance(values[0], torch.nn.Module):
        module = values[0]
        found = dict(module.named_parameters(remove_duplicate=False))
        if buffers:
            found |= dict(module.named_buffers(remove_duplicate=False))
    else:
        # The loss is the first argument of the call, and not one of the tensors.
        texts = argument_texts(frame, 1 + len(values))[1:]
        found, _ = name_values(texts, values, named, buffers)
    tensors = {n: v for n, v in found.items() if isinstance(v, torch.Tensor)}
    with unseen():
        return _flows(caller, loss, tensors), tensors


def _flows(caller: str, loss: torch.Tensor, tensors: dict[str, Any]) -> dict[str, bool]:
    """Follow the graph until all tensors are met."""
    # Kept, so that no other function gets the id of one of these.
    begins = [
        (one, tried(lambda t=one: t.grad_fn)) for one in (loss, *tensors.values())
    ]
    start, *keys = [_key(tensor, function) for tensor, function in begins]
    missing = {k for k, (t, _) in zip(keys, begins[1:], strict=True) if t.requires_grad}
    met = {start} if loss.requires_grad else set()
    missing -= met
    walk = functions_behind([(begins[0][1], None)])
    for number, (here, _) in enumerate(walk):
        if not missing:
            break
        if number >= MOST_FOLLOWED:
            raise RuntimeError(
                f"{caller}() follows {MOST_FOLLOWED:,} operations, and the graph has "
                f"more: {count_of(len(missing), 'tensor')} not found among them"
            )
        for following, output in here.next_functions:
            if following is None:
                continue
            key = (id(following), output)
            if node_name(following) == "AccumulateGrad":
                key = (id(tried(lambda one=following: one.variable)), 0)
            met.add(key)
            missing.discard(key)
    return {
        name: bool(tensor.requires_grad) and key in met
        for (name, tensor), key in zip(tensors.items(), keys, strict=True)
    }


def _key(tensor: torch.Tensor, function: object) -> tuple[int, int]:
    """Return what a tensor is in the graph: an output of a node, or a leaf."""
    return (id(tensor), 0) if function is None else (id(function), tensor.output_nr)


def why_not_reached(loss: torch.Tensor, name: str, flow: dict, tensors: dict) -> str:
    """Say why no gradient reaches a tensor from ``loss``."""
    if not tensors[name].requires_grad:
        return f"{name}: it does not require grad"
    if not loss.requires_grad:
        return f"{name}: loss has no graph (its requires_grad is False)"
    reached = [other for other, is_reached in flow.items() if is_reached]
    few = reached[:3] + [f"{len(reached) - 3} more"] * (len(reached) > 3)
    only = f"reaches {listing(few)} only" if reached else "reaches none of the tensors"
    return f"{name}: no path, the graph of loss {only}"
