"""Walk the autograd graph behind tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from tensor_maps.reading import see_tensor, tried
from tensor_maps.ways import node_name

# The walk ends after as many nodes. PyTorch frees a node that Python has seen inside
# of the freeing of the node before it: some thousand in a row overflow the stack.
MOST_WALKED = 2000


@dataclass
class _Walk:
    """The graph while it is found; numbers of nodes are by the id of their object.

    ``held`` keeps every object of the walk alive. Python makes the wrapper of a
    node when it is asked for; once dropped, the next one may have the same id.
    ``inputs`` has, by the id of a function, the ids of what its inputs are.
    """

    limit: int
    nodes: list[dict] = field(default_factory=list)
    edges: list[dict] = field(default_factory=list)
    held: list[object] = field(default_factory=list)
    number_of: dict[int, int | None] = field(default_factory=dict)
    hidden_to: set[int] = field(default_factory=set)
    inputs: dict[int, list[int]] = field(default_factory=dict)
    leaves: dict[int, torch.Tensor] = field(default_factory=dict)
    operations: int = 0
    unnamed: int = 0
    ended: bool = False

    def meet(self, thing: object, kind: str, show: bool = True) -> int | None:
        """Return the number of a node, which a new one is given; None: it is hidden."""
        if kind == "leaf":
            self.leaves[id(thing)] = thing
        if id(thing) in self.number_of:
            return self.number_of[id(thing)]
        number = self.number_of[id(thing)] = len(self.nodes) if show else None
        self.held.append(thing)
        if show:
            self.operations += kind == "operation"
            self.nodes.append(
                {
                    "kind": kind,
                    "label": node_name(thing) if kind == "operation" else "",
                    "tensors": [],
                    "inputs_without_gradient": 0,
                    "hidden_inputs": 0,
                }
            )
        return number

    def begin(self, tensor: torch.Tensor) -> tuple[int, int]:
        """Return the node that a named tensor hangs on, and which output of it."""
        function = tried(lambda: tensor.grad_fn)
        if function is not None:
            return self.meet(function, "operation"), tensor.output_nr
        leaf = tensor.requires_grad and tried(lambda: tensor.is_leaf, False)
        return self.meet(tensor, "leaf" if leaf else "constant"), 0

    def follow(self) -> None:
        """Go through the graph, breadth-first, as far as the bound."""
        for thing in self.held:  # which grows on the way
            if isinstance(thing, torch.Tensor):
                continue
            here = self.number_of[id(thing)]
            if len(self.inputs) >= MOST_WALKED:
                self.ended = True
                if here is not None:
                    self.nodes[here]["hidden_inputs"] += 1
                continue
            self.inputs[id(thing)] = inputs = []
            for function, output in thing.next_functions:
                target = self._input(function, here)
                if target is not None:
                    inputs.append(id(target))
                self._connect(here, target, output)

    def _input(self, function: Any, here: int | None) -> object:
        """Return what an input of a node is: a function, a leaf tensor or None."""
        if function is None:
            return None
        if node_name(function) != "AccumulateGrad":
            self.meet(function, "operation", self.operations < self.limit)
            return function
        leaf = tried(lambda: function.variable)
        if leaf is None:
            return None
        # One without a name is kept where a node beside it is, and only as many.
        show = here is not None and self.unnamed < self.limit
        self.unnamed += show and id(leaf) not in self.number_of
        number = self.meet(leaf, "leaf", show)
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

    def reached(self) -> dict[int, int]:
        """Return by the id of a node which leaves a gradient reaches, as bits.

        Bit zero says that the walk ended before it knew; the next ones are those of
        ``leaves`` in their order.
        """
        found = {id(one): 0 for one in self.held if isinstance(one, torch.Tensor)}
        found |= {leaf: 2 << place for place, leaf in enumerate(self.leaves)}
        for start in self.held:
            # Inputs first, without recursion: a graph may be deep.
            waiting = [id(start)]
            while waiting:
                here = waiting[-1]
                missing = [one for one in self.inputs.get(here, ()) if one not in found]
                if here in found or not missing:
                    waiting.pop()
                else:
                    waiting += missing
                    continue
                if here not in found:
                    found[here] = 0 if here in self.inputs else 1
                    for one in self.inputs.get(here, ()):
                        found[here] |= found[one]
        return found


def see_graph(objects: list, tensors: list[dict], limit: int, compared: int) -> dict:
    """Walk from the named tensors, and note in ``tensors`` where each one hangs."""
    walk, number_of = _Walk(limit), {}
    for number, value in enumerate(objects):
        if isinstance(value, torch.Tensor):
            number_of[id(value)] = number
            node, tensors[number]["output"] = walk.begin(value)
            tensors[number]["node"] = node
            walk.nodes[node]["tensors"].append(number)
    walk.follow()
    for leaf in walk.leaves.values():
        node = walk.number_of[id(leaf)]
        if node is not None and not walk.nodes[node]["tensors"]:  # it has no name
            number_of[id(leaf)] = len(tensors)
            walk.nodes[node]["tensors"].append(len(tensors))
            tensors.append(see_tensor(leaf, [], compared) | {"node": node})
    _note_leaves(walk, number_of, tensors)
    return {
        "nodes": walk.nodes,
        "edges": walk.edges,
        "hidden_nodes": len(walk.held) - len(walk.nodes),
        "hidden_to": sorted(walk.hidden_to),
        "walk_ended": walk.ended,
    }


def _note_leaves(walk: _Walk, number_of: dict[int, int], tensors: list[dict]) -> None:
    """Note in ``tensors`` which leaves a gradient reaches from each."""
    reached, told = walk.reached(), {}
    bits = {walk.number_of[node]: bits for node, bits in reached.items()}
    leaves = [number_of.get(leaf) for leaf in walk.leaves]
    for seen in tensors:
        mine = bits.get(seen["node"], 0) if seen["requires_grad"] else 0
        if mine not in told:
            found = [leaf for at, leaf in enumerate(leaves) if mine & (2 << at)]
            named = sorted(leaf for leaf in found if leaf is not None)
            told[mine] = named, len(found) - len(named), bool(mine & 1)
        named, unnamed, more = told[mine]
        seen |= {"reaches": named, "reaches_unnamed": unnamed, "reaches_more": more}
