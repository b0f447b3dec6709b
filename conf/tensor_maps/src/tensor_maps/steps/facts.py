"""What is compared of each named tensor from one statement to the next."""

from __future__ import annotations

import ast
import gc
from bisect import bisect_right
from collections.abc import Container, Iterable
from typing import Any, NamedTuple

import torch

from tensor_maps.compare import MOST_STEP_NODES
from tensor_maps.find import Found, find
from tensor_maps.observe import observe
from tensor_maps.reading import is_array, tried, unseen
from tensor_maps.steps.content import MOST_READ_BYTES, Reader
from tensor_maps.steps.fact import (
    Fact,
    fact_of,
    is_as,
    is_on_other_storage,
    kinds_of,
    stamp_of,
)
from tensor_maps.steps.syntax import Unit, bound_in, names_in, nodes_of, root_of

# Names that are compared, and of these, that can be drawn and said in full.
MOST_NAMES, MOST_OBSERVED = 1000, 40
# How many names a picture has.
MOST_DRAWN = 5
# So many bytes are read after a statement: of what it names, of what it does not name,
# and of all that is there before the first one.
MOST_NAMED_BYTES, MOST_OTHER_BYTES, MOST_FIRST_BYTES = 2**26, 2**23, 2**29


class Look(NamedTuple):
    """One look: what is compared, what can be drawn, and what was left out.

    ``names`` is how many names there are; ``left`` are those that were not looked at,
    and ``more`` counts items of long containers, which have no name here. ``unread``
    has the bytes of what was told by its version counter only, though the statement
    might have written to it in another way, and ``sampled`` the bytes of what was
    read now, and in samples only. ``late`` says for what was not read how many
    statements ago it was.
    """

    facts: dict[str, Fact]
    observed: dict
    names: int
    left: frozenset[str] = frozenset()
    more: int = 0
    unread: dict[str, int] = {}
    sampled: dict[str, int] = {}
    late: dict[str, int] = {}


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
        The statement that has run. What it names is always looked at and read.
    names
        The only names that are looked at; None: all.
    """
    if _capturing():
        return was or Look({}, observe({}), 0)
    collects = gc.isenabled()
    gc.disable()  # what a collection frees, the program itself must free
    try:
        with unseen():
            asked = names_in(unit) if unit is not None else frozenset()
            found = find(namespace, asked, names)
            return _look(found, was, old or {}, unit, namespace)
    finally:
        if collects:
            gc.enable()


def _look(
    found: Found,
    was: Look | None,
    old: dict[str, Fact],
    unit: Unit | None,
    namespace: Any,
) -> Look:
    values, left = found.values, frozenset()
    if len(values) > MOST_NAMES:
        left = frozenset(_in_turn(found)[MOST_NAMES:])
        values = {name: values[name] for name in values if name not in left}
    before = was.facts if was is not None else {}
    facts: dict[str, Fact] = {}
    moved = set()
    for name, value in values.items():
        fact, stamp = before.get(name), stamp_of(value)
        if fact is None or stamp is None or fact.stamp != stamp:
            fact = fact_of(value, stamp)
            moved.add(name)
        facts[name] = fact
    reader = Reader()
    read, unread = _read(reader, facts, moved, found, was, unit, namespace)
    for name in moved:
        if name in before and is_as(before[name], facts[name]):
            facts[name] = before[name]
    earlier = was.late if was is not None else {}
    for name in left:  # compared when it is looked at again
        if name in before:
            facts[name] = before[name]
    may_be_late = {*unread, *left}
    late = {
        name: earlier.get(name, 0) + (name in may_be_late)
        for name in facts.keys() & (earlier.keys() | may_be_late)
        if name not in read
    }
    changed = [name for name, fact in facts.items() if before.get(name) is not fact]
    changed += [name for name in before if name not in facts]
    count = len(found.values)
    notes = (count, left, found.more, unread, _sampled(facts, read), late)
    if was is not None and not changed:
        seen = {name for one in was.observed["tensors"] for name in one["names"]}
        asked = sorted((n for n in values if n in found.asked), key=found.ranks.get)
        if seen.issuperset(asked[:MOST_OBSERVED]):
            return Look(was.facts, was.observed, *notes)
    chosen = _chosen(found, facts, values, changed, old)
    observed = observe(chosen, MOST_STEP_NODES, 0)
    for seen in observed["tensors"]:
        for name in seen["names"]:  # which values are others, as the facts have it
            seen["digest"] = facts[name].values
    return Look(facts, observed, *notes)


def _in_turn(found: Found, first: Container[str] = ()) -> list[str]:
    """Return all names: what the statement names, plain ones, the newest before.

    Those that are ``first`` come before all others.
    """
    ranks, at = found.ranks, {name: number for number, name in enumerate(found.values)}
    return sorted(
        found.values,
        key=lambda name: (
            name not in first,
            name not in found.asked,
            ranks[name],
            -at[name] if ranks[name] == 1 else at[name],
        ),
    )


def _sampled(facts: dict[str, Fact], read: set[str]) -> dict[str, int]:
    """Return the bytes of what was read now, and in samples only."""
    return {
        name: facts[name].bytes
        for name in facts
        if name in read and (facts[name].values or "").startswith("~")
    }


def _chosen(
    found: Found,
    facts: dict[str, Fact],
    values: dict[str, Any],
    changed: list[str],
    old: dict[str, Fact],
) -> dict[str, Any]:
    """Return what can be drawn: what changed or is named first, in their order."""
    new = set(changed)
    shown = {
        name
        for name in values
        if not (
            name in old
            and name not in found.asked
            and name not in new
            and old[name].other == facts[name].other
        )
    }
    if len(shown) > MOST_OBSERVED:
        turns = [name for name in _in_turn(found, new) if name in shown]
        wanted = [name for name in turns if name in new or name in found.asked]
        near = _Stretches(facts[name].reach for name in wanted[:MOST_OBSERVED])
        beside = {name for name in turns if near.touches(facts[name].reach)}
        both = [*wanted[: MOST_OBSERVED // 2], *(n for n in turns if n in beside)]
        shown = set(list(dict.fromkeys([*both, *turns]))[:MOST_OBSERVED])
    return {name: value for name, value in values.items() if name in shown}


class _Stretches:
    """Stretches of memory, joined where they overlap."""

    def __init__(self, reaches: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.stops: list[int] = []
        for start, stop in sorted(set(reaches)):
            if start == stop:
                continue
            if self.stops and start < self.stops[-1]:
                self.stops[-1] = max(self.stops[-1], stop)
            else:
                self.starts.append(start)
                self.stops.append(stop)

    def touches(self, reach: tuple[int, int]) -> bool:
        """Whether a stretch overlaps one of these."""
        at = bisect_right(self.stops, reach[0])
        return at < len(self.starts) and self.starts[at] < reach[1]


def _read(
    reader: Reader,
    facts: dict[str, Fact],
    moved: set[str],
    found: Found,
    was: Look | None,
    unit: Unit | None,
    namespace: Any,
) -> tuple[set[str], dict[str, int]]:
    """Read values; return what was read, and the bytes of what should have been.

    What is new is read, and what the statement names or what shares memory with
    that; then what has moved; then, if the statement may write to others, these, the
    small ones first.
    """
    before = was.facts if was is not None else {}
    first = {name for name in facts if name in found.asked or name not in before}
    may_write = unit is None or may_write_elsewhere(unit, namespace)
    if first and len(first) < len(facts):
        near = _Stretches(reach for name in first for reach in facts[name].reaches())
        touched = [n for n, f in facts.items() if any(map(near.touches, f.reaches()))]
        first.update(touched)
    others = [name for name in facts if name not in first]
    if not may_write:
        others = [name for name in others if name in moved]
    if sum(facts[name].bytes for name in others) > MOST_OTHER_BYTES // 2:
        others.sort(key=lambda name: (name not in moved, facts[name].bytes))
    most = MOST_FIRST_BYTES if was is None else MOST_NAMED_BYTES
    read: set[str] = set()
    unread: dict[str, int] = {}
    for names in ([name for name in facts if name in first], others):
        end = most if names is not others else reader.read + MOST_OTHER_BYTES
        for name in names:
            size, earlier = facts[name].bytes, before.get(name)
            if reader.read + min(size, MOST_READ_BYTES) > end:
                unread[name] = size
                continue
            _take(name, found.values[name], reader, facts)
            read.add(name)
            # Of what was not read before it is not known whether it is as before.
            unknown = earlier is not None and earlier.values is None
            unknown = facts[name].values is None or (unknown and name not in moved)
            if unknown and (may_write or name in found.asked):
                unread |= {name: size} if _has_values(found.values[name]) else {}
    return read, unread


def _has_values(value: Any) -> bool:
    return is_array(value) or not (
        tried(lambda: value.is_meta, True) or tried(value.numel, 0) == 0
    )


def _take(name: str, value: Any, reader: Reader, facts: dict[str, Fact]) -> None:
    """Put into a fact what its values and those of its gradient are now."""
    fact = facts[name]
    place, gradient = fact.place, fact.gradient
    if place is not None and place.is_still(value):
        digest = reader.stretch(place.address, place.bytes)
    else:
        digest = reader.digest(value)
    if gradient is not None:
        tensor, place = tried(lambda: value.grad), gradient.place
        if tensor is not None and place is not None and place.is_still(tensor):
            digits = reader.stretch(place.address, place.bytes)
        else:
            digits = None if tensor is None else reader.digest(tensor)
        if digits != gradient.values:
            gradient = gradient._replace(values=digits)
    if digest != fact.values or gradient is not fact.gradient:
        facts[name] = fact._replace(values=digest, gradient=gradient)


# What cannot write to a tensor, other than one that it is given by name.
HARMLESS = frozenset({
    *("abs", "bool", "dict", "enumerate", "float", "getattr", "hasattr", "id", "int"),
    *("isinstance", "len", "list", "max", "min", "print", "range", "repr", "round"),
    *("set", "sorted", "str", "sum", "tuple", "type", "zip"),
})  # fmt: skip
_MAY_CALL = (
    *(ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.comprehension),
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.ClassDef),
)


def may_write_elsewhere(unit: Unit, namespace: Any) -> bool:
    """Whether a statement may write to what it does not name.

    A call may, and what runs an iterator or a context manager.
    """
    for node in nodes_of(unit):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name not in HARMLESS or name in namespace:
                return True
        elif isinstance(node, _MAY_CALL):
            return True
    return bool(getattr(unit.node, "decorator_list", ()))


def _capturing() -> bool:
    """Whether CUDA records a graph, which reading a value would break."""
    cuda = torch.cuda
    return cuda.is_initialized() and tried(cuda.is_current_stream_capturing, False)


def differences(
    was: Look, now: Look, unit: Unit | None = None, rebinds: bool = False
) -> dict[str, frozenset[str]]:
    """Return by name what differs.

    That is "new", "gone", "other" (another object), "moved" (an item that was here
    under another name), "values", "late" (which may have changed before this
    statement), "version", "gradient", "arrived" (there was none), "storage", "form"
    (shape, strides, dtype, device), "requires_grad", "retains_grad" or "graph" (the
    operation that it comes from).

    ``rebinds`` says that several statements ran, in which each name may have been
    bound again.
    """
    found = {}
    before, after = was.facts, now.facts
    bound = bound_in(unit) if unit is not None else frozenset()
    former: dict[tuple, str] = {}
    for name, fact in after.items():
        old = before.get(name)
        if old is fact:
            continue
        if old is None:
            if name not in was.left:
                found[name] = frozenset({"new"})
            continue
        kinds = kinds_of(old, fact)
        if "other" in kinds:
            former = former or {
                one.other.number(): known for known, one in before.items()
            }
            earlier = former.get(fact.other.number(), name)
            if earlier != name and root_of(earlier) == root_of(name) != name:
                kinds = {"moved"}
        elif is_on_other_storage(old, fact) and (rebinds or name in bound):
            kinds.add("other")
        if kinds == {"values"} and was.late.get(name):
            kinds.add("late")
        if kinds:
            found[name] = frozenset(kinds)
    there = after.keys() | now.left
    return found | {name: frozenset({"gone"}) for name in before if name not in there}
