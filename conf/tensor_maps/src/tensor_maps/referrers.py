"""Tell who keeps the memory of a tensor alive."""

from __future__ import annotations

import copy
import functools
import gc
import itertools
import re
import sys
from collections import deque
from collections.abc import Iterator
from types import FrameType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import torch

from tensor_maps.backward import saved_by
from tensor_maps.find import argument_texts
from tensor_maps.memory import lanes, placed
from tensor_maps.reading import (
    forget_copy,
    has_gradient,
    is_array,
    is_drawn,
    see_autograd,
    tried,
    unseen,
)
from tensor_maps.ways import functions_behind, node_name
from tensor_maps.words import count_of, size_of

# Objects between a name and the tensor, objects followed, nodes of graphs looked at,
# and lines told.
MOST_DEPTH, MOST_FOUND, MOST_NODES, MOST_TOLD = 12, 400, 2000, 40
NOT_SEEN = "What only C++ holds, and arrays inside of other objects, cannot be seen."
_CACHED = type(functools.lru_cache(len))
# How a way through Python's own parts of an object is written.
_PLAINER = [
    (re.compile(r"\.__dict__\['([^']*)'\]"), r".\1"),
    (re.compile(r"\._(?:parameters|buffers|modules)\['([^']*)'\]"), r".\1"),
    (re.compile(r"\.__closure__\[\d+\]"), " (its closure)"),
    (re.compile(r"(?<=\(functools\.lru_cache\)).*"), ""),
]


class Holders:
    """Who keeps a memory alive: lines as text, and data. It keeps nothing alive."""

    def __init__(self, data: dict) -> None:
        self._data = data

    def to_dict(self) -> dict:
        """Return what was found, as data that JSON can hold.

        ``of`` is the name, ``bytes`` and ``device`` are those of the memory (null where
        there is none), and ``holders`` has the ``kind`` ("name", "path", "saved" or
        "unnamed"), the ``text`` (``cache['a'][3]``), ``where`` ("here", "in f", "in
        module m") and whether it's the ``same`` tensor, not another one on its memory.
        """
        return copy.deepcopy(self._data)

    def __repr__(self) -> str:
        data, size = self._data, self._data["bytes"]
        of = "" if size is None else f" ({size_of(size)} on {data['device']})"
        lines = [f"The memory of {data['of']}{of} is kept alive by"]
        for one in data["holders"][:MOST_TOLD]:
            where = f" ({one['where']})" if one["where"] else ""
            other = "" if one["same"] else ": a tensor that shares its memory"
            lines.append(f"  {one['text']}{where}{other}")
        if (rest := len(data["holders"]) - MOST_TOLD) > 0:
            lines.append(f"  and {count_of(rest, 'more holder')}")
        nothing = [] if lines[1:] else ["  nothing that can be seen"]
        return "\n".join([*lines, *nothing, NOT_SEEN])


def holders(x: object, /) -> Holders:
    """Return who keeps the memory of a tensor or an array alive.

    ``x`` is a tensor or a NumPy array, of any shape, layout and device. It finds names
    in running functions and in modules, items and attributes that lead to the memory
    (``cache['a'][3]``, ``net.0.weight``), other tensors that share it, gradients,
    tensors that graphs saved for backward, hooks, closures, and caches of
    ``functools``. The result is only text, so it doesn't keep an object alive.

    Raises
    ------
    TypeError
        If ``x`` is neither.

    Notes
    -----
    It asks Python's garbage collector, which takes about a second in a large program.
    It doesn't see a tensor that only C++ holds, or an array inside another object,
    because the collector doesn't track arrays. It looks at up to 2,000 nodes of a
    graph, and follows paths over up to 12 objects, to at most 400 objects.
    """
    __tracebackhide__ = True
    if not is_drawn(x):
        raise TypeError(f"holders() takes a tensor or an array, not {type(x).__name__}")
    frame, collects = sys._getframe(1), gc.isenabled()
    (text,) = argument_texts(frame, 1)
    gc.disable()
    try:
        with unseen():
            return Holders({"of": text or "the tensor"} | _look(frame, x))
    finally:
        if collects:
            gc.enable()


def _look(frame: FrameType, x: Any) -> dict:
    # Before the next line, which holds the copies of names that frames have.
    names, arrays = _names(frame)
    everything = gc.get_objects()  # which keeps it, so that no id is used twice
    known = {id(one) for one in everything} - {id(arrays)}
    tensors = [one for one in everything if issubclass(type(one), torch.Tensor)]
    objects, parents = [x, *tensors, *arrays], {}
    for one in tensors:
        gradient = tried(lambda t=one: has_gradient(see_autograd(t)) and t.grad)
        if isinstance(gradient, torch.Tensor):  # of which the collector doesn't know
            objects.append(gradient)
            parents.setdefault(id(gradient), []).append((one, ".grad"))
    saved = list(_saved(tensors, names))
    memories, _ = placed([*objects, *(one for one, _ in saved)])
    lane = next((lane for lane in lanes(memories) if lane[0] == 0), [0])
    targets = {id(objects[at]): objects[at] for at in lane if at < len(objects)}
    owners = [one for target in targets for one, _ in parents.get(target, ())]
    _climb([*targets.values(), *owners], {*targets}, names, parents, known)
    told = {}
    for target in targets.values():
        ways = itertools.islice(_ways(target, (), names, parents), MOST_FOUND)
        for kind, text, where in ways:
            for pattern, plainer in _PLAINER:
                text = pattern.sub(plainer, text)
            one = {"kind": kind, "text": text, "where": where, "same": target is x}
            told.setdefault((text, where), one)
    for text in (saved[at - len(objects)][1] for at in lane if at >= len(objects)):
        told[text] = {"kind": "saved", "text": text, "where": "", "same": True}
    order = ["name", "path", "saved", "unnamed"]
    memory = memories.get(0)
    return {
        "bytes": memory and memory.stop - memory.start,
        "device": memory and memory.device,
        "holders": sorted(told.values(), key=lambda one: order.index(one["kind"])),
    }


