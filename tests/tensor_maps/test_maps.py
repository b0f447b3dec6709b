"""Tensor maps: what they say is what an independent look at the tensors finds."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from independent import content_of
from programs import named_by
from running import leaf
from tensor_maps.compare import changed, only
from tensor_maps.draw import draw
from tensor_maps.maps import TensorMap, tensor_map
from tensor_maps.observe import observe
from tensor_maps.words import describe
from torch import nn

SEEDS = range(120)
MAPPED = Path(__file__).with_name("mapped.txt").read_text(encoding="utf-8")
PARTS = (part.split("\n", 1) for part in MAPPED.split("\n=== ")[1:])
PROGRAMS = {name: text.split("\n---\n") for name, text in PARTS}


def named_in(program: str) -> dict[str, Any]:
    """Run a program; return its tensors and arrays."""
    names: dict[str, Any] = {"torch": torch, "np": np, "nn": nn, "leaf": leaf}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of prototypes
        exec(program, names)
    kinds = (torch.Tensor, np.ndarray)
    return {n: v for n, v in names.items() if isinstance(v, kinds) and n != "_"}


@pytest.fixture(params=PROGRAMS)
def named(request: pytest.FixtureRequest) -> dict[str, Any]:
    return named_in(PROGRAMS[request.param][0])


def entry(observed: dict, name: str) -> dict:
    return next(seen for seen in observed["tensors"] if name in seen["names"])


def window_of(observed: dict, name: str) -> dict:
    number = observed["tensors"].index(entry(observed, name))
    windows = observed["storages"][entry(observed, name)["storage"]]["windows"]
    return next(window for window in windows if window["tensor"] == number)


def reached_from(observed: dict, name: str) -> set[str]:
    leaves = (observed["tensors"][at] for at in entry(observed, name)["reaches"])
    return {one for each in leaves for one in each["names"]}


# What a map says ----------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS)
def test_words_of_a_map(program: str) -> None:
    source, words = PROGRAMS[program]
    named = named_in(source)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no gradient is read that would warn
        shown = tensor_map(**named)
        shown._repr_html_()
    assert str(shown) == repr(shown) == " ".join(words.split())


def test_same_run_same_data_which_survive_json(named: dict[str, Any]) -> None:
    observed = observe(named)
    assert observe(named) == observed == json.loads(json.dumps(observed))
    digests = {seen["digest"] for seen in observed["tensors"]}
    found = re.findall(r"0x|\d{12,}", json.dumps(observed["storages"]))
    assert not [one for one in found if one not in digests and one[0] == "0"]
    marked = changed(observed, observed)
    assert draw(json.loads(json.dumps(marked))) == draw(marked)


# The graph ----------------------------------------------------------------------------


def graph_by_recursion(named: dict[str, Any]) -> tuple[Counter, Counter, int]:
    """Return labels of nodes, labelled edges, and the number of None edges.

    Depth-first with a dict of C++ objects' wrappers, all kept alive by the dict.
    """
    nodes: dict[Any, str] = {}
    edges: Counter = Counter()
    cut, todo = 0, []
    for value in named.values():
        if isinstance(value, torch.Tensor):
            if value.grad_fn is None:
                kind = "leaf" if value.requires_grad else "constant"
                nodes.setdefault(id(value), kind)
            else:
                todo.append(value.grad_fn)
    alive = list(todo)
    while todo:
        function = todo.pop()
        if function in nodes:
            continue
        nodes[function] = function.name().split("::")[-1]
        for following, output in function.next_functions:
            if following is None:
                cut += 1
                continue
            alive.append(following)
            if hasattr(following, "variable"):
                nodes[id(following.variable)] = "leaf"
                edges[nodes[function], "leaf", 0] += 1
            else:
                todo.append(following)
                name = following.name().split("::")[-1]
                edges[nodes[function], name, output] += 1
    return Counter(nodes.values()), edges, cut


def graph_as_observed(observed: dict) -> tuple[Counter, Counter, int]:
    nodes = observed["nodes"]
    labels = [node["label"] or node["kind"] for node in nodes]
    edges = Counter(
        (labels[edge["result"]], labels[edge["input"]], edge["output"])
        for edge in observed["edges"]
    )
    return Counter(labels), edges, sum(n["inputs_without_gradient"] for n in nodes)


def test_graph_is_what_a_walk_finds(named: dict[str, Any]) -> None:
    observed = observe(named, limit=10**6)
    assert graph_as_observed(observed) == graph_by_recursion(named)
    assert observed["hidden_nodes"] == 0


def test_graph_of_random_programs() -> None:
    for seed in SEEDS:
        named = named_by(seed)
        observed = observe(named, limit=10**6)
        assert graph_as_observed(observed) == graph_by_recursion(named), seed
        tensors = {n: v for n, v in named.items() if torch.is_tensor(v)}
        ends = {n: v for n, v in tensors.items() if v.is_leaf and v.requires_grad}
        for name, value in tensors.items():
            seen = entry(observed, name)
            assert seen["requires_grad"] == value.requires_grad
            assert (seen["is_leaf"], seen["version"]) == (value.is_leaf, value._version)
            if value.grad_fn is not None:
                reached = reached_by_backward(value, ends)
                told = reached_from(observed, name) & ends.keys()
                assert reached in (None, told), (seed, name)


def reached_by_backward(value: torch.Tensor, ends: dict[str, Any]) -> set[str] | None:
    """Let autograd say which leaves a gradient reaches; None where it refuses."""
    if not ends:
        return set()
    try:
        gradients = torch.autograd.grad(
            value.sum(), list(ends.values()), retain_graph=True, allow_unused=True
        )
    except RuntimeError:
        return None
    return {end for end, g in zip(ends, gradients, strict=True) if g is not None}


def test_of_a_large_graph_the_nearest_is_kept_and_all_leaves_are_told() -> None:
    w = y = leaf(1.0)
    for turn in range(250):
        y = y * y if turn % 50 == 0 else y + 1
    others = {f"c{number}": torch.ones(1) for number in range(40)}
    observed = observe({**others, "y": y, "w": w})
    assert sum(node["kind"] == "operation" for node in observed["nodes"]) == 40
    assert observed["hidden_to"] == [entry(observed, "w")["node"]]
    hidden = len(observe({"y": y, "w": w}, limit=10**6)["nodes"]) - 41
    assert observed["hidden_nodes"] == hidden
    assert f"and {hidden} more nodes" in draw(observed, graph=True)
    assert f"The graph continues with {hidden} more nodes, not drawn." in describe(
        observed
    )
    part = only(observed, ["y"], 1)
    for one in (observed, part):
        assert reached_from(one, "y") == {"w"} and "gradients flow to w." in describe(
            one
        )
    assert len(part["nodes"]) == 2 and len(part["tensors"]) == 2


def test_a_walk_that_ended_says_so() -> None:
    w = y = leaf(1.0)
    for _ in range(2500):
        y = y + 1
    z = w * 2
    shown = tensor_map(y=y, z=z, w=w)
    observed = shown.to_dict()
    assert observed["walk_ended"] and entry(observed, "y")["reaches_more"]
    assert not entry(observed, "z")["reaches_more"]
    assert reached_from(observed, "z") == {"w"}
    assert re.search(r"at least 19\d\d more nodes", str(shown))
    assert "flow further, beyond the 2,000" in str(shown)


# Memory -------------------------------------------------------------------------------


def whole(value: Any) -> torch.Tensor:
    """Return all elements of the storage of a tensor, of the type of its elements."""
    plain = torch.empty(0, dtype=value.dtype)
    return plain.set_(value.detach().untyped_storage())


def sees_write(target: torch.Tensor, written: Any) -> bool:
    """Turn all bytes of ``target``, look whether ``written`` has others, undo it."""
    was, before = content_of(written), target.clone()
    try:
        target.copy_(target.ne(77) * 77)
        return content_of(written) != was
    finally:
        target.copy_(before)


def test_same_lane_exactly_if_a_write_is_seen() -> None:
    for seed in SEEDS:
        named = named_by(seed)
        observed = observe(named)
        for one, other in itertools.permutations(named, 2):
            a, b = entry(observed, one), entry(observed, other)
            value = named[one]
            if (
                not torch.is_tensor(value)
                or not value.numel()
                or not named[other].nbytes
            ):
                continue
            same = a["storage"] == b["storage"]
            assert sees_write(whole(value), named[other]) == same, (seed, one, other)
            if a is b or not same or 0 in value.stride():
                continue
            runs = [window_of(observed, name)["runs"] for name in (one, other)]
            overlap = any(m[0] < t[1] and t[0] < m[1] for m in runs[0] for t in runs[1])
            assert sees_write(value.detach(), named[other]) == overlap, (seed, one)


def test_windows_are_what_torch_says() -> None:
    named = named_in(PROGRAMS["views"][0])
    observed = observe(named)
    for name, tensor in named.items():
        window = window_of(observed, name)
        assert window["offset"] == tensor.storage_offset()
        assert tuple(window["shape"]) == tensor.shape
        assert tuple(window["strides"]) == tensor.stride()
        # Independently: number the elements, look which numbers the window holds.
        numbers = torch.arange(12).as_strided(
            tensor.shape, tensor.stride(), tensor.storage_offset()
        )
        inside = {n for start, stop in window["runs"] for n in range(start, stop, 4)}
        assert inside == {4 * n for n in numbers.reshape(-1).tolist()}
        assert window["covers_all"] == (len(inside) == 12)
    assert len(observed["storages"]) == 1
    assert observed["storages"][0]["cells"] == [str(n) for n in range(12)]
    arrays = observe(named_in(PROGRAMS["arrays"][0]))
    assert window_of(arrays, "back")["runs"] == [[0, 4], [8, 16], [20, 24]]
    assert window_of(arrays, "v")["runs"] == [[1, 5], [6, 10], [11, 15]]
    assert (window_of(arrays, "v")["offset"], window_of(arrays, "v")["strides"]) == (
        None, None
    )  # fmt: skip
    # A large one with a small one inside, which ends before a third begins.
    array = np.zeros(40)
    parts = {"small": torch.from_numpy(array[1:3]), "end": torch.from_numpy(array[30:])}
    assert len(observe({**parts, "array": array})["storages"]) == 1


class Wrapper(torch.Tensor):
    """Has a shape of its own, and its data in another tensor."""

    __torch_dispatch__ = classmethod(lambda *_: NotImplemented)


def wrapped(inner: torch.Tensor) -> torch.Tensor:
    made = Wrapper._make_wrapper_subclass(Wrapper, inner.shape, dtype=inner.dtype)
    made.inner = inner
    return made


@pytest.mark.filterwarnings("ignore")  # of prototypes
def test_what_wraps_tensors_or_has_no_data_says_so() -> None:
    base, lazy = torch.ones(2), torch.ones(2)
    sparse, rows = torch.eye(2).to_sparse_csr(), [torch.ones(2), torch.ones(1)]
    nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
    observed = observe({
        "base": base, "view": base[1:], "wrapper": wrapped(wrapped(base)),
        "sparse": sparse, "values": sparse.values(), "columns": sparse.col_indices(),
        "nested": nested, "parts": nested.values(), "alone": rows[0],
        "meta": torch.ones(2, device="meta"), "masked": torch.masked.as_masked_tensor(
            base, base > 0), "lazy": lazy, "clone": lazy._lazy_clone(),
    })  # fmt: skip
    said = {seen["names"][0]: seen["memory"] for seen in observed["tensors"]}
    assert said == {
        "base": "a part of wrapper", "view": "a part of wrapper",
        "wrapper": "it wraps other tensors", "masked": "it wraps other tensors",
        "sparse": "no storage (layout sparse_csr, Tensor)", "alone": "",
        "values": "a part of sparse", "columns": "a part of sparse",
        "nested": "a nested tensor (layout jagged)", "parts": "a part of nested",
        "meta": "it has no data", "lazy": "it is copied when it is first written to",
        "clone": "it is copied when it is first written to",
    }  # fmt: skip
    on_storage = {n for n in said if entry(observed, n)["storage"] is not None}
    assert on_storage == {*("base", "view", "values", "columns", "parts", "alone")}
    assert torch._C._is_cow_tensor(lazy)


# Before and after ---------------------------------------------------------------------


def test_a_write_through_a_window_is_marked_on_all() -> None:
    base = torch.zeros(4)
    tensor = torch.ones(1000)
    w = leaf(1.0)
    named = {"base": base, "tail": base[2:], "other": torch.zeros(2), "w": w}
    named |= {"tensor": tensor, "array": tensor.numpy()[499:], "z": w.detach()}
    named["part"] = tensor[500:]
    before = observe(named)
    named["tail"][0] = 5
    named["array"][-1] = 1.00000012  # which moves no version
    named |= {"new": torch.ones(1), "z": w.detach().clone()}
    (w * 2).sum().backward()
    after = changed(before, observe(named))
    marks = {seen["names"][0]: seen["changed"] for seen in after["tensors"]}
    both = ["values", "version"]
    assert marks == {
        "base": both, "tail": both, "other": [], "new": [], "w": ["gradient"],
        "tensor": ["values"], "array": ["values"], "z": ["storage"],
        "part": ["values"],
    }  # fmt: skip
    storages = {
        after["tensors"][one["windows"][0]["tensor"]]["names"][0]: one
        for one in after["storages"]
    }
    assert {n for n, one in storages.items() if one["changed"]} == {"base", "tensor"}
    assert storages["base"]["changed_cells"] == [2]
    assert "base: values changed, version 1" in describe(after)
    assert "changed" not in draw(before)


# What a map is given ------------------------------------------------------------------


def names(shown: TensorMap) -> list[str]:
    return [name for seen in shown.to_dict()["tensors"] for name in seen["names"]]


def test_names_are_those_of_the_source() -> None:
    w, x, rows = leaf(1.0), torch.ones(2), [torch.ones(1)] * 3
    # fmt: off
    shown = tensor_map(w, "ö" and x,
                       x[1:], w.detach(  ), rows[2], other=x,  # ö, (a comment
                       )
    # fmt: on
    assert names(shown) == [
        *("w", '"ö" and x', "other", "x[1:]", "w.detach( )", "rows[2]")
    ]
    shown = ("ö", tensor_map(w, x))[1]
    assert names(shown) == ["w", "x"]
    assert names(tensor_map(*[w, x])) == ["tensor 1", "tensor 2"]
    scope = {"tensor_map": tensor_map, "w": w}
    exec("shown = tensor_map(w)", scope)
    assert names(scope["shown"]) == ["tensor 1"]
    assert names((lambda x: tensor_map(x))(w)) == ["x"]


def test_modules_and_containers_are_looked_into() -> None:
    w = leaf(1.0)
    net = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    net.append(net[0])
    optimizer = torch.optim.SGD(net[:1].parameters(), lr=0.1, momentum=0.9)
    net[0](torch.ones(1, 1)).sum().backward()
    optimizer.step()
    batch = {"x": torch.ones(1), "deep": {"y": [torch.ones(1)]}}
    found = set(names(tensor_map(net)))
    wanted = dict(net.state_dict(keep_vars=True))
    assert found == {f"net.{name}" for name in wanted} and "net.2.weight" in found
    assert names(tensor_map(batch)) == ["batch['x']", "batch['deep']['y'][0]"]
    assert names(tensor_map(best=torch.ones(2, 2).max(0))) == [
        *("best.values", "best.indices")
    ]
    assert names(tensor_map(optimizer)) == [
        *(f"optimizer.param_groups[0]['params'][{n}]" for n in range(2)),
        *(f"optimizer.state[{n}]['momentum_buffer']" for n in range(2)),
    ]
    assert names(tensor_map(optimizer, net))[:2] == [
        *(f"optimizer.state[net.0.{n}]['momentum_buffer']" for n in ("weight", "bias"))
    ]
    assert names(tensor_map({"width": w})) == ["width"]
    assert set(names(tensor_map(locals()))) >= {"w", "net.0.weight", "batch['x']"}


def test_what_is_left_out_is_said() -> None:
    many = [torch.ones(1) for _ in range(50)]
    shown = tensor_map(many)
    assert len(names(shown)) == 40 and "40 of 50 names are shown" in str(shown)
    assert len(names(tensor_map(many, max_names=50))) == 50
    assert "n is not drawn: int is neither tensor nor array" in str(tensor_map(n=3))
    assert "there is no tensor in this list" in str(tensor_map(empty=[]))
    numbers = {f"n{number}": number for number in range(100)}
    assert tensor_map(**numbers).to_dict()["notes"] == [
        "n0, n1 and 98 more are not drawn: there is no tensor in them"
    ]
    assert repr(tensor_map()) == "Nothing to draw: there is no tensor and no array."
    assert "Nothing to draw" in draw(observe({}))


def test_data_are_a_copy_and_documented() -> None:
    w = leaf(1.0, 2.0)
    shown = tensor_map(w=w, y=(w * 2).sum(), a=np.zeros(3))
    data = shown.to_dict()
    assert data["format"] == 2 and data == json.loads(json.dumps(data))
    keys = set(data)
    for part in ("tensors", "nodes", "edges", "storages"):
        keys |= {key for one in data[part] for key in one}
    keys |= {key for one in data["storages"] for w in one["windows"] for key in w}
    assert {
        key for key in keys if not re.search(rf"\b{key}\b", observe.__doc__)
    } == set()
    data["tensors"].clear()
    with torch.no_grad():
        w.fill_(9)
    assert names(shown) == ["w", "y", "a"] and "9" not in str(shown)
