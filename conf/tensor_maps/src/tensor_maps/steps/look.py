"""Look at all named tensors after a statement, and tell how two looks differ."""

from __future__ import annotations

import ast
import ctypes
import gc
import sys
import weakref
import zlib
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import torch

from tensor_maps.find import Found, find
from tensor_maps.memory import array_address, array_reach
from tensor_maps.observe import observe
from tensor_maps.reading import is_array, readable, storage_address, tried, unseen
from tensor_maps.steps.syntax import Unit, bound_in, names_in, nodes_of
from tensor_maps.ways import node_name

# Names that can be drawn and said in full after a statement, and names in a picture.
MOST_OBSERVED, MOST_DRAWN = 40, 5
# Bytes that are read after a statement, and of a tensor on another device.
MOST_BYTES, MOST_FETCHED_BYTES = 2**26, 2**12


class Fact(NamedTuple):
    """What is compared of one tensor or array from look to look; it keeps none alive.

    ``values`` is a digest of all values in their order, None if they were not read. A
    weak reference to a tensor itself would make
    ``torch.utils.swap_tensors`` refuse, and one to an array ``ndarray.resize``: so an
    object is known by its id, its type and its storage. Another tensor with the id of
    one that was freed in the same statement is taken for it if it is on the same
    storage, and another array always.
    """

    id: tuple[int, type]
    storage: Any  # a weak reference, of which a storage has one
    place: tuple[int, int, bool, bool]  # where it begins, in bytes; conjugate, negative
    form: tuple[Any, Any, Any, Any]  # shape, strides, dtype, device
    memory: tuple[int, int]  # addresses; (0, 0): it has none
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

    def is_on(self, other: Fact) -> bool:
        """Whether its storage, or where an array begins, is that of another fact."""
        if self.storage is None and other.storage is None:
            return self.place[:1] == other.place[:1]
        return self.storage is other.storage

    def is_uniform(self) -> bool:
        """Whether all values are 0 or all are 1, as in many tensors that are fresh."""
        shape, _, dtype, _ = self.form

        def one() -> bytes:
            if not isinstance(dtype, torch.dtype):
                return dtype.type(1).tobytes()
            storage = torch.ones(1, dtype=dtype, device="cpu").untyped_storage()
            return bytes(storage.tolist())

        item = tried(one, b"")
        both = bytes(len(item)), item
        return self.values in [_digits(item * prod(shape or ())) for item in both]

    def are_values_other(self, was: Fact) -> bool:
        """Whether values differ; of what was not read alike, the version tells."""
        if was.values and self.values:
            return was.values != self.values
        return was.version != self.version and not _is_meta(self)


def _is_meta(fact: Fact) -> bool:
    return getattr(fact.form[3], "type", "") == "meta"


def fact_of(value: Any, reader: Reader) -> Fact:
    """Return what is compared of a tensor or an array; a lazy copy stays one."""
    name = id(value), type(value)
    if is_array(value):
        place = array_address(value), 0, False, False
        form = value.shape, value.strides, value.dtype, "cpu"
        reach = tried(lambda: array_reach(value), (0, 0))
        digest = reader.digest(value, place, form)
        return Fact(name, None, place, form, reach, value.nbytes, values=digest)
    storage, item = tried(value.untyped_storage), value.element_size()
    address = 0 if storage is None else storage_address(value)
    stop = address and address + int(storage.nbytes())
    offset, size = tried(value.storage_offset, 0) * item, tried(value.numel, 0) * item
    marks = tried(value.is_conj, False), tried(value.is_neg, False)
    place = address, offset, *marks
    form = tried(lambda: value.shape), tried(value.stride), value.dtype, value.device
    is_leaf = tried(lambda: value.is_leaf, False)
    function = tried(lambda: value.grad_fn)
    retains = not is_leaf and tried(lambda: value.retains_grad, False)
    gradient = tried(lambda: value.grad) if is_leaf or retains else None
    return Fact(
        name,
        None if storage is None else weakref.ref(storage),
        place,
        form,
        (address, stop),
        size,
        tried(lambda: value._version),
        value.requires_grad,
        retains,
        function and node_name(function),
        None if gradient is None else fact_of(gradient, reader),
        reader.digest(value, place, form),
    )


class Reader:
    """Reads values, so many bytes of all; one place of one form is read once."""

    def __init__(self) -> None:
        self.room = MOST_BYTES
        self._known: dict[tuple, str | None] = {}

    def digest(self, value: Any, place: tuple, form: tuple) -> str | None:
        """Return the digest of a tensor or an array; None if it cannot be read."""
        key = place, form
        if key not in self._known:
            self._known[key] = tried(lambda: self._read(value))
        return self._known[key]

    def _read(self, value: Any) -> str | None:
        if is_tensor := not is_array(value):
            data = readable(value)
            if data is None or data.numel() == 0:
                return None if data is None else "0"
            if data.device.type != "cpu" and data.nbytes > MOST_FETCHED_BYTES:
                return None
        else:  # of a subclass slices may be others
            data = value.view(type=sys.modules["numpy"].ndarray)
        # Of elements that are one in memory one is read.
        strides = data.stride() if is_tensor else data.strides
        if 0 in strides:
            data = data[tuple(slice(0, None if step else 1) for step in strides)]
        if data.nbytes > self.room:
            return None
        self.room -= data.nbytes
        if not is_tensor:
            return _digits(data.tobytes())
        plain = data.resolve_conj().resolve_neg().cpu().contiguous()
        start = storage_address(plain) + plain.storage_offset() * plain.element_size()
        return _digits((ctypes.c_char * plain.nbytes).from_address(start))


