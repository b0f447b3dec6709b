"""Follow the autograd graph: to which named tensors and leaves a gradient flows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from itertools import islice
from typing import Any, NamedTuple

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
        for following, _ in _inputs(function):
            meet(following, origin)
        yield function, origin


def _inputs(function: Any) -> tuple[tuple[Any, int], ...]:
    return tried(lambda: function.next_functions, ())


def node_name(function: Any) -> str:
    """Return the name of a node without its C++ namespace."""
    return str(function.name()).rpartition("::")[2]


class _Behind(NamedTuple):
    """What is behind a function.

    The next named tensors, those of which its result is a view or (true) a copy, and
    the leaves as bits, of which bit zero says that there may be more.
    """

    flows: dict[int, None]
    made_of: dict[int, bool]
    leaves: int


class _Graph:
    """The graph behind some tensors; ``held`` keeps its functions, so ids stay."""

    def __init__(self, objects: list) -> None:
        self.objects = objects
        self.starts = {
            at: tried(lambda one=value: one.grad_fn)
            for at, value in enumerate(objects)
            if isinstance(value, torch.Tensor)
        }
        # A tensor in the graph is a leaf, or an output of a function.
        self.named = {
            (id(objects[at]), 0)
            if function is None
            else (id(function), objects[at].output_nr): at
            for at, function in self.starts.items()
        }
        walk = functions_behind((one, None) for one in self.starts.values())
        self.held = {id(one): one for one, _ in islice(walk, MOST_WALKED)}
        self.leaves: dict[int, tuple[int, torch.Tensor]] = {}
        self.behind: dict[int, _Behind] = {}
        inputs_of = {
            here: [id(one) for one, _ in _inputs(function) if id(one) in self.held]
            for here, function in self.held.items()
        }
        for here in TopologicalSorter(inputs_of).static_order():  # inputs first
            self.behind[here] = self.look_behind(self.held[here])

    def look_behind(self, function: Any) -> _Behind:
        """Return what is behind a function, of whose inputs that is known."""
        label, flows, made_of, leaves = node_name(function), {}, {}, 0
        for following, output in _inputs(function):
            if following is None:
                continue
            leaf = None
            if node_name(following) == "AccumulateGrad":
                leaf = tried(lambda one=following: one.variable)
            if leaf is None:
                key = (id(following), output)
                beyond = self.behind.get(id(following), _Behind({}, {}, 1))
            else:
                key = (id(leaf), 0)
                beyond = _Behind({}, {}, self.bit_of(leaf))
            end = self.named.get(key)
            leaves |= beyond.leaves
            flows |= beyond.flows if end is None else {end: None}
            made = beyond.made_of if end is None else {end: False}
            if label in COPIES:
                made_of |= dict.fromkeys(made, True)
            elif label in VIEWS:
                made_of |= made
        return _Behind(flows, made_of, leaves)

    def bit_of(self, leaf: torch.Tensor) -> int:
        """Return the bit of a leaf, which is kept, so that no other has its id."""
        return self.leaves.setdefault(id(leaf), (2 << len(self.leaves), leaf))[0]

    def told(self, at: int) -> dict:
        """Return what :func:`see_ways` notes of a tensor."""
        tensor, function = self.objects[at], self.starts[at]
        behind = self.behind.get(id(function), _Behind({}, {}, 1))
        if function is None:  # of one that cannot be read nothing is known
            is_leaf = tried(lambda: tensor.is_leaf, False)
            behind = _Behind({}, {}, self.bit_of(tensor) if is_leaf else 0)
        bits = behind.leaves if tensor.requires_grad else 0
        found = [
            self.named.get((leaf, 0))
            for leaf, (bit, _) in self.leaves.items()
            if bits & bit
        ]
        named = sorted(leaf for leaf in found if leaf is not None)
        return {
            "operation": "" if function is None else node_name(function),
            "flows": list(behind.flows),
            "made_of": [[end, is_copy] for end, is_copy in behind.made_of.items()],
            "reaches": named,
            "reaches_unnamed": len(found) - len(named),
            "reaches_more": bool(bits & 1),
        }


def see_ways(objects: list, tensors: list[dict]) -> None:
    """Note in ``tensors`` what the graph says of each.

    ``operation`` is what it comes from, ``flows`` the next tensors that a gradient
    flows back to, ``made_of`` of what it is a view or, if true, a copy, ``reaches`` the
    named leaves, ``reaches_unnamed`` how many more there are, ``reaches_more`` whether
    the walk ended before it knew.
    """
    graph = _Graph(objects)
    for at in graph.starts:
        tensors[at] |= graph.told(at)
