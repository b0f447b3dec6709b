"""What shares and why, where gradients flow, what is saved, and who keeps a memory."""

from __future__ import annotations

import copy
import functools
import gc
import itertools
import json
import weakref
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from running import leaf
from tensor_maps import flows, holders, saved, sharing
from tensor_maps.memory import overlap
from tensor_maps.testing import (
    assert_gradient_reaches,
    assert_no_gradient_reaches,
    assert_no_sharing,
    assert_sharing,
)


class Wrapper(torch.Tensor):
    """A tensor without memory of its own, as quantized weights are."""

    @staticmethod
    def __new__(cls: type, inner: torch.Tensor) -> Any:
        """Keep the tensor that this one stands for."""
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, *_: Any) -> Any:
        """Refuse to be looked at."""
        raise NotImplementedError


@pytest.mark.filterwarnings("ignore:The PyTorch API of")  # masked and nested tensors
def test_why_two_share_or_do_not() -> None:
    a = torch.arange(8.0)
    wrapper, masked = Wrapper(a), torch.masked.masked_tensor(a, a > 0)
    parts = torch.nested.nested_tensor([a, a[1:]], layout=torch.jagged)
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
        sharing(sparse, sparse): "sparse and sparse are the same object",
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
        sharing(a, m): "no: m has no data",
        sharing(wrapper, a): "not known: wrapper wraps other tensors",
        sharing(masked, a): "not known: masked wraps other tensors",
        sharing(parts, parts.values()): "not known: parts is a nested tensor (layout "
        "jagged)",
        sharing(a, e): "no: e is empty, no memory",
        sharing(net, [a]): "no: nothing in [a] shares memory with net",
        sharing(sparse, a): "not known: sparse has no storage (layout "
        "sparse_coo, Tensor)",
    }
    for found, why in told.items():
        assert str(found) == repr(found) == why
        assert bool(found) != why.startswith(("no", "not"))
        assert found.known == (not why.startswith("not known"))


def numbers(first: int, shape: list, strides: list, size: int) -> set[int]:
    steps = [
        [n * s for n in range(length)] for length, s in zip(shape, strides, strict=True)
    ]
    begins = [first + sum(step) for step in itertools.product(*steps)]
    return {begin + byte for begin in begins for byte in range(size)}


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
    assert overlap(one, other) == bool(numbers(*one) & numbers(*other))


def test_flows_are_what_backward_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    net[0].bias.requires_grad_(False)
    loss = net(torch.ones(3, 2)).sum()
    flow = flows(loss, net)
    loss.backward()
    for name, parameter in net.named_parameters():
        assert flow[name] == (parameter.grad is not None)
    assert flow["1.running_mean"] is False
    w, v = leaf(1.0), leaf(1.0)
    h = w * 2
    y = h + v.detach()
    assert flows(y, w, v, h) == {"w": True, "v": False, "h": True}
    assert flows(y, [w, v]) == {"list[0]": True, "list[1]": False}
    assert flows(w, w, also=y) == {"w": True, "also": False}
    assert flows(torch.ones(1), w) == {"w": False}
    first, second = torch.stack([w, v]).unbind()
    assert flows(first, first, second) == {"first": True, "second": False}
    monkeypatch.setattr("tensor_maps.relations.MOST_FOLLOWED", 1)
    with pytest.raises(RuntimeError, match="follows 1 operations"):
        flows(y + 1, w)


# Assertions ---------------------------------------------------------------------------