def _digits(data: Any) -> str:
    return f"{zlib.crc32(data):08x}"


class Look(NamedTuple):
    """One look: what is compared, what can be drawn, and what was left out.

    ``more`` counts items of long containers, ``unread`` has the bytes of what was not
    read, though the statement may have written to it.
    """

    facts: dict[str, Fact]
    observed: dict
    more: int = 0
    unread: dict[str, int] = {}


def look(namespace: Any, was: Look | None = None, unit: Unit | None = None) -> Look:
    """Look at the tensors of a namespace, as if nobody had looked.

    ``was`` is the look before, and ``unit`` the statement that has run: what it names
    is read first.
    """
    if torch.cuda.is_initialized() and tried(torch.cuda.is_current_stream_capturing):
        return was or Look({}, observe({}))  # to read would break the CUDA graph
    collects = gc.isenabled()
    gc.disable()  # what a collection frees, the program itself must free
    try:
        with unseen():
            asked = names_in(unit) if unit is not None else frozenset()
            return _look(find(namespace, asked), was, unit)
    finally:
        if collects:
            gc.enable()


def _look(found: Found, was: Look | None, unit: Unit | None) -> Look:
    before = was.facts if was is not None else {}
    facts, unread = _read(found, before, unit)
    changed = {name for name, fact in facts.items() if before.get(name) is not fact}
    at = {name: number for number, name in enumerate(facts)}

    def turn(name: str) -> tuple:
        """Return what is sorted by: what changed, what is named, new plain names."""
        rank = found.ranks[name]
        newest = -at[name] if rank == 1 else at[name]
        return name not in changed, name not in found.asked, rank, newest

    order = sorted(facts, key=turn)
    wanted = order[: len(changed | found.asked)]
    if was is not None and not changed and before.keys() <= facts.keys():
        seen = {name for one in was.observed["tensors"] for name in one["names"]}
        if seen.issuperset(wanted[:MOST_OBSERVED]):
            return Look(was.facts, was.observed, found.more, unread)
    beside = {facts[name].memory for name in wanted[:MOST_OBSERVED]} - {(0, 0)}
    near = [name for name in order if facts[name].memory in beside]
    order = dict.fromkeys([*wanted[: MOST_OBSERVED // 2], *near, *order])
    few = {*[*order][:MOST_OBSERVED]}
    drawn = {name: found.values[name] for name in facts if name in few}
    return Look(facts, observe(drawn), found.more, unread)


def _read(
    found: Found, before: dict[str, Fact], unit: Unit | None
) -> tuple[dict[str, Fact], dict[str, int]]:
    """Return the facts with their values, and the bytes of what was not read.

    What is new or named by the statement is read first, small ones before large ones.
    What is as it was before keeps its fact.
    """
    may_write = unit is None or may_write_elsewhere(unit)
    facts, reader = dict.fromkeys(found.values), Reader()  # in their order

    def turn(name: str) -> tuple[bool, int]:
        is_beside = name in before and name not in found.asked
        return is_beside, tried(lambda: found.values[name].nbytes, 0)

    for name in sorted(facts, key=turn):
        fact = fact_of(found.values[name], reader)
        facts[name] = before[name] if before.get(name) == fact else fact
    unread = {
        name: fact.bytes
        for name, fact in facts.items()
        if not (fact.values or _is_meta(fact)) and fact.bytes
        if may_write or name not in before or name in found.asked
    }
    return facts, unread


# What runs code that a statement does not show, less what cannot write to a tensor.
CALLS = (
    *(ast.Call, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.comprehension),
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.ClassDef),
)
HARMLESS = {"float", "getattr", "id", "int", "len", "print", "range", "repr", "str"}
HARMLESS |= {"hasattr", "isinstance", "type"}


@lru_cache(maxsize=1024)
def may_write_elsewhere(unit: Unit) -> bool:
    """Whether a statement may write to what it does not name."""
    calls = [node for node in nodes_of(unit) if isinstance(node, CALLS)]
    called = (getattr(getattr(one, "func", None), "id", "") for one in calls)
    return not HARMLESS.issuperset(called)


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
    if now.are_values_other(was):
        kinds.add("values")
    one, two = was.gradient, now.gradient
    if one is None or two is None:
        kinds |= {"gradient"} if one is not two else set()
        kinds |= {"arrived"} if two is not None and one is None else set()
    elif two.are_values_other(one) or (two.values is None and not one.is_on(two)):
        kinds.add("gradient")
    return kinds
