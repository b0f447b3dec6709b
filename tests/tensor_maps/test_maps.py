"""Tensor maps: what is drawn is what an independent look at the tensors finds."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_maps.compare import changed
from tensor_maps.draw import draw, draw_svg
from tensor_maps.maps import tensor_map
from tensor_maps.observe import MOST_NODES, observe
from tensor_maps.pen import EDGE, NARROW
from tensor_maps.words import describe

SVG = "{http://www.w3.org/2000/svg}"
NEVER_CUT = 10**6
DRAWN = {"svg", "rect", "circle", "text", "path"}
HIGH, LOW, COLUMN = 9.5, 2.5, 0.602 * 12  # of letters of DejaVu Sans Mono, 12 pixels


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
    assert f"and {hidden} more nodes" in draw(observed)
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
    assert "changed" in draw(after)
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


# The picture ------------------------------------------------------------------------


def halves(observed: dict) -> dict[str, ElementTree.Element]:
    """Return the drawings of a map by the name of its half."""
    figure = ElementTree.fromstring(f"<figure>{draw(observed)}</figure>")
    return {
        drawing.get("id", "").removeprefix("map-"): drawing
        for drawing in figure.iter(f"{SVG}svg")
    }


def texts_of(drawing: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in drawing.iter(f"{SVG}text")]


def drawn_words(observed: dict) -> str:
    return " ".join(text for one in halves(observed).values() for text in texts_of(one))


def corners(rect: ElementTree.Element) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom."""
    x, y, width, height = (
        float(rect.get(key, "")) for key in ("x", "y", "width", "height")
    )
    return x, y, x + width, y + height


def apart(a: tuple, b: tuple) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def check_picture(observed: dict) -> None:
    drawn = halves(observed)
    assert list(drawn) in (["graph", "memory"], ["graph"], ["memory"])
    for drawing in drawn.values():
        _, _, width, height = map(float, drawing.get("viewBox", "").split())
        assert width <= (720 if drawing is drawn.get("graph") else NARROW + 1)
        for left, top, right, bottom in map(corners, drawing.iter(f"{SVG}rect")):
            assert left >= 0 and right <= width
            assert top >= 0 and bottom <= height
        check_texts(drawing, width, height)
        assert {one.tag.removeprefix(SVG) for one in drawing.iter()} <= DRAWN
    if "graph" in drawn:
        boxes = [corners(rect) for rect in drawn["graph"].iter(f"{SVG}rect")]
        assert all(apart(a, b) for a, b in itertools.combinations(boxes, 2))
        check_edges(drawn["graph"], boxes)


def check_texts(drawing: ElementTree.Element, width: float, height: float) -> None:
    """No text leaves its drawing, and none is on another."""
    places = []
    for text in drawing.iter(f"{SVG}text"):
        x, y = float(text.get("x", "")), float(text.get("y", ""))
        long = len(text.text or "") * COLUMN
        left = x - long / 2 if text.get("text-anchor") else x
        places.append((left, y - HIGH, left + long, y + LOW))
        assert left >= 0 and left + long <= width, text.text
        assert y - HIGH >= 0 and y + LOW <= height, text.text
    for a, b in itertools.combinations(places, 2):
        assert apart(a, b), (a, b, texts_of(drawing))


def check_edges(drawing: ElementTree.Element, boxes: list[tuple]) -> None:
    """Follow each edge point by point: inside a box it must never be."""
    for path in drawing.iterfind(f"{SVG}path[@fill='none']"):
        for x, y in points_on(path.get("d", "")):
            for left, top, right, bottom in boxes:
                inside = left < x < right and top + 0.2 < y < bottom - 0.2
                assert not inside, (path.get("d"), x, y)


def points_on(commands: str) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for letter, text in re.findall(r"([MVC])([^MVC]*)", commands):
        numbers = [float(number) for number in text.split()]
        if letter == "M":
            points.append((numbers[0], numbers[1]))
            continue
        x0, y0 = points[-1]
        if letter == "V":
            numbers = [x0, y0, x0, numbers[0], x0, numbers[0]]
        x1, y1, x2, y2, x3, y3 = numbers
        for step in range(1, 13):
            t = step / 12
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            x = a * x0 + b * x1 + c * x2 + d * x3
            points.append((x, a * y0 + b * y1 + c * y2 + d * y3))
    return points


def test_picture_is_sound(named: dict[str, Any]) -> None:
    check_picture(observe(named))


@settings(max_examples=40, deadline=None)
@given(random_programs())
def test_picture_of_random_programs(named: dict[str, Any]) -> None:
    observed = observe(named)
    check_picture(observed)
    words = set(re.findall(r"\w+", drawn_words(observed)))
    assert set(named) <= words
    assert set(named) <= set(re.findall(r"\w+", describe(observed)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=45))
def test_picture_of_random_graphs(pairs: list[tuple[int, int]]) -> None:
    results = [leaf(1.0, 2.0), leaf(3.0, 4.0)]
    for first, second in pairs:
        results.append(
            results[-1 - first % len(results)] * results[second % len(results)]
        )
    named = {f"t{number}": value for number, value in enumerate(results[::3])}
    check_picture(observe({**named, "last": results[-1]}))


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


