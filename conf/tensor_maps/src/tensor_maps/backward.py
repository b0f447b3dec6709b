"""Tell what a graph has saved for backward, and whose memory that is."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from tensor_maps.find import argument_texts, name_values
from tensor_maps.memory import lanes, placed
from tensor_maps.reading import forget_copy, is_drawn, shape_of, tried, unseen
from tensor_maps.relations import MOST_FOLLOWED
from tensor_maps.ways import functions_behind, node_name
from tensor_maps.words import as_tuple, count_of, listing, size_of

MOST_LINES = 40


class Saved:
    """What graphs have saved for backward: a table as text, and data.

    It keeps no tensor.
    """

    def __init__(self, data: dict) -> None:
        self._data = data

    def to_dict(self) -> dict:
        """Return what was found, as data that JSON can hold.

        ``format`` is 1. ``total`` is the number of bytes of all memories together.
        ``memories`` has one entry each, the largest first: ``bytes``, ``device``,
        ``names`` (of the tensors on it that the caller knows), and ``saved``, a list
        of ``node``, ``what`` (the name that the node has for it), ``shape`` and
        ``dtype``. ``freed`` and ``packed`` count by the name of nodes what is freed,
        and what a hook has packed, which is not unpacked. ``ended``: whether the graph
        goes on after the operations that were looked at.
        """
        return copy.deepcopy(self._data)

    def __repr__(self) -> str:
        data = self._data
        memories, total = data["memories"], size_of(data["total"])
        head = f"saved for backward: {total}"
        if memories[1:]:
            head += f" in {len(memories)} blocks of memory"
        rows = [
            (size_of(one["bytes"]), listing(one["names"]) or "no name", _by_nodes(one))
            for one in memories[:MOST_LINES]
        ]
        wide = [max((len(row[at]) for row in rows), default=0) for at in (0, 1)]
        lines = [f"{a:>{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in rows]
        if memories[MOST_LINES:]:
            more = memories[MOST_LINES:]
            size = size_of(sum(one["bytes"] for one in more))
            lines.append(f"and {count_of(len(more), 'smaller one')}, {size}")
        for what, said in (
            ("freed", "freed by backward"),
            ("packed", "packed by a hook, not looked into"),
        ):
            if data[what]:
                lines.append(f"{said}: {_counted(data[what])}")
        if data["ended"]:
            lines.append(f"the graph continues after {MOST_FOLLOWED:,} operations")
        return "\n".join([head, *lines])


def _by_nodes(memory: dict) -> str:
    """Say which nodes have saved a memory."""
    said = [
        f"{one['node']}.{one['what']} {as_tuple(one['shape'])} {one['dtype']}"
        for one in memory["saved"]
    ]
    counted = {text: said.count(text) for text in said}
    return "; ".join(_times(text, count) for text, count in counted.items())


def _times(text: str, count: int) -> str:
    return text if count == 1 else f"{text}, {count} times"


def _counted(counts: dict[str, int]) -> str:
    return listing([_times(name, count) for name, count in counts.items()])


def saved(*values: object, **named: object) -> Saved:
    """Return what the graph behind tensors has saved for backward.

    The text is a table with the largest memory first. It lists the bytes, whose memory
    it is, and the nodes that saved it. A tensor and its views count as the same memory.

    Parameters
    ----------
    *values, **named
        Tensors of any shape, modules and containers. Their graphs are followed. Memory
        is named after these arguments and after the caller's variables.

    Raises
    ------
    TypeError
        If no value is or contains a tensor.

    Notes
    -----
    It reads the ``_saved_*`` attributes of the nodes, and ``saved_tensors`` of custom
    functions. It doesn't see tensors that a function keeps in another place
    (``ctx.x = x``), or memory that kernels use temporarily in backward. It doesn't
    unpack a tensor that a hook packed, if PyTorch says so (2.7 and newer).
    """
    frame = sys._getframe(1)
    texts = argument_texts(frame, len(values))
    found, _ = name_values(texts, values, named)
    tensors = {n: one for n, one in found.items() if isinstance(one, torch.Tensor)}
    if not tensors:
        kinds = listing([type(one).__name__ for one in (*values, *named.values())])
        raise TypeError(f"saved() takes tensors, not {kinds or 'nothing'}")
    for name, value in variables(frame):
        if is_drawn(value) and all(value is not one for one in found.values()):
            found.setdefault(name, value)
    with unseen():
        return Saved(_saved(tensors, found))


def variables(frame: FrameType, module: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield the names of a frame, then those of its module, with what they hold."""
    both = [(str(name), value) for name, value in list(frame.f_locals.items())]
    if frame.f_locals is not frame.f_globals:
        forget_copy(frame)
        of_module = list(frame.f_globals.items()) if module else []
        both += [(str(n), value) for n, value in of_module]
    # Tools keep values under names that no program can have.
    named = (one for one in both if one[0].isidentifier())
    yield from (one for one in named if not one[0].startswith("__"))


