"""What shares and why, where gradients flow, and who keeps a memory."""

from __future__ import annotations

import copy
import gc
import json
import traceback
import weakref
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from running import leaf
from tensor_maps import flows, groups, holders, saved, sharing
from tensor_maps.memory import overlap
from tensor_maps.testing import (
    assert_gradient_reaches,
    assert_no_gradient_reaches,
    assert_no_sharing,
    assert_sharing,
)


def test_why_two_share_or_do_not(tmp_path: Path) -> None:
    a = torch.arange(8.0)
    b, c, z, copied = a[4:6], a[5:], a.detach(), a.clone()
    n = a.numpy()
    d, m, e = torch.from_dlpack(n), torch.ones(3, device="meta"), torch.empty(0)
    sparse, net = torch.eye(2).to_sparse(), torch.nn.Linear(2, 2)
    even = torch.zeros(10**6)[::2]
    odd = even.as_strided(even.shape, even.stride(), 1)
    low, high, other, state = a[:4], a[4:], copy.deepcopy(net), net.state_dict()
    other.bias = net.bias
    told = {
        sharing(a, b): "b is a view of a: offset 4, stride (1,)",
        sharing(b, a): "b is a view of a: offset 4, stride (1,)",
        sharing(b, c): "b and c are views of one storage: b has offset 4, stride (1,), "
        "c has offset 5, stride (1,)",
        sharing(a, z): "z shares memory with a: same offset, shape and stride",
        sharing(a, a): "a and a are the same object",
        sharing(a, n): "a and n share memory, through NumPy",
        sharing(n, n[1:]): "n[1:] is a view of n: offset 1, stride (1,)",
        sharing(a, d): "a and d share memory, with a storage object each: through "
        "DLPack, NumPy or a buffer",
        sharing(net, other): "net.bias and other.bias are the same object",
        sharing(net, state): "state['weight'] shares memory with net.weight: same "
        "offset, shape and stride; and 1 more pair",
        sharing(low, high): "no: one storage, but no byte in common (low is within "
        "bytes 0 to 16, high is within bytes 16 to 32)",
        sharing(even, odd): "no: one storage, but no byte in common (even is within "
        "bytes 0 to 3999996, odd is within bytes 4 to 4000000)",
        sharing(a, copied): "no: copied has its own memory",
        sharing(a, m): "no: a is on cpu and m on meta",
        sharing(a, e): "no: e is empty, no memory",
        sharing(net, [a]): "no: nothing in list shares memory with net",
        sharing(sparse, a): "not known: sparse has no storage (layout "
        "sparse_coo, Tensor)",
    }
    for found, why in told.items():
        assert str(found) == repr(found) == why.replace("in list", "in [a]")
        assert bool(found) != why.startswith(("no", "not"))
        assert found.known == (not why.startswith("not known"))
    np.arange(4, dtype=np.float32).tofile(tmp_path / "f")
    one, two = (np.memmap(tmp_path / "f", np.float32, "r+") for _ in range(2))
    if Path("/proc/self/maps").exists():
        assert str(sharing(one, two)) == "one and two are one file mapped twice"


def numbers(window: tuple) -> set[int]:
    first, shape, strides, size = window
    found = {first}
    for length, stride in zip(shape, strides, strict=True):
        found = {at + n * stride for at in found for n in range(length)}
    return (
        {at + byte for at in found for byte in range(size)} if 0 not in shape else set()
    )


WINDOW = st.integers(0, 3).flatmap(
    lambda dims: st.tuples(
        st.integers(0, 60),
        st.lists(st.integers(0, 4), min_size=dims, max_size=dims),
        st.lists(st.integers(-9, 24), min_size=dims, max_size=dims),
        st.sampled_from([1, 2, 4, 8]),
    )
)


@settings(max_examples=400, deadline=None)
@given(WINDOW, WINDOW)
def test_overlap_is_what_counting_bytes_finds(one: Any, other: Any) -> None:
    assert overlap(one, other) == bool(numbers(one) & numbers(other))


