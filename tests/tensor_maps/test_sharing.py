"""What shares and why, where gradients flow, what is saved, and who keeps a memory."""

from __future__ import annotations

import copy
import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from running import leaf
from tensor_maps import flows, holders, saved, sharing
from tensor_maps.testing import (
    assert_gradient_reaches,
    assert_no_sharing,
)


@pytest.mark.filterwarnings("ignore:The PyTorch API of")  # masked and nested tensors
def test_why_two_share_or_do_not() -> None:
    a, even = torch.arange(8.0), torch.zeros(10**6)[::2]
    masked, sparse = torch.masked.masked_tensor(a, a > 0), torch.eye(2).to_sparse()
    b, z, n, norm = a[4:6], a.detach(), a.numpy(), a[:4]
    d, m = torch.from_dlpack(n), torch.ones(3, device="meta")
    odd, net = even.as_strided(even.shape, (2,), 1), torch.nn.Linear(2, 2)
    other, copied, state = copy.deepcopy(net), a.clone(), net.state_dict()
    other.bias = net.bias
    left, right = map(torch.from_numpy, np.split(np.arange(8.0), 2))
    told = {
        sharing(norm, a): "norm is a view of a: offset 0, stride (1,)",
        sharing(a, b): "b is a view of a: offset 4, stride (1,)",
        sharing(a, z): "z shares memory with a: same offset, shape and stride",
        sharing(a, n): "a and n share memory, through NumPy",
        sharing(n, n[1:]): "n[1:] is a view of n: offset 1, stride (1,)",
        sharing(a, d): "a and d share memory, through DLPack, NumPy or a buffer",
        sharing(net, other): "net.bias and other.bias are the same object",
        sharing(net, state): "state['weight'] shares memory with net.weight: same "
        "offset, shape and stride; and 1 more pair",
        sharing(even, odd): (
            "no: one storage, but no byte in common: even has offset 0, stride (2,), "
            "odd has offset 1, stride (2,)"
        ),
        sharing(a, copied): "no: copied has its own memory",
        sharing(left, right): "no: right has its own memory",  # side by side
        sharing(a, m): "no, because of m: it has no data",
        sharing(net, [a]): "no: nothing in [a] shares memory with net",
        sharing(masked, a): "not known, because of masked: it wraps other tensors",
        sharing(sparse, a): "not known, because of sparse: no storage (layout "
        "sparse_coo, Tensor)",
    }
    for found, why in told.items():
        assert str(found) == repr(found) == why
        assert bool(found) == (why[:3] not in ("no:", "no,", "not"))
        assert found.known == (not why.startswith("not known"))


def test_flows_are_what_backward_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    net[0].bias.requires_grad_(False)
    loss = net(torch.ones(3, 2)).sum()
    flow = flows(loss, net)
    loss.backward()
    for name, parameter in net.named_parameters():
        assert flow[f"net.{name}"] == (parameter.grad is not None)
    assert flow["net.1.running_mean"] is False
    w, v = leaf(1.0), leaf(1.0)
    y = w * 2 + v.detach()
    assert flows(y, [w, v]) == {"list[0]": True, "list[1]": False}
    assert flows(w, w, also=y) == {"w": True, "also": False}
    first, second = torch.stack([w, v]).unbind()
    assert flows(first, first, second) == {"first": True, "second": False}
    monkeypatch.setattr("tensor_maps.relations.MOST_FOLLOWED", 1)
    with pytest.raises(RuntimeError, match="follows 1 operations"):
        flows(y + 1, w)


def failing(kind: type[Exception], call: Callable[[], object]) -> str:
    """Return the message of an error, of which pytest shows no frame of ours."""
    with pytest.raises(kind) as caught:
        call()
    assert len(caught.traceback.filter(caught)) == 2  # that above, and the call
    return str(caught.value)


def test_what_fails_says_why_by_the_callers_names() -> None:
    a, (w, frozen, far) = torch.arange(8.0), (leaf(1.0) for _ in range(3))
    b, c, net = a[4:], a.clone(), torch.nn.BatchNorm1d(2)
    frozen.requires_grad_(False)
    total, score = (w * frozen * far.detach()).sum(), net(torch.ones(3, 2)).sum()
    assert_no_sharing(net, copy.deepcopy(net), {"x": a})
    assert_gradient_reaches(score, net)  # not its buffers
    cut, many = total.detach(), [leaf(1.0) for _ in range(8)]
    failures = {
        "b is a view of a: offset 4, stride (1,)": lambda: assert_no_sharing(c, a, b),
        "not known, because of a.to_sparse(): no storage (layout sparse_coo, Tensor)": (
            lambda: assert_no_sharing(c, a.to_sparse())
        ),
        "no gradient reaches frozen: requires_grad is False; far: no path in the graph "
        "of total": lambda: assert_gradient_reaches(total, w, frozen, far),
        "no gradient reaches net.weight and net.bias: there is no graph of cut": (
            lambda: assert_gradient_reaches(cut, net)
        ),
        "no gradient reaches list[0], list[1] and 6 more: no path in the graph of "
        "w": lambda: assert_gradient_reaches(w, [*many]),
    }
    for message, call in failures.items():
        assert failing(AssertionError, call) == message
    refused = {
        "with tensors in them, not int": lambda: assert_no_sharing(a, 3),
        "takes a tensor as loss, not int": lambda: assert_gradient_reaches(3, a),
        "saved() takes tensors, not int": lambda: saved(3),
    }
    for message, call in refused.items():
        assert message in failing(TypeError, call)


