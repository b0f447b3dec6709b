"""Follow the autograd graph: to which named tensors and leaves a gradient flows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import torch

from tensor_maps.reading import tried

# PyTorch frees a function that Python has seen inside of the freeing of the one before
# it: some thousand in a row overflow the stack.
MOST_WALKED = 2000
COPIES = {"CloneBackward0", "ToCopyBackward0", "CopyBackwards"}
# Between a copy and what it was made from these change how it is read, not its memory.
VIEWS = {
    "AliasBackward0", "AsStridedBackward0", "ExpandBackward0", "PermuteBackward0",
    "SelectBackward0", "SliceBackward0", "SqueezeBackward0", "SqueezeBackward1",
    "TBackward0", "TransposeBackward0", "UnsqueezeBackward0", "ViewBackward0",
}  # fmt: skip


def functions_behind(
    starts: Iterable[tuple[Any, Any]],
) -> Iterator[tuple[Any, Any]]:
    """Yield the functions of a graph, breadth-first, each once.

    ``starts`` are functions, or None, each with anything: what comes with one is
    yielded with all that is first met behind it. All are kept until the walk ends, so
    that none has the id of another.
    """
    met: set[int] = set()
    waiting: list[tuple[Any, Any]] = []

    def meet(function: Any, origin: Any) -> None:
        if function is not None and id(function) not in met:
            met.add(id(function))
            waiting.append((function, origin))

    for function, origin in starts:
        meet(function, origin)
    for function, origin in waiting:  # which grows on the way
        for following, _ in tried(lambda one=function: one.next_functions, ()):
            meet(following, origin)
        yield function, origin


def node_name(function: Any) -> str:
    """Return the name of a node without its C++ namespace."""
    return str(function.name()).rpartition("::")[2]


def see_ways(objects: list, tensors: list[dict]) -> None:
    """Note in ``tensors`` what the graph says of each.

    ``operation`` is what it comes from, ``flows`` the next tensors that a gradient
    flows back to, ``made_of`` of what it is a view or, if true, a copy, ``reaches`` the
    named leaves, ``reaches_unnamed`` how many more there are, ``reaches_more`` whether
    it ended before it knew.
    """
    named: dict[tuple[int, int], int] = {}
    starts: dict[int, Any] = {}
    for at, value in enumerate(objects):
        if isinstance(value, torch.Tensor):
            function = tried(lambda one=value: one.grad_fn)
            key = (
                (id(value), 0) if function is None else (id(function), value.output_nr)
            )
            named.setdefault(key, at)
            starts[at] = function
    both = functions_behind((one, None) for one in starts.values())
    held = [function for function, _ in islice(both, MOST_WALKED)]
    leaf_of = {
        id(f): tried(lambda one=f: one.variable)
        for f in held
        if node_name(f) == "AccumulateGrad"
    }
    leaves = {id(leaf): leaf for leaf in leaf_of.values() if leaf is not None}
    bit = {leaf: 2 << place for place, leaf in enumerate(leaves)}
    known = {id(function) for function in held}
    near: dict[int, list[int]] = {}  # by function, the next named tensors behind it
    reach: dict[int, int] = {}  # which leaves, as bits; bit zero: there may be more
    copied: dict[int, list[tuple[int, bool]]] = {}

    def settle(function: Any) -> None:
        """Note what is behind a function, of whose inputs that is known."""
        here, label = id(function), node_name(function)
        near[here], copied[here], reach[here] = [], [], 0
        for following, output in function.next_functions:
            if following is None:
                continue
            leaf, there = leaf_of.get(id(following)), id(following)
            key = (there, output) if leaf is None else (id(leaf), 0)
            ends = [named[key]] if key in named else []
            reach[here] |= bit[id(leaf)] if leaf is not None else reach.get(there, 1)
            near[here] += ends or near.get(there, [])
            if label in COPIES | VIEWS:
                behind = [(end, False) for end in ends] or copied.get(there, [])
                copied[here] += [(end, c or label in COPIES) for end, c in behind]

    for start in held:  # inputs first, without recursion: a graph may be deep
        waiting = [start]
        while waiting:
            function = waiting[-1]
            missing = [
                one
                for one, _ in function.next_functions
                if one is not None and id(one) in known and id(one) not in near
            ]
            if id(function) in near or not missing:
                waiting.pop()
                if id(function) not in near:
                    settle(function)
            else:
                waiting += missing
    number_of = {id(objects[at]): at for at in starts}
    for at, function in starts.items():
        here, bits = id(function), 0
        if function is not None:
            bits = reach.get(here, 1) if tensors[at]["requires_grad"] else 0
        elif tensors[at]["requires_grad"]:
            leaves.setdefault(id(objects[at]), objects[at])
            bits = bit.setdefault(id(objects[at]), 2 << len(bit))
        found = [leaf for leaf in leaves if bits & bit.get(leaf, 0)]
        named_leaves = sorted(number_of[leaf] for leaf in found if leaf in number_of)
        tensors[at] |= {
            "operation": "" if function is None else node_name(function),
            "flows": list(dict.fromkeys(near.get(here, []))) if function else [],
            "made_of": [[end, c] for end, c in dict.fromkeys(copied.get(here, []))],
            "reaches": named_leaves,
            "reaches_unnamed": len(found) - len(named_leaves),
            "reaches_more": bool(bits & 1),
        }
