"""Tell who shares memory, what a gradient reaches, what a graph saved for backward."""

import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from tensor_maps.find import argument_texts, find, name_values, parts_of
from tensor_maps.memory import EMPTY, NO_DATA, Memory, lanes, overlap, placed
from tensor_maps.reading import forget_copy, is_array, shape_of, tried, unseen
from tensor_maps.ways import functions_behind, key_of, node_name
from tensor_maps.words import as_tuple, count_of, listing, size_of

MOST_LINES = 40  # of what is saved
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
        some: each tensor in ``a`` is compared with each in ``b``.

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
        offset = count_of(begin, "byte")
        return f"offset {offset}, strides {as_tuple(memory.strides)} in bytes"
    strides = as_tuple([stride // size for stride in memory.strides])
    return f"offset {begin // size}, stride {strides}"


def flows(loss: torch.Tensor, *values: object, **named: object) -> dict[str, bool]:
    """Return by name whether a gradient reaches a tensor from ``loss``.

    It doesn't run ``backward()``. A gradient counts even if its values will be zero.

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


# What a graph has saved ---------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Saved:
    """What graphs have saved for backward: a table as text, and data. No tensor.

    ``total`` is in bytes. ``memories`` has, the largest first, ``bytes``, ``names`` (of
    the tensors on it that the caller knows) and ``saved``, a text for each tensor that
    a node saved. ``not_counted`` has how many more there are, by the reason.
    """

    total: int
    memories: list[dict]
    not_counted: dict[str, int]

    def __repr__(self) -> str:
        number = len(self.memories)
        blocks = f" in {number} blocks of memory" if number > 1 else ""
        lines = [f"saved for backward: {size_of(self.total)}{blocks}"]
        rows = [
            (size_of(m["bytes"]), listing(m["names"]) or "no name", _counts(m["saved"]))
            for m in self.memories[:MOST_LINES]
        ]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += [f"{a:>{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in rows]
        if number > MOST_LINES:
            lines.append(f"and {count_of(number - MOST_LINES, 'smaller one')}")
        if self.not_counted:
            lines.append(f"not counted: {_counts(self.not_counted)}")
        return "\n".join(lines)


def _counts(texts: list[str] | dict[str, int]) -> str:
    counts = Counter(texts).items()
    return "; ".join(f"{one}, {n} times" if n > 1 else one for one, n in counts)


def saved(*values: object, **named: object) -> Saved:
    """Return what the graph behind tensors has saved for backward.

    The text is a table with the largest memory first: the bytes, whose memory it is,
    and the nodes that saved it. A tensor and its views count as the same memory. The
    values are tensors of any shape, or modules and containers with some. Memory is
    named after these arguments and after what the caller's variables hold.

    It doesn't see what a custom function keeps elsewhere (``ctx.x = x``), nor what a
    hook packed, and looks at 20,000 operations.

    Raises
    ------
    TypeError
        If no value is or contains a tensor.
    """
    __tracebackhide__ = True
    frame = sys._getframe(1)
    given, _ = name_values(argument_texts(frame, len(values)), values, named)
    tensors = [one for one in given.values() if isinstance(one, torch.Tensor)]
    if not tensors:
        kinds = listing([type(one).__name__ for one in (*values, *named.values())])
        raise TypeError(f"saved() takes tensors, not {kinds or 'nothing'}")
    found = find({**frame.f_globals, **frame.f_locals})
    forget_copy(frame)
    plain_first = sorted(found.values.items(), key=lambda one: found.ranks[one[0]])
    known: dict[int, tuple[str, Any]] = {}
    for name, value in [*given.items(), *plain_first]:
        known.setdefault(id(value), (name, value))
    with unseen():
        starts = [tried(lambda one=one: one.grad_fn) for one in tensors]
        return _saved(starts, [*known.values()])


def _saved(starts: list, known: list[tuple[str, Any]]) -> Saved:
    kept: list[tuple[str, Any]] = []
    not_counted: Counter[str] = Counter()
    walk = functions_behind(starts)
    for node in list(itertools.islice(walk, MOST_FOLLOWED)):
        for what, value in _saved_by(node):
            if isinstance(value, torch.Tensor):
                form = f"{as_tuple(shape_of(value))} {value.dtype}"
                text = f"{node_name(node)}.{what} {form.replace('torch.', '')}"
                kept.append((text, value))
            else:
                not_counted[value] += 1
    memories, nowhere = placed(value for _, value in [*kept, *known])
    not_counted.update(why for at, why in nowhere.items() if at < len(kept))
    if next(walk, None):
        not_counted[f"what is behind {MOST_FOLLOWED:,} operations"] += 1
    found = []
    for lane in lanes(memories):
        here = [at for at in lane if at < len(kept)]
        if here:
            start = min(memories[at].start for at in here)
            stop = max(memories[at].stop for at in here)
            names = [known[at - len(kept)][0] for at in lane[len(here) :]]
            said = [kept[at][0] for at in here]
            found.append({"bytes": stop - start, "names": names, "saved": said})
    found.sort(key=lambda one: -one["bytes"])
    return Saved(sum(one["bytes"] for one in found), found, dict(not_counted))


def _saved_by(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a node has saved: a name, and the tensor or why it cannot be had."""
    for name in dir(node):
        is_custom = name == "saved_tensors" and hasattr(node, "_raw_saved_tensors")
        if not name.startswith("_saved_") and not is_custom:
            continue
        # A list is of hooks of its own; the first one tells for all.
        raw = tried(lambda one=name: getattr(node, "_raw_" + one.lstrip("_")))
        first = raw[0] if isinstance(raw, tuple) and raw else raw
        if getattr(first, "unpack_hook", None) is not None:
            yield name, "packed by a hook"
            continue
        try:
            value = getattr(node, name)
        except Exception as error:  # each node refuses in a way of its own
            freed = "freed" in str(error)
            yield name, "freed by backward" if freed else "changed in place"
            continue
        many = isinstance(value, tuple | list)
        for at, one in enumerate(value if many else [value]):
            if isinstance(one, torch.Tensor):
                what = name.removeprefix("_saved_")
                yield f"{what}[{at}]" if many else what, one