def test_groups() -> None:
    a, w = torch.arange(8.0), torch.ones(2, requires_grad=True)
    low, high = a[:4], a[4:]
    assert groups(low, high, w) == []
    assert groups(low, a, high, w, z=w.detach()) == [["low", "a", "high"], ["w", "z"]]
    sparse = torch.eye(2).to_sparse()
    assert groups(sparse, same=sparse, w=w) == [["sparse", "same"]]
    assert groups(torch.eye(2).to_sparse(), low, a.clone()) == []
    net = torch.nn.Linear(2, 2)
    assert groups(net, saved=net.state_dict()) == [
        ["net.weight", "saved['weight']"],
        ["net.bias", "saved['bias']"],
    ]


def test_flows_are_what_backward_gives() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    net[0].bias.requires_grad_(False)
    loss = net(torch.ones(3, 2)).sum()
    flow = flows(loss, net)
    loss.backward()
    for name, parameter in net.named_parameters():
        assert flow[name] == (parameter.grad is not None)
    assert flow["1.running_mean"] is False
    w, v = (torch.ones(1, requires_grad=True) for _ in range(2))
    h = w * 2
    y = h + v.detach()
    assert flows(y, w, v, h) == {"w": True, "v": False, "h": True}
    assert flows(y, [w, v]) == {"list[0]": True, "list[1]": False}
    assert flows(w, w, also=y) == {"w": True, "also": False}
    assert flows(torch.ones(1), w) == {"w": False}
    first, second = torch.stack([w, v]).unbind()
    assert flows(first, first, second) == {"first": True, "second": False}
    with pytest.raises(TypeError, match=r"flows\(\) takes a tensor as loss, not int"):
        flows(3, w)


def test_flows_stop_at_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensor_maps.relations.MOST_FOLLOWED", 10)
    w = y = torch.ones(1, requires_grad=True)
    for _ in range(20):
        y = y + 1
    with pytest.raises(RuntimeError, match="follows 10 operations"):
        flows(y, w)


# Assertions ---------------------------------------------------------------------------


def test_sharing_is_asserted() -> None:
    a = torch.arange(8.0)
    b, c = a[4:], a.clone()
    net = torch.nn.Linear(2, 2)
    assert_sharing(a, b)
    assert_no_sharing(a, c)
    assert_no_sharing(net, copy.deepcopy(net), {"x": a})
    with pytest.raises(AssertionError, match=r"^b is a view of a: offset 4, stride"):
        assert_no_sharing(c, a, b)
    with pytest.raises(AssertionError, match=r"^b is a view of a"):
        assert_no_sharing(a, c, b)
    with pytest.raises(AssertionError, match=r"^no: c has its own memory$"):
        assert_sharing(a, b, c)
    with pytest.raises(AssertionError, match="not known"):
        assert_no_sharing(a, torch.eye(2).to_sparse())
    with pytest.raises(TypeError, match=r"at least two .* not 1"):
        assert_no_sharing(a)


def test_gradients_are_asserted() -> None:
    w1, w2, w3 = (leaf(1.0) for _ in range(3))
    w2.requires_grad_(False)
    loss = (w1 * w2 * w3.detach()).sum()
    assert_gradient_reaches(loss, w1)
    assert_no_gradient_reaches(loss, w2, w3)
    with pytest.raises(AssertionError) as raised:
        assert_gradient_reaches(loss, w1, w2, w3)
    assert str(raised.value) == (
        "no gradient reaches w2: it does not require grad; "
        "w3: no path, the graph of loss reaches w1 only"
    )
    five = [leaf(1.0) for _ in range(5)]
    with pytest.raises(
        AssertionError, match=r"of loss reaches .*, .* and 2 more only$"
    ):
        assert_gradient_reaches(sum(five), five, w1)
    with pytest.raises(AssertionError, match=r"^a gradient reaches w1$"):
        assert_no_gradient_reaches(loss, w1, w2)


