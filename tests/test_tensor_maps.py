"""Tensor maps against independent walks of the graph and of memory."""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(ROOT / "conf"))
from tensor_maps import changed, describe, draw, observe, tensor_map


def label(node: Any) -> str:
    return "leaf" if hasattr(node, "variable") else node.name().split("::")[-1]


def walked(named: dict[str, Any]) -> tuple[Counter, Counter]:
    """Count the nodes and the edges of the graph, by recursion over grad_fn."""
    kept: dict[int, Any] = {}
    nodes, edges = Counter(), Counter()

    def visit(node: Any) -> None:
        key = id(node.variable) if hasattr(node, "variable") else id(node)
        if key in kept:
            return
        kept[key] = node  # and so no id is used a second time
        nodes[label(node)] += 1
        for function, _ in node.next_functions:
            if function is not None:
                edges[label(node), label(function)] += 1
                visit(function)

    for value in named.values():
        if isinstance(value, torch.Tensor) and value.grad_fn is not None:
            visit(value.grad_fn)
        elif getattr(value, "requires_grad", False) and id(value) not in kept:
            kept[id(value)] = value
            nodes["leaf"] += 1
    return nodes, edges


def observed_graph(observed: dict[str, Any]) -> tuple[Counter, Counter]:
    names = [
        "leaf" if node["kind"] == "leaf" else node["label"]
        for node in observed["nodes"]
    ]
    nodes = Counter(
        name
        for name, node in zip(names, observed["nodes"], strict=True)
        if node["kind"] != "constant"
    )
    edges = Counter((names[e["result"]], names[e["input"]]) for e in observed["edges"])
    return nodes, edges


def lane_of(observed: dict[str, Any]) -> dict[str, int | None]:
    return {
        name: tensor["storage"]
        for tensor in observed["tensors"]
        for name in tensor["names"]
    }


def check(named: dict[str, Any]) -> dict[str, Any]:
    """Check all that holds for every map; return what was observed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        observed = observe(named)
        again = observe(named)
    assert observed == again == json.loads(json.dumps(observed))
    picture = draw(observed, "p")
    assert picture == draw(again, "p")
    root = ElementTree.fromstring(picture)
    _, _, width, height = map(float, root.get("viewBox").split())
    boxes = []
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, w, h = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width and 0 <= y <= y + h <= height
        if rect.get("rx"):
            boxes.append((x, y, w, h))
    for place, (x, y, w, h) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[place + 1 :]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
    for name in named:
        assert name in picture and name in describe(observed)
    return observed


def test_the_example_of_the_lessons() -> None:
    x = torch.tensor([2.0])
    w = torch.tensor([1.0], requires_grad=True)
    b = torch.tensor([3.0], requires_grad=True)
    y = x * w + b
    named = {"x": x, "w": w, "b": b, "y": y, "z": w.detach()}
    observed = check(named)
    assert observed_graph(observed) == walked(named)
    lanes = lane_of(observed)
    assert lanes["w"] == lanes["z"]
    assert len({lanes["x"], lanes["w"], lanes["b"], lanes["y"]}) == 4


OPERATIONS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "clone": lambda a, b: a.clone(),
    "detach": lambda a, b: a.detach(),
    "view": lambda a, b: a.view(2, 2).view(4),
    "slice": lambda a, b: a[1:].expand(1, 3)[0].repeat(2)[:4],
    "flip": lambda a, b: a.view(2, 2).t().reshape(4),
    "exp": lambda a, b: (a * 0).exp(),
    "unrecorded": lambda a, b: torch.no_grad()(torch.clone)(a),
    "alias": lambda a, b: torch.from_numpy(a.detach().numpy()),
}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(sorted(OPERATIONS)), st.integers(0, 9), st.integers(0, 9)
    ),
    min_size=1,
    max_size=6,
)


@given(steps=STEPS)
@settings(max_examples=60, deadline=None)
def test_random_programs(steps: list[tuple[str, int, int]]) -> None:
    tensors = [torch.arange(4.0), torch.ones(4, requires_grad=True)]
    for operation, one, other in steps:
        a, b = tensors[one % len(tensors)], tensors[other % len(tensors)]
        tensors.append(OPERATIONS[operation](a, b))
    named = {f"t{number}": tensor for number, tensor in enumerate(tensors)}
    observed = check(named)
    assert observed_graph(observed) == walked(named)
    lanes = lane_of(observed)
    # Two are in one lane exactly if a write through one is seen through the other.
    arrays = {name: tensor.detach().numpy() for name, tensor in named.items()}
    for name, array in arrays.items():
        before = {other: value.copy() for other, value in arrays.items()}
        array += 1000
        for other, value in arrays.items():
            seen = not np.array_equal(value, before[other])
            assert seen == (lanes[name] == lanes[other]), (name, other)


def test_views_expanded_empty_complex_and_foreign_tensors() -> None:
    base = torch.arange(6.0)
    array = base.numpy()
    named = {
        "base": base,
        "part": base[2:][1:],
        "column": base.view(2, 3)[:, 1],
        "wide": torch.ones(1).expand(4),
        "empty": torch.empty(0),
        "scalar": torch.tensor(1.0),
        "both": torch.tensor([1 + 2j]),
        "sparse": torch.eye(2).to_sparse(),
        "far": torch.ones(2, device="meta"),
        "array": array,
        "alone": np.zeros(2),
        "same": base,
    }
    observed = check(named)
    lanes = lane_of(observed)
    shared = {"base", "part", "column", "array", "same"}
    assert {name for name in named if lanes[name] == lanes["base"]} == shared
    assert lanes["sparse"] is None and lanes["empty"] is None
    windows = {
        observed["tensors"][window["tensor"]]["names"][0]: window
        for storage in observed["storages"]
        for window in storage["windows"]
    }
    assert windows["part"]["offset"] == 3 and windows["column"]["strides"] == [3]
    assert windows["wide"]["strides"] == [0]
    (twice,) = (t for t in observed["tensors"] if "same" in t["names"])
    assert twice["names"] == ["base", "same"]


def test_graphs_that_are_large_shared_freed_or_not_recorded() -> None:
    w = torch.ones(1, requires_grad=True)
    long = w
    for _ in range(200):
        long = long + 1
    observed = check({"w": w, "long": long})
    assert observed["hidden_nodes"] > 100
    assert "more node" in describe(observed)

    diamond = w * 2
    y = diamond * diamond
    y.backward()
    named = {"w": w, "d": diamond, "y": y}
    assert observed_graph(check(named)) == walked(named)

    with torch.inference_mode():
        inference = torch.ones(2)
    check({"inference": inference})
    assert "not drawn" in " ".join(observe({"n": 1})["notes"])


def test_before_and_after() -> None:
    w = torch.ones(2, requires_grad=True)
    z, c = w.detach(), w.detach().clone()
    before = observe({"w": w, "z": z, "c": c})
    z[0] = 7.0
    after = changed(before, observe({"w": w, "z": z, "c": c}))
    words = describe(after)
    assert "changed" in words and "changed" in draw(after)
    same = changed(before, before)
    assert "changed" not in describe(same)


def test_a_map_in_a_notebook_and_in_a_terminal() -> None:
    w = torch.ones(1, requires_grad=True)
    map_ = tensor_map(w=w)
    assert map_._repr_svg_().startswith("<svg")
    assert str(map_) == describe(observe({"w": w}))
    with pytest.raises(TypeError):
        tensor_map(w)