def test_names_are_in_picture_and_words(named: dict[str, Any]) -> None:
    observed = observe(named)
    drawn, words = drawn_words(observed), describe(observed)
    label = " ".join(one.get("aria-label", "") for one in halves(observed).values())
    assert {one.get("role") for one in halves(observed).values()} == {"img"}
    for name in named:
        assert name in words
        shown = re.sub(r"[\n\x00]", "\N{REPLACEMENT CHARACTER}", name)
        assert shown in drawn
        assert shown in label


BADGES = f"{SVG}circle"


@settings(max_examples=60, deadline=None)
@given(random_programs())
def test_a_shared_memory_has_one_letter_and_colour_in_both_halves(
    named: dict[str, Any],
) -> None:
    observed = observe(named)
    drawn = halves(observed)
    shared = [
        [window["tensor"] for window in storage["windows"]]
        for storage in observed["storages"]
        if len(storage["windows"]) > 1 or not storage["windows"][0]["covers_all"]
    ]
    by_letter = badges(drawn["memory"])
    assert sorted(by_letter) == [chr(65 + place) for place in range(len(shared))]
    assert all(len(colours) == 1 for colours in by_letter.values())
    if "graph" not in drawn:
        return
    in_graph = badges(drawn["graph"])
    for letter, tensors in zip(sorted(by_letter), shared, strict=True):
        on_graph = [n for n in tensors if observed["tensors"][n]["node"] is not None]
        assert in_graph.get(letter, []) == by_letter[letter] * len(on_graph)
    assert set(in_graph) <= set(by_letter)


def badges(drawing: ElementTree.Element) -> dict[str, list[str]]:
    """Return the colours of the badges by the letter that follows each."""
    found: dict[str, list[str]] = {}
    for one, following in itertools.pairwise(drawing.iter()):
        if one.tag == BADGES:
            found.setdefault(following.text or "", []).append(one.get("fill", ""))
    return found


def test_a_map_without_sharing_has_no_letter_and_no_colour() -> None:
    w = leaf(1.0)
    drawn = draw(observe({"w": w, "v": w.clone(), "x": torch.ones(2)}))
    assert "<circle" not in drawn and "--line-" not in drawn
    assert "Each has a memory of its own:" in drawn


def test_facts_are_said_where_they_are_unusual() -> None:
    usual = texts_of(halves(observe(article()))["memory"])
    said = " ".join(usual)
    assert not re.search("offset|shape|stride|version|float|cpu|byte", said), said
    base = torch.arange(6.0)
    base.add_(1)
    unusual = {
        "base": base,
        "turned": base.view(2, 3).t(),
        "tail": base[4:],
        "whole": torch.tensor([1]),
        "far": torch.empty(2**20, device="meta"),
    }
    drawn = drawn_words(observe(unusual))
    for fact in (
        "offset 4, shape (2,)",
        "shape (3, 2), stride (1, 3)",
        "version 1",
        "int64",
        "4 MiB",
        "on meta",
    ):
        assert fact in drawn.replace(",  ", ", "), (fact, drawn)
    assert "float32" not in drawn and "4194304" not in drawn


def test_without_a_gradient_there_is_no_graph_to_draw() -> None:
    observed = observe({"x": torch.ones(2), "a": np.ones(2)})
    assert list(halves(observed)) == ["memory"]
    assert "No gradient flows" in draw(observed)
    assert "x = [1, 1]: constant, no gradient." in draw(observed)


def test_one_file_holds_both_halves(named: dict[str, Any]) -> None:
    observed = observe(named)
    picture = ElementTree.fromstring(draw_svg(observed))
    _, _, width, height = map(float, picture.get("viewBox", "").split())
    figure = ElementTree.fromstring(f"<figure>{draw(observed)}</figure>")
    captions = [caption.text for caption in figure.iter("p")]
    drawn = texts_of(picture)
    assert all(caption in drawn for caption in captions)
    others = [text for text in drawn if text not in captions]
    assert others == [
        text for one in halves(observed).values() for text in texts_of(one)
    ]
    sizes = [
        tuple(map(float, one.get("viewBox", "").split()[2:]))
        for one in halves(observed).values()
    ]
    assert width >= sum(wide - EDGE for wide, _ in sizes)
    assert height >= max(high for _, high in sizes)


def test_words_say_where_gradients_flow() -> None:
    words = describe(observe(article()))
    assert "y = [5] comes from AddBackward0; gradients flow to w and b." in words
    assert "z = [1]: constant, no gradient." in words
    assert "w and z share memory A: 4 bytes on cpu, float32." in words


def test_notebook_shows_the_map() -> None:
    shown = tensor_map(**article())
    assert shown._repr_html_().startswith("<figure ")
    assert shown._repr_svg_() == draw_svg(shown.observed)
    assert str(shown) == describe(shown.observed)
    other = tensor_map(w=leaf(1.0))
    ids = [re.findall(r' id="(.*?)"', one._repr_html_()) for one in (shown, other)]
    assert not set(ids[0]) & set(ids[1])