def test_parameters_of_a_module_are_asserted() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    loss = net(torch.ones(3, 2)).sum()
    assert_gradient_reaches(loss, net)  # not its buffers
    net[0].weight.requires_grad_(False)
    with pytest.raises(AssertionError, match=r"0.weight: it does not require grad"):
        assert_gradient_reaches(net(torch.ones(3, 2)).sum(), net)
    with pytest.raises(AssertionError, match="loss has no graph"):
        assert_gradient_reaches(loss.detach(), net[1])
    with pytest.raises(TypeError, match="not none"):
        assert_gradient_reaches(loss)


def test_frames_of_the_assertion_are_hidden() -> None:
    a = torch.ones(1)
    try:
        assert_no_sharing(a, a)
    except AssertionError as error:
        frames = [one for one, _ in traceback.walk_tb(error.__traceback__)]
    assert frames[-1].f_locals["__tracebackhide__"] is True


# Who keeps a memory -------------------------------------------------------------------


def texts(found: Any, kind: str | None = None) -> set[str]:
    data = found.to_dict()["holders"]
    return {one["text"] for one in data if kind in (None, one["kind"])}


class Store:
    """Holds a tensor in a list in a dict."""

    def __init__(self) -> None:
        self.cache: dict[str, list] = {"a": []}


class Slotted:
    """Holds a tensor in a slot."""

    __slots__ = ("kept",)


def test_names_and_paths() -> None:
    x = torch.ones(10)
    store, slotted = Store(), Slotted()
    other = x[1:]
    store.cache["a"] += [0, 1, 2, x]
    pair = namedtuple("Pair", "first second")(1, x)
    slotted.kept = x
    array = x.numpy()
    found = holders(x)
    assert texts(found, "name") == {"x", "other", "array"}
    assert texts(found, "path") >= {
        "store.cache['a'][3]",
        "slotted.kept",
        "pair.second",
    }
    same = {one["text"]: one["same"] for one in found.to_dict()["holders"]}
    assert same["x"] and not same["other"] and not same["array"]
    assert "store.cache['a'][3] (here)" in repr(found)
    assert repr(found).startswith("The memory of x (40 bytes on cpu) is kept alive by")
    assert repr(found).endswith("cannot be seen.")
    data = found.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert (array.size, other.numel(), len(pair)) == (10, 9, 2)


def test_modules_optimizers_and_gradients() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert texts(holders(net[0].weight)) >= {
        "net.0.weight",
        "optimizer.param_groups[0]['params'][0]",
        "optimizer.state (as a key)",
    }
    assert "net.0.weight.grad" in texts(holders(net[0].weight.grad), "gradient")
    state = optimizer.state[net[0].weight]
    found = holders(state["exp_avg"])
    assert "state['exp_avg']" in texts(found)


def test_what_a_graph_has_saved() -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    loss = (w * x).sum()
    (said,) = texts(holders(x), "saved")
    assert said == "MulBackward0.other, saved for backward, behind loss"
    loss.backward()
    assert texts(holders(x), "saved") == set()


def test_hooks_and_closures() -> None:
    def make() -> tuple[Any, torch.Tensor]:
        inside = torch.ones(2)
        return (lambda gradient: gradient * inside), inside

    hook, x = make()
    w = torch.ones(2, requires_grad=True)
    w.register_hook(hook)
    assert "hook (its closure)" in texts(holders(x))


def test_holders_keep_nothing_alive() -> None:
    x = torch.ones(3)
    gone, found = weakref.ref(x), holders(x)
    again = holders(x)
    assert texts(again) == {"x"}
    del x
    assert gone() is None  # at once: the copy of the names that a frame has is gone
    gc.collect()
    assert texts(found) == {"x"}


def test_where_a_name_is(capsys: Any) -> None:
    def inner(given: torch.Tensor) -> set[tuple[str, str]]:
        found = holders(given).to_dict()["holders"]
        return {(one["text"], one["where"]) for one in found}

    x = torch.ones(3)
    scope = locals()
    assert inner(x) >= {("given", "here"), ("x", "in test_where_a_name_is")}
    assert scope["x"] is x


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"holders\(\) takes a tensor or an array, not"):
        holders([torch.ones(1)])
    found = holders(np.ones(3))
    assert "nothing that can be seen" in repr(found)
    sparse = torch.eye(2).to_sparse()
    assert texts(holders(sparse)) == {"sparse"}


