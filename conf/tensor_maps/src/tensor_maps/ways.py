"""Follow the autograd graph: to which named tensors and leaves a gradient flows."""

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


def functions_behind(starts: Iterable[Any]) -> Iterator[Any]:
    """Yield the functions of a graph, breadth-first, each once; a start may be None.

    All are kept until the walk ends, so that none has the id of another.
    """
    met = {id(None)}
    waiting: list[Any] = []

    def meet(functions: Iterable[Any]) -> None:
        for function in functions:
            if id(function) not in met:
                met.add(id(function))
                waiting.append(function)

    meet(starts)
    for function in waiting:  # which grows on the way
        meet(following for following, _ in _inputs(function))
        yield function


def _inputs(function: Any) -> tuple[tuple[Any, int], ...]:
    return tried(lambda: function.next_functions, ())


def node_name(function: Any) -> str:
    """Return the name of a node without its C++ namespace."""
    return str(function.name()).rpartition("::")[2]


def key_of(tensor: torch.Tensor, function: Any) -> tuple[int, int]:
    """Return what a tensor is in the graph: an output of its ``grad_fn``, or a leaf."""
    return (id(tensor), 0) if function is None else (id(function), tensor.output_nr)


class _Behind(NamedTuple):
    """What is behind a function.

    The next named tensors, those of which its result is a view or (true) a copy, and
    the leaves as bits, of which bit zero says that there may be more.
    """

    flows: dict[int, None]
    made_of: dict[int, bool]
    leaves: int


def see_ways(objects: list, tensors: list[dict]) -> None:
    """Note in ``tensors`` what the graph says of each.

    ``operation`` is the name of what it comes from, or "", ``flows`` the indices of the
    next named tensors that a gradient flows back to, ``made_of`` pairs: the index of
    what it is a view of, and whether it is a copy. ``reaches`` are the indices of the
    leaves that a gradient reaches, ``reaches_unnamed`` is how many more there are, and
    ``reaches_more`` whether the walk ended, after 2,000 operations, before it knew.
    """
    starts = {
        at: tried(lambda one=value: one.grad_fn)
        for at, value in enumerate(objects)
        if isinstance(value, torch.Tensor)
    }
    named = {key_of(objects[at], function): at for at, function in starts.items()}
    walk = islice(functions_behind(starts.values()), MOST_WALKED)
    # Kept to the end, as leaves are, so that none has the id of another.
    held = {id(function): function for function in walk}
    leaves: dict[int, tuple[int, torch.Tensor]] = {}
    behind: dict[int, _Behind] = {}
    not_walked = _Behind({}, {}, 1)

    def bit_of(leaf: torch.Tensor) -> int:
        return leaves.setdefault(id(leaf), (2 << len(leaves), leaf))[0]

    def look_behind(function: Any) -> _Behind:
        """Return what is behind a function, of whose inputs that is known."""
        label, flows, made_of, bits = node_name(function), {}, {}, 0
        for following, output in _inputs(function):
            if following is None:
                continue
            key = (id(following), output)
            beyond = behind.get(id(following), not_walked)
            if node_name(following) == "AccumulateGrad":
                leaf = tried(lambda one=following: one.variable)
                if leaf is not None:
                    key, beyond = (id(leaf), 0), _Behind({}, {}, bit_of(leaf))
            if key in named:
                end = named[key]
                beyond = _Behind({end: None}, {end: False}, beyond.leaves)
            bits |= beyond.leaves
            flows |= beyond.flows
            if label in COPIES:
                made_of |= dict.fromkeys(beyond.made_of, True)
            elif label in VIEWS:
                made_of |= beyond.made_of
        return _Behind(flows, made_of, bits)

    inputs_of = {
        here: [id(one) for one, _ in _inputs(function) if id(one) in held]
        for here, function in held.items()
    }
    for here in TopologicalSorter(inputs_of).static_order():  # inputs first
        behind[here] = look_behind(held[here])
    for at, function in starts.items():
        flows, made_of, bits = behind.get(id(function), not_walked)
        if function is None:  # of one that cannot be read nothing is known
            is_leaf = tried(lambda one=objects[at]: one.is_leaf, False)
            flows, made_of, bits = {}, {}, bit_of(objects[at]) if is_leaf else 0
        bits = bits if objects[at].requires_grad else 0
        ends = [named.get((leaf, 0)) for leaf, (bit, _) in leaves.items() if bits & bit]
        reached = sorted(end for end in ends if end is not None)
        tensors[at] |= {
            "operation": "" if function is None else node_name(function),
            "flows": list(flows),
            "made_of": [[end, is_copy] for end, is_copy in made_of.items()],
            "reaches": reached,
            "reaches_unnamed": len(ends) - len(reached),
            "reaches_more": bool(bits & 1),
        }
