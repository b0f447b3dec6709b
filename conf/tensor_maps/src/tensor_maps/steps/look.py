"""Look at all named tensors after a statement, and tell how two looks differ."""

from __future__ import annotations

import ast
import ctypes
import gc
import weakref
import zlib
from collections.abc import Iterable
from math import prod
from typing import Any, NamedTuple

import torch

from tensor_maps.find import Found, find
from tensor_maps.memory import array_address, array_reach
from tensor_maps.observe import observe
from tensor_maps.reading import (
    has_gradient,
    is_array,
    readable,
    see_autograd,
    shape_of,
    storage_address,
    strides_of,
    tried,
    unseen,
)
from tensor_maps.steps.syntax import Unit, bound_in, names_in, nodes_of
from tensor_maps.ways import node_name

# Names that can be drawn and said in full after a statement, and names in a picture.
MOST_OBSERVED, MOST_DRAWN = 40, 5
# Bytes that are read after a statement; of what has no room, so many elements are. Of
# a tensor on another device, so many bytes are fetched.
MOST_BYTES, SAMPLES, MOST_FETCHED_BYTES = 2**26, 2**14, 2**12


class Fact(NamedTuple):
    """What is compared of one tensor or array from look to look; it keeps none alive.

    ``values`` is a digest of all values in their order, or of some if it begins with
    "~"; None if nothing was read. A weak reference to a tensor itself would make
    ``torch.utils.swap_tensors`` refuse, and one to an array ``ndarray.resize``: so an
    object is known by its id, its type and its storage. Another tensor with the id of
    one that was freed in the same statement is taken for it if it is on the same
    storage, and another array always.
    """

    id: tuple[int, type]
    storage: Any  # a weak reference, of which a storage has one
    place: tuple[int, int, bool, bool]  # where it begins, in bytes; conjugate, negative
    form: tuple[Any, Any, Any, Any]  # shape, strides, dtype, device
    memory: tuple[int, int]
    bytes: int
    version: int | None = None
    requires_grad: bool = False
    retains_grad: bool = False
    graph: str | None = None
    gradient: Fact | None = None
    values: str | None = None

    @property
    def object(self) -> tuple:
        """Which object it is."""
        return (*self.id, id(self.storage))

    @property
    def is_meta(self) -> bool:
        """Whether it has a shape, and no data."""
        return getattr(self.form[3], "type", "") == "meta"

    def is_on(self, other: Fact) -> bool:
        """Whether its storage, or where an array begins, is that of another fact."""
        if self.storage is None and other.storage is None:
            return self.place[:1] == other.place[:1]
        return self.storage is other.storage

    def is_uniform(self) -> bool:
        """Whether all values are 0 or all are 1, as in many tensors that are fresh."""
        shape, _, dtype, _ = self.form

        def found() -> bool:
            for number in (0, 1):
                if isinstance(dtype, torch.dtype):
                    data = torch.full((1,), number, dtype=dtype).view(torch.uint8)
                    item = bytes(data.tolist())
                else:
                    item = dtype.type(number).tobytes()
                if _digits(item * prod(shape)) == self.values:
                    return True
            return False

        with unseen():
            return tried(found, False)


PLAIN = (torch.Tensor, torch.nn.Parameter)