def _saved(tensors: dict[str, torch.Tensor], known: dict[str, Any]) -> dict:
    starts = [(tried(lambda one=one: one.grad_fn), None) for one in tensors.values()]
    nodes = list(itertools.islice(functions_behind(starts), MOST_FOLLOWED + 1))
    kept: list[tuple[dict, Any]] = []
    counts: dict[str, dict[str, int]] = {"freed": {}, "packed": {}}
    for node, _ in nodes[:MOST_FOLLOWED]:
        name = node_name(node)
        for what, value in saved_by(node):
            if isinstance(value, str):
                counts[value][name] = counts[value].get(name, 0) + 1
                continue
            dtype = str(value.dtype).removeprefix("torch.")
            entry = {"node": name, "what": what, "shape": shape_of(value)}
            kept.append((entry | {"dtype": dtype}, value))
    objects = [*(value for _, value in kept), *known.values()]
    memories, without = placed(objects)
    nowhere: dict[int, list[int]] = {}
    for number in without:
        if number < len(kept):
            nowhere.setdefault(id(objects[number]), []).append(number)
    names, found = list(known), []
    for lane in [*lanes(memories), *nowhere.values()]:
        here = [number for number in lane if number < len(kept)]
        if here:
            where = [memories[number] for number in here if number in memories]
            low = min((one.start for one in where), default=0)
            high = max((one.stop for one in where), default=0)
            found.append(
                {
                    "bytes": high - low,
                    "device": str(kept[here[0]][1].device),
                    "names": [names[n - len(kept)] for n in lane if n >= len(kept)],
                    "saved": [kept[number][0] for number in here],
                }
            )
    found.sort(key=lambda one: -one["bytes"])
    total = sum(one["bytes"] for one in found)
    return {
        "format": 1,
        "total": total,
        "memories": found,
        **counts,
        "ended": len(nodes) > MOST_FOLLOWED,
    }


def saved_by(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a node has saved: a name, and the tensor, "freed" or "packed"."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    if hasattr(type(node), "_raw_saved_tensors"):
        names.append("saved_tensors")
    for name in names:
        what = name.removeprefix("_saved_")
        raw = "_raw" + (name if name.startswith("_") else f"_{name}")
        # A list is of hooks of its own; the first one tells for all.
        packed = tried(lambda one=raw: getattr(node, one))
        first = packed[0] if isinstance(packed, tuple) and packed else packed
        if getattr(first, "unpack_hook", None) is not None:
            yield what, "packed"
            continue
        try:
            value = getattr(node, name)
        except RuntimeError as error:
            if "freed" in str(error):
                yield what, "freed"
            continue
        except Exception:  # a node of someone else refuses in a way of its own
            continue
        if isinstance(value, torch.Tensor):
            yield what, value
        elif isinstance(value, tuple | list):
            for number, one in enumerate(value):
                if isinstance(one, torch.Tensor):
                    yield f"{what}[{number}]", one