def test_what_fails_says_why_by_the_callers_names() -> None:
    a, (w, frozen, far) = torch.arange(8.0), (leaf(1.0) for _ in range(3))
    b, c, net = a[4:], a.clone(), torch.nn.BatchNorm1d(2)
    frozen.requires_grad_(False)
    total, score = (w * frozen * far.detach()).sum(), net(torch.ones(3, 2)).sum()
    assert_sharing(a, b)
    assert_no_sharing(net, copy.deepcopy(net), {"x": a})
    assert_gradient_reaches(total, w)
    assert_gradient_reaches(score, net)  # not its buffers
    assert_no_gradient_reaches(total, frozen, far, net)
    cut, many = total.detach(), [leaf(1.0) for _ in range(8)]
    failures = {
        "b is a view of a: offset 4, stride (1,)": lambda: assert_no_sharing(c, a, b),
        "no: c has its own memory": lambda: assert_sharing(a, b, c),
        "no gradient reaches frozen: requires_grad is False; far: no path, the graph "
        "of total reaches w only": lambda: assert_gradient_reaches(
            total, w, frozen, far
        ),
        "no gradient reaches weight and bias: cut has no graph (its requires_grad is "
        "False)": lambda: assert_gradient_reaches(cut, net),
        "no gradient reaches list[0], list[1], list[2], list[3], list[4] and 3 more "
        "tensors: no path, the graph of total reaches none of the tensors": (
            lambda: assert_gradient_reaches(total, [*many])
        ),
        "a gradient of total reaches w": lambda: assert_no_gradient_reaches(total, w),
    }
    for message, call in failures.items():
        with pytest.raises(AssertionError) as caught:
            call()
        assert str(caught.value) == message
        assert shown(caught) == 2
    with pytest.raises(AssertionError, match="not known"):
        assert_no_sharing(a, torch.eye(2).to_sparse())


def shown(caught: pytest.ExceptionInfo) -> int:
    """Return how many frames pytest shows: those of the test, and none of ours."""
    return len(caught.traceback.filter(caught))


def test_what_is_refused_shows_no_frame_of_ours() -> None:
    a, net = torch.ones(1), torch.nn.Linear(2, 2)
    refused = {
        "assert_no_sharing() takes at least two": lambda: assert_no_sharing(net),
        "assert_sharing() takes tensors, arrays,": lambda: assert_sharing(a, 3),
        "takes modules and tensors after loss": lambda: assert_gradient_reaches(a),
        "takes a tensor as loss, not int": lambda: assert_no_gradient_reaches(3, a),
        "flows() takes a tensor as loss, not int": lambda: flows(3, a),
        "sharing() takes tensors, arrays, or modules": lambda: sharing(a, []),
        "saved() takes tensors, not int": lambda: saved(3),
        "holders() takes a tensor or an array, not list": lambda: holders([a]),
    }
    for message, call in refused.items():
        with pytest.raises(TypeError) as caught:
            call()
        assert message in str(caught.value) and shown(caught) == 2


# Who keeps a memory -------------------------------------------------------------------


def texts(found: Any, kind: str | None = None) -> set[str]:
    data = found.to_dict()["holders"]
    return {one["text"] for one in data if kind in (None, one["kind"])}


def test_names_and_paths_lead_to_a_memory() -> None:
    class Store:
        __slots__ = ("kept",)
        last: Any = None

    x, store, cache = torch.ones(10), Store(), {"a": [0]}
    other, array, pair = x[1:], x.numpy(), namedtuple("Pair", "first second")(1, x)
    cache["a"] += [x]
    store.kept = x
    Store.last, box = x, torch.nn.ModuleDict({"one": torch.nn.Module()})
    box["one"].seen = [x]
    found = holders(x)
    assert texts(found, "name") == {"x", "other", "array"}
    assert texts(found, "path") >= {
        *("cache['a'][1]", "store.kept", "pair.second", "box.one.seen[0]"),
        "Store.last",
    }
    same = {one["text"]: one["same"] for one in found.to_dict()["holders"]}
    assert same["x"] and not same["other"] and not same["array"]
    first, *_, last = repr(found).split("\n")
    assert first == "The memory of x (40 bytes on cpu) is kept alive by"
    assert "  cache['a'][1] (here)\n" in repr(found) and last.endswith(
        "cannot be seen."
    )
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert (array.size, other.numel(), len(pair)) == (10, 9, 2)
    assert "nothing that can be seen" in repr(holders(np.ones(3)))
    sparse = torch.eye(2).to_sparse()
    assert texts(holders(sparse)) == {"sparse"}