def fact_of(value: Any, reader: Reader) -> Fact:
    """Return what is compared of a tensor or an array."""
    here = (id(value), type(value))
    if type(value) in PLAIN:
        try:
            return _plain_fact(value, here, reader)
        except Exception:  # an inference tensor, a sparse one
            pass
    if is_array(value):
        start, size = array_address(value), value.nbytes
        form = (value.shape, value.strides, value.dtype, "cpu")
        reach = tried(lambda: array_reach(value), (0, 0))
        values = reader.stretch(start, size) if value.flags.c_contiguous else None
        values = values or tried(lambda: reader.array(value))
        place = (start, 0, False, False)
        return Fact(here, None, place, form, reach, size, values=values)
    seen = see_autograd(value)
    gradient = tried(lambda: value.grad) if has_gradient(seen) else None
    function = tried(lambda: value.grad_fn)
    address, item = tried(lambda: storage_address(value), 0), value.element_size()
    stop = address + int(tried(lambda: value.untyped_storage().nbytes(), 0))
    return Fact(
        here,
        tried(lambda: weakref.ref(value.untyped_storage())),
        (
            address,
            item * tried(value.storage_offset, 0),
            tried(value.is_conj, False),
            tried(value.is_neg, False),
        ),
        (_tuple(shape_of(value)), _tuple(strides_of(value)), value.dtype, value.device),
        (address, stop) if address else (0, 0),
        tried(lambda: value.numel() * item, 0),
        seen["version"],
        seen["requires_grad"],
        seen["retains_grad"],
        function and node_name(function),
        None if gradient is None else fact_of(gradient, reader),
        tried(lambda: reader.tensor(value)),
    )


def _tuple(numbers: list[int] | None) -> tuple[int, ...] | None:
    return None if numbers is None else tuple(numbers)


def _plain_fact(value: torch.Tensor, here: tuple, reader: Reader) -> Fact:
    """Return what :func:`fact_of` does, quickly; a lazy copy stays lazy."""
    storage, leaf, function = value.untyped_storage(), value.is_leaf, value.grad_fn
    address, size = torch._C._data_address(value), value.nbytes
    if not address:
        raise ValueError
    retains = not leaf and value.retains_grad
    gradient = value.grad if leaf or retains else None
    offset, stop = value.storage_offset() * value.element_size(), storage.nbytes()
    place = (address, offset, value.is_conj(), value.is_neg())
    # A storage can be resized under a tensor, which must not be read then.
    is_there = value.is_cpu and not (place[2] or place[3]) and offset + size <= stop
    values = None
    if is_there and value.is_contiguous():
        values = reader.stretch(address + offset, size)
    return Fact(
        here,
        weakref.ref(storage),
        place,
        (value.shape, value.stride(), value.dtype, value.device),
        (address, address + stop),
        size,
        value._version,
        value.requires_grad,
        retains,
        function and node_name(function),
        None if gradient is None else fact_of(gradient, reader),
        values or tried(lambda: reader.tensor(value)),
    )


class Reader:
    """Reads values: a stretch of memory once, and so many bytes of all."""

    def __init__(self) -> None:
        self.room = MOST_BYTES
        self._known: dict[tuple[int, int], str] = {}

    def stretch(self, start: int, size: int) -> str | None:
        """Return the digest of a stretch of memory; None where there is no room."""
        known = self._known.get((start, size))
        if known is None and 0 < size <= self.room:
            self.room -= size
            known = _digits((ctypes.c_char * size).from_address(start))
            self._known[start, size] = known
        return known

    def tensor(self, tensor: torch.Tensor) -> str | None:
        """Return the digest of a tensor that may be of any kind."""
        data = readable(tensor)
        if data is None or data.numel() == 0:
            return None if data is None else "0"
        size = data.numel() * data.element_size()
        if data.device.type != "cpu" and size > MOST_FETCHED_BYTES:
            return None
        data, mark = self._cut(data, data.stride())
        plain = data.resolve_conj().resolve_neg().cpu().contiguous()
        start = storage_address(plain) + plain.storage_offset() * plain.element_size()
        return mark + _digits((ctypes.c_char * plain.nbytes).from_address(start))

    def array(self, array: Any) -> str:
        """Return the digest of an array that may be of any kind."""
        kinds = (kind for kind in type(array).__mro__ if kind.__name__ == "ndarray")
        data = array.view(type=next(kinds))  # of a subclass slices may be others
        data, mark = self._cut(data, data.strides)
        return mark + _digits(data.tobytes())

    def _cut(self, data: Any, strides: Iterable[int]) -> tuple[Any, str]:
        """Return one of the elements that are one in memory, and some of too many."""
        data = data[tuple(slice(0, None if step else 1) for step in strides)]
        mark = "~" if data.nbytes > self.room else ""
        if mark:
            data = data[tuple(slice(None, None, step) for step in _steps(data.shape))]
        self.room -= data.nbytes
        return data, mark