def test_names_items_attributes_closures_and_caches_lead_to_a_memory() -> None:
    x, cache, net = torch.ones(10), {"a": [0]}, torch.nn.Sequential(torch.nn.Module())
    part, array = x[1:], x.numpy()
    cache["a"] += [x]
    net[0].seen, net[0].weight = [x], torch.nn.Parameter(x)
    net[0].weight.grad = torch.ones(10)
    optimizer = torch.optim.SGD(net.parameters())
    hook = (lambda kept: lambda gradient: gradient * kept)(x)
    unit = functools.lru_cache(lambda tensor: tensor / tensor.norm())
    unit.__qualname__, y = "unit", unit(x)
    other, cached = ": a tensor that shares its memory", "the cache of unit (lru_cache)"
    assert {*holders(x).texts} >= {
        *("x (here)", f"part (here){other}", f"array (here){other}"),
        *("cache['a'][1] (here)", "net.0.seen[0] (here)", cached),
        *("hook.__closure__[0].cell_contents (here)", f"net.0.weight (here){other}"),
        f"optimizer.param_groups[0]['params'][0] (here){other}",
    }
    assert holders(y).texts == ["y (here)", cached]
    assert "net.0.weight.grad (here)" in holders(net[0].weight.grad).texts
    assert repr(holders(y)).split("\n") == [
        "The memory of y (40 bytes on cpu) is kept alive by",
        *("  y (here)", f"  {cached}"),
        "What only C++ holds, as a graph does, is not seen.",
    ]
    assert "\n  nothing that can be seen\n" in repr(holders(np.ones(3)))
    assert (array.size, part.numel(), len(optimizer.state), hook(1).sum()) == (
        10, 9, 0, 10
    )  # fmt: skip


def test_where_a_name_is_and_that_nothing_is_kept_alive() -> None:
    def inner(given: torch.Tensor) -> list[str]:
        return holders(given).texts

    x, here = torch.ones(3), "test_where_a_name_is_and_that_nothing_is_kept_alive"
    assert {*inner(x)} >= {"given (here)", f"x (in {here})"}
    gone, found = weakref.ref(x), holders(x)
    del x
    assert gone() is None  # at once: the copy of the names that a frame has is gone
    assert found.texts == ["x (here)"]


class Doubled(torch.autograd.Function):
    """A node of our own that saves its input."""

    @staticmethod
    def forward(ctx: Any, data: torch.Tensor) -> torch.Tensor:
        """Multiply by two."""
        ctx.save_for_backward(data)
        return data * 2


def test_each_saved_memory_is_told_once_by_the_callers_names() -> None:
    net, x = torch.nn.Linear(3, 3, bias=False), torch.ones(2, 3, requires_grad=True)
    h, at = net(x).relu(), torch.tensor([0])
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
    assert saved(y).total == 92
    loss = (h * h).sum()
    loss.backward()
    assert (saved(loss).total, saved(loss).memories) == (0, [])
    assert "not counted: freed by backward, 5 times" in repr(saved(loss))
    w = torch.ones(100, requires_grad=True)  # a view and its base are one memory
    assert repr(saved(w[:3] * w[3:6])).startswith("saved for backward: 400 bytes\n")
    assert repr(saved(w.exp().add_(1))).endswith("\nnot counted: changed in place")
    assert repr(saved(torch.ones(2))) == "saved for backward: 0 bytes"


@pytest.mark.skipif(
    not hasattr(torch._C._autograd.SavedTensor, "unpack_hook"), reason="not told"
)
def test_no_hook_is_run_and_nothing_is_kept_alive() -> None:
    heard: list[torch.Tensor] = []
    w = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one, heard.append):
        y = w.exp()
    assert "not counted: packed by a hook" in repr(saved(y)) and heard == []
    h = w.exp()
    gone, found = weakref.ref(h), saved(h.sum() + h.exp())
    del h
    gc.collect()
    assert gone() is None and "ExpBackward0" in repr(found)
