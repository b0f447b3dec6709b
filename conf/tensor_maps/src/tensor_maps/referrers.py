"""Tell who keeps the memory of a tensor alive."""

from __future__ import annotations

import copy
import gc
import itertools
import re
import sys
from collections import deque
from collections.abc import Iterator
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any

import torch

from tensor_maps.backward import saved_by, variables
from tensor_maps.find import argument_texts
from tensor_maps.memory import Memory, lanes, placed
from tensor_maps.reading import (
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
# Stands before an item of a dict that holds the attributes of an object.
ATTRIBUTES = "\0"
_ATTRIBUTE = re.compile(r"\0\['([^']*)'\]")
CLOSURE = " (its closure)"
_CELL = re.compile(r"( \(its closure\))\[\d+\]")
_MODULE_PARTS = re.compile(r"\._(?:parameters|buffers|modules)\['([^']*)'\]")


class Holders:
    """Who keeps a memory alive: lines as text, and data. It keeps nothing alive."""

    def __init__(self, data: dict) -> None:
        self._data = data

    def to_dict(self) -> dict:
        """Return what was found, as data that JSON can hold.

        ``format`` is 1, ``of`` the name, ``bytes`` the size of the memory (null where
        there is none to look at), and ``holders`` a list of ``kind`` ("name", "path",
        "gradient", "saved" or "unnamed"), ``text`` (``cache['a'][3]``), ``where``
        ("here", "in f", "in module m") and ``same`` (whether it leads to the same
        tensor object, and not to another one on its memory).
        """
        return copy.deepcopy(self._data)

    def __len__(self) -> int:
        return len(self._data["holders"])

    def __repr__(self) -> str:
        data, lines = self._data, []
        size = data["bytes"]
        of = "" if size is None else f" ({size_of(size)} on {data['device']})"
        for one in data["holders"][:MOST_TOLD]:
            other = "" if one["same"] else ": a tensor that shares its memory"
            where = f" ({one['where']})" if one["where"] else ""
            lines.append(f"  {one['text']}{where}{other}")
        rest = len(data["holders"]) - MOST_TOLD
        if rest > 0:
            lines.append(f"  and {count_of(rest, 'more holder')}")
        head = f"The memory of {data['of']}{of} is kept alive by"
        return "\n".join([head, *(lines or ["  nothing that can be seen"]), NOT_SEEN])


def holders(x: object, /) -> Holders:
    """Return who keeps the memory of a tensor or an array alive.

    It finds names in running functions and in modules, items and attributes that lead
    to the memory (``cache['a'][3]``, ``net.0.weight``, ``optimizer.state``), other
    tensors that share it, gradients, tensors that graphs saved for backward, hooks and
    closures. The result is only text, so it doesn't keep an object alive.

    Parameters
    ----------
    x
        A tensor or a NumPy array, of any shape, layout and device.

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
    if not is_drawn(x):
        raise TypeError(f"holders() takes a tensor or an array, not {type(x).__name__}")
    frame = sys._getframe(1)
    (text,) = argument_texts(frame, 1)
    collects = gc.isenabled()
    gc.disable()
    try:
        with unseen():
            found = _Search().look(frame, x)
            return Holders(found | {"of": text or "the tensor"})
    finally:
        if collects:
            gc.enable()


class _Search:
    """One search; ``all`` is what the collector knows, before the search began."""

    def look(self, frame: FrameType, x: Any) -> dict:
        """Return the data of :class:`Holders`, without the name."""
        try:
            return self._looked(frame, x)
        finally:
            vars(self).clear()  # all that it keeps alive, and itself

    def _looked(self, frame: FrameType, x: Any) -> dict:
        self.named: dict[int, list[tuple[str, str]]] = {}
        # Before the next line, which holds the copies of names that frames have.
        self._names(frame)
        self.all = gc.get_objects()
        self.known = {id(one) for one in self.all}
        self.known -= {id(self), id(vars(self)), id(self.arrays)}
        self.x = x
        self.held: list[Any] = []  # so that no id is used twice
        self.parents: dict[int, list[tuple[Any, str]]] = {}
        self.found: list[dict] = []
        self.memory, self.targets = self._on_memory()
        self._climb()
        return self._told()

    def _names(self, frame: FrameType | None) -> None:
        """Note what has a name: in the frames that run, and in modules."""
        here, arrays = frame, []
        scopes: set[int] = set()
        while frame is not None:
            code = frame.f_code
            if code.co_name != "<module>":
                where = "here" if frame is here else f"in {code.co_name}"
                for name, value in variables(frame, module=False):
                    self._name(name, where, value, arrays)
            frame = frame.f_back
        for module_name, module in list(sys.modules.items()):
            # A module stands in sys.modules under several names at times.
            scope = module.__dict__ if isinstance(module, ModuleType) else None
            if scope is None or id(scope) in scopes:
                continue
            scopes.add(id(scope))
            for name, value in list(scope.items()):
                if not name.startswith("__"):
                    self._name(name, f"in module {module_name}", value, arrays)
        self.arrays = arrays

    def _name(self, name: str, where: str, value: Any, arrays: list[Any]) -> None:
        self.named.setdefault(id(value), []).append((name, where))
        if is_array(value):
            arrays.append(value)

    def _on_memory(self) -> tuple[Memory | None, list[Any]]:
        """Return all that is on the memory, and note gradients and graphs."""
        tensors = [one for one in self.all if issubclass(type(one), torch.Tensor)]
        kept: list[tuple[Any, str]] = []
        for one in tensors:
            if tried(lambda one=one: has_gradient(see_autograd(one)), False):
                gradient = tried(lambda one=one: one.grad)
                if gradient is not None:
                    kept.append((gradient, "gradient"))
                    self.parents.setdefault(id(gradient), []).append((one, ".grad"))
        saved = list(self._saved(tensors))
        objects = [self.x, *tensors, *self.arrays, *(one for one, _ in kept)]
        objects += [one for one, _ in saved]
        begin = len(objects) - len(saved)
        memories, _ = placed(objects)
        lane = next((lane for lane in lanes(memories) if lane[0] == 0), [0])
        on_it = {id(objects[at]): objects[at] for at in lane if at < begin}
        told = dict.fromkeys(saved[at - begin][1] for at in lane if at >= begin)
        self.found = [
            {"kind": "saved", "text": text, "where": "", "same": True} for text in told
        ]
        self.held += objects
        return memories.get(0), list(on_it.values())

    def _saved(self, tensors: list[Any]) -> Iterator[tuple[Any, str]]:
        """Yield what graphs have saved, with the words for it."""
        starts = []
        for one in tensors:
            names = self.named.get(id(one))
            behind = names[0][0] if names else "a tensor without a name"
            starts.append((tried(lambda one=one: one.grad_fn), behind))
        for function, behind in itertools.islice(functions_behind(starts), MOST_NODES):
            for what, value in saved_by(function):
                if isinstance(value, torch.Tensor):
                    name = f"{node_name(function)}.{what}"
                    yield value, f"{name}, saved for backward, behind {behind}"

    def _climb(self) -> None:
        """Note what holds the tensors, and what holds that, up to names."""
        # Whose gradient one of them is holds it, without the collector's knowledge.
        parents = self.parents
        owners = [one for t in self.targets for one, _ in parents.get(id(t), ())]
        level, met = [*self.targets, *owners], {id(one) for one in self.targets}
        for _ in range(MOST_DEPTH):
            # What has a name needs no other way to it, unless it is the tensor.
            level = [
                one
                for one in level
                if id(one) not in self.named or any(one is t for t in self.targets)
            ]
            if not level or len(met) > MOST_FOUND:
                return
            ids, above = {id(one) for one in level}, []
            for holder in gc.get_referrers(*level):
                if id(holder) not in self.known or holder is self.all:
                    continue
                for child, label in _labels(holder, ids, self.known):
                    self.parents.setdefault(child, []).append((holder, label))
                    if id(holder) not in met:
                        met.add(id(holder))
                        above.append(holder)
            self.held += above
            level = above

    def _told(self) -> dict:
        texts: dict[tuple, dict] = {}
        for target in self.targets:
            same = target is self.x
            for kind, text, where in self._ways(target, ()):
                key = (text, where)
                one = {"kind": kind, "text": text, "where": where, "same": same}
                texts.setdefault(key, one)
                if len(texts) >= MOST_FOUND:
                    break
        memory = self.memory
        order = ["name", "path", "gradient", "saved", "unnamed"]
        found = sorted(
            [*texts.values(), *self.found], key=lambda one: order.index(one["kind"])
        )
        return {
            "format": 1,
            "bytes": None if memory is None else memory.stop - memory.start,
            "device": "" if memory is None else memory.device,
            "holders": found,
        }

    def _ways(self, thing: Any, below: tuple) -> Iterator[tuple[str, str, str]]:
        """Yield kind, text and place of each way from a name to an object."""
        for name, where in self.named.get(id(thing), ()):
            yield "path" if below else "name", name, where
        if below and id(thing) in self.named:
            return
        holders = self.parents.get(id(thing), ())
        for holder, label in holders:
            if id(holder) in below or holder is thing:
                continue
            if isinstance(holder, dict) and _is_scope(holder):
                continue  # its names are known
            for kind, text, where in self._ways(holder, (*below, id(thing))):
                text = _ATTRIBUTE.sub(r".\1", text + label)
                text = _CELL.sub(r"\1", _MODULE_PARTS.sub(r".\1", text))
                kind = "gradient" if label == ".grad" else kind
                yield "path" if kind == "name" else kind, text, where
        if below and not holders:
            yield "unnamed", f"<{type(thing).__name__}>", "no name leads to it"


def _is_scope(value: dict) -> bool:
    return "__builtins__" in value and "__name__" in value


def _labels(holder: Any, ids: set[int], known: set[int]) -> Iterator[tuple[int, str]]:
    """Yield the ids of what an object holds, with how it is reached from there."""
    kind = type(holder)
    if issubclass(kind, dict):
        for key, value in list(dict.items(holder)):
            if id(value) in ids:
                yield id(value), f"[{_key(key)}]"
            if id(key) in ids:
                yield id(key), " (as a key)"
    elif issubclass(kind, list | tuple | deque):
        fields = getattr(kind, "_fields", ()) if issubclass(kind, tuple) else ()
        for number, value in enumerate(list(holder)):
            if id(value) in ids:
                field = number < len(fields)
                yield id(value), f".{fields[number]}" if field else f"[{number}]"
    elif issubclass(kind, set | frozenset):
        yield from (
            (id(value), " (as a member)") for value in holder if id(value) in ids
        )
    elif kind is CellType:
        value = tried(lambda: holder.cell_contents)
        if id(value) in ids:
            yield id(value), ""
    elif kind is FunctionType:
        if id(holder.__closure__) in ids:
            yield id(holder.__closure__), CLOSURE
        if id(holder.__defaults__) in ids:
            yield id(holder.__defaults__), ".__defaults__"
    elif kind is not FrameType:
        yield from _attributes(holder, ids, known)


def _attributes(
    holder: Any, ids: set[int], known: set[int]
) -> Iterator[tuple[int, str]]:
    scope = tried(lambda: object.__getattribute__(holder, "__dict__"))
    if id(scope) in ids:
        yield id(scope), ATTRIBUTES
    attributes = list(scope.items()) if type(scope) is dict else []
    if attributes:
        known.add(id(scope))  # Python may have made it just now
    for kind in type(holder).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            value = tried(lambda one=name: object.__getattribute__(holder, one))
            if value is not None:
                attributes.append((name, value))
    for name, value in attributes:
        if id(value) in ids:
            yield id(value), f".{name}"
    if issubclass(type(holder), torch.Tensor):
        hooks = tried(lambda: holder._backward_hooks)
        if hooks is not None and id(hooks) in ids:
            yield id(hooks), "._backward_hooks"
    # What else it is, as a bound method, an iterator or a slot, has one name.
    elif not attributes:
        held = {id(value) for value in gc.get_referents(holder)}
        yield from ((one, "") for one in held & ids)


def _key(key: Any) -> str:
    plain = type(key) in (str, int, float, bool)
    return repr(key) if plain else f"<{type(key).__name__}>"