def _names(frame: FrameType | None) -> tuple[dict[int, list], list[Any]]:
    """Return where names are, by the id of what has them, and the arrays among these.

    They are those in the frames that run, and in modules.
    """
    scopes, here = [], frame
    while frame is not None:
        if frame.f_code.co_name != "<module>":
            where = "here" if frame is here else f"in {frame.f_code.co_name}"
            scopes.append((where, dict(frame.f_locals)))
            forget_copy(frame)
        frame = frame.f_back
    # A module stands in sys.modules under several names at times.
    modules = {id(one): (name, one) for name, one in reversed([*sys.modules.items()])}
    for name, module in modules.values():
        if isinstance(module, ModuleType):
            scopes.append((f"in module {name}", dict(module.__dict__)))
    names: dict[int, list[tuple[str, str]]] = {}
    arrays = []
    for where, scope in scopes:
        for name, value in scope.items():
            # Tools keep values under names that no program can have.
            if str(name).isidentifier() and not str(name).startswith("__"):
                names.setdefault(id(value), []).append((str(name), where))
                arrays += [value] if is_array(value) else []
    return names, arrays


def _saved(tensors: list[Any], names: dict[int, list]) -> Iterator[tuple[Any, str]]:
    """Yield what graphs have saved, with the words for it."""
    starts = []
    for one in tensors:
        behind = names.get(id(one), [("a tensor without a name",)])[0][0]
        starts.append((tried(lambda one=one: one.grad_fn), behind))
    for function, behind in itertools.islice(functions_behind(starts), MOST_NODES):
        for what, value in saved_by(function):
            if isinstance(value, torch.Tensor):
                name = f"{node_name(function)}.{what}"
                yield value, f"{name}, saved for backward, behind {behind}"


def _climb(level: list, targets: set, names: dict, parents: dict, known: set) -> None:
    """Note in ``parents`` what holds the tensors, and what holds that, up to names."""
    met = {*targets}
    for _ in range(MOST_DEPTH):
        # What has a name needs no other way to it, unless it is the tensor.
        level = [one for one in level if id(one) not in names or id(one) in targets]
        if not level or len(met) > MOST_FOUND:
            return
        ids, above = {id(one) for one in level}, []
        for holder in gc.get_referrers(*level):
            if id(holder) not in known:
                continue
            if type(holder) is _CACHED:
                called = getattr(holder, "__qualname__", "a function")
                words = f"the cache of {called} (functools.lru_cache)"
                names[id(holder)] = [(words, "")]
            for child, label in _labels(holder, ids, known):
                parents.setdefault(child, []).append((holder, label))
                if id(holder) not in met:
                    met.add(id(holder))
                    above.append(holder)
        level = above


def _ways(
    thing: Any, below: tuple, names: dict, parents: dict
) -> Iterator[tuple[str, str, str]]:
    """Yield kind, text and place of each way from a name to an object."""
    for name, where in names.get(id(thing), ()):
        yield "path" if below else "name", name, where
    if below and id(thing) in names:
        return
    holders = parents.get(id(thing), ())
    for holder, label in holders:
        is_dict = isinstance(holder, dict)
        if is_dict and "__builtins__" in holder and "__name__" in holder:
            continue  # a scope: its names are known
        if id(holder) in below or holder is thing:
            continue
        for kind, text, where in _ways(holder, (*below, id(thing)), names, parents):
            yield "path" if kind == "name" else kind, text + label, where
    if below and not holders:
        yield "unnamed", f"<{type(thing).__name__}>", "no name leads to it"


def _labels(holder: Any, ids: set[int], known: set[int]) -> Iterator[tuple[int, str]]:
    """Yield the ids of what an object holds, with how it is reached from there."""
    kind = type(holder)
    items: list[tuple[Any, str]] = []
    if issubclass(kind, dict):
        for key, value in list(dict.items(holder)):
            plain = type(key) in (str, int, float, bool)
            text = repr(key) if plain else f"<{type(key).__name__}>"
            items += [(value, f"[{text}]"), (key, " (as a key)")]
    elif issubclass(kind, list | tuple | deque):
        fields = getattr(kind, "_fields", ())
        for at, value in enumerate(list(holder)):
            items.append((value, f".{fields[at]}" if at < len(fields) else f"[{at}]"))
    elif issubclass(kind, set | frozenset):
        items = [(value, " (as a member)") for value in holder]
    elif not issubclass(kind, FrameType):
        members = {n: m for one in kind.__mro__ for n, m in vars(one).items()}
        slots = [n for n, m in members.items() if type(m) is MemberDescriptorType]
        own = tried(lambda: object.__getattribute__(holder, "__dict__"))
        if type(own) is dict:
            known.add(id(own))  # Python may have made it just now
            items = [(own, ".__dict__"), *((one, f".{n}") for n, one in own.items())]
        if issubclass(kind, FunctionType | torch.Tensor):
            slots.append("__defaults__" if kind is FunctionType else "_backward_hooks")
        for name in slots:
            value = tried(lambda n=name: object.__getattribute__(holder, n))
            items.append((value, f".{name}"))
        # What else it holds, as a cell or an iterator, has one name.
        rest = {id(one) for one in gc.get_referents(holder)} - {id(v) for v, _ in items}
        label = ".__dict__" if issubclass(kind, type) else ""
        yield from ((one, label) for one in rest & ids)
    yield from ((id(value), label) for value, label in items if id(value) in ids)
