"""Tell what a graph has saved for backward, and whose memory that is."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from tensor_maps.find import argument_texts, find, name_values
from tensor_maps.memory import lanes, placed
from tensor_maps.reading import forget_copy, shape_of, tried, unseen
from tensor_maps.relations import MOST_FOLLOWED
from tensor_maps.ways import functions_behind, node_name
from tensor_maps.words import as_tuple, count_of, listing, size_of

MOST_LINES = 40


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

    It doesn't see what a custom function keeps elsewhere (``ctx.x = x``), doesn't
    unpack what a hook packed (PyTorch 2.7 and newer), and looks at 20,000 operations.

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