def _digits(data: Any) -> str:
    return f"{zlib.crc32(data):08x}"


def _steps(shape: Iterable[int]) -> list[int]:
    """Return steps through each dimension that leave some thousand elements."""
    left, steps = list(shape), [1] * len(list(shape))
    while prod(left) > SAMPLES:
        at = left.index(max(left))
        left[at], steps[at] = -(-left[at] // 2), steps[at] * 2
    return steps


class Look(NamedTuple):
    """One look: what is compared, what can be drawn, and what was left out.

    ``names`` is how many names there are, ``more`` counts items of long containers.
    ``unread`` has the bytes of what was not read, or not all of it, though the
    statement may have written to it.
    """

    facts: dict[str, Fact]
    observed: dict
    names: int
    more: int = 0
    unread: dict[str, int] = {}


def look(
    namespace: Any,
    was: Look | None = None,
    old: dict[str, Fact] | None = None,
    unit: Unit | None = None,
    *,
    names: Iterable[str] | None = None,
) -> Look:
    """Look at the tensors of a namespace, as if nobody had looked.

    Parameters
    ----------
    namespace
        Objects by name.
    was
        The look before.
    old
        Facts of what was there before the program: it is compared, but drawn only
        where it changes or where the statement names it.
    unit
        The statement that has run. What it names is read first.
    names
        The only names that are looked at; None: all.
    """
    if torch.cuda.is_initialized() and tried(torch.cuda.is_current_stream_capturing):
        return was or Look({}, observe({}), 0)  # to read would break the CUDA graph
    collects = gc.isenabled()
    gc.disable()  # what a collection frees, the program itself must free
    try:
        with unseen():
            asked = names_in(unit) if unit is not None else frozenset()
            return _look(find(namespace, asked, names), was, old or {}, unit)
    finally:
        if collects:
            gc.enable()


def _look(
    found: Found, was: Look | None, old: dict[str, Fact], unit: Unit | None
) -> Look:
    before = was.facts if was is not None else {}
    facts, unread = _read(found, before, unit)
    notes = (len(facts), found.more, unread)
    changed = {name for name, fact in facts.items() if before.get(name) is not fact}
    at = {name: number for number, name in enumerate(facts)}
    ranks = found.ranks

    def turn(name: str) -> tuple:
        """Return what is sorted by: what changed, what is named, new plain names."""
        newest = -at[name] if ranks[name] == 1 else at[name]
        return name not in changed, name not in found.asked, ranks[name], newest

    order = sorted(facts, key=turn)
    if was is not None and not changed and before.keys() <= facts.keys():
        seen = {name for one in was.observed["tensors"] for name in one["names"]}
        asked = [name for name in order if name in found.asked]
        if seen.issuperset(asked[:MOST_OBSERVED]):
            return Look(was.facts, was.observed, *notes)
    wanted = [name for name in order if name in changed or name in found.asked]
    beside = {facts[name].memory for name in wanted[:MOST_OBSERVED]} - {(0, 0)}
    shown = [
        *wanted[: MOST_OBSERVED // 2],
        *(name for name in order if facts[name].memory in beside),
        *order,
    ]
    is_left_out = {
        name
        for name in facts.keys() & old.keys() - {*wanted}
        if old[name].object == facts[name].object
    }
    few = [name for name in dict.fromkeys(shown) if name not in is_left_out]
    few = {*few[:MOST_OBSERVED]}
    drawn = {name: found.values[name] for name in facts if name in few}
    return Look(facts, observe(drawn), *notes)


def _read(
    found: Found, before: dict[str, Fact], unit: Unit | None
) -> tuple[dict[str, Fact], dict[str, int]]:
    """Return the facts with their values, and the bytes of what was not read.

    What is new or named by the statement is read first, small ones before large ones.
    What is as it was before keeps its fact.
    """
    facts: dict[str, Fact] = dict.fromkeys(found.values)
    unread, reader = {}, Reader()
    may_write = unit is None or may_write_elsewhere(unit)

    def turn(name: str) -> tuple[bool, int]:
        is_beside = name in before and name not in found.asked
        return is_beside, tried(lambda: found.values[name].nbytes, 0)

    for name in sorted(facts, key=turn):
        fact, earlier = fact_of(found.values[name], reader), before.get(name)
        if not fact.values or fact.values[0] == "~":
            is_named = earlier is None or name in found.asked
            if fact.bytes and not fact.is_meta and (may_write or is_named):
                unread[name] = fact.bytes
        facts[name] = earlier if earlier == fact else fact
    return facts, {name: unread[name] for name in facts if name in unread}


# What cannot write to a tensor, other than one that it is given by name.
HARMLESS = frozenset({
    *("bool", "float", "getattr", "hasattr", "id", "int", "isinstance", "len", "list"),
    *("print", "range", "repr", "str", "tuple", "type"),
})  # fmt: skip
_MAY_CALL = (
    *(ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.comprehension),
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.ClassDef),
)


def may_write_elsewhere(unit: Unit) -> bool:
    """Whether a statement may write to what it does not name.

    A call may, and what runs an iterator or a context manager.
    """
    calls = any(
        isinstance(node, _MAY_CALL)
        or (isinstance(node, ast.Call) and getattr(node.func, "id", "") not in HARMLESS)
        for node in nodes_of(unit)
    )
    return calls or bool(getattr(unit.node, "decorator_list", ()))


def differences(
    was: Look, now: Look, unit: Unit | None = None, rebinds: bool = False
) -> dict[str, frozenset[str]]:
    """Return by name what differs.

    That is "new", "gone", "other" (another object), "values", "version", "gradient",
    "arrived" (there was none), "storage", "form" (shape, strides, dtype, device),
    "requires_grad", "retains_grad" or "graph" (the operation that it comes from).

    ``rebinds`` says that several statements ran, in which each name may have been
    bound again.
    """
    found, before = {}, was.facts
    bound = bound_in(unit) if unit is not None else frozenset()
    for name, fact in now.facts.items():
        old = before.get(name)
        if old is fact:
            continue
        kinds = {"new"} if old is None else _kinds(old, fact)
        if old is not None and (rebinds or name in bound) and not old.is_on(fact):
            kinds.add("other")
        if kinds:
            found[name] = frozenset(kinds)
    gone = {name: frozenset({"gone"}) for name in before if name not in now.facts}
    return found | gone


def _kinds(was: Fact, now: Fact) -> set[str]:
    kinds = {
        kind
        for kind in ("form", "version", "requires_grad", "retains_grad", "graph")
        if getattr(was, kind) != getattr(now, kind)
    }
    if was.id != now.id:
        kinds.add("other")
    if was.storage is not now.storage or was.place != now.place:
        kinds.add("storage")
    if _are_other(was, now):
        kinds.add("values")
    one, two = was.gradient, now.gradient
    if one is None or two is None:
        kinds |= {"gradient"} if one is not two else set()
        kinds |= {"arrived"} if two is not None and one is None else set()
    elif _are_other(one, two) or (two.values is None and not one.is_on(two)):
        kinds.add("gradient")
    return kinds


def _are_other(was: Fact, now: Fact) -> bool:
    """Whether values differ; of what was not read alike, the version tells."""
    one, two = was.values, now.values
    if one and two and (one[0] == "~") == (two[0] == "~"):
        return one != two
    return was.version != now.version and not now.is_meta