# What is saved for backward ----------------------------------------------------------


def memory(found: Any, what: str) -> dict:
    (one,) = [
        one
        for one in found.to_dict()["memories"]
        if any(f"{kept['node']}.{kept['what']}" == what for kept in one["saved"])
    ]
    return one


def test_each_memory_is_told_once_with_its_names() -> None:
    w, x = torch.ones(3, 3, requires_grad=True), torch.ones(2, 3)
    h = (x @ w.t()).relu()
    y = (h * h).sum()
    found = saved(y)
    assert memory(found, "MmBackward0.self")["names"] == ["x"]
    kept = memory(found, "ReluBackward0.result")
    assert kept["names"] == ["h"] and kept["bytes"] == 24
    assert {one["node"] for one in kept["saved"]} == {"ReluBackward0", "MulBackward0"}
    data = found.to_dict()
    assert data["total"] == sum(one["bytes"] for one in data["memories"])
    assert [m["bytes"] for m in data["memories"]] == sorted(
        (m["bytes"] for m in data["memories"]), reverse=True
    )
    assert json.loads(json.dumps(data)) == data and data["format"] == 1
    assert "MulBackward0.self (2, 3) float32" in repr(found)
    first, *rows = repr(found).split("\n")
    assert first == "saved for backward: 48 bytes in 2 blocks of memory"
    assert rows == [
        "24 bytes  h  MulBackward0.other (2, 3) float32; MulBackward0.self (2, 3) "
        "float32; ReluBackward0.result (2, 3) float32",
        "24 bytes  x  MmBackward0.self (2, 3) float32",
    ]


def test_a_view_and_its_base_are_one_memory() -> None:
    w = torch.ones(100, requires_grad=True)
    y = w[:3] * w[3:6]
    found = saved(y)
    (one,) = found.to_dict()["memories"]
    assert (one["bytes"], one["names"]) == (400, ["w"])
    assert len(one["saved"]) == 2


def test_what_backward_has_freed_is_said() -> None:
    w = torch.ones(2, requires_grad=True)
    y = w.exp().sum()
    y.backward()
    found = saved(y)
    assert found.to_dict()["total"] == 0
    assert "freed by backward: ExpBackward0" in repr(found)


class Doubled(torch.autograd.Function):
    """A node of our own that saves its input."""

    @staticmethod
    def forward(ctx: Any, data: torch.Tensor) -> torch.Tensor:
        """Multiply by two."""
        ctx.save_for_backward(data)
        return data * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        """Pass on twice the gradient."""
        return gradient * 2


def test_custom_functions_and_lists_tell_too() -> None:
    w, at = torch.ones(4, requires_grad=True), torch.tensor([0, 1])
    found = saved(Doubled.apply(w)[at])
    assert memory(found, "DoubledBackward.saved_tensors[0]")["names"] == ["w"]
    assert memory(found, "IndexBackward0.indices[0]")["names"] == ["at"]


@pytest.mark.skipif(
    not hasattr(torch._C._autograd.SavedTensor, "unpack_hook"), reason="not told"
)
def test_no_hook_is_run() -> None:
    heard: list[torch.Tensor] = []
    w = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one, heard.append):
        y = w.exp()
    assert "packed by a hook, not looked into: ExpBackward0" in repr(saved(y))
    assert heard == []


def test_what_is_saved_is_not_kept_alive() -> None:
    def inside() -> tuple[weakref.ref, Any]:
        w = torch.ones(2, requires_grad=True)
        h = w.exp()
        gone, found = weakref.ref(h), saved(h.sum() + h.exp())
        del h
        gc.collect()
        return gone, found

    gone, found = inside()
    assert gone() is None
    assert "ExpBackward0" in repr(found)


def test_without_a_tensor_it_is_refused() -> None:
    with pytest.raises(TypeError, match=r"saved\(\) takes tensors, not int"):
        saved(3)
    assert repr(saved(torch.ones(2))) == "saved for backward: 0 bytes"
