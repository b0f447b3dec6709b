"""Draw live tensors: the autograd graph, and beside it the memory they are on.

One file that needs only torch. In a notebook::

    from tensor_maps import tensor_map

    tensor_map(w=w, y=y, z=z)

and for a map after each statement of a block, in a notebook or in a file to share::

    from tensor_maps import steps

    with steps() as seen:
        z = w.detach()
    seen.save("steps.html")

A picture is made in two stages. :func:`observe` looks at the tensors and returns
plain data; :func:`draw`, :func:`draw_svg` and :func:`describe` turn the data into two
drawings with their captions, into one file and into words. :func:`changed` compares
two observations.

A memory that is shared has a letter and a colour, the same in both drawings. What is
usual is not said: a map names an offset, strides, a version, a dtype or a device only
where they are not those that a reader takes for granted.

A map shows what PyTorch keeps, and that is less than what a program did: a constant
input is not in the graph, nor is a tensor that nobody named, and a graph says which
backward functions will run, not which tensors they have saved.
"""

from __future__ import annotations

import ast
import base64
import ctypes
import gc
import hashlib
import itertools
import json
import linecache
import math
import os
import re
import sys
import textwrap
import unicodedata
import warnings
import weakref
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from graphlib import TopologicalSorter
from pathlib import Path
from traceback import format_exc
from types import FrameType
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import torch

# What is small enough to be printed or compared.
MOST_VALUES = 6
MOST_CELLS = 12
MOST_NODES = 40
MOST_RUNS = 24
MOST_LISTED_ELEMENTS = 256
MOST_COMPARED_BYTES = 2**20

# Sizes in pixels. A drawing is never scaled down, so that its letters stay as high as
# they are drawn, and this wide it fits a phone of 320 pixels.
NARROW, EDGE = 280.0, 2.0
LETTER = 12.0
# Of each letter in SF Mono, the widest of the common monospaced fonts, by its size.
ADVANCE = 0.618
LINE, PADDING = 15.0, 6.0
BETWEEN_BOXES, BETWEEN_LAYERS, LANE_OF_EDGE, DOUBLE = 10.0, 24.0, 2.0, 8.0
CELL, TAG, STEM, BADGE = 24.0, 20.0, 10.0, 9.0
# Of a memory with a letter: where its cells begin, and the most room for them.
LEFT = EDGE + 2 * BADGE + 6
ROOM = NARROW - EDGE - LEFT
FAINT = "var(--color-foreground-muted, #6b6f76)"
# Ends of the opening of a <text>.
MIDDLE, BOLD = ' text-anchor="middle"', ' font-weight="bold"'
QUIET = f' fill="{FAINT}"'
ON_COLOUR = ' fill="var(--color-background-primary, #fff)"'
# Of shared memories, in this order.
COLOURS = [
    f"var(--line-{number}, {colour})"
    for number, colour in enumerate(
        ("#0060b0", "#b84500", "#007a5a", "#a3387a", "#5b4bc4"), start=1
    )
]


# Looking at tensors -----------------------------------------------------------------


def observe(
    named: dict[str, object],
    limit: int = MOST_NODES,
    compared: int = MOST_COMPARED_BYTES,
) -> dict:
    """Look at tensors and NumPy arrays, and return what there is to draw.

    Nothing is kept of the tensors themselves, and nothing in the result is an
    address: two runs of the same program observe the same.

    Parameters
    ----------
    named
        Tensors and arrays by name. Anything else becomes a note.
    limit
        How many nodes of the graph are kept, breadth-first from the named tensors.
        The nodes of named tensors are always kept.
    compared
        Of what has more bytes, no ``digest`` is made.

    Returns
    -------
    dict
        Data that JSON can hold, in a stable order:

        ``tensors``
            One entry per object: first the named ones in the order given, then the
            leaves without a name that the graph holds. Each has ``names`` (several
            when bound to one object), ``kind`` ("tensor" or "array"), ``shape``
            (null if there is none to read), ``dtype``, ``device``, ``values`` (text,
            of at most 6 elements), ``digest`` (of all bytes, to compare),
            ``requires_grad``, ``is_leaf``, ``retains_grad``, ``inference``,
            ``gradient`` (text; null where ``.grad`` is not for reading), ``version``
            (null if not counted), ``node`` and ``output`` (the node it hangs on and
            which output of it), ``storage`` (an index) and ``memory`` (why there is
            no storage or no address, else "").
        ``nodes``
            ``kind`` ("operation", "leaf" or "constant"), ``label``, ``tensors`` (all
            that hang on it), ``inputs_without_gradient`` (edges that lead nowhere)
            and ``hidden_inputs`` (edges to nodes that are not kept).
        ``edges``
            ``result`` and ``input`` are nodes, ``output`` says which output of
            the input's node. An edge taken twice is there twice.
        ``hidden_nodes``, ``hidden_to``
            How many nodes are not kept, and the kept leaves that these lead to.
        ``storages``
            ``bytes``, ``device``, ``dtype`` (of the cells), ``addressed``, ``cells``
            (the values of at most 12 elements, or null) and ``windows``: ``tensor``,
            ``offset``, ``shape``, ``strides`` (in elements), ``runs`` (bytes
            from the start of the storage that it touches; for a large window from
            first to last) and ``covers_all``.
        ``notes``
            What else there is to say.
    """
    # Reading never needs to warn, but a backend of someone else might.
    with _quiet(), torch._C.DisableTorchFunctionSubclass():
        objects, names, notes = _sort_out(named)
        tensors = [
            _see_tensor(value, names[id(value)], compared)
            if isinstance(value, torch.Tensor)
            else _see_array(value, names[id(value)], compared)
            for value in objects
        ]
        # The storages first: the walk adds leaves that nobody named.
        storages = _see_storages(objects, tensors)
        graph = _see_graph(objects, tensors, limit, compared)
    return {"tensors": tensors, **graph, "storages": storages, "notes": notes}


@contextmanager
def _quiet() -> Iterator[None]:
    """Show no warning, and leave Python's memory of those that were shown.

    :func:`warnings.catch_warnings` forgets it: a warning would be shown a second time.
    """
    silence = ("ignore", None, Warning, None, 0)
    warnings.filters.insert(0, silence)
    try:
        yield
    finally:
        warnings.filters.remove(silence)


def _sort_out(named: dict[str, object]) -> tuple[list, dict[int, list[str]], list[str]]:
    """Return the objects to draw, the names of each by its id, and notes."""
    objects, names, notes = [], {}, []
    for name, value in named.items():
        if not _is_drawn(value):
            kind = type(value).__name__
            notes.append(f"{name} is not drawn: {kind} is neither tensor nor array")
        elif id(value) in names:
            names[id(value)].append(str(name))
        else:
            objects.append(value)
            names[id(value)] = [str(name)]
    return objects, names, notes


def _is_drawn(value: object) -> bool:
    """Whether it is a tensor or an array; no code of its own is run."""
    return issubclass(type(value), torch.Tensor) or _is_array(value)


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(type(value), getattr(numpy, "ndarray", ()))


def _try(read: Callable[[], Any], otherwise: Any = None) -> Any:
    """Return what ``read`` returns; what PyTorch refuses to tell is ``otherwise``."""
    try:
        return read()
    except Exception:  # each layout and each subclass refuses in a way of its own
        return otherwise


# What holds of an array, and of a tensor until more is seen.
_SEEN = {
    "requires_grad": False,
    "is_leaf": False,
    "retains_grad": False,
    "inference": False,
    "gradient": None,
    "version": None,
    "node": None,
    "output": 0,
    "storage": None,
    "memory": "",
}


def _see_tensor(tensor: torch.Tensor, names: list[str], compared: int) -> dict:
    data, seen = _readable(tensor), _SEEN | _see_autograd(tensor)
    return seen | {
        "names": names,
        "kind": "tensor",
        "shape": _shape(tensor),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "device": str(tensor.device),
        "values": _values(data),
        "digest": _digest(data, compared),
        "gradient": _gradient(tensor) if _has_gradient(seen) else None,
    }


def _see_autograd(tensor: torch.Tensor) -> dict:
    is_leaf = _try(lambda: tensor.is_leaf, False)
    inference = _try(tensor.is_inference, False)
    return {
        "requires_grad": bool(tensor.requires_grad),
        "is_leaf": is_leaf,
        "retains_grad": not is_leaf and bool(_try(lambda: tensor.retains_grad, False)),
        "inference": inference,
        "version": None if inference else _try(lambda: tensor._version),
    }


def _has_gradient(autograd: dict) -> bool:
    # `.grad` of any other tensor warns.
    of_leaf = autograd["is_leaf"] and autograd["requires_grad"]
    return of_leaf or autograd["retains_grad"]


def _see_array(array: Any, names: list[str], compared: int) -> dict:
    few = array.size <= MOST_VALUES
    return _SEEN | {
        "names": names,
        "kind": "array",
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "device": "cpu",
        "values": _try(lambda: _text(array.tolist())) if few else None,
        "digest": _array_digest(array, compared),
    }


def _shape(tensor: torch.Tensor) -> list[int] | None:
    return _try(lambda: [int(length) for length in tensor.shape])


def _strides(tensor: torch.Tensor) -> list[int] | None:
    return _try(lambda: [int(stride) for stride in tensor.stride()])


