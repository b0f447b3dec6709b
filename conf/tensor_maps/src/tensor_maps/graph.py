"""Walk the autograd graph behind tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from tensor_maps.reading import see_tensor, tried


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
            return self.meet(function, "operation", always=True), tensor.output_nr
        leaf = tensor.requires_grad and tried(lambda: tensor.is_leaf, False)
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
        if node_name(function) != "AccumulateGrad":
            self.meet(function, "operation")
            return function
        leaf = tried(lambda: function.variable)
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


def see_graph(objects: list, tensors: list[dict], limit: int, compared: int) -> dict:
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
            tensors.append(see_tensor(thing, [], compared) | {"node": node})
    return {
        "nodes": walk.nodes,
        "edges": walk.edges,
        "hidden_nodes": len(walk.held) - len(walk.nodes),
        "hidden_to": sorted(walk.hidden_to),
    }


def node_name(function: Any) -> str:
    """Return the name of a node without its C++ namespace."""
    return str(function.name()).rpartition("::")[2]
