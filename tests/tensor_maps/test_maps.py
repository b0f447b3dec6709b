"""Tensor maps: what is drawn is what an independent look at the tensors finds."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_maps.compare import changed
from tensor_maps.draw import draw, draw_svg
from tensor_maps.maps import tensor_map
from tensor_maps.observe import MOST_NODES, observe
from tensor_maps.words import describe

NEVER_CUT = 10**6


class Doubled(torch.autograd.Function):
    """A node of our own, with an input that is no tensor."""

    @staticmethod
    def forward(ctx: Any, data: torch.Tensor, factor: float) -> torch.Tensor:
        """Multiply by a number."""
        return data * factor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Pass on a gradient, and none for the number."""
        return gradient * 2, None


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


# Programs, each a dict of named tensors and arrays ----------------------------------


def article() -> dict[str, Any]:
    x, w, b = torch.tensor([2.0]), leaf(1.0), leaf(3.0)
    return {"x": x, "w": w, "b": b, "y": x * w + b, "z": w.detach()}


def freed_and_kept() -> dict[str, Any]:
    w = leaf(1.0, 2.0)
    h = w * w
    h.retain_grad()
    y = (h * h + h).sum()
    y.backward()
    return {"w": w, "h": h, "y": y, "also h": h}


def two_outputs() -> dict[str, Any]:
    w = leaf(1.0, 2.0)
    first, second = torch.stack([w, w.exp()]).unbind()
    return {"second": second, "both": first + second, "first": first}


def custom_function() -> dict[str, Any]:
    w = leaf(1.0)
    return {"y": Doubled.apply(w, 3.0), "w": w}


def views() -> dict[str, Any]:
    base = torch.arange(12.0)
    view = base.view(3, 4)[1:]
    return {
        "base": base,
        "view": view,
        "column": view[:, ::2],
        "expanded": base[2:3].expand(2, 3),
        "scalar": base[5],
        "empty window": base[3:3],
        "empty": torch.empty(0),
        "bits": base.view(torch.int32),
    }


def changed_in_place() -> dict[str, Any]:
    w = leaf(1.0, 2.0, 3.0)
    y = w.clone()
    tail = y[1:]
    tail.mul_(3)
    with torch.no_grad():
        quiet = w[1:]
    return {"tail": tail, "y": y, "w": w, "quiet": quiet}


def arrays() -> dict[str, Any]:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = torch.ones(3)
    return {
        "tail": torch.from_numpy(array[1:]),
        "array": array,
        "backwards": array[::-1, ::2],
        "tensor": tensor,
        "seen": tensor.numpy()[1:],
        "alone": np.ones(2),
        "no elements": np.ones(0),
        "words": np.array(["a & b", "<c>"]),
    }


def odd_layouts() -> dict[str, Any]:
    from torch._subclasses.fake_tensor import FakeTensorMode

    wave = torch.tensor([1 + 2j, 3.0])
    meta = torch.empty(3, device="meta")
    with FakeTensorMode():
        fake = torch.ones(3)
    with torch.inference_mode():
        inference = torch.ones(2)
    resized = torch.ones(3)
    resized.untyped_storage().resize_(0)
    return {
        "sparse": torch.eye(2).to_sparse(),
        "wave": wave,
        "conj": wave.conj(),
        "imag": wave.conj().imag,
        "meta": meta,
        "meta tail": meta[1:],
        "other meta": torch.empty(3, device="meta"),
        "fake": fake,
        "inference": inference,
        "resized": resized,
        "zeros": torch._efficientzerotensor(3),
        "truth": torch.tensor([True, False]),
        "half": torch.ones(2, dtype=torch.bfloat16),
        "lazy": torch.nn.parameter.UninitializedParameter(),
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
    }


def unreadable_view() -> dict[str, Any]:
    w = leaf(1.0, 2.0)
    with torch.no_grad():
        part, _ = w.unbind()
    return {"w": w, "part": part}