def _readable(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the tensor's data outside of autograd, if there is memory behind it."""

    def inside() -> bool:
        if _is_meta(tensor):
            return False
        if tensor.numel() == 0:
            return True
        _, end = _reach(tensor.storage_offset(), tensor.shape, tensor.stride(), 1)
        # A storage can be resized under a tensor, which must not be read then.
        size = tensor.untyped_storage().nbytes()
        return _address(tensor) != 0 and end * tensor.element_size() <= size

    return _try(tensor.detach) if _try(inside, False) else None


def _is_meta(tensor: torch.Tensor) -> bool:
    return tensor.is_meta or tensor.untyped_storage().device.type == "meta"


def _address(tensor: torch.Tensor) -> int:
    """Return the address of the storage, or 0; to ask a fake tensor for it warns."""
    return 0 if _is_meta(tensor) else _try(tensor.untyped_storage().data_ptr, 0)


def _values(data: torch.Tensor | None) -> str | None:
    if data is None or data.numel() > MOST_VALUES:
        return None
    return _try(lambda: _text(data.tolist()))


def _digest(data: torch.Tensor | None, compared: int) -> str | None:
    if data is None or data.numel() * data.element_size() > compared:
        return None

    def read() -> str:
        plain = data.resolve_conj().resolve_neg().cpu().contiguous()
        size = plain.numel() * plain.element_size()
        return _hash(ctypes.string_at(plain.data_ptr(), size) if size else b"")

    return _try(read)


def _array_digest(array: Any, compared: int) -> str | None:
    small = array.nbytes <= compared
    return _try(lambda: _hash(array.tobytes())) if small else None


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _gradient(tensor: torch.Tensor) -> str:
    gradient = _try(lambda: tensor.grad)
    if gradient is None:
        return "None"
    values = _values(_readable(gradient))
    return values or f"of shape {_tuple(_shape(gradient))}"


def _text(values: Any) -> str:
    """Return nested lists of numbers as text, four significant digits each."""
    if isinstance(values, list):
        return "[" + ", ".join(map(_text, values)) + "]"
    if isinstance(values, bool) or not isinstance(values, int | float | complex):
        return str(values)
    return f"{values:.4g}"


# Walking the graph ------------------------------------------------------------------


@dataclass
class _Walk:
    """The graph while it is found; numbers of nodes are by the id of their object.

    ``held`` keeps every object of the walk alive. Python makes the wrapper of a
    node when it is asked for; once dropped, the next one may have the same id.
    """

    limit: int
    nodes: list[dict] = field(default_factory=list)
    edges: list[dict] = field(default_factory=list)
    held: list[object] = field(default_factory=list)
    number_of: dict[int, int | None] = field(default_factory=dict)
    hidden_to: set[int] = field(default_factory=set)

    def meet(self, thing: object, kind: str, always: bool = False) -> int | None:
        """Return the number of a node, which a new one is given; None: it is hidden."""
        if id(thing) in self.number_of:
            return self.number_of[id(thing)]
        shown = always or len(self.nodes) < self.limit
        number = self.number_of[id(thing)] = len(self.nodes) if shown else None
        self.held.append(thing)
        if shown:
            self.nodes.append(
                {
                    "kind": kind,
                    "label": _name(thing) if kind == "operation" else "",
                    "tensors": [],
                    "inputs_without_gradient": 0,
                    "hidden_inputs": 0,
                }
            )
        return number

    def begin(self, tensor: torch.Tensor) -> tuple[int, int]:
        """Return the node that a named tensor hangs on, and which output of it."""
        function = _try(lambda: tensor.grad_fn)
        if function is not None:
            return self.meet(function, "operation", always=True), tensor.output_nr
        leaf = tensor.requires_grad and _try(lambda: tensor.is_leaf, False)
        return self.meet(tensor, "leaf" if leaf else "constant", always=True), 0

    def follow(self) -> None:
        """Go through the graph, breadth-first."""
        for thing in self.held:  # which grows on the way
            if not isinstance(thing, torch.Tensor):
                here = self.number_of[id(thing)]
                for function, output in thing.next_functions:
                    self._connect(here, self._input(function), output)

    def _input(self, function: Any) -> object:
        """Return what an input of a node is: a function, a leaf tensor or None."""
        if function is None:
            return None
        if _name(function) != "AccumulateGrad":
            self.meet(function, "operation")
            return function
        leaf = _try(lambda: function.variable)
        number = None if leaf is None else self.meet(leaf, "leaf")
        if number is not None:
            # It stays in an old graph after requires_grad_(False).
            self.nodes[number]["kind"] = "leaf"
        return leaf

    def _connect(self, here: int | None, target: object, output: int) -> None:
        there = self.number_of.get(id(target))
        if here is None:
            if there is not None and isinstance(target, torch.Tensor):
                self.hidden_to.add(there)
        elif target is None:
            self.nodes[here]["inputs_without_gradient"] += 1
        elif there is None:
            self.nodes[here]["hidden_inputs"] += 1
        else:
            self.edges.append({"result": here, "input": there, "output": output})


def _see_graph(objects: list, tensors: list[dict], limit: int, compared: int) -> dict:
    """Walk from the named tensors, and note in ``tensors`` where each one hangs."""
    walk = _Walk(limit)
    for number, value in enumerate(objects):
        if isinstance(value, torch.Tensor):
            node, tensors[number]["output"] = walk.begin(value)
            tensors[number]["node"] = node
            walk.nodes[node]["tensors"].append(number)
    walk.follow()
    for thing in walk.held:
        node = walk.number_of[id(thing)]
        is_tensor = isinstance(thing, torch.Tensor) and node is not None
        if is_tensor and not walk.nodes[node]["tensors"]:  # a leaf without a name
            walk.nodes[node]["tensors"].append(len(tensors))
            tensors.append(_see_tensor(thing, [], compared) | {"node": node})
    return {
        "nodes": walk.nodes,
        "edges": walk.edges,
        "hidden_nodes": len(walk.held) - len(walk.nodes),
        "hidden_to": sorted(walk.hidden_to),
    }


def _name(function: Any) -> str:
    """Return the name of a node without its C++ namespace."""
    return str(function.name()).rpartition("::")[2]


# Looking at memory ------------------------------------------------------------------


@dataclass
class _Memory:
    """Where the elements of one tensor or array are.

    ``start`` and ``stop`` are the addresses of the whole storage, ``first`` is that
    of element zero. A storage without an address has an ``identity`` instead, and
    its addresses count from zero.
    """

    device: str
    identity: int
    start: int
    stop: int
    first: int
    item_size: int
    shape: list[int]
    strides: list[int]
    cells: Callable[[], list[str]]

    @property
    def addressed(self) -> bool:
        return self.identity == 0


def _see_storages(objects: list, tensors: list[dict]) -> list[dict]:
    """Return one entry per storage, and note in ``tensors`` which one each is on."""
    memories: dict[int, _Memory] = {}
    for number, value in enumerate(objects):
        found = _array_memory(value) if _is_array(value) else _tensor_memory(value)
        if isinstance(found, str):
            tensors[number]["memory"] = found
        else:
            memories[number] = found
            if not found.addressed:
                tensors[number]["memory"] = "no memory address"
    storages = []
    for members in _lanes(memories):
        for number in members:
            tensors[number]["storage"] = len(storages)
        on_it = {number: memories[number] for number in members}
        storages.append(_storage(on_it, tensors))
    return storages


def _tensor_memory(tensor: torch.Tensor) -> _Memory | str:
    """Return where a tensor is, or in words why it is nowhere."""
    storage = _try(tensor.untyped_storage)
    shape, strides = _shape(tensor), _strides(tensor)
    if storage is None or shape is None or strides is None:
        layout = str(tensor.layout).removeprefix("torch.")
        return f"no storage of its own (layout {layout}, {type(tensor).__name__})"
    size = _try(storage.nbytes, 0)
    if size == 0:
        return "empty, no memory"
    address, item_size = _address(tensor), tensor.element_size()
    return _Memory(
        device=str(tensor.device),
        identity=0 if address else storage._cdata,
        start=address,
        stop=address + int(size),
        first=address + int(tensor.storage_offset()) * item_size,
        item_size=item_size,
        shape=shape,
        strides=strides,
        cells=partial(_tensor_cells, tensor, int(size) // item_size),
    )


def _tensor_cells(tensor: torch.Tensor, count: int) -> list[str]:
    """Return the values of the whole storage of a tensor."""
    # Plain: a conjugate or negated view has a mark that turns values when read.
    plain = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    plain.set_(tensor.untyped_storage(), 0, (count,), (1,))
    return [_text(value) for value in plain.tolist()]


def _array_memory(array: Any) -> _Memory | str:
    """Return where an array is, or in words why it is nowhere."""
    if array.nbytes == 0:
        return "empty, no memory"
    item_size, (low, high) = array.itemsize, _array_reach(array)
    owner = array
    while _is_array(owner.base):
        owner = owner.base
    base = owner.base
    whole = _tensor_memory(base) if isinstance(base, torch.Tensor) else ""
    if isinstance(whole, _Memory):
        start, stop, cells = whole.start, whole.stop, whole.cells
    else:
        start, stop = _array_reach(owner)
        cells = partial(_array_cells, owner)
    return _Memory(
        device="cpu",
        identity=0,
        start=min(start, low),
        stop=max(stop, high),
        first=_array_address(array),
        item_size=item_size,
        shape=list(array.shape),
        strides=[stride // item_size for stride in array.strides],
        cells=cells,
    )


def _array_cells(array: Any) -> list[str]:
    return [_text(value) for value in array.ravel(order="K").tolist()]


def _array_address(array: Any) -> int:
    return array.__array_interface__["data"][0]


def _array_reach(array: Any) -> tuple[int, int]:
    return _reach(_array_address(array), array.shape, array.strides, array.itemsize)


def _reach(
    first: int, shape: Sequence[int], strides: Sequence[int], item_size: int
) -> tuple[int, int]:
    """Return the lowest and the highest address of a window; strides in bytes."""
    steps = [
        (length - 1) * stride for length, stride in zip(shape, strides, strict=True)
    ]
    low = first + sum(step for step in steps if step < 0)
    return low, first + sum(step for step in steps if step > 0) + item_size


def _lanes(memories: dict[int, _Memory]) -> list[list[int]]:
    """Group what lies on the same storage, in the order of first appearance.

    Storages whose addresses overlap are one: ``torch.from_numpy(a[1:])`` makes a
    new storage object on the memory of ``a``.
    """
    ordered = sorted(
        memories,
        key=lambda n: (memories[n].device, memories[n].identity, memories[n].start),
    )
    lanes: list[list[int]] = []
    place, stop = None, 0
    for number in ordered:
        memory = memories[number]
        if place == (memory.device, memory.identity) and memory.start < stop:
            lanes[-1].append(number)
            stop = max(stop, memory.stop)
        else:
            lanes.append([number])
            place, stop = (memory.device, memory.identity), memory.stop
    return sorted(sorted(lane) for lane in lanes)


def _storage(members: dict[int, _Memory], tensors: list[dict]) -> dict:
    start = min(memory.start for memory in members.values())
    size = max(memory.stop for memory in members.values()) - start
    reader, cells = _cells(members, size)
    return {
        "bytes": size,
        "device": members[reader].device,
        "dtype": tensors[reader]["dtype"],
        "addressed": members[reader].addressed,
        "cells": cells,
        "windows": [
            _window(number, memory, start, size) for number, memory in members.items()
        ],
    }


def _cells(members: dict[int, _Memory], size: int) -> tuple[int, list[str] | None]:
    """Return who reads the whole storage, and its values if it is small."""
    for number, memory in members.items():
        count = size // memory.item_size
        sees_all = memory.addressed and memory.stop - memory.start == size
        if sees_all and count <= MOST_CELLS:
            cells = _try(memory.cells)
            if cells and len(cells) == count:
                return number, cells
    return next(iter(members)), None


def _window(number: int, memory: _Memory, start: int, size: int) -> dict:
    shape, item_size, first = memory.shape, memory.item_size, memory.first - start
    strides = [stride * item_size for stride in memory.strides]
    low, high = _reach(first, shape, strides, item_size)
    moves = [
        (length, stride)
        for length, stride in zip(shape, strides, strict=True)
        if stride != 0 and length > 1
    ]
    distinct = 0 if 0 in shape else math.prod(length for length, _ in moves)
    runs = [[low, high]]
    if distinct <= MOST_LISTED_ELEMENTS:
        runs = _runs(first, moves, item_size) if distinct else []
        runs = runs if len(runs) <= MOST_RUNS else [[low, high]]
    return {
        "tensor": number,
        "offset": (memory.first - memory.start) // item_size,
        "shape": shape,
        "strides": memory.strides,
        "runs": runs,
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


# Comparing --------------------------------------------------------------------------


def changed(before: dict, after: dict) -> dict:
    """Mark what differs in two observations, tensor by tensor by name.

    Returns
    -------
    dict
        As ``after``. Each tensor has a list ``changed`` with some of "values",
        "version", "gradient", "storage"; each storage has ``changed`` (a bool) and
        ``changed_cells`` (indices). A name that was not there before is not marked.
    """
    result = {**after}
    for part in ("tensors", "storages"):
        result[part] = [{**seen} for seen in after[part]]
    old = {name: seen for seen in before["tensors"] for name in seen["names"]}
    partner = _partners(before, after, old)
    for seen in result["tensors"]:
        was = next((old[name] for name in seen["names"] if name in old), None)
        seen["changed"] = [] if was is None else _differences(was, seen, partner)
    for number, storage in enumerate(result["storages"]):
        was = before["storages"][partner[number]] if number in partner else {}
        storage["changed_cells"] = _changed_cells(was.get("cells"), storage["cells"])
        storage["changed"] = bool(storage["changed_cells"]) or any(
            {"values", "version"} & set(result["tensors"][window["tensor"]]["changed"])
            for window in storage["windows"]
        )
    return result


def _partners(before: dict, after: dict, old: dict[str, dict]) -> dict[int, int]:
    """Match storages through the names on them; each old one is used once."""
    partner: dict[int, int] = {}
    for seen in after["tensors"]:
        for name in seen["names"]:
            was, now = old.get(name, {}).get("storage"), seen["storage"]
            if None in (was, now) or now in partner or was in partner.values():
                continue
            if before["storages"][was]["bytes"] == after["storages"][now]["bytes"]:
                partner[now] = was
    return partner


def _differences(was: dict, now: dict, partner: dict[int, int]) -> list[str]:
    differs = {
        "values": any(was[key] != now[key] for key in ("digest", "values")),
        "version": was["version"] != now["version"],
        "gradient": was["gradient"] != now["gradient"],
        "storage": was["storage"] != partner.get(now["storage"]),
    }
    return [kind for kind, is_other in differs.items() if is_other]


def _changed_cells(was: list[str] | None, now: list[str] | None) -> list[int]:
    if was is None or now is None or len(was) != len(now):
        return []
    pairs = enumerate(zip(was, now, strict=True))
    return [at for at, (old, new) in pairs if old != new]


# Words ------------------------------------------------------------------------------


def describe(observed: dict) -> str:
    """Say in a few sentences, not escaped, what the picture shows.

    ``observed`` is what :func:`observe` or :func:`changed` returned.
    """
    both = f"{_describe_graph(observed)} {_describe_memory(observed)}".strip()
    return both or "Nothing to draw."


def _describe_graph(observed: dict) -> str:
    sentences = [
        _describe_tensor(observed, seen)
        for seen in observed["tensors"]
        if seen["kind"] == "tensor" and seen["node"] is not None
    ]
    if observed["hidden_nodes"]:
        sentences.append(f"The graph goes on: {_more(observed)} are not drawn.")
    return " ".join(sentences)


def _describe_memory(observed: dict) -> str:
    marks = _marks(observed)
    sentences = [
        _describe_storage(observed, storage, marks.get(number))
        for number, storage in enumerate(observed["storages"])
    ]
    return " ".join([*sentences, *(f"{line}." for line in _asides(observed))])


def _describe_tensor(observed: dict, seen: dict) -> str:
    node = observed["nodes"][seen["node"]]
    changed = seen.get("changed", ())
    mark = f", changed: {_and(changed)}" if changed else ""
    if node["kind"] == "operation":
        flow = _flow(observed, seen["node"])
        kept = f", its gradient is kept: {seen['gradient']}"
        end = kept if seen["retains_grad"] else ""
        return f"{_value(seen)} comes from {node['label']}; {flow}{end}{mark}."
    if node["kind"] == "leaf":
        requires = "" if seen["requires_grad"] else " (requires_grad is now False)"
        gradient = f", its grad is {seen['gradient']}" if seen["gradient"] else ""
        return f"{_value(seen)} is a leaf{requires}{gradient}{mark}."
    return f"{_value(seen)}: {_constant(seen)}{mark}."


NO_GRADIENT, NO_FLOW = "constant, no gradient", "No gradient flows"


def _constant(seen: dict) -> str:
    if seen["inference"]:
        return "inference tensor, no gradient"
    return NO_GRADIENT if seen["is_leaf"] else "grad_fn not readable"


def _flow(observed: dict, start: int) -> str:
    """Say which leaves a gradient reaches from a node."""
    reached = _reached(observed, [start])
    found = [
        observed["tensors"][tensor]
        for number in sorted(reached)
        if observed["nodes"][number]["kind"] == "leaf"
        for tensor in observed["nodes"][number]["tensors"]
    ]
    leaves = [_names(seen) for seen in found if seen["names"]]
    unnamed = len(found) - len(leaves)
    if unnamed:
        leaves.append(f"{unnamed} unnamed " + ("leaf" if unnamed == 1 else "leaves"))
    if any(observed["nodes"][number]["hidden_inputs"] for number in reached):
        leaves.append("nodes that are not drawn")
    return f"gradients flow to {_and(leaves)}" if leaves else "no gradient flows on"


def _reached(observed: dict, starts: Iterable[int]) -> list[int]:
    """Return the nodes that a gradient reaches, breadth-first from these on."""
    onward, reached = onward_of(observed), dict.fromkeys(starts)
    waiting = deque(reached)
    while waiting:
        for target in onward.get(waiting.popleft(), ()):
            if target not in reached:
                reached[target] = None
                waiting.append(target)
    return list(reached)


def onward_of(observed: dict) -> dict[int, list[int]]:
    """Return for each node of the graph that has inputs which nodes these are."""
    onward: dict[int, list[int]] = {}
    for edge in observed["edges"]:
        onward.setdefault(edge["result"], []).append(edge["input"])
    return onward


def _describe_storage(observed: dict, storage: dict, mark: Mark | None) -> str:
    windows = storage["windows"]
    names = [_names(observed["tensors"][window["tensor"]]) for window in windows]
    memory = f"memory {mark.letter}" if mark else "a memory of its own"
    verb = "share" if len(names) > 1 else "is on" if mark else "has"
    address = "" if storage["addressed"] else ", no memory address"
    changed = ", changed" if storage.get("changed") else ""
    facts = [
        f"; {name}: {', '.join(said)}"
        for name, window in zip(names, windows, strict=True)
        if (said := _facts(observed, storage, window))
    ]
    return (
        f"{_and(names)} {verb} {memory}: {_size(storage['bytes'])} on "
        f"{storage['device']}, {storage['dtype']}{address}{changed}{''.join(facts)}."
    )


class Mark(NamedTuple):
    """What a shared memory is known by."""

    letter: str
    colour: str


def _marks(observed: dict) -> dict[int | None, Mark]:
    """Mark the memories that are shared, or of which a tensor is only a part."""
    shared = [
        number
        for number, storage in enumerate(observed["storages"])
        if len(storage["windows"]) > 1 or not storage["windows"][0]["covers_all"]
    ]
    return {
        number: Mark(
            chr(ord("A") + place) if place < 26 else str(place),
            COLOURS[place % len(COLOURS)],
        )
        for place, number in enumerate(shared)
    }


def _facts(observed: dict, storage: dict, window: dict) -> list[str]:
    """Say of a window what a reader would not take for granted."""
    seen, shape = observed["tensors"][window["tensor"]], window["shape"]
    others = [other["shape"] for other in storage["windows"] if other["covers_all"]]
    dense = [math.prod(shape[at + 1 :]) for at in range(len(shape))]
    in_order = window["covers_all"] and all(
        length == 1 or stride == wanted
        for length, stride, wanted in zip(shape, window["strides"], dense, strict=True)
    )
    # The first of those that are seen most often.
    ((usual, _),) = Counter(s["dtype"] for s in observed["tensors"]).most_common(1)
    found = [
        ("empty", not window["runs"]),
        (seen["dtype"], seen["dtype"] != usual),
        (f"offset {window['offset']}", window["offset"] or not window["covers_all"]),
        (f"shape {_tuple(shape)}", not in_order or any(o != shape for o in others)),
        (f"stride {_tuple(window['strides'])}", not in_order),
        ("values changed", "values" in seen.get("changed", ())),
        (f"version {seen['version']}", seen["version"]),
    ]
    return [fact for fact, is_unusual in found if is_unusual]


def _size(number: int) -> str:
    """Return a number of bytes as a person says it."""
    if number < 1024:
        return _count(number, "byte")
    power = min(4, (number.bit_length() - 1) // 10)
    return f"{number / 1024**power:.4g} {'KMGT'[power - 1]}iB"


def _asides(observed: dict) -> list[str]:
    """Return the lines on what has no storage, then the notes."""
    nowhere = [
        f"{_names(seen)}: {seen['memory']}"
        for seen in observed["tensors"]
        if seen["memory"] and seen["storage"] is None
    ]
    return [*nowhere, *observed["notes"]]


def _more(observed: dict) -> str:
    return _count(observed["hidden_nodes"], "more node")


def _names(seen: dict) -> str:
    names = ", ".join(seen["names"]) or "a tensor without a name"
    return f"{names} (array)" if seen["kind"] == "array" else names


def _value(seen: dict) -> str:
    names = _names(seen)
    if seen["values"] is not None:
        return f"{names} = {seen['values']}"
    return f"{names} of shape {_tuple(seen['shape'])}"


def _tuple(numbers: list[int] | None) -> str:
    return "unknown" if numbers is None else str(tuple(numbers))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def _and(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


# Layout of the graph ----------------------------------------------------------------


@dataclass(eq=False)
class _Box:
    """A box or a pill with lines of text, or a bend of an edge that passes a row.

    ``mark`` is that of the memory of its tensor. ``x`` is its centre, ``y`` its top
    and that of its row, ``row_end`` the foot of the row.
    """

    kind: str
    lines: list[str] = field(default_factory=list)
    mark: Mark | None = None
    x: float = 0.0
    y: float = 0.0
    row_end: float = 0.0

    @cached_property
    def width(self) -> float:
        if self.kind == "bend":
            return LANE_OF_EDGE
        # The first line is in the middle, with room for a letter at the corner.
        first, *others = map(text_width, self.lines)
        first += 2 * (2 * BADGE - PADDING if self.mark else 0)
        return min(NARROW - 2 * EDGE, max(first, *others, 0) + 2 * (PADDING + 1))

    @property
    def height(self) -> float:
        if self.kind == "bend":
            return 0.0
        return len(self.lines) * LINE + (4 if self.kind == "operation" else 8)


# How often two boxes are joined, from result to input; and all that an edge passes.
_Joins = Counter[tuple[_Box, _Box]]
_Paths = dict[tuple[_Box, _Box], list[_Box]]


def _graph_of(observed: dict) -> tuple[list[_Box], _Joins]:
    """Return a box per node, on an operation those of the tensors that came from it.

    An edge to an output with a tensor passes through the tensor.
    """
    boxes: list[_Box] = []
    joins: _Joins = Counter()
    marks = _marks(observed)

    def add(kind: str, lines: list[str], mark: Mark | None = None) -> _Box:
        boxes.append(_Box(kind, lines, mark))
        return boxes[-1]

    def add_tensor(seen: dict, kind: str) -> _Box:
        return add(kind, _tensor_lines(seen, kind), marks.get(seen["storage"]))

    # Of each node its box and, by output, those of its tensors.
    place: list[tuple[_Box, dict[int, _Box]]] = []
    for node in observed["nodes"]:
        seen = [observed["tensors"][number] for number in node["tensors"]]
        tensors: dict[int, _Box] = {}
        if node["kind"] != "operation":
            place.append((add_tensor(seen[0], node["kind"]), tensors))
            continue
        above = [add_tensor(one, "result") for one in seen]
        lines = [node["label"]]
        if number := node["inputs_without_gradient"]:
            lines.append(_count(number, "constant input"))
        pill = add("operation", lines)
        for one, box in zip(seen, above, strict=True):
            joins[box, pill] += 1
            tensors.setdefault(one["output"], box)
        place.append((pill, tensors))
    for edge in observed["edges"]:
        source, _ = place[edge["result"]]
        below, tensors = place[edge["input"]]
        joins[source, tensors.get(edge["output"], below)] += 1
    if observed["hidden_nodes"]:
        more = add("more", [f"and {_more(observed)}"])
        for node, (box, _) in zip(observed["nodes"], place, strict=True):
            if node["hidden_inputs"]:
                joins[box, more] = 1
        for number in observed["hidden_to"]:
            joins[more, place[number][0]] = 1
    return boxes, joins


def _tensor_lines(seen: dict, kind: str) -> list[str]:
    names = ", ".join(seen["names"]) or "(no name)"
    value = seen["values"]
    lines = [f"{names} = {value}" if value else f"{names} {_tuple(seen['shape'])}"]
    if kind == "leaf":
        gradient = seen["gradient"]
        lines.append(f"leaf, grad {gradient}" if gradient else "leaf, frozen now")
    elif kind == "constant":
        lines.append(_constant(seen).removeprefix("constant, "))
    elif seen["retains_grad"]:
        lines.append(f"grad kept {seen['gradient']}")
    marks = [w for w in seen.get("changed", ()) if w in ("values", "gradient")]
    if marks:
        lines.append(f"{_and(marks)} changed")
    return lines


def _lay_out(boxes: list[_Box], joins: _Joins) -> tuple[list[list[_Box]], _Paths]:
    """Place joined boxes; return the rows, with bends, and the path of each edge."""
    room = NARROW - 2 * EDGE
    rows = _rows(boxes, joins, room)
    paths = _add_bends(rows, joins)
    # Boxes fit; with all that passes between them a row may be wider.
    room = max(room, *(_needed(row, LANE_OF_EDGE) for row in rows))
    pairs = dict.fromkeys(
        pair for path in paths.values() for pair in itertools.pairwise(path)
    )
    above, below = _neighbours(itertools.chain(*rows), pairs)
    _untangle(rows, above, below)
    _set_across(rows, above, below, room)
    top = 0.0
    for row in rows:
        end = top + max(box.height for box in row)
        for box in row:
            box.y, box.row_end = top, end
        top = end + BETWEEN_LAYERS
    return rows, paths


def _rows(boxes: list[_Box], joins: _Joins, room: float) -> list[list[_Box]]:
    """Give each box a row below all boxes that lead to it, where there is room."""
    room += BETWEEN_BOXES
    above, below = _neighbours(boxes, joins)
    used: Counter[int] = Counter()
    row_of: dict[_Box, int] = {}

    def settle(box: _Box, row: int) -> None:
        width = box.width + BETWEEN_BOXES
        while used[row] and used[row] + width > room:
            row += 1
        used[row] += width
        row_of[box] = row

    order = list(TopologicalSorter(above).static_order())
    for box in order:
        settle(box, 1 + max((row_of[one] for one in above[box]), default=-1))
    # What leads to a low box only is pulled down to it: the arrow gets short.
    for box in reversed(order):
        lowest = min((row_of[one] for one in below[box]), default=0) - 1
        width = box.width + BETWEEN_BOXES
        fits = used[lowest] + width <= room or not used[lowest]
        if lowest > row_of[box] and len(above[box]) <= len(below[box]) and fits:
            used[row_of[box]] -= width
            settle(box, lowest)
    # Moving can leave a row empty.
    return [
        [box for box in boxes if row_of[box] == row]
        for row in sorted(set(row_of.values()))
    ]


def _neighbours(
    boxes: Iterable[_Box], pairs: Iterable[tuple[_Box, _Box]]
) -> tuple[dict[_Box, list[_Box]], dict[_Box, list[_Box]]]:
    above: dict[_Box, list[_Box]] = {box: [] for box in boxes}
    below: dict[_Box, list[_Box]] = {box: [] for box in above}
    for source, target in pairs:
        above[target].append(source)
        below[source].append(target)
    return above, below


def _add_bends(rows: list[list[_Box]], joins: _Joins) -> _Paths:
    """Put a bend into each row that an edge passes; return the path of each edge.

    Long edges of one box share their bends, so that a box with forty inputs needs
    one lane between the boxes and not forty.
    """
    row_of = {box: number for number, row in enumerate(rows) for box in row}
    long = [(a, b) for a, b in joins if row_of[b] - row_of[a] > 1]
    leaving = Counter(source for source, _ in long)
    arriving = Counter(target for _, target in long)
    bends: dict[tuple[_Box, int], _Box] = {}
    paths: _Paths = {}
    for source, target in joins:
        shared = target if arriving[target] > leaving[source] else source
        path = [source]
        for row in range(row_of[source] + 1, row_of[target]):
            if (shared, row) not in bends:
                bends[shared, row] = _Box("bend")
                rows[row].append(bends[shared, row])
            path.append(bends[shared, row])
        paths[source, target] = [*path, target]
    return paths


def _untangle(rows: list[list[_Box]], above: dict, below: dict) -> None:
    """Order each row by where its neighbours stand, down and up a few times."""
    place = {box: at / len(row) for row in rows for at, box in enumerate(row)}

    def order(row: list[_Box], beside: dict[_Box, list[_Box]]) -> None:
        def middle(box: _Box) -> float:
            places = [place[other] for other in beside[box]]
            return sum(places) / len(places) if places else place[box]

        middles = {box: middle(box) for box in row}
        row.sort(key=middles.__getitem__)
        place.update({box: (at + 0.5) / len(row) for at, box in enumerate(row)})

    for _ in range(6):
        for row in rows:
            order(row, above)
        for row in reversed(rows):
            order(row, below)


def _set_across(rows: list[list[_Box]], above: dict, below: dict, room: float) -> None:
    """Set the centre of each box: near its neighbours, nothing overlapping."""
    for box in above:
        box.x = room / 2
    for turn in range(12):
        for row in rows if turn % 2 == 0 else reversed(rows):
            wanted = []
            for box in row:
                beside = above[box] + below[box]
                wanted.append(sum(one.x for one in beside) / max(1, len(beside)))
            gap = min(BETWEEN_BOXES, (room - _needed(row, 0)) / len(row))
            widths = [box.width for box in row]
            for box, x in zip(row, _spread(wanted, widths, gap, room), strict=True):
                box.x = x


def _needed(row: list[_Box], gap: float) -> float:
    return sum(box.width for box in row) + gap * (len(row) - 1)


def _spread(
    wanted: list[float], widths: list[float], gap: float, room: float
) -> list[float]:
    """Return centres near to ``wanted``, apart by widths and gap, within the room.

    Without the widths of those to the left, centres only have to ascend. Those that
    would not are pushed to the right, and to the left, and set half-way.
    """
    starts = [0.0, *itertools.accumulate(width + gap for width in widths)]
    half = [start + width / 2 for start, width in zip(starts, widths, strict=False)]
    slack = max(0.0, room - (starts[-1] - gap))
    free = [want - at for want, at in zip(wanted, half, strict=True)]
    right = itertools.accumulate(free, max)
    left = [*itertools.accumulate(reversed(free), min)][::-1]
    return [
        at + min(max((one + other) / 2, 0.0), slack)
        for at, one, other in zip(half, right, left, strict=True)
    ]


# Drawing ----------------------------------------------------------------------------


class Half(NamedTuple):
    """The "graph" or the "memory" of a map, with its caption and its words."""

    name: str
    caption: str
    words: str
    pen: Pen


def draw(observed: dict, prefix: str = "map") -> str:
    """Draw what was observed, for a page: HTML with a caption and an SVG for each half.

    ``observed`` is what :func:`observe` or :func:`changed` returned, ``prefix`` begins
    the ids of the two drawings. The same data give the same text.
    """
    return "\n".join(
        f"<div><p>{escape(_clean(half.caption))}</p>{_svg(half, prefix)}</div>"
        for half in draw_halves(observed)
    )


def draw_svg(observed: dict, prefix: str = "map") -> str:
    """Draw what was observed as one SVG: the graph, and beside it the memory.

    The parameters are those of :func:`draw`.
    """
    whole, left, top = Pen(), 0.0, 2 * LINE
    for half in draw_halves(observed):
        whole.text(half.caption, left + EDGE, LETTER, BOLD)
        whole.marks += [f'<g transform="translate({_number(left)} {top:g})">']
        whole.marks += [*half.pen.marks, "</g>"]
        whole.reach(left + half.pen.right, top + half.pen.bottom)
        left = whole.right + 2 * LINE
    return _svg(Half("whole", "", describe(observed), whole), prefix)


def _svg(half: Half, prefix: str | None) -> str:
    width, height = (_number(n + EDGE) for n in (half.pen.right, half.pen.bottom))
    name = "" if prefix is None else f"id={quoteattr(f'{prefix}-{half.name}')} "
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'{name}role="img" '
        f"aria-label={quoteattr(_clean(half.words))} "
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'fill="currentColor" font-family="monospace" font-size="{LETTER:g}" '
        'overflow="visible" text-rendering="geometricPrecision">'
        f"{''.join(half.pen.marks)}</svg>"
    )


def draw_halves(observed: dict) -> list[Half]:
    """Draw the graph, if it says more than that there is none, and the memory."""
    halves = []
    on_graph = [seen for seen in observed["tensors"] if seen["node"] is not None]
    if any(
        observed["nodes"][seen["node"]]["kind"] != "constant"
        or _constant(seen) != NO_GRADIENT
        for seen in on_graph
    ):
        flow = "Gradients flow along the arrows" if observed["edges"] else NO_FLOW
        words = _describe_graph(observed)
        halves.append(Half("graph", flow, words, _draw_graph(observed)))
    devices = {storage["device"] for storage in observed["storages"]}
    where = devices.pop() if len(devices) == 1 else "cpu"
    caption = "Memory" if where == "cpu" else f"Memory on {where}"
    words = _describe_memory(observed) if halves else describe(observed)
    if on_graph and not halves:
        caption += f". {NO_FLOW}"
    if observed["storages"] or _asides(observed) or not halves:
        halves.append(Half("memory", caption, words, _draw_memory(observed)))
    return halves


class Pen:
    """What is drawn so far, as marks of SVG, and how far it reaches."""

    def __init__(self) -> None:
        self.marks: list[str] = []
        self.right = self.bottom = 0.0

    def reach(self, right: float, bottom: float) -> None:
        """Make the drawing as large as this."""
        self.right, self.bottom = max(self.right, right), max(self.bottom, bottom)

    def rect(self, x: float, y: float, width: float, height: float, look: str) -> None:
        """Draw a rectangle; ``look`` is its other attributes."""
        size = f'width="{_number(width)}" height="{_number(height)}"'
        self.marks.append(f'<rect x="{_number(x)}" y="{_number(y)}" {size} {look}/>')
        self.reach(x + width, y + height)

    def line(self, path: str, look: str) -> None:
        """Draw a line, which is not filled."""
        self.marks.append(f'<path d="{path}" fill="none" {look}/>')

    def text(self, text: str, x: float, y: float, look: str = "") -> None:
        """Write on the line ``y``, in the middle if the look says so."""
        if not text:
            return
        place = f'x="{_number(x)}" y="{_number(y)}"'
        self.marks.append(f"<text {place}{look}>{escape(_clean(text))}</text>")
        self.reach(x + text_width(text) / (2 if MIDDLE in look else 1), y + 3)

    def lines(
        self, text: str, x: float, y: float, joint: str = ", ", look: str = ""
    ) -> float:
        """Write a text on as many lines as it needs; return where they end."""
        for line in _wrap(text.split(joint), joint, NARROW - EDGE - x):
            self.text(line, x, y + 11, look)
            y += LINE
        return y

    def badge(self, mark: Mark, x: float, y: float) -> None:
        """Draw the letter of a memory."""
        place = f'cx="{_number(x)}" cy="{_number(y)}" r="{BADGE:g}"'
        self.marks.append(f'<circle {place} fill="{mark.colour}"/>')
        self.text(mark.letter, x, y + 4.3, MIDDLE + BOLD + ON_COLOUR)

    def tag(self, name: str, x: float, y: float, width: float, colour: str) -> None:
        """Draw the name of a tensor as a tag of the colour of its memory."""
        self.rect(x, y, width, TAG, f'rx="{TAG / 2:g}" fill="{colour}"')
        name = _shorten(name, width - 2 * PADDING)
        self.text(name, x + width / 2, y + 14, MIDDLE + BOLD + ON_COLOUR)

    def cells(
        self, storage: dict, x: float, y: float, width: float, colour: str = ""
    ) -> None:
        """Draw a memory: a cell for each value if it is small, else its size."""
        cells = storage["cells"] or [_size(storage["bytes"])]
        ink, each = colour or "currentColor", width / len(cells)
        dash = "" if storage["addressed"] else ' stroke-dasharray="4 3"'
        for at, cell in enumerate(cells):
            new = at in storage.get("changed_cells", ())
            tint = _tint(ink) if colour else 'fill="none"'
            fill = f'fill="{ink}"' if new else tint
            left = x + at * each
            self.rect(left, y, each, CELL, f'{fill} stroke="{ink}"{dash}')
            look = MIDDLE + (BOLD + ON_COLOUR if new else "")
            self.text(_shorten(cell, each - 3), left + each / 2, y + 16, look)


def tag_width(name: str, room: float) -> float:
    """Return how wide a tag is, at most as wide as the room for it."""
    return min(room, text_width(name) + 2 * (PADDING + 1))


def cells_width(storage: dict, room: float) -> float:
    """Return how wide a row of cells is, at most as wide as the room for it."""
    if not storage["cells"]:
        return min(room, text_width(_size(storage["bytes"])) + 4 * PADDING)
    longest = max(map(text_width, storage["cells"]))
    return min(room, len(storage["cells"]) * max(CELL, longest + 2 * PADDING))


def _draw_graph(observed: dict) -> Pen:
    pen, y = Pen(), EDGE + (BADGE if _marks(observed) else 0)
    boxes, joins = _graph_of(observed)
    used = {box for pair in joins for box in pair}
    joined = [box for box in boxes if box in used]
    alone = [box for box in boxes if box not in used]
    if joined:
        rows, paths = _lay_out(joined, joins)
        # What is not as wide as it may be begins at the left, as the boxes below.
        ends = [box.x - box.width / 2 for box in joined]
        for edge, path in paths.items():
            aside = DOUBLE if joins[edge] > 1 else 1
            ends += [bend.x + side for bend in path[1:-1] for side in (-aside, aside)]
        left = min(ends) - EDGE
        pen.reach(max(ends) - left, 0)
        for box in itertools.chain(*rows):
            box.x, box.y, box.row_end = box.x - left, box.y + y, box.row_end + y
        for edge, path in paths.items():
            _draw_edge(pen, path, joins[edge])
        y = rows[-1][0].row_end + BETWEEN_LAYERS - 6
    _place_alone(alone, y)
    for box in [*joined, *alone]:
        _draw_box(pen, box)
    return pen


def _place_alone(alone: list[_Box], y: float) -> None:
    """Set boxes without an arrow side by side, each in the first row with room."""
    rows: list[list[_Box]] = []
    for box in alone:
        for row in rows:
            wide = sum(other.width + BETWEEN_BOXES for other in row)
            if wide + box.width <= NARROW - 2 * EDGE:
                row.append(box)
                break
        else:
            rows.append([box])
    for row in rows:
        left = EDGE
        for box in row:
            box.x, box.y = left + box.width / 2, y
            left += box.width + BETWEEN_BOXES
        y += max(box.height for box in row) + BADGE + 3


def _draw_box(pen: Pen, box: _Box) -> None:
    # Colour is for memory: what a box is, its form says.
    form = {
        "leaf": 'rx="6" stroke-width="2.5"',
        "constant": 'stroke-dasharray="4 3"',
        "result": 'rx="2"',
        "operation": 'rx="12"',
        "more": 'rx="12" stroke-dasharray="2 3"',
    }[box.kind]
    mark, of_graph = box.mark, box.kind in ("operation", "more")
    ink = mark.colour if mark else FAINT if of_graph else "currentColor"
    fill = _tint(ink) if mark else 'fill="none"'
    left, room = box.x - box.width / 2, box.width - 2 * PADDING
    pen.rect(left, box.y, box.width, box.height, f'{fill} stroke="{ink}" {form}')
    y = box.y + (box.height - len(box.lines) * LINE) / 2 + 11.5
    for number, line in enumerate(box.lines):
        name = number == 0 and not of_graph
        line = _shorten(line, room - (2 * BADGE if mark and name else 0))
        pen.text(line, box.x, y + number * LINE, MIDDLE + BOLD * name)
    if mark:
        pen.badge(mark, left + box.width - BADGE - 2, box.y)


def _draw_edge(pen: Pen, path: list[_Box], times: int) -> None:
    """Draw an arrow; an edge taken more than once is drawn as two or three lines.

    Across a row an edge runs straight down, where nothing but bends can be; it
    bends between the rows, where no box is.
    """
    start, target, lines = path[0], path[-1], min(3, times)
    for line in range(lines):
        shift = (line - (lines - 1) / 2) * DOUBLE
        x, y = _number(start.x + shift), _number(start.y + start.height)
        command = [f"M{x} {y}V{_number(start.row_end)}"]
        for one, other in itertools.pairwise(path):
            x0, x1 = _number(one.x + shift), _number(other.x + shift)
            middle = _number((one.row_end + other.y) / 2)
            curve_end, line_end = other.y, other.row_end
            if other is target:  # the head of the arrow begins there
                curve_end = line_end = other.y - 6
            command.append(
                f"C{x0} {middle} {x1} {middle} "
                f"{x1} {_number(curve_end)}V{_number(line_end)}"
            )
        head = f"M{_number(target.x + shift)} {_number(target.y - 1)}l-3.5-7h7z"
        pen.line("".join(command), 'stroke="currentColor" stroke-width="1.2"')
        pen.marks.append(f'<path d="{head}"/>')


def _draw_memory(observed: dict) -> Pen:
    pen, marks, y = Pen(), _marks(observed), EDGE
    devices = {storage["device"] for storage in observed["storages"]}
    own: dict[str, list[dict]] = {}
    for number, storage in enumerate(observed["storages"]):
        where = f"on {storage['device']}" if len(devices) > 1 else ""
        if number in marks:
            y = _draw_shared(pen, observed, storage, marks[number], where, y) + LINE
        else:
            own.setdefault(where, []).append(storage)
    for where, storages in own.items():
        each = len(storages) > 1 and not marks
        heading = f"{'Each has a' if each else 'A'} memory of its own"
        heading += f", {where}:" if where else ":"
        y = pen.lines(heading, EDGE, y, " ", QUIET) + 3
        y = _draw_own(pen, observed, storages, y)
    for line in _asides(observed):
        y = pen.lines(line, EDGE, y, " ")
    pen.reach(0, y)
    return pen


def _draw_shared(
    pen: Pen, observed: dict, storage: dict, mark: Mark, where: str, y: float
) -> float:
    """Draw a memory with a letter: name tags on it, and under it what is on a part."""
    whole = [window for window in storage["windows"] if window["covers_all"]]
    names = [_names(observed["tensors"][window["tensor"]]) for window in whole]
    wide, top = _draw_tags(pen, names, mark.colour, y)
    width = max(wide, cells_width(storage, ROOM))
    pen.badge(mark, EDGE + BADGE, top + CELL / 2)
    pen.cells(storage, LEFT, top, width, mark.colour)
    y = top + CELL
    for window in storage["windows"]:
        if window not in whole:
            y = _draw_part(pen, observed, storage, window, mark.colour, width, y)
    said = ["one memory"] if len(storage["windows"]) > 1 else []
    said += [where] if where else []
    said += [] if storage["addressed"] else ["no memory address"]
    facts = [_facts(observed, storage, window) for window in whole]
    if all(one == facts[0] for one in facts):
        said += facts[0] if facts else []
        below = ""
    else:
        each = zip(names, facts, strict=True)
        below = "; ".join(f"{name}: {', '.join(f)}" for name, f in each if f)
    beside = ", ".join(said)
    if width + 8 + text_width(beside) <= ROOM:
        pen.text(beside, LEFT + width + 8, top + CELL / 2 + 4, QUIET)
    else:
        below = f"{beside}; {below}" if below else beside
    return pen.lines(below, LEFT, y + 2, " ") if below else y


def _draw_tags(
    pen: Pen, names: list[str], colour: str, y: float
) -> tuple[float, float]:
    """Draw name tags on stems; return how wide they are and where the stems end."""
    widths = [tag_width(name, ROOM - LETTER) for name in names]
    # Where one row is not enough, all hang on one stem at the left of the rows.
    gutter = LETTER if sum(widths) + 6 * (len(widths) - 1) > ROOM else 0.0
    stem, at, top, widest = f'stroke="{colour}" stroke-width="2"', gutter, y, 0.0
    for name, width in zip(names, widths, strict=True):
        if at > gutter and at + width > ROOM:
            at, top = gutter, top + TAG + 4
        x, middle = LEFT + at, at + width / 2
        if gutter:
            start = LEFT + 3 if at == gutter else x - 6
            pen.line(f"M{_number(start)} {_number(top + TAG / 2)}H{_number(x)}", stem)
        else:
            pen.line(f"M{_number(LEFT + middle)} {_number(top + TAG)}v{STEM:g}", stem)
        pen.tag(name, x, top, width, colour)
        at += width + 6
        widest = max(widest, at - 6)
    end = top + TAG + STEM if names else y
    if gutter:
        pen.line(f"M{LEFT + 3:g} {_number(y + TAG / 2)}V{_number(end)}", stem)
    return widest, end


def _draw_part(
    pen: Pen,
    observed: dict,
    storage: dict,
    window: dict,
    colour: str,
    width: float,
    y: float,
) -> float:
    """Draw a partial view: a bracket under its cells, its name, and which part."""
    name = _names(observed["tensors"][window["tensor"]])
    wide, at, look = tag_width(name, ROOM), LEFT, f'stroke="{colour}" stroke-width="2"'
    for number, (start, stop) in enumerate(window["runs"]):
        x = LEFT + width * start / storage["bytes"] + 1
        across = max(1.0, width * (stop - start) / storage["bytes"] - 2)
        pen.line(f"M{_number(x)} {_number(y + 3)}v4h{_number(across)}v-4", look)
        if number == 0:
            stem = x + across / 2
            pen.line(f"M{_number(stem)} {_number(y + 7)}v5", look)
            at = min(max(LEFT, stem - wide / 2), LEFT + ROOM - wide)
    pen.tag(name, at, y + 12, wide, colour)
    facts = ", ".join(_facts(observed, storage, window))
    y += 12 + TAG + 2
    if at + wide + 6 + text_width(facts) <= NARROW - EDGE:
        pen.text(facts, at + wide + 6, y - 8)
        return y
    return pen.lines(facts, LEFT, y)


def _draw_own(pen: Pen, observed: dict, storages: list[dict], y: float) -> float:
    """Draw memories of one tensor each: names and cells, one after the other."""
    x = EDGE
    for storage in storages:
        (window,) = storage["windows"]
        name = _names(observed["tensors"][window["tensor"]])
        name = _shorten(name, NARROW / 2)
        before = text_width(name) + 6
        width = cells_width(storage, NARROW - 2 * EDGE - before)
        address = [] if storage["addressed"] else ["no memory address"]
        facts = ", ".join(_facts(observed, storage, window) + address)
        after = text_width(facts) + 6 if facts else 0.0
        fits = before + width + after <= NARROW - 2 * EDGE
        wanted = before + width + (after if fits else 0)
        if x > EDGE and (not fits or x + wanted > NARROW - EDGE):
            x, y = EDGE, y + CELL + 6
        pen.text(name, x, y + 16, BOLD)
        pen.cells(storage, x + before, y, width)
        if fits:
            pen.text(facts, x + before + width + 6, y + 16)
            x += wanted + 14
        else:  # the next one begins a row
            x, y = NARROW, pen.lines(facts, EDGE, y + CELL + 1) - CELL
    return y + CELL + 6


def _tint(colour: str) -> str:
    return f'fill="{colour}" fill-opacity=".14"'


def _clean(text: str) -> str:
    """Replace what no XML may hold, not even escaped, and every line end."""
    mark = "\N{REPLACEMENT CHARACTER}"
    return "".join(letter if letter.isprintable() else mark for letter in text)


def text_width(text: str) -> float:
    """Return how wide a text is in a monospaced font of 12 pixels."""
    wide = sum(unicodedata.east_asian_width(letter) in "FW" for letter in text)
    return ADVANCE * LETTER * (len(text) + wide)


def _shorten(text: str, room: float) -> str:
    if text_width(text) <= room + 0.01:
        return text
    while text and text_width(text) + ADVANCE * LETTER > room:
        text = text[:-1]
    return text and text + "\N{HORIZONTAL ELLIPSIS}"


def _wrap(pieces: list[str], joint: str, room: float) -> list[str]:
    """Join pieces into lines that fit; what does not fit a line is shortened."""
    lines = [""]
    for piece in pieces:
        joined = f"{lines[-1]}{joint}{piece}" if lines[-1] else piece
        if lines[-1] and text_width(joined + joint.rstrip()) > room:
            lines[-1] += joint.rstrip()
            lines.append(piece)
        else:
            lines[-1] = joined
    return [_shorten(line, room) for line in lines if line]


def _number(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"


# For notebooks ----------------------------------------------------------------------


class TensorMap:
    """A picture of what was observed, which a notebook shows and ``print`` tells."""

    def __init__(self, observed: dict) -> None:
        self.observed = observed

    def _repr_html_(self) -> str:
        # Several maps stand in one notebook: their ids have to differ.
        prefix = "map-" + _hash(json.dumps(self.observed).encode())
        return (
            '<figure class="tensor-map" style="display:flex;flex-wrap:wrap;'
            f'gap:1rem 3rem">\n{draw(self.observed, prefix)}\n</figure>'
        )

    def _repr_svg_(self) -> str:
        return draw_svg(self.observed)

    def __str__(self) -> str:
        return describe(self.observed)


def tensor_map(**named: object) -> TensorMap:
    """Return a picture of tensors and NumPy arrays, by name, as they are now.

    It keeps what was seen and no tensor: later writes do not change it.
    """
    return TensorMap(observe(named))


# Step by step -----------------------------------------------------------------------

# Of a loop, the first turns are steps, and all later ones together are one more; of a
# loop within a loop, fewer are.
MOST_TURNS = (3, 2, 1)
MOST_STEPS = 300
# Names that are looked at; of these, how many a picture has, and of a list or a dict,
# how many of its tensors have a name.
MOST_NAMES, MOST_DRAWN, MOST_ITEMS = 40, 6, 4
# Of a graph, as many nodes: a picture that changes has to be small.
MOST_STEP_NODES = 16
# A larger tensor is not read: its version says whether it was written to.
MOST_READ_BYTES = 2**12
MOST_SAID, MOST_LETTERS = 3, 300
STEPS_FORMAT = 1
HISTORY = ("In", "Out")  # of IPython


class Identity:
    """Tells one object from all others, also when it is gone; does not keep it alive.

    The id of an object that is gone may be that of another one.
    """

    __slots__ = ("reference",)

    def __init__(self, value: object) -> None:
        self.reference = weakref.ref(value)

    def __eq__(self, other: object) -> bool:
        # Of one object there is one reference.
        return isinstance(other, Identity) and self.reference is other.reference

    __hash__ = None


class Fact(NamedTuple):
    """What is compared of one named tensor or array from step to step.

    The names are the kinds of :func:`differences`. ``storage`` has numbers only:
    nothing is kept alive by a fact.
    """

    other: Identity
    storage: tuple
    form: tuple
    values: str | None
    version: int | None = None
    gradient: tuple | None = None
    requires_grad: bool = False
    retains_grad: bool = False
    graph: str | None = None


class Look(NamedTuple):
    """One look: what is compared, what can be drawn, and how many names there are."""

    facts: dict[str, Fact]
    observed: dict
    names: int


@dataclass(eq=False)
class _Loop:
    """One run of a loop: where in the code a turn begins, its depth and its turn."""

    node: ast.stmt
    begins: int
    depth: int
    turn: int = 1
    collapsed: bool = False

    @property
    def shown(self) -> int:
        """How many of its turns are steps."""
        return MOST_TURNS[min(self.depth, len(MOST_TURNS) - 1)]


@dataclass(eq=False)
class _Unit:
    """A statement, or the head of one that has others in it."""

    node: ast.AST
    first: int
    last: int
    loops: tuple[ast.stmt, ...]
    is_head: bool = False


@dataclass
class _Step:
    """One step, before it is drawn: where, and what was seen before and after."""

    unit: _Unit
    turns: list[tuple[_Loop, int]]
    printed: str
    raised: str
    differ: dict[str, frozenset[str]]
    before: Look
    after: Look
    collapsed: bool

    def place(self, shift: int) -> dict:
        """Return the lines of the statement, and the turn of each loop around it."""
        return {
            "first": self.unit.first + shift,
            "last": self.unit.last + shift,
            "turn": [[turn, loop.turn] for loop, turn in self.turns],
        }

    @property
    def changed(self) -> list[str]:
        """The names that are there and whose facts changed."""
        return [name for name, kinds in self.differ.items() if "gone" not in kinds]


class Steps:
    """What happened to tensors and arrays, statement by statement.

    After each statement of the watched code the names of its frame are looked at:
    tensors, NumPy arrays, parameters and buffers of modules (``net.weight``), and the
    first tensors of lists, tuples and dicts (``losses[0]``). Functions that the code
    calls are not watched: what they did is seen when the statement has run. Of a loop
    the first turns are steps, and all later ones together are one more.

    No tensor is kept alive and nothing is written; of what is larger than 4 KiB no
    value is read. While the code is watched, the trace function of a debugger or of a
    coverage tool rests; it is put back afterwards.
    """

    def __init__(self, title: str | None = None) -> None:
        self.title = title or "steps"
        self._code: list[str] = []
        self._steps: list[_Step] = []
        self._units: dict[int, _Unit] = {}
        self._shift = 0
        self._file: str | None = None
        self._namespace: dict | None = None
        self._old: dict[str, Fact] = {}
        self._earlier: Any = None
        self._earlier_local: Any = None
        self._seen: Look | None = None
        self._unit: _Unit | None = None
        self._began = -1
        self._turns: list[tuple[_Loop, int]] = []
        self._loops: list[_Loop] = []
        self._raised: tuple[str, bool] | None = None
        self._heard: list[str] = []
        self._stream: Any = None
        self._not_shown = 0
        self.failed = ""

    # -- Where watching begins and ends

    def __enter__(self) -> Steps:
        """Watch the block of the ``with`` statement that stands here.

        Raises
        ------
        RuntimeError
            If the source is not to be had, or this is no ``with`` statement.
        """
        frame = sys._getframe(1)
        block = _with_block(frame)
        if block is None:
            raise RuntimeError(
                "steps() watches the block of a `with` statement whose source can be "
                "read: write `with steps() as seen:` in a file or a notebook's cell"
            )
        lines, body = block
        first, last = _lines(body[0])[0], _lines(body[-1])[1]
        self._take(lines[first - 1 : last], body, 1 - first)
        # What stands on the line of the `with` itself has begun.
        self._unit = self._units.get(frame.f_lineno)
        self._look_first(frame.f_locals)
        self._listen()
        self._earlier, self._earlier_local = sys.gettrace(), frame.f_trace
        frame.f_trace = self._trace
        sys.settrace(self._call)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Stop watching; an exception passes."""
        if sys.gettrace() == self._call:
            sys.settrace(self._earlier)
        self._earlier = None
        frame = sys._getframe(1)
        frame.f_trace, self._earlier_local = self._earlier_local, None
        self._end(frame.f_locals)
        # Until Python 3.13 a function's frame keeps a copy of what its names hold.
        copied = frame.f_locals
        if copied is not frame.f_globals and type(copied) is dict:
            copied.clear()

    def run(self, source: str, namespace: dict, name: str = "<steps>") -> None:
        """Run code in a namespace, as a file is run, and watch it.

        What it raises passes. ``name`` is the file that a traceback names.
        """
        lines = source.splitlines(keepends=True)
        linecache.cache[name] = (len(source), None, lines, name)
        code = compile(source, name, "exec", dont_inherit=True)
        with self.following(source, name):
            exec(code, namespace)

    @contextmanager
    def following(self, source: str, file: str) -> Iterator[Steps]:
        """Watch what is run, here and now, as the module-level code of a file.

        It may be run in pieces, each compiled with the lines that it has in ``source``.
        """
        self.follow(source, file)
        try:
            yield self
        finally:
            self.stop()

    def follow(
        self, source: str, file: str | None = None, namespace: dict | None = None
    ) -> None:
        """Begin what :meth:`following` does.

        Of a ``namespace`` that is given, all that is run in it is watched, whatever its
        file, and what its names hold already is left out.
        """
        self._take(source.splitlines(), ast.parse(source).body)
        known = file is not None and Path(file).exists()
        self._file = os.path.realpath(file) if known else file or ""
        self._namespace = namespace
        if namespace is not None:
            self._old = _look(namespace).facts
        self._earlier = sys.gettrace()
        sys.settrace(self._call)

    def stop(self) -> None:
        """End what :meth:`follow` has begun."""
        if sys.gettrace() == self._call:
            sys.settrace(self._earlier)
        self._earlier = self._file = self._namespace = None
        self._deafen()

    def _take(self, lines: list[str], body: list[ast.stmt], shift: int = 0) -> None:
        self._code = textwrap.dedent("\n".join(lines)).split("\n")
        self._shift = shift
        for unit in _units(body, ()):
            for line in range(unit.first, unit.last + 1):
                # A line with two statements is one step with the first of them.
                self._units.setdefault(line, unit)

    # -- What Python tells

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        if self._file is None or frame.f_code.co_name != "<module>":
            return None
        if self._namespace is not None:
            is_watched = frame.f_globals is self._namespace
        else:
            file = frame.f_code.co_filename
            is_watched = self._file in (file, os.path.realpath(file))
        if not is_watched:
            return None
        self._listen()
        if self._seen is None:
            self._look_first(frame.f_locals)
        return self._trace

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        try:
            if event == "line":
                self._line(frame)
            elif event == "exception":
                self._note_raised(*arg[:2])
            elif event == "return" and self._file is not None:
                self._end(frame.f_locals)
        except Exception:  # the program that is watched must not notice
            self.failed = self.failed or format_exc()
        return self._trace

    def _note_raised(self, kind: type[BaseException], error: object) -> None:
        text = _try(lambda: str(error), "").strip().partition("\n")[0]
        said = f"{kind.__name__}: {text}" if text else kind.__name__
        self._raised = (said[:MOST_LETTERS], issubclass(kind, StopIteration))

    def _line(self, frame: FrameType) -> None:
        unit = self._units.get(frame.f_lineno)
        if unit is not None and unit is self._unit and frame.f_lasti > self._began:
            return  # a statement goes on, on another of its lines
        caught = unit is not None and isinstance(unit.node, ast.ExceptHandler)
        if self._raised and self._raised[1] and not caught:
            self._raised = None  # an iterator has ended
        left = self._move(unit, frame.f_lasti)
        self._finish(frame.f_locals, [*self._loops, *left])
        self._leave(left, frame.f_locals)
        self._unit, self._began = unit, frame.f_lasti
        inside = len(unit.loops) if unit else 0
        self._turns = [(loop, loop.turn) for loop in self._loops[:inside]]

    def _move(self, unit: _Unit | None, at: int) -> list[_Loop]:
        """Count the turns of the loops; return those that have ended, inner first."""
        inside = unit.loops if unit else ()
        around = (*inside, unit.node) if unit and unit.is_head else inside
        stay = 0
        for loop, node in zip(self._loops, around, strict=False):
            if loop.node is not node:
                break
            stay += 1
            if stay <= len(inside) and at <= loop.begins:
                loop.turn += 1
                break
        left = self._loops[stay:][::-1]
        self._loops = self._loops[:stay]
        for node in inside[stay:]:
            self._loops.append(_Loop(node, at, len(self._loops)))
        return left

    def _leave(self, left: list[_Loop], namespace: Any) -> None:
        """Make one step of all turns that were not shown, of loops that have ended."""
        for loop in left:
            outer = [(one, turn) for one, turn in self._turns if one is not loop]
            outer = outer[: loop.depth]
            if loop.collapsed and all(turn <= one.shown for one, turn in outer):
                turns = [*outer, (loop, loop.turn)]
                self._add(_as_one(loop.node), turns, namespace, collapsed=True)

    def _finish(self, namespace: Any, loops: Iterable[_Loop] = ()) -> None:
        """Note the step of the statement that has run, or of the head of a loop."""
        if self._unit is None:
            return
        hidden = [loop for loop, turn in self._turns if turn > loop.shown]
        begins = next((loop for loop in loops if loop.node is self._unit.node), None)
        if begins is not None and begins.turn > begins.shown:
            hidden.append(begins)
        for loop in hidden:
            loop.collapsed = True
        if not hidden:
            self._add(self._unit, self._turns, namespace)

    def _end(self, namespace: Any) -> None:
        self._finish(namespace)
        left, self._loops, self._unit = self._loops[::-1], [], None
        self._leave(left, namespace)
        self._turns, self._began, self._raised = [], -1, None
        self._deafen()

    # -- Steps

    def _look_first(self, namespace: Any) -> None:
        self._seen = _look(namespace, old=self._old)

    def _add(
        self,
        unit: _Unit,
        turns: list[tuple[_Loop, int]],
        namespace: Any,
        collapsed: bool = False,
    ) -> None:
        if len(self._steps) >= MOST_STEPS:
            self._not_shown += 1
            return
        was = self._seen
        now = _look(namespace, was, self._old)
        printed, raised = "".join(self._heard), self._raised[0] if self._raised else ""
        differ = differences(was.facts, now.facts)
        if unit.is_head and not (differ or printed or raised):
            return
        self._heard.clear()
        self._raised, self._seen = None, now
        step = _Step(unit, turns, printed, raised, differ, was, now, collapsed)
        self._steps.append(step)

    # -- What is printed

    def _listen(self) -> None:
        """Hear what is written to the standard output, which gets it as before."""
        stream = sys.stdout
        own = getattr(stream, "__dict__", None)
        if self._stream is not None or own is None:
            return
        write, heard = stream.write, self._heard

        def hear(text: str) -> Any:
            heard.append(text)
            return write(text)

        # A notebook's stream may have a function of its own there already.
        self._stream = stream, own.get("write"), hear
        stream.write = hear

    def _deafen(self) -> None:
        if self._stream is None:
            return
        (stream, earlier, hear), self._stream = self._stream, None
        if vars(stream).get("write") is not hear:
            return  # someone else has taken over
        if earlier is None:
            del stream.write
        else:
            stream.write = earlier

    # -- The result

    def data(self, drawn: int = MOST_DRAWN, nodes: int = MOST_STEP_NODES) -> dict:
        """Return all steps and their drawings, as data that JSON can hold.

        Parameters
        ----------
        drawn
            How many names a picture has at most, beside the leaves of their graph.
        nodes
            How many nodes of the graph a picture has at most, beside the leaves.

        Returns
        -------
        dict
            ``format`` (1), ``title``, ``torch`` (its version), ``code`` (lines),
            ``steps``, ``drawings`` (each once) and ``captions`` (one a drawing).
            Of a step: ``first`` and ``last`` (the lines of the statement that has
            just run, from 1), ``turn`` (for each loop around it, outermost first, the
            turn and how many there were), ``said`` (a sentence), ``printed``,
            ``raised`` (only if it did), ``changed`` (names), ``graph`` and ``memory``
            (indices of drawings, or null) and ``note`` (only if there is more to say).
        """
        pictures, words = [], []
        for step, names in zip(self._steps, self.names_drawn(drawn), strict=True):
            picture, shown = _pictures(step, names, nodes)
            said, notes = _words(step)
            if names and (more := step.after.names - shown):
                notes.append(f"and {_count(more, 'more tensor')}")
            pictures.append(picture)
            words.append((said, notes))
        if words and self._not_shown:
            words[-1][1].append(f"{self._not_shown} more steps are not shown")
        # Those of one kind after another: a file of them is the smaller.
        drawings = list(
            dict.fromkeys(
                picture[half]
                for half in HALVES
                for picture in pictures
                if half in picture
            )
        )
        number_of = {drawing: at for at, drawing in enumerate(drawings)}
        steps = [
            {
                **step.place(self._shift),
                "said": said,
                "printed": step.printed,
                **({"raised": step.raised} if step.raised else {}),
                "changed": step.changed,
                **{half: number_of.get(picture.get(half)) for half in HALVES},
                **({"note": "; ".join(notes)} if notes else {}),
            }
            for step, picture, (said, notes) in zip(
                self._steps, pictures, words, strict=True
            )
        ]
        return {
            "format": STEPS_FORMAT,
            "title": self.title,
            "torch": torch.__version__,
            "code": self._code,
            "steps": steps,
            "drawings": [drawing for drawing, _ in drawings],
            "captions": [caption for _, caption in drawings],
        }

    def facts(self) -> list[dict]:
        """Return what was seen at each step, as data that JSON can hold.

        Neither words nor drawings are in it: :meth:`from_facts` makes them, there and
        then. Of a step: ``first``, ``last`` and ``turn`` as in :meth:`data`;
        ``collapsed``, whether it is all later turns of a loop; ``printed``;
        ``raised``; ``differ`` (a list of kinds for each name, see
        :func:`differences`); ``seen``, what :func:`observe` returned; and ``names``,
        how many there were.
        """
        return [
            {
                **step.place(self._shift),
                "collapsed": step.collapsed,
                "printed": step.printed,
                "raised": step.raised,
                "differ": {name: sorted(kinds) for name, kinds in step.differ.items()},
                "seen": step.after.observed,
                "names": step.after.names,
            }
            for step in self._steps
        ]

    @classmethod
    def from_facts(
        cls, source: str, facts: list[dict], title: str | None = None
    ) -> Steps:
        """Return the steps of a program that ran elsewhere.

        ``facts`` is what :meth:`facts` returned there, with the lines of ``source``.

        Raises
        ------
        ValueError
            If a step is of no statement of the program. What is wrong inside the facts
            may raise anything, here or when it is drawn.
        """
        steps = cls(title)
        steps.retell(source, facts)
        return steps

    def retell(self, source: str, facts: list[dict]) -> None:
        """Add the steps of a program that ran elsewhere: see :meth:`from_facts`."""
        self._take(source.splitlines(), ast.parse(source).body)
        was = Look({}, observe({}), 0)
        for fact in facts:
            first, last, collapsed = fact["first"], fact["last"], fact["collapsed"]
            unit = self._units.get(first)
            if unit is not None and collapsed:
                unit = _as_one(unit.node)
            if unit is None or (unit.first, unit.last) != (first, last):
                raise ValueError(f"there is no statement on lines {first} to {last}")
            turns = [
                (_Loop(unit.node, 0, depth, of), turn)
                for depth, (turn, of) in enumerate(fact["turn"])
            ]
            differ = {name: frozenset(kinds) for name, kinds in fact["differ"].items()}
            now = Look({}, fact["seen"], fact["names"])
            told = fact["printed"], fact["raised"], differ, was, now, collapsed
            self._steps.append(_Step(unit, turns, *told))
            was = now

    def names_drawn(self, drawn: int = MOST_DRAWN) -> list[list[str]]:
        """Return for each step the names in its picture."""
        found: list[list[str]] = []
        for step in self._steps:
            found.append(_chosen(step, found[-1] if found else [], drawn))
        return found

    def picture(
        self, number: int, names: list[str], nodes: int = MOST_STEP_NODES
    ) -> dict[str, tuple[str, str]]:
        """Return the drawing and the caption of each half of a step's map."""
        return _pictures(self._steps[number], names, nodes)[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the steps as one HTML file that needs nothing else to be shown."""
        save_steps(self.data(), path)

    def _repr_html_(self) -> str:
        return steps_frame(self.data())


def steps(title: str | None = None) -> Steps:
    """Watch a block of code, and see after each statement what became of its tensors.

    To be used as ``with steps() as seen:``. Afterwards ``seen.data()`` has it all.
    """
    return Steps(title)


HALVES = ("graph", "memory")


def _chosen(step: _Step, last: list[str], most: int) -> list[str]:
    """Return the names to draw: what changed, is said or shares, and the last ones."""
    seen = step.after.observed
    looked = [name for one in seen["tensors"] for name in one["names"]]
    unit = step.unit
    nodes = _head(unit.node) if unit.is_head else ast.walk(unit.node)
    said = {node.id for node in nodes if isinstance(node, ast.Name)}
    wanted = [name for name in looked if name in step.changed]
    wanted += [name for name in looked if re.split(r"[.\[]", name)[0] in said]
    wanted = list(dict.fromkeys(wanted))[:most]
    last = [name for name in last if name in looked]
    if set(wanted) <= set(last):
        return last
    for storage in seen["storages"]:
        on_it = _names_on(seen, storage)
        if set(on_it) & set(wanted):
            wanted += [name for name in on_it if name not in wanted]
    wanted += [name for name in last if name not in wanted]
    return wanted[:most]


def _pictures(
    step: _Step, names: list[str], nodes: int
) -> tuple[dict[str, tuple[str, str]], int]:
    """Return the drawing and the caption of each half, and how many names there are."""
    if not names:
        return {}, 0
    before, after = step.before.observed, step.after.observed
    marked = after if step.before is step.after else changed(before, after)
    shown = only(marked, names, nodes)
    pictures = _drawn_once(json.dumps(shown))
    return pictures, sum(len(seen["names"]) for seen in shown["tensors"])


def _names_on(observed: dict, storage: dict) -> list[str]:
    tensors = [observed["tensors"][window["tensor"]] for window in storage["windows"]]
    return [name for seen in tensors for name in seen["names"]]


@lru_cache(maxsize=4096)
def _drawn_once(observed: str) -> dict[str, tuple[str, str]]:
    """Draw both halves of a map: many steps, and another machine's, have the same."""
    return {
        half.name: (_svg(half, None), _clean(half.caption))
        for half in draw_halves(json.loads(observed))
    }


def _with_block(frame: FrameType) -> tuple[list[str], list[ast.stmt]] | None:
    """Return the lines of the source, and the block of the ``with`` that is entered."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    tree = _try(lambda: ast.parse("".join(lines)), ast.Module([], []))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.With | ast.AsyncWith)
        for item in node.items
        if item.context_expr.lineno <= frame.f_lineno <= item.context_expr.end_lineno
    ]
    if not found:
        return None
    return [line.rstrip("\r\n") for line in lines], found[-1].body


LOOPS = ast.For | ast.AsyncFor | ast.While
HAVE_OTHERS = (
    LOOPS | ast.If | ast.With | ast.AsyncWith | ast.Try | ast.TryStar | ast.Match
)


def _units(body: list[ast.stmt], loops: tuple[ast.stmt, ...]) -> Iterator[_Unit]:
    """Yield all statements of a body, and the heads of those that have others in them.

    A function or a class is one statement, as is what stands on one line.
    """
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        first, last = _lines(node)
        if not isinstance(node, HAVE_OTHERS) or first == last:
            yield _Unit(node, first, last, loops)
            continue
        parts = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
        for part in parts:
            start = (part.pattern if isinstance(part, ast.match_case) else part).lineno
            ends = [getattr(n, "end_lineno", start) for n in _head(part)]
            yield _Unit(part, start, max(start, *ends, 0), loops, is_head=True)
            inside = (*loops, part) if isinstance(part, LOOPS) else loops
            yield from _units(getattr(part, "body", []), inside)
        for name in ("orelse", "finalbody"):
            yield from _units(getattr(node, name, []), loops)


DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
NAMED = DEFINITIONS | ast.Import | ast.ImportFrom


def _lines(node: ast.stmt) -> tuple[int, int]:
    """Return the first line of a statement, of its decorators too, and the last."""
    above = [one.lineno for one in getattr(node, "decorator_list", [])]
    return min([node.lineno, *above]), node.end_lineno


def _head(part: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, less those of statements within it."""
    within = (ast.stmt, ast.ExceptHandler, ast.match_case)
    waiting = [part]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if not isinstance(node, within):
                yield node
                waiting.append(node)


def _as_one(loop: ast.stmt) -> _Unit:
    """Return a loop as one statement: with its body."""
    return _Unit(loop, *_lines(loop), ())


# Looking at all that has a name


def _look(
    namespace: Any, was: Look | None = None, old: dict[str, Fact] | None = None
) -> Look:
    """Look at the tensors of a namespace, as if nobody had looked.

    What is one of the ``old`` objects, under its old name, is passed over.
    """
    if _capturing():
        return was or Look({}, observe({}), 0)
    collects = gc.isenabled()
    gc.disable()  # what a collection frees, the program itself must free
    try:
        with _unseen():
            found, number = _named_in(namespace, old or {})
            facts = {name: _fact(value) for name, value in found.items()}
            if was is not None and (was.facts, was.names) == (facts, number):
                return was
            observed = observe(found, MOST_STEP_NODES, MOST_READ_BYTES)
    finally:
        if collects:
            gc.enable()
    return Look(facts, observed, number)


def _capturing() -> bool:
    """Whether CUDA records a graph, which reading a value would break."""
    cuda = torch.cuda
    return cuda.is_initialized() and _try(cuda.is_current_stream_capturing, False)


@contextmanager
def _unseen() -> Iterator[None]:
    """Keep what we call from the modes that the program has switched on."""
    python_modes = torch.utils._python_dispatch._disable_current_modes
    active = torch._C._len_torch_dispatch_stack() > 0
    with torch._C.DisableTorchFunction(), python_modes() if active else nullcontext():
        yield


def _named_in(namespace: Any, old: dict[str, Fact]) -> tuple[dict[str, Any], int]:
    """Return tensors and arrays by name, at most 40, and how many there are in all."""
    found: dict[str, Any] = {}
    for name, value in list(namespace.items()):
        if name in HISTORY and not _is_drawn(value):
            continue
        if isinstance(name, str) and not name.startswith("_"):
            found.update(_try(lambda n=name, v=value: _parts(n, v), {}))
    new = {
        name: value
        for name, value in found.items()
        if name not in old or old[name].other != Identity(value)
    }
    return dict(itertools.islice(new.items(), MOST_NAMES)), len(new)


def _parts(name: str, value: Any) -> dict[str, Any]:
    kind = type(value)
    if _is_drawn(value):
        return {name: value}
    if issubclass(kind, torch.nn.Module):
        both = (torch.nn.Module.named_parameters, torch.nn.Module.named_buffers)
        return {
            f"{name}.{part}": tensor
            for named in both
            for part, tensor in named(value, remove_duplicate=False)
        }
    if kind in (list, tuple):
        items = [(str(at), item) for at, item in enumerate(value[:MOST_ITEMS])]
    elif kind in (dict, OrderedDict):
        first = list(itertools.islice(value.items(), MOST_ITEMS))
        items = [(repr(key), item) for key, item in first if type(key) in (str, int)]
    else:
        items = []
    return {f"{name}[{at}]": item for at, item in items if _is_drawn(item)}


def _fact(value: Any) -> Fact:
    if _is_array(value):
        form = (value.shape, value.strides, str(value.dtype))
        digest = _array_digest(value, MOST_READ_BYTES)
        return Fact(Identity(value), (_array_address(value),), form, digest)
    autograd, function = _see_autograd(value), _try(lambda: value.grad_fn)
    gradient = _try(lambda: value.grad) if _has_gradient(autograd) else None
    return Fact(
        Identity(value),
        _place(value),
        (_shape(value), _strides(value), str(value.dtype), str(value.device)),
        _digest(_readable(value), MOST_READ_BYTES),
        autograd["version"],
        None if gradient is None else _gradient_fact(gradient),
        autograd["requires_grad"],
        autograd["retains_grad"],
        None if function is None else _name(function),
    )


def _gradient_fact(gradient: torch.Tensor) -> tuple:
    digest = _digest(_readable(gradient), MOST_READ_BYTES)
    # A small one is what its values are; a large one what its memory and version are.
    if digest is not None:
        return (digest,)
    return (_place(gradient), _try(lambda: gradient._version))


def _place(tensor: torch.Tensor) -> tuple:
    """Return the storage of a tensor as a number, its address, and where it begins."""
    storage = _try(tensor.untyped_storage)
    if storage is None:
        return ()
    return (storage._cdata, _address(tensor), _try(tensor.storage_offset))


def differences(
    before: dict[str, Fact], after: dict[str, Fact]
) -> dict[str, frozenset[str]]:
    """Return by name what differs.

    That is "new", "gone", "other" (another object), "values", "version", "gradient",
    "storage", "form" (shape, strides, dtype, device), "requires_grad", "retains_grad"
    or "graph" (the operation that it comes from).
    """
    found = {}
    for name, now in after.items():
        was = before.get(name)
        if was == now:
            continue
        kinds = {"new"}
        if was is not None:
            kinds = {
                kind
                for kind, one, other in zip(Fact.__annotations__, was, now, strict=True)
                if one != other
            }
        if now.values is None and "version" in kinds:
            kinds.add("values")
        found[name] = frozenset(kinds)
    return found | {name: frozenset({"gone"}) for name in before if name not in after}


def only(observed: dict, names: Iterable[str], most: int = MOST_STEP_NODES) -> dict:
    """Return the part of an observation that has to do with some of its names.

    With them go the nodes that a gradient reaches from them, breadth-first and at most
    ``most``, and the tensors that are leaves there.
    """
    wanted, tensors, nodes = set(names), observed["tensors"], observed["nodes"]
    named = [at for at, seen in enumerate(tensors) if wanted & set(seen["names"])]
    hang_on = [tensors[at]["node"] for at in named]
    starts = dict.fromkeys(node for node in hang_on if node is not None)
    reached = _reached(observed, starts)
    # A leaf is small, and where a gradient goes is what a reader looks for.
    leaves = {at for at in reached if nodes[at]["kind"] != "operation"}
    kept_nodes = {*reached[: max(most, len(starts))], *leaves}
    kept = {*named, *(one for at in leaves for one in nodes[at]["tensors"])}
    tensor_of = {old: new for new, old in enumerate(sorted(kept))}
    node_of = {old: new for new, old in enumerate(sorted(kept_nodes))}
    edges, beyond = [], set()
    cut: Counter[int] = Counter()
    for edge in observed["edges"]:
        result, target = edge["result"], edge["input"]
        if result in node_of and target in node_of:
            ends = {"result": node_of[result], "input": node_of[target]}
            edges.append(edge | ends)
        elif result in node_of:
            cut[result] += 1
        elif result in reached and target in leaves:
            beyond.add(target)
    hidden = len(reached) - len(kept_nodes)
    if any(nodes[at]["hidden_inputs"] for at in reached):
        hidden += observed["hidden_nodes"]
        beyond |= kept_nodes & set(observed["hidden_to"])
    storages: list[dict] = []
    storage_of: dict[int, int] = {}
    for number, storage in enumerate(observed["storages"]):
        windows = [
            window | {"tensor": tensor_of[window["tensor"]]}
            for window in storage["windows"]
            if window["tensor"] in kept
        ]
        if windows:
            storage_of[number] = len(storages)
            storages.append(storage | {"windows": windows})
    return observed | {
        "tensors": [
            tensors[at]
            | {
                "node": node_of.get(tensors[at]["node"]),
                "storage": storage_of.get(tensors[at]["storage"]),
            }
            for at in tensor_of
        ],
        "nodes": [
            nodes[at]
            | {
                "tensors": [tensor_of[n] for n in nodes[at]["tensors"] if n in kept],
                "hidden_inputs": nodes[at]["hidden_inputs"] + cut[at],
            }
            for at in node_of
        ],
        "edges": edges,
        "hidden_nodes": hidden,
        "hidden_to": sorted(node_of[at] for at in beyond),
        "storages": storages,
    }


# A step in one sentence


def _words(step: _Step) -> tuple[str, list[str]]:
    """Say what a step did, in one sentence, and what else there is to note."""
    said = _said_of_names(step.after.observed, step.differ)
    if step.raised:
        said.insert(0, f"it raises {step.raised.partition(':')[0]}")
    elif not said:
        said.append(_said_of_statement(step.unit.node, step.printed))
    if len(said) > MOST_SAID:
        said[MOST_SAID:] = [f"and {_count(len(said) - MOST_SAID, 'more change')}"]
    text = "; ".join(said) + "."
    if not step.collapsed:
        if step.raised or not (step.differ or isinstance(step.unit.node, NAMED)):
            text = text[0].upper() + text[1:]  # a name stays as it is written
        return text, []
    loop, last = step.turns[-1]
    first = loop.shown + 1
    if first == last:
        return f"Turn {first}: {text}", []
    return f"Turns {first} to {last}: {text}", [f"turns {first} to {last} in one step"]


def _said_of_statement(node: ast.AST, printed: str) -> str:
    if printed:
        count = len(printed.splitlines())
        return f"no tensor changes; {_count(count, 'line')} printed"
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.asname or alias.name for alias in node.names]
        return f"{_and(names)} {_are(names)} imported"
    if isinstance(node, DEFINITIONS):
        return f"{node.name} is defined"
    if isinstance(node, ast.Assert):
        return "the assertion holds"
    return "no tensor changes"


def _said_of_names(observed: dict, differ: dict[str, frozenset[str]]) -> list[str]:
    entry = {name: seen for seen in observed["tensors"] for name in seen["names"]}
    fresh = [n for n, k in differ.items() if n in entry and k & {"new", "other"}]
    known = [name for name in entry if name not in fresh]
    related: list[str] = []
    alone: dict[tuple[bool, str], list[str]] = {}
    # Where there are several devices, that of what is new is worth a word.
    devices = {seen["device"] for seen in entry.values() if seen["storage"] is not None}
    for name in fresh:
        if told := _said_of_new(name, entry, known, observed):
            related.append(f"{name} {told}")
        else:
            where = f" on {entry[name]['device']}" if len(devices) > 1 else ""
            end = where + _gradient_end(entry[name], observed)
            alone.setdefault(("other" in differ[name], end), []).append(name)
        known.append(name)
    said = []
    for (is_other, end), names in alone.items():
        each, others = ("each ", "now others") if names[1:] else ("", "now another")
        what = f"{_few(names)} {_are(names)} {others if is_other else 'new'}"
        said.append(f"{what}, {each}with a memory of its own{end}")
    said += related
    same = {n: k for n, k in differ.items() if n in entry and n not in fresh}
    told: set[str] = set()
    for kind in ORDER_OF_KINDS:
        names = [name for name, kinds in same.items() if kind in kinds]
        if kind != "gradient":  # that is another tensor
            names = [name for name in names if name not in told]
            told.update(names)
        if names:
            said.append(_said_of_kind(kind, names, [entry[name] for name in names]))
    gone = [name for name, kinds in differ.items() if "gone" in kinds]
    return [*said, f"{_few(gone)} {_are(gone)} gone"] if gone else said


def _said_of_new(
    name: str, entry: dict[str, dict], known: list[str], observed: dict
) -> str:
    """Say of what a name is new to, or nothing if it stands alone."""
    seen = entry[name]
    same = [other for other in known if entry[other] is seen]
    if same:
        return f"is another name of {same[0]}"
    if seen["storage"] is None:
        return f"is new: {seen['memory']}" if seen["memory"] else "is new"
    on_it = _names_on(observed, observed["storages"][seen["storage"]])
    share = [other for other in known if other in on_it]
    if not share:
        return ""
    end = _gradient_end(seen, observed)
    required = any(entry[other]["requires_grad"] for other in share)
    if required and not seen["requires_grad"]:
        end = ", and no gradient flows through it"
    return f"now shares the memory of {_few(share)}{end}"


def _gradient_end(seen: dict, observed: dict) -> str:
    node = seen["node"]
    if node is None or observed["nodes"][node]["kind"] != "operation":
        return ""
    return f"; {_flow(observed, node)}"


# What is said first of names that there were before; what is said once is enough.
ORDER_OF_KINDS = (
    *("storage", "values", "gradient", "form"),
    *("requires_grad", "retains_grad", "graph", "version"),
)


def _said_of_kind(kind: str, names: list[str], seen: list[dict]) -> str:
    """Say what of names, of which the same kind of thing has changed, is now."""
    few, are, many = _few(names), _are(names), len(names) > 1
    if kind == "storage":
        return f"{few} {are} now on another memory"
    if kind == "values":
        value = _common(one["values"] for one in seen)
        on_one = many and _common(one["storage"] for one in seen) is not None
        hold = f"{', one memory,' if on_one else ''} now {'hold' if many else 'holds'}"
        return f"{few}{hold} {'other values' if value is None else value}"
    if kind == "gradient":
        gradients = [one["gradient"] for one in seen]
        value = _common(gradients)
        if len(names) <= MOST_SAID and len(set(gradients)) > 1:
            each = zip(names, gradients, strict=True)
            return _and([f"{name}.grad is now {gradient}" for name, gradient in each])
        said = _few([f"{name}.grad" for name in names])
        return f"{said} {are} now {value}" if value else f"{said} {are} new"
    if kind == "form":
        shape = _common(_tuple(one["shape"]) for one in seen)
        has = "have" if many else "has"
        return f"{few} now {has} {f'shape {shape}' if shape else 'other shapes'}"
    if kind == "requires_grad":
        requires = _common(one["requires_grad"] for one in seen)
        if requires is None:
            return f"{few} have changed whether they require a gradient"
        verb = "require" if many else "requires"
        return f"{few} now {verb} {'a' if requires else 'no'} gradient"
    if kind == "retains_grad":
        return f"{few} {'keep their' if many else 'keeps its'} gradient"
    if kind == "graph":
        return f"{few} {are} now elsewhere in the graph"
    version = _common(one["version"] for one in seen)
    end = "has changed" if version is None else f"is now {version}"
    return f"the version of {few} {end}"


def _common(values: Iterable[Any]) -> Any:
    """Return the value that all are, or None if they differ."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _are(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _few(names: list[str]) -> str:
    if len(names) <= MOST_SAID:
        return _and(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} more"


# Showing steps ----------------------------------------------------------------------

# What steps() returns is shown by one script and one style: on this site's pages, in a
# notebook and in a file. They take the site's colours, which a page of its own names.
STEPS_STYLE = """\
.steps {
  box-sizing: border-box;
  container-type: inline-size;
  height: 100%;
  overflow: auto;
  background: var(--color-background-primary);
  color: var(--color-foreground-primary);
  font: 0.9375rem/1.5 var(--font-stack);
}
.steps > div {
  display: grid;
  grid-template:
    "head" auto "code" minmax(7rem, 2fr) "said" auto "see" minmax(9rem, 3fr)
    "controls" auto / minmax(0, 1fr);
  min-height: 100%;
  max-height: max(100%, 34rem);
}
.steps [hidden] { display: none; }
.steps p, .steps pre { max-width: none; margin: 0; }
.steps-head {
  grid-area: head;
  display: flex;
  gap: 1rem;
  align-items: center;
  justify-content: space-between;
  min-width: 0;
  padding: 0.5rem 1rem;
}
.steps :is(h1, h2) {
  overflow: hidden;
  margin: 0;
  padding: 0;
  font: 600 1.0625rem/1.4 var(--font-stack);
  text-overflow: ellipsis;
  white-space: nowrap;
}
.steps-controls {
  grid-area: controls;
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem 0.5rem;
  align-items: center;
  padding: 0.5rem 1rem;
  border-top: 1px solid var(--color-background-border);
}
.steps :is(button, select) {
  flex: none;
  min-width: 2.25rem;
  min-height: 2.25rem;
  padding: 0.2rem 0.7rem;
  border: 1px solid var(--color-foreground-muted);
  border-radius: 0.4rem;
  background: var(--color-background-primary);
  color: var(--color-foreground-primary);
  font: inherit;
  font-size: 0.875rem;
  cursor: pointer;
}
.steps :is(button, select):hover { border-color: var(--color-brand-primary); }
.steps button[aria-disabled="true"]:not(.steps-choice) {
  border-style: dashed;
  color: var(--color-foreground-muted);
  cursor: default;
}
.steps .steps-forward:not([aria-disabled="true"]) {
  border-color: var(--color-foreground-primary);
  background: var(--color-foreground-primary);
  color: var(--color-background-primary);
}
.steps :focus-visible {
  outline: 2px solid var(--color-brand-primary);
  outline-offset: 2px;
}
.steps :is(.steps-code, .steps-see):focus-visible { outline-offset: -2px; }
.steps input {
  flex: 1 1 7rem;
  min-width: 0;
  height: 2.25rem;
  margin: 0;
  accent-color: var(--color-brand-primary);
}
.steps-count { font-variant-numeric: tabular-nums; white-space: nowrap; }
.steps-loop { display: flex; gap: 0.5rem; align-items: center; }
.steps-turns { font-weight: 600; line-height: 1.2; }
.steps-loop > button { padding-inline: 0.5rem; }
.steps-on { display: flex; gap: 0.5rem; align-items: center; max-width: 100%; }
.steps .steps-on > select { flex: 0 1 auto; min-width: 0; padding-inline: 0.3rem; }
.steps-others { color: var(--color-foreground-secondary); font-size: 0.875rem; }
.steps a {
  display: inline-block;
  min-height: 1.5rem;
  color: var(--color-brand-content);
  text-underline-offset: 0.2em;
}
.steps-said {
  grid-area: said;
  min-height: 3em;
  padding: 0.4rem 1rem;
  border-block: 1px solid var(--color-background-border);
  overflow-wrap: anywhere;
}
.steps-said > p:first-child { font-weight: 600; }
.steps-said code { padding: 0; border: 0; background: none; font-size: 0.9em; }
.steps-raised { color: var(--status-wrong); font-family: var(--font-stack--monospace); }
.steps-raised:not(:empty)::before { content: "\\2715\\00A0" / ""; }
.steps-code {
  grid-area: code;
  position: relative;
  overflow: auto;
  background: var(--code-block);
  overscroll-behavior: contain;
}
.steps-code > pre {
  width: max-content;
  min-width: 100%;
  padding: 0.5rem 0;
  counter-reset: line;
  font: 0.8125rem/1.6 var(--font-stack--monospace);
}
.steps-line {
  display: block;
  min-height: 1.6em;
  padding-right: 1rem;
  border-left: 4px solid transparent;
}
.steps-line::before {
  counter-increment: line;
  content: counter(line);
  display: inline-block;
  width: 2.2em;
  margin-right: 1em;
  color: var(--color-foreground-muted);
  text-align: right;
}
.steps-line.lit {
  border-color: var(--line-1);
  background: color-mix(in srgb, var(--line-1) 13%, var(--color-background-primary));
}
.steps-line:not(.lit), .steps-line.future span { color: var(--color-foreground-muted); }
.steps-line.lit .steps-comment { color: var(--color-foreground-secondary); }
.steps-line:not(.future) .steps-text { color: var(--line-3); }
.steps-line:not(.future) .steps-word { color: var(--line-5); }
.steps-line.lit :is(.steps-text, .steps-word) {
  color: color-mix(in srgb, var(--line-3) 85%, var(--color-foreground-primary));
}
.steps-line.lit .steps-word {
  color: color-mix(in srgb, var(--line-5) 85%, var(--color-foreground-primary));
}
.steps-see {
  grid-area: see;
  overflow: auto;
  padding: 0.75rem 1rem;
  overscroll-behavior: contain;
}
.steps-map { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.steps-half { display: block; max-width: 100%; overflow-x: auto; }
.steps-half + .steps-half { order: -1; } /* on a phone, the smaller one first */
.steps-half > span, .steps-choice > span:first-child {
  display: block;
  margin-bottom: 0.4rem;
  font-size: 0.875rem;
  font-weight: 600;
  text-align: left;
}
.steps-half > svg { display: block; overflow: visible; }
.steps-new { text-decoration: underline; text-decoration-thickness: 2px; }
.steps-map + .steps-note + div { margin-top: 1rem; }
.steps-output {
  overflow: auto;
  max-height: 14rem;
  padding: 0.25rem 0 0.25rem 0.75rem;
  border-left: 3px solid var(--color-background-border);
  color: var(--color-foreground-secondary);
  font: 0.8125rem/1.5 var(--font-stack--monospace);
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
.steps-see p { color: var(--color-foreground-secondary); font-size: 0.875rem; }
.steps-output b { color: var(--color-foreground-primary); }
.steps-ask {
  display: flex;
  flex: 1;
  flex-wrap: wrap;
  gap: 0.75rem;
  align-items: start;
  margin-inline: -0.75rem; /* room for a whole map on a phone */
}
.steps .steps-choice { flex: 0 1 auto; max-width: 100%; padding: 0.5rem; }
.steps-choice .steps-half + .steps-half { margin-top: 1rem; }
.steps-choice.right { --says: var(--line-1); }
.steps-choice.wrong { --says: var(--status-wrong); }
.steps .steps-choice:is(.right, .wrong) {
  border-color: var(--says);
  box-shadow: inset 0 0 0 2px var(--says);
}
.steps-choice:is(.right, .wrong) > :first-child::after { color: var(--says); }
.steps-choice.right > :first-child::after { content: " \\2713  this one"; }
.steps-choice.wrong > :first-child::after { content: " \\2715  not this one"; }
@container (min-width: 40rem) {
  .steps > div {
    grid-template:
      "head head" auto "controls controls" auto "said said" auto
      "code see" minmax(14rem, 1fr) / minmax(0, 1fr) minmax(19rem, 1.15fr);
  }
  .steps-said { min-height: 1.5em; }
  .steps-ask { margin: 0; }
  .steps-half + .steps-half { order: 0; }
  .steps-controls { border: 0; }
  .steps-code { border-right: 1px solid var(--color-background-border); }
}
@media (pointer: coarse) {
  .steps :is(button, input, select, a) { min-height: 2.75rem; }
  .steps a { min-width: 2.75rem; align-content: center; text-align: center; }
}
.steps-dialog {
  box-sizing: border-box;
  width: 100%;
  max-width: none;
  height: 100dvh;
  max-height: none;
  padding: 0;
  border: 0;
}
.steps-dialog::backdrop { background: rgb(0 0 0 / 0.5); }
html:has(.steps-dialog[open]) { overflow: hidden; }
@media (min-width: 48rem) and (min-height: 40rem) {
  .steps-dialog {
    width: calc(100% - 2rem);
    max-width: 84rem;
    height: calc(100dvh - 2rem);
    border: 1px solid var(--color-foreground-border);
    border-radius: 0.5rem;
  }
}
@media (prefers-reduced-motion: no-preference) {
  .steps-code { scroll-behavior: smooth; }
  .steps-new { animation: steps-new 0.7s; }
  @keyframes steps-new { from { opacity: 0.2; } }
}
"""

STEPS_SCRIPT = r"""
// Code, map and output after each statement of a program, from what steps() returned. A
// page of the site hands over the button that was pressed, and gets a dialog; a file or
// a notebook hands over the element that is to be filled.
"use strict";
function tensorCopiesSteps(data, place = document.currentScript.place) {
  const { code, asks = [], machines = [] } = data;
  let { steps, drawings, captions } = data;
  const inDialog = place.matches("button");
  const key = inDialog ? place.id : place.dataset.key;
  const make = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(attribute, value);
      else made.setAttribute(attribute, value);
    }
    made.append(...children);
    return made;
  };
  const button = (words, click, name = "") =>
    make("button", { type: "button", class: name, click }, words);
  const region = (name, label) => make("div",
    { class: `steps-${name}`, role: "region", "aria-label": label, tabindex: 0 });
  const number = (index) => `step ${index + 1} of ${steps.length}`;

  // -- The parts ------------------------------------------------------------------
  const STRING = String.raw`"{3}[^]*?"{3}|'{3}[^]*?'{3}|"(?:\\.|[^"\\\n])*"|` +
    String.raw`'(?:\\.|[^'\\\n])*'`;
  const WORDS = "and|as|assert|async|await|break|class|continue|def|del|elif|else|" +
    "except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|" +
    "raise|return|try|while|with|yield|True|False|None";
  const TOKEN = new RegExp(`(${STRING})|(#.*)|\\b(?:${WORDS})\\b`, "g");
  const lines = [make("span", { class: "steps-line" })];
  const write = (text, name) => text.split("\n").forEach((piece, place) => {
    if (place) lines.push(make("span", { class: "steps-line" }));
    if (piece) lines.at(-1).append(name ? make("span", { class: name }, piece) : piece);
  });
  const source = code.join("\n");
  let end = 0;
  for (const found of source.matchAll(TOKEN)) {
    const [text, string, comment] = found;
    write(source.slice(end, found.index));
    write(text, string ? "steps-text" : comment ? "steps-comment" : "steps-word");
    end = found.index + text.length;
  }
  write(source.slice(end));

  const codeBox = region("code", "Code");
  codeBox.append(make("pre", {}, ...lines));
  const see = region("see", "Map and output");
  const map = make("div", { class: "steps-map" });
  const note = make("p", { class: "steps-note" });
  const output = make("pre", { class: "steps-output" });
  const printed = make("div", {}, make("p", {}, "Output so far"), output);
  see.append(map, note, printed);
  const said = make("p", { role: "status" });
  const raised = make("p", { class: "steps-raised" });
  const others = make("div", { class: "steps-others", "aria-live": "polite" });
  const slider = make("input", {
    type: "range", min: 1, max: steps.length, "aria-label": "Step",
    input: () => go(slider.valueAsNumber - 1),
  });
  const count = make("span", { class: "steps-count" });
  const link = make("a", {}, "Link");
  const turns = make("span", { class: "steps-turns" });
  const nextTurn = button("Next turn", () => go(after(at, false)));
  const pastLoop = button("After the loop", () => go(after(at, true)));
  const names = [data.here, ...machines.map(({ name }) => name)];
  const machine = make("select", { change: () => choose(machine.selectedIndex - 1) },
    ...names.map((name) => make("option", {}, name ?? "")));
  const on = make("label", { class: "steps-on" }, "Machine", machine);
  on.hidden = !machines.length;
  const first = button("First", () => go(0));
  const back = button("Back", () => go(asking ? at : at - 1));
  const forward = button("Forward", () => onward(), "steps-forward");
  const last = button("Last", () => go(steps.length - 1));
  const title = make(inDialog ? "h2" : "h1", {}, data.title);
  const head = make("div", { class: "steps-head" }, title);
  const loop = make("span", { class: "steps-loop" }, turns, nextTurn, pastLoop);
  const box = make("div", { class: "steps" }, make("div", {}, head,
    make("div", { class: "steps-controls", role: "group", "aria-label": "Steps" },
      first, back, forward, last, slider, count, link, loop, on),
    make("div", { class: "steps-said" }, said, raised, others), codeBox, see));

  // -- Going from step to step --------------------------------------------------------
  let at = 0;
  let asking = null;
  const asked = new Set();
  // The step after the turn, or after the loop, that a step is in.
  const after = (index, whole) => {
    const depth = steps[index].turn.length - 1;
    const around = (step) => String(step.turn.slice(0, depth));
    let [turn, of] = steps[index].turn[depth];
    for (let next = index + 1; next < steps.length; next++) {
      const other = steps[next].turn[depth];
      const left = !other || other[1] !== of || other[0] < turn ||
        around(steps[next]) !== around(steps[index]);
      if (left || (!whole && other[0] > turn)) return next;
      turn = other[0];
    }
    return steps.length - 1;
  };
  const onward = () => {
    const ask = asks.find((one) => one.step === at + 1 && !asked.has(one));
    if (chosen < 0 && !asking && ask) {
      asked.add(ask);
      show(at, ask);
    } else go(at + 1);
  };
  const go = (index) => show(Math.min(Math.max(0, index), steps.length - 1), null);
  const press = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const controls = { ArrowLeft: back, ArrowRight: forward, Home: first, End: last };
    const does = controls[event.key];
    // Code that is wider than its box is moved by the arrows.
    const wide = event.target === codeBox && codeBox.scrollWidth > codeBox.clientWidth;
    if (!does || (wide && event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    does.click();
  };

  // -- On another machine -------------------------------------------------------------
  // Its place among the others, or -1: this build. A step there knows which it is here.
  let chosen = -1;
  const hereOf = (index) => steps[index].here ?? index;
  const placeOf = (here) => {
    const found = steps.findIndex((step, index) => hereOf(index) >= here);
    return found < 0 ? steps.length - 1 : found;
  };
  const loaded = (file) => new Promise((done, failed) => {
    const src = new URL(file, new URL(place.dataset.steps, location));
    const load = () => (script.steps ? done(script.steps) : failed());
    const script = make("script", { src, load, error: failed });
    document.head.append(script);
  });
  const choose = async (index) => {
    const other = machines[index];
    try {
      if (other && !other.steps) {
        const more = await loaded(other.file);
        other.steps = more.steps.map((step) =>
          typeof step === "number" ? { ...data.steps[step], here: step } : step);
        other.drawings = [...data.drawings, ...more.drawings];
        other.captions = [...data.captions, ...more.captions];
      }
    } catch {
      machine.selectedIndex = chosen + 1;
      others.textContent = "The steps of this machine did not load: try again.";
    }
    if (machine.selectedIndex !== index + 1) return;
    const here = hereOf(at);
    chosen = index;
    ({ steps, drawings, captions } = other ?? data);
    slider.max = steps.length;
    go(placeOf(here));
  };
  const elsewhere = (here, step) => {
    if (chosen < 0) return machines.map((one) => [one.name, one.differs[here]]);
    const words = machines[chosen].differs[here], { said } = data.steps[here];
    return [[data.here, words && (said === step.said ? words : said)]];
  };

  // -- Showing a step -----------------------------------------------------------------
  const drawn = (pair, changed) => pair.flatMap((index) => {
    if (index === null) return [];
    const picture = make("span", { class: "steps-half" });
    picture.innerHTML = drawings[index];
    picture.firstElementChild.removeAttribute("id");
    for (const text of picture.querySelectorAll('text[font-weight="bold"]')) {
      const names = text.textContent.split(/ = | \(|, /);
      if (names.some((name) => changed.includes(name))) text.classList.add("steps-new");
    }
    picture.prepend(make("span", {}, captions[index]));
    return [picture];
  });
  const pictures = (ask) => {
    // The order hangs on the step alone: the right one is not always the first.
    const turned = [...ask.pictures.keys()];
    if (ask.step % 2) turned.reverse();
    const choices = turned.map((number, place) => {
      const right = number === ask.right;
      const choice = button(make("span", {}, `Picture ${place + 1}`), () => {
        if (choices.some((one) => one.matches(".right"))) return;
        choices.forEach((one, other) => {
          if (turned[other] === ask.right) one.classList.add("right");
          one.setAttribute("aria-disabled", "true");
        });
        if (!right) choice.classList.add("wrong");
        const judged = right ? "Right: " : "Not this one: ";
        said.replaceChildren(judged + steps[ask.step].said);
        if (ask.instead) {
          const other = make("code", {}, ask.instead);
          said.append(" The other picture is that of ", other, ".");
        }
        skip.textContent = "Go on";
      }, "steps-choice");
      choice.append(...drawn(ask.pictures[number], []));
      return choice;
    });
    const skip = button("Skip", () => {
      forward.focus();
      go(ask.step);
    });
    const group = { class: "steps-ask", role: "group", "aria-label": ask.question };
    return make("div", group, ...choices, skip);
  };
  const light = (step) => {
    const ran = new Set();
    for (const { first, last } of steps.slice(0, at + 1)) {
      for (let line = first; line <= last; line++) ran.add(line);
    }
    lines.forEach((line, index) => {
      const lit = step.first <= index + 1 && index < step.last;
      line.className = `steps-line ${lit ? "lit" : ran.has(index + 1) ? "" : "future"}`;
      line.toggleAttribute("aria-current", lit);
    });
    const top = lines[step.first - 1].offsetTop, room = codeBox.clientHeight;
    const bottom = lines[step.last - 1].offsetTop + lines[step.last - 1].offsetHeight;
    if (top < codeBox.scrollTop + 40 || bottom > codeBox.scrollTop + room - 40) {
      codeBox.scrollTop = top - Math.max(20, (room - (bottom - top)) / 2);
    }
  };
  const show = (index, ask) => {
    [at, asking] = [index, ask];
    const step = steps[ask ? ask.step : at];
    light(step);
    const [turn, of] = ask ? [] : step.turn.at(-1) ?? [];
    count.textContent = `${ask ? "before " : ""}${number(ask ? ask.step : at)}`;
    const nested = step.turn.map((pair) => pair.join(" of ")).join(", ");
    turns.textContent = nested && `turn ${nested}`;
    loop.hidden = !nested;
    const further = of > 1 && after(at, true) > at;
    for (const [jump, wanted] of [[nextTurn, turn < of], [pastLoop, further]]) {
      if (!wanted && jump === document.activeElement) forward.focus();
      jump.hidden = !wanted;
    }
    slider.value = at + 1;
    slider.setAttribute("aria-valuetext", number(at));
    for (const one of [first, back]) one.setAttribute("aria-disabled", !at && !ask);
    for (const one of [forward, last]) {
      one.setAttribute("aria-disabled", at === steps.length - 1);
    }
    said.replaceChildren(ask ? `${ask.question} Choose one, or skip.` : step.said);
    raised.textContent = ask ? "" : step.raised ?? "";
    if (ask) map.replaceChildren(pictures(ask));
    else {
      const halves = drawn([step.graph, step.memory], step.changed);
      map.replaceChildren(...halves.length ? halves : ["There is no tensor yet."]);
    }
    note.textContent = ask ? "" : step.note ?? "";
    const told = ask ? [] : elsewhere(hereOf(at), step).filter(([, words]) => words);
    others.replaceChildren(...told.map(([name, words]) =>
      make("p", {}, make("b", {}, name), `: ${words}`)));
    const before = steps.slice(0, ask ? at + 1 : at).map((one) => one.printed).join("");
    output.replaceChildren(before, make("b", {}, ask ? "" : step.printed));
    printed.hidden = !output.textContent;
    output.scrollTop = output.scrollHeight;
    link.hidden = !key || Boolean(ask);
    if (key) {
      link.href = `#${key}-${hereOf(at) + 1}`;
      address(link.hash);
    }
  };
  const address = (hash) => {
    const bare = location.href.split("#")[0];
    if (location.hash !== hash) history.replaceState(history.state, "", bare + hash);
  };
  // The step that the address names, counted from zero.
  const wanted = () => {
    const [, digits] = location.hash.match(/-(\d+)$/) ?? [];
    return key && location.hash === `#${key}-${digits}` ? digits - 1 : null;
  };
  addEventListener("hashchange", () => {
    if (box.checkVisibility() && wanted() !== null) go(placeOf(wanted()));
  });

  // -- Where it is shown --------------------------------------------------------------
  (inDialog ? box : document).addEventListener("keydown", press);
  if (!inDialog) {
    place.replaceChildren(box);
    go(wanted() ?? 0);
    return;
  }
  const dialog = make("dialog", {
    class: "steps-dialog",
    close: () => {
      address("");
      place.focus();
    },
  }, box);
  title.id = `${key}-title`;
  dialog.setAttribute("aria-labelledby", title.id);
  head.append(button("Close", () => dialog.close()));
  document.body.append(dialog);
  place.open = () => {
    if (!dialog.open) dialog.showModal();
    forward.focus();
    go(wanted() === null ? at : placeOf(wanted()));
  };
}
"""

_COLOURS_OF_PAGE = """\
:root {
  color-scheme: light dark;
  --color-background-primary: light-dark(#fff, #131416);
  --color-background-border: light-dark(#d9dce1, #3a3f45);
  --color-foreground-primary: light-dark(#000, #dbdee3);
  --color-foreground-secondary: light-dark(#4a4c53, #b9bdc2);
  --color-foreground-muted: light-dark(#4f5158, #adb1b6);
  --color-foreground-border: light-dark(#878787, #81868d);
  --color-brand-primary: light-dark(#0a4bff, #3d94ff);
  --color-brand-content: light-dark(#1b44b8, #72b2ff);
  --code-block: light-dark(#f7f8fa, #212327);
  --line-1: light-dark(#0060b0, #6cb6ff);
  --line-2: light-dark(#b84500, #f2a05c);
  --line-3: light-dark(#007a5a, #3fcf9f);
  --line-4: light-dark(#a3387a, #f08cc6);
  --line-5: light-dark(#5b4bc4, #b3a5ff);
  --status-wrong: light-dark(#9c1f18, #ff8f85);
  --font-stack: system-ui, sans-serif;
  --font-stack--monospace: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
body {
  display: grid;
  grid-template: minmax(0, 1fr) auto / minmax(0, 1fr);
  height: 100dvh;
  margin: 0;
  background: var(--color-background-primary);
  color: var(--color-foreground-primary);
  font: 0.9375rem/1.5 var(--font-stack);
}
main { overflow: auto; }
main > :is(h1, pre, ol) { margin: 1rem; }
footer {
  padding: 0.3rem 1rem;
  color: var(--color-foreground-secondary);
  font-size: 0.8rem;
}
"""

# Gives the data to the viewer. In a notebook the colours follow the notebook's, which
# need not be those of the system: dark where its text is light.
_START_OF_PAGE = """
const data = JSON.parse(document.getElementById("data").textContent);
if (data.steps.length) tensorCopiesSteps(data, document.querySelector("main"));
try {
  const around = frameElement.parentElement;
  const follow = () => {
    const [red, green, blue] = parent.getComputedStyle(around).color.match(/[\\d.]+/g);
    document.documentElement.style.colorScheme =
      0.3 * red + 0.6 * green + 0.1 * blue > 128 ? "dark" : "light";
  };
  const seen = new MutationObserver(follow);
  for (const one of [parent.document.documentElement, parent.document.body])
    seen.observe(one, { attributes: true });
  follow();
} catch { }
"""


def steps_page(data: dict, key: str = "step") -> str:
    """Return steps as one HTML file, which needs nothing else and loads nothing.

    Its own security policy lets no other script run and nothing be loaded. Without
    scripts it lists the steps.

    Parameters
    ----------
    data
        What ``data()`` of the steps returned.
    key
        Begins the address of a step, as in ``#step-3``; empty where there is none.
    """
    script = STEPS_SCRIPT + _START_OF_PAGE
    style = STEPS_STYLE + _COLOURS_OF_PAGE
    # Without a `<`, with which the element that holds it could end.
    content = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; img-src data:; script-src {_policy_hash(script)}; "
        f"style-src {_policy_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    made = f"Made by tensor_maps.py with torch {data['torch']}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(_clean(data["title"]))}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main data-key="{key}">
{_listed(data)}
</main>
<footer>{escape(_clean(made))}</footer>
<script type="application/json" id="data">{content}</script>
<script>{script}</script>
</body>
</html>
"""


def _policy_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _listed(data: dict) -> str:
    """Return the steps as a list, for those without scripts."""
    code = "\n".join(data["code"])
    items = []
    for step in data["steps"]:
        first, last = step["first"], step["last"]
        where = f"Line {first}" if first == last else f"Lines {first} to {last}"
        lines = [f"{where}: {step['said']}", step["printed"], step.get("raised", "")]
        text = "<br>".join(escape(line.strip("\n")) for line in lines if line)
        items.append(f"<li>{text}</li>")
    title = f"<h1>{escape(_clean(data['title']))}</h1>"
    return f"{title}\n<pre>{escape(code)}</pre>\n<ol>{''.join(items)}</ol>"


def save_steps(data: dict, path: str | os.PathLike[str]) -> None:
    """Write what ``data()`` of steps returned to one HTML file.

    A file of that name is replaced.

    Raises
    ------
    ValueError
        If the name does not end in ``.html``: no file of another kind is replaced.
    """
    path = Path(path)
    if path.suffix != ".html":
        raise ValueError(
            f"steps are saved as HTML: name the file like bug.html, not {path}"
        )
    path.write_bytes(steps_page(data).encode("utf-8", "replace"))


def steps_frame(data: dict) -> str:
    """Return steps for a notebook: in a frame, apart from the notebook's own page.

    A notebook shows no frame before the reader trusts it; the line below the frame
    says what there is to see.
    """
    count = len(data["steps"])
    if not count:
        return "<p>No statement ran: there are no steps.</p>"
    page = steps_page(data, "")
    title = quoteattr(_clean(f"Steps of {data['title']}"))
    return (
        f'<iframe srcdoc="{escape(page, {chr(34): "&quot;"})}" title={title} '
        'width="100%" height="620" frameborder="0"></iframe>'
        f"<p>{_count(count, 'step')}. A notebook that is not trusted does not show "
        "them.</p>"
    )


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic ``%%steps``, with ``%load_ext tensor_maps``.

    It runs the cell and shows its steps, also those of a cell that raises. What
    stands behind ``%%steps`` is the title.
    """

    def run_cell(title: str, cell: str) -> Steps:
        seen = Steps(title.strip() or None)
        try:
            seen.run(shell.transform_cell(cell), shell.user_ns)
        except BaseException:
            from IPython.display import display

            display(seen)
            raise
        return seen

    shell.register_magic_function(run_cell, "cell", "steps")