def test_modules_optimizers_and_graphs_lead_to_a_memory() -> None:
    net, x = torch.nn.Sequential(torch.nn.Linear(3, 2)), torch.ones(3)
    optimizer = torch.optim.Adam(net.parameters())
    loss = net(torch.ones(1, 3)).sum()
    loss.backward()
    optimizer.step()
    weight = "optimizer.param_groups[0]['params'][0]"
    assert texts(holders(net[0].weight)) >= {
        *("net.0.weight", weight, "optimizer.state (as a key)"),
    }
    assert texts(holders(net[0].weight.grad)) >= {"net.0.weight.grad"}
    loss = (leaf(3.0) * x).sum()
    behind = "MulBackward0.other, saved for backward, behind loss"
    assert texts(holders(x), "saved") == {behind}
    loss.backward()
    assert texts(holders(x), "saved") == set()


def test_closures_hooks_and_caches_lead_to_a_memory() -> None:
    def make() -> tuple[Any, torch.Tensor]:
        inside = torch.ones(2)
        return (lambda gradient: gradient * inside), inside

    hook, x = make()
    leaf(1.0, 1.0).register_hook(hook)
    assert "hook (its closure)" in texts(holders(x))
    unit = functools.lru_cache(lambda t: t / t.norm())
    unit.__qualname__, y = "unit", unit(x)
    cache = "the cache of unit (functools.lru_cache)"
    assert cache in texts(holders(x)) and texts(holders(y)) == {"y", cache}


def test_where_a_name_is_and_that_nothing_is_kept_alive() -> None:
    def inner(given: torch.Tensor) -> set[tuple[str, str]]:
        found = holders(given).to_dict()["holders"]
        return {(one["text"], one["where"]) for one in found}

    x, here = torch.ones(3), "test_where_a_name_is_and_that_nothing_is_kept_alive"
    assert inner(x) >= {("given", "here"), ("x", f"in {here}")}
    gone, found = weakref.ref(x), holders(x)
    assert texts(holders(x)) == {"x"}
    del x
    assert gone() is None  # at once: the copy of the names that a frame has is gone
    assert texts(found) == {"x"}


# What is saved for backward ----------------------------------------------------------


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


def test_each_saved_memory_is_told_once_by_the_callers_names() -> None:
    net, x = torch.nn.Linear(3, 3, bias=False), torch.ones(2, 3, requires_grad=True)
    h = net(x).relu()
    at = torch.tensor([0])
    y = (h * h).sum() + Doubled.apply(x)[at].sum()
    assert repr(saved(y)).split("\n") == [
        "saved for backward: 92 bytes in 4 blocks of memory",
        "36 bytes  net.weight  MmBackward0.mat2 (3, 3) float32",
        "24 bytes  h           MulBackward0.other (2, 3) float32; MulBackward0.self "
        "(2, 3) float32; ReluBackward0.result (2, 3) float32",
        "24 bytes  x           DoubledBackward.saved_tensors[0] (2, 3) float32; "
        "MmBackward0.self (2, 3) float32",
        " 8 bytes  at          IndexBackward0.indices[0] (1,) int64",
    ]
    data = saved(y).to_dict()
    assert data["total"] == 92 and json.loads(json.dumps(data)) == data
    y.backward()
    freed = saved(y)
    assert freed.to_dict()["total"] == 0
    assert "freed by backward: MulBackward0, 2 times; " in repr(freed)
    w = torch.ones(100, requires_grad=True)  # a view and its base are one memory
    assert repr(saved(w[:3] * w[3:6])).startswith("saved for backward: 400 bytes\n")
    assert repr(saved(torch.ones(2))) == "saved for backward: 0 bytes"


@pytest.mark.skipif(
    not hasattr(torch._C._autograd.SavedTensor, "unpack_hook"), reason="not told"
)
def test_no_hook_is_run_and_nothing_is_kept_alive() -> None:
    heard: list[torch.Tensor] = []
    w = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one, heard.append):
        y = w.exp()
    assert "packed by a hook, not looked into: ExpBackward0" in repr(saved(y))
    assert heard == []
    h = w.exp()
    gone, found = weakref.ref(h), saved(h.sum() + h.exp())
    del h
    gc.collect()
    assert gone() is None and "ExpBackward0" in repr(found)