def network() -> dict[str, Any]:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)]
    net = torch.nn.Sequential(*layers)
    data = torch.ones(2, 3)
    return {"out": net(data), "data": data, "big": torch.zeros(100, 50)}


def odd_names() -> dict[str, Any]:
    w = leaf(1.0)
    return {'a<b>&"c"': w, "line\nend\x00": w * 2, "n": 5, "list": [w]}


def wide() -> dict[str, Any]:
    weights = [leaf(1.0, 2.0) for _ in range(25)]
    joined = torch.cat(weights)
    named = {f"weight{number}": weight for number, weight in enumerate(weights)}
    return {"joined": joined, "again": joined * torch.cat(weights[::2]).sum(), **named}


def long() -> dict[str, Any]:
    w = y = leaf(1.0)
    for turn in range(250):
        y = y * y if turn % 50 == 0 else y + 1
    return {"y": y, "w": w}


PROGRAMS = [
    article,
    freed_and_kept,
    two_outputs,
    custom_function,
    views,
    changed_in_place,
    arrays,
    odd_layouts,
    unreadable_view,
    network,
    odd_names,
    wide,
    long,
    dict,
]


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def named(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param()


# Programs made at random ------------------------------------------------------------

OPERATIONS = [
    "add",
    "mul",
    "clone",
    "detach",
    "view",
    "slice",
    "expand",
    "exp",
    "add_",
    "no_grad_clone",
    "numpy",
    "from_numpy",
]


@st.composite
def random_programs(draw: Any) -> dict[str, Any]:
    """Run a few operations, each on results of earlier ones."""
    results: list[Any] = [leaf(1.0, 2.0, 3.0, 4.0), torch.tensor([2.0, 0.5, 1.0, 3.0])]
    for _ in range(draw(st.integers(0, 8))):
        name = draw(st.sampled_from(OPERATIONS))
        first, second = (
            results[draw(st.integers(0, len(results) - 1))] for _ in range(2)
        )
        result = run_operation(name, first, second)
        if result is not None:
            results.append(result)
    order = draw(st.permutations(range(len(results))))
    shown = order[: draw(st.integers(1, len(order)))]
    return {f"t{number}": results[number] for number in shown}


def run_operation(name: str, first: Any, second: Any) -> Any:
    """Return the result, or None where the operation does not apply."""
    if isinstance(first, np.ndarray):
        return torch.from_numpy(first) if name == "from_numpy" else first[1:]
    if isinstance(second, np.ndarray) or name == "from_numpy":
        return None
    if name in ("add", "mul"):
        second = second.reshape(-1)[:1]
        return first + second if name == "add" else first * second
    if name == "no_grad_clone":
        with torch.no_grad():
            return first.clone()
    if name == "add_":
        # Autograd refuses writes to leaves and to tensors that repeat an element.
        frozen = first.is_leaf and first.requires_grad
        if not frozen and first.numel() and 0 not in first.stride():
            try:
                first.add_(1)
            except RuntimeError:
                return None
        return None
    simple = {
        "clone": lambda: first.clone(),
        "detach": lambda: first.detach(),
        "view": lambda: first.unsqueeze(0),
        "slice": lambda: first[..., 1:],
        "expand": lambda: first.unsqueeze(0).expand(2, *first.shape),
        "exp": lambda: first.exp(),
        "numpy": lambda: first.detach().numpy(),
    }
    return simple[name]()


# An independent look ----------------------------------------------------------------


def graph_by_recursion(named: dict[str, Any]) -> tuple[Counter, Counter, int]:
    """Return labels of nodes, labelled edges, and the number of None edges.

    Depth-first with a dict of C++ objects' wrappers, all kept alive by the dict.
    """
    nodes: dict[Any, str] = {}
    edges: Counter = Counter()
    cut = 0
    todo = []
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
    cut = sum(node["inputs_without_gradient"] for node in nodes)
    return Counter(labels), edges, cut


def entry(observed: dict, name: str) -> dict:
    return next(seen for seen in observed["tensors"] if name in seen["names"])


def leaves_reached(observed: dict, name: str) -> set[str]:
    """Follow the edges of the data from a named tensor to named leaves."""
    todo, reached = [entry(observed, name)["node"]], set()
    while todo:
        node = todo.pop()
        if node not in reached:
            reached.add(node)
            todo += [e["input"] for e in observed["edges"] if e["result"] == node]
    return {
        one
        for seen in observed["tensors"]
        if seen["node"] in reached and seen["is_leaf"] and seen["requires_grad"]
        for one in seen["names"]
    }


def whole(value: Any) -> torch.Tensor:
    """Return all elements of the storage of a float32 tensor or array."""
    tensor = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    with torch.no_grad():
        return torch.empty(0).set_(tensor.detach().untyped_storage())


def numbers_in(value: Any) -> list[float]:
    plain = value if isinstance(value, np.ndarray) else value.detach()
    return plain.reshape(-1).tolist()


def sees_write(target: Any, written: Any) -> bool:
    """Write a number to all of ``target``, look for it in ``written``, undo it."""
    before = target.clone()
    target.fill_(1234.5)
    seen = 1234.5 in numbers_in(written)
    target.copy_(before)
    return seen


# The graph --------------------------------------------------------------------------


def test_graph_is_what_a_walk_finds(named: dict[str, Any]) -> None:
    observed = observe(named, limit=NEVER_CUT)
    assert graph_as_observed(observed) == graph_by_recursion(named)
    assert observed["hidden_nodes"] == 0


@settings(max_examples=60, deadline=None)
@given(random_programs())
def test_graph_of_random_programs(named: dict[str, Any]) -> None:
    observed = observe(named)
    assert graph_as_observed(observed) == graph_by_recursion(named)
    leaves = {n: v for n, v in named.items() if entry(observed, n)["kind"] == "tensor"}
    ends = {n: v for n, v in leaves.items() if v.is_leaf and v.requires_grad}
    for name, value in leaves.items():
        assert entry(observed, name)["requires_grad"] == value.requires_grad
        assert entry(observed, name)["is_leaf"] == value.is_leaf
        assert entry(observed, name)["version"] == value._version
        if value.grad_fn is not None:
            reached = reached_by_backward(value, ends)
            assert reached in (None, leaves_reached(observed, name))


def reached_by_backward(value: torch.Tensor, ends: dict[str, Any]) -> set[str] | None:
    """Let autograd say which leaves a gradient reaches.

    None where it refuses, because a saved tensor was written to.
    """
    if not ends:
        return set()
    try:
        gradients = torch.autograd.grad(
            value.sum(), list(ends.values()), retain_graph=True, allow_unused=True
        )
    except RuntimeError:
        return None
    return {end for end, g in zip(ends, gradients, strict=True) if g is not None}


def test_each_tensor_hangs_on_its_node() -> None:
    observed = observe(two_outputs())
    first, second = entry(observed, "first"), entry(observed, "second")
    assert (first["output"], second["output"]) == (0, 1)
    assert first["node"] == second["node"]
    assert observed["nodes"][first["node"]]["label"] == "UnbindBackward0"


def test_one_object_with_two_names() -> None:
    observed = observe(freed_and_kept())
    assert entry(observed, "h") is entry(observed, "also h")
    assert entry(observed, "h")["retains_grad"]
    assert entry(observed, "h")["gradient"] == "[3, 9]"
    assert entry(observed, "w")["gradient"] == "[6, 36]"
    assert entry(observed, "y")["gradient"] is None


def test_large_graph_is_cut_breadth_first() -> None:
    observed = observe(long())
    everything = observe(long(), limit=NEVER_CUT)
    assert len(observed["nodes"]) == MOST_NODES + 1  # and the leaf
    hidden = len(everything["nodes"]) - MOST_NODES - 1
    assert observed["hidden_nodes"] == hidden
    assert f"and {hidden} more nodes" in draw(observed, graph=True)
    assert f"{hidden} more nodes are not drawn" in describe(observed)
    leaf_node = entry(observed, "w")["node"]
    assert observed["hidden_to"] == [leaf_node]


def test_no_gradient_is_read_that_would_warn(named: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(observe(named))


def test_what_is_no_tensor_becomes_a_note() -> None:
    class Pretender:
        __array_interface__ = {"data": (1, False), "shape": (), "typestr": "<f4"}

    observed = observe({"n": 5, "s": np.float32(1), "p": Pretender()})
    assert observed["tensors"] == []
    assert [note.split()[0] for note in observed["notes"]] == ["n", "s", "p"]


def test_observing_changes_nothing() -> None:
    named = freed_and_kept()
    before = {name: (v._version, v.tolist()) for name, v in named.items()}
    tensor_map(**{name.replace(" ", ""): value for name, value in named.items()})
    assert {name: (v._version, v.tolist()) for name, v in named.items()} == before


# Memory -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(random_programs())
def test_same_lane_exactly_if_a_write_is_seen(named: dict[str, Any]) -> None:
    observed = observe(named)
    for one, other in itertools.permutations(named, 2):
        if not (numbers_in(named[one]) and numbers_in(named[other])):
            continue
        a, b = entry(observed, one), entry(observed, other)
        same = a["storage"] == b["storage"]
        if isinstance(named[one], torch.Tensor):
            assert sees_write(whole(named[one]), named[other]) == same
        if a is b or not same:
            continue
        runs = {w["tensor"]: w["runs"] for w in lane(observed, a)["windows"]}
        mine, theirs = (runs[observed["tensors"].index(seen)] for seen in (a, b))
        overlap = any(m[0] < t[1] and t[0] < m[1] for m in mine for t in theirs)
        window = torch.as_tensor(named[one]).detach()
        if 0 not in window.stride():
            assert sees_write(window, named[other]) == overlap


def lane(observed: dict, seen: dict) -> dict:
    return observed["storages"][seen["storage"]]


def window_of(observed: dict, name: str) -> dict:
    seen = entry(observed, name)
    number = observed["tensors"].index(seen)
    return next(w for w in lane(observed, seen)["windows"] if w["tensor"] == number)


def test_windows_are_what_torch_says() -> None:
    named = views()
    observed = observe(named)
    for name in named:
        if name == "empty":
            continue
        window, tensor = window_of(observed, name), named[name]
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
    assert entry(observed, "empty")["memory"] == "empty, no memory"


def test_arrays_join_the_storage_they_are_on() -> None:
    observed = observe(arrays())
    on = {
        name: seen["storage"] for seen in observed["tensors"] for name in seen["names"]
    }
    assert on["tail"] == on["array"] == on["backwards"] == 0
    assert on["tensor"] == on["seen"] == 1
    assert on["alone"] == 2
    assert on["no elements"] is None
    assert window_of(observed, "backwards")["strides"] == [-3, 2]
    runs = window_of(observed, "backwards")["runs"]
    assert runs == [[0, 4], [8, 16], [20, 24]]
    assert window_of(observed, "seen")["runs"] == [[4, 12]]
    assert observed["storages"][0]["cells"] == list("012345")


def test_what_has_no_storage_says_so() -> None:
    observed = observe(odd_layouts())
    said = {
        name: seen["memory"] for seen in observed["tensors"] for name in seen["names"]
    }
    assert "sparse_coo" in said["sparse"]
    assert "no storage" in said["lazy"]
    assert said["resized"] == "empty, no memory"
    for name in ("meta", "fake", "zeros"):
        assert said[name] == "no memory address"
        assert not lane(observed, entry(observed, name))["addressed"]
        assert entry(observed, name)["values"] is None
    assert entry(observed, "meta")["storage"] == entry(observed, "meta tail")["storage"]
    assert (
        entry(observed, "meta")["storage"] != (entry(observed, "other meta")["storage"])
    )
    assert entry(observed, "inference")["version"] is None
    assert entry(observed, "wave")["storage"] == entry(observed, "imag")["storage"]
    assert entry(observed, "wave")["values"] == "[1+2j, 3+0j]"
    assert entry(observed, "conj")["values"] == "[1-2j, 3-0j]"
    assert lane(observed, entry(observed, "conj"))["cells"] == ["1+2j", "3+0j"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_tensors_on_two_devices() -> None:
    here = leaf(1.0)
    there = here.cuda()
    observed = observe({"here": here, "there": there})
    assert [s["device"] for s in observed["storages"]] == ["cpu", "cuda:0"]
    assert observed["storages"][1]["cells"] == ["1"]
    assert "on cuda:0" in draw(observed)


# Before and after -------------------------------------------------------------------


def test_a_write_through_a_window_is_marked_on_all() -> None:
    base = torch.zeros(4)
    named = {"base": base, "tail": base[2:], "other": torch.zeros(2)}
    before = observe(named)
    named["tail"][0] = 5
    named["new"] = torch.ones(1)
    after = changed(before, observe(named))
    assert entry(after, "base")["changed"] == ["values", "version"]
    assert entry(after, "tail")["changed"] == ["values", "version"]
    assert entry(after, "other")["changed"] == entry(after, "new")["changed"] == []
    assert [s["changed"] for s in after["storages"]] == [True, False, False]
    assert after["storages"][0]["changed_cells"] == [2]
    assert 'class="tm-cell changed"' in draw(after)
    assert "changed" in describe(after)
    assert "changed" not in draw(before)


def test_a_write_through_numpy_is_seen_without_a_version() -> None:
    tensor = torch.ones(1000)
    named = {"tensor": tensor, "array": tensor.numpy()}
    before = observe(named)
    named["array"][500] = 1.00000012
    after = changed(before, observe(named))
    assert entry(after, "tensor")["changed"] == ["values"]
    assert after["storages"][0]["changed"]


def test_moving_to_another_storage_is_marked() -> None:
    w = leaf(1.0)
    before = observe({"w": w, "z": w.detach()})
    after = changed(before, observe({"w": w, "z": w.detach().clone()}))
    assert entry(after, "z")["changed"] == ["storage"]
    assert entry(after, "w")["changed"] == []


# Words and data ------------------------------------------------------------------


def test_same_run_same_bytes(named: dict[str, Any], request: Any) -> None:
    program = request.node.callspec.params["named"]
    again = program()
    first, second = observe(named), observe(again)
    assert first == second
    assert draw(first, "a") == draw(second, "a")
    addresses = re.findall(r"0x|\d{12,}", json.dumps(first).replace("digest", ""))
    hashes = {seen["digest"] for seen in first["tensors"]}
    assert not [one for one in addresses if not any(one in (h or "") for h in hashes)]


def test_data_survive_json(named: dict[str, Any]) -> None:
    observed = observe(named)
    marked = changed(observed, observed)
    for data in (observed, marked):
        again = json.loads(json.dumps(data))
        assert again == data
        assert draw(again) == draw(data)


def test_words_say_where_gradients_flow() -> None:
    words = describe(observe(article()))
    assert "y = [5] comes from AddBackward0; gradients flow to w and b." in words
    assert "z = [1] does not require grad." in words
    assert "w and z share memory: 4 bytes on cpu, float32." in words


def test_notebook_shows_the_map() -> None:
    shown = tensor_map(**article())
    assert shown._repr_html_().startswith("<figure ")
    assert shown._repr_svg_() == draw_svg(shown.observed)
    assert str(shown) == describe(shown.observed)
    other = tensor_map(w=leaf(1.0))
    ids = [re.findall(r' id="(.*?)"', one._repr_html_()) for one in (shown, other)]
    assert not set(ids[0]) & set(ids[1])
