"""Tell what a graph has saved for backward, and whose memory that is."""

from __future__ import annotations

import copy
import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from tensor_maps.find import argument_texts, find, name_values
from tensor_maps.memory import lanes, placed
from tensor_maps.reading import forget_copy, shape_of, tried, unseen
from tensor_maps.relations import MOST_FOLLOWED
from tensor_maps.ways import functions_behind, node_name
from tensor_maps.words import as_tuple, count_of, listing, size_of

MOST_LINES = 40


class Saved:
    """What graphs have saved for backward: a table as text, and data. No tensor."""

    def __init__(self, data: dict) -> None:
        self._data = data

    def to_dict(self) -> dict:
        """Return what was found, as data that JSON can hold.

        ``total`` is in bytes. ``memories`` has, the largest first, ``bytes``,
        ``device``, ``names`` (of the tensors on it that the caller knows) and
        ``saved``, a list of texts: node, its name for the tensor, shape, dtype.
        ``freed`` and ``packed`` (by a hook, so not looked into) count by the name of
        nodes. ``ended``: whether the graph goes on after what was looked at.
        """
        return copy.deepcopy(self._data)

    def __repr__(self) -> str:
        data, memories = self._data, self._data["memories"]
        blocks = f" in {len(memories)} blocks of memory" if memories[1:] else ""
        lines = [f"saved for backward: {size_of(data['total'])}{blocks}"]
        rows = [
            (
                size_of(m["bytes"]),
                listing(m["names"]) or "no name",
                _counted(m["saved"]),
            )
            for m in memories[:MOST_LINES]
        ]
        wide = [max((len(row[at]) for row in rows), default=0) for at in (0, 1)]
        lines += [f"{a:>{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in rows]
        if more := memories[MOST_LINES:]:
            size = size_of(sum(one["bytes"] for one in more))
            lines.append(f"and {count_of(len(more), 'smaller one')}, {size}")
        why = {"freed": "by backward", "packed": "by a hook, not looked into"}
        lines += [f"{n} {why[n]}: {_counted(data[n])}" for n in why if data[n]]
        if data["ended"]:
            lines.append(f"the graph continues after {MOST_FOLLOWED:,} operations")
        return "\n".join(lines)


def saved(*values: object, **named: object) -> Saved:
    """Return what the graph behind tensors has saved for backward.

    The text is a table with the largest memory first. It lists the bytes, whose memory
    it is, and the nodes that saved it. A tensor and its views count as the same memory.
    The values are tensors of any shape, or modules and containers with some. Memory is
    named after these arguments and after what the caller's variables hold.

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
    __tracebackhide__ = True
    frame = sys._getframe(1)
    given, _ = name_values(argument_texts(frame, len(values)), values, named)
    tensors = [one for one in given.values() if isinstance(one, torch.Tensor)]
    if not tensors:
        kinds = listing([type(one).__name__ for one in (*values, *named.values())])
        raise TypeError(f"saved() takes tensors, not {kinds or 'nothing'}")
    scope = {**frame.f_globals, **frame.f_locals}
    forget_copy(frame)
    # Tools keep values under names that no program can have.
    found = find({n: one for n, one in scope.items() if str(n).isidentifier()})
    names = {id(value): name for name, value in given.items()}
    known = dict(given)
    for name in sorted(found.values, key=found.ranks.get):  # plain names first
        value = found.values[name]
        if names.setdefault(id(value), name) is name:
            known.setdefault(name, value)
    with unseen():
        return Saved(_saved(tensors, known))


def _saved(tensors: list[torch.Tensor], known: dict[str, Any]) -> dict:
    starts = [(tried(lambda one=one: one.grad_fn), None) for one in tensors]
    nodes = list(itertools.islice(functions_behind(starts), MOST_FOLLOWED + 1))
    kept: list[tuple[str, Any]] = []
    counts = {"freed": Counter(), "packed": Counter()}
    for node, _ in nodes[:MOST_FOLLOWED]:
        for what, value in saved_by(node):
            if isinstance(value, str):
                counts[value][node_name(node)] += 1
            else:
                dtype = str(value.dtype).removeprefix("torch.")
                form = f"{as_tuple(shape_of(value))} {dtype}"
                kept.append((f"{node_name(node)}.{what} {form}", value))
    named = [*kept, *known.items()]
    memories, without = placed(value for _, value in named)
    nowhere: dict[int, list[int]] = {}
    for number in without:
        nowhere.setdefault(id(named[number][1]), []).append(number)
    found = []
    for lane in [*lanes(memories), *nowhere.values()]:
        here = [number for number in lane if number < len(kept)]
        if here:
            where = [memories[number] for number in here if number in memories]
            stop = max((one.stop for one in where), default=0)
            entry = {
                "bytes": stop - min((one.start for one in where), default=0),
                "device": str(named[here[0]][1].device),
                "names": [named[n][0] for n in lane if n >= len(kept)],
                "saved": [named[number][0] for number in here],
            }
            found.append(entry)
    return {
        "total": sum(one["bytes"] for one in found),
        "memories": sorted(found, key=lambda one: -one["bytes"]),
        **{what: dict(count) for what, count in counts.items()},
        "ended": len(nodes) > MOST_FOLLOWED,
    }


def saved_by(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a node has saved: a name, and the tensor, "freed" or "packed"."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    if hasattr(type(node), "_raw_saved_tensors"):
        names.append("saved_tensors")
    for name in names:
        what = name.removeprefix("_saved_")
        # A list is of hooks of its own; the first one tells for all.
        raw = tried(lambda one=name: getattr(node, "_raw_" + one.lstrip("_")))
        first = raw[0] if isinstance(raw, tuple) and raw else raw
        if getattr(first, "unpack_hook", None) is not None:
            yield what, "packed"
            continue
        try:
            value = getattr(node, name)
        except Exception as error:  # each node refuses in a way of its own
            if "freed" in str(error):
                yield what, "freed"
            continue
        parts = {what: value}
        if isinstance(value, tuple | list):
            parts = {f"{what}[{at}]": one for at, one in enumerate(value)}
        for part, one in parts.items():
            if isinstance(one, torch.Tensor):
                yield part, one


def _counted(said: list[str] | dict[str, int]) -> str:
    counts = Counter(said).items()
    return "; ".join(f"{one}, {n} times" if n > 1 else one for one, n in counts)
