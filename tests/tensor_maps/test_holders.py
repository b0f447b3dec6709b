"""Who keeps a memory alive."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from tensor_maps import holders


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
    slotted.kept = x
    array = x.numpy()
    found = holders(x)
    assert texts(found, "name") == {"x", "other", "array"}
    assert texts(found, "path") >= {"store.cache['a'][3]", "slotted.kept"}
    same = {one["text"]: one["same"] for one in found.to_dict()["holders"]}
    assert same["x"] and not same["other"] and not same["array"]
    assert "store.cache['a'][3] (here)" in repr(found)
    assert repr(found).startswith("The memory of x (40 bytes on cpu) is kept alive by")
    assert repr(found).endswith("cannot be seen.")
    data = found.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert (array.size, other.numel()) == (10, 9)


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


def test_nothing_is_kept_alive() -> None:
    x = torch.ones(3)
    gone, found = weakref.ref(x), holders(x)
    again = holders(x)
    assert texts(again) == {"x"}
    del x
    assert gone() is None  # at once: the copy of the names that a frame has is gone
    gc.collect()
    assert texts(found) == {"x"}


def test_locals_that_the_program_holds_stay() -> None:
    x = torch.ones(3)
    scope = locals()
    holders(x)
    assert scope["x"] is x


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"holders\(\) takes a tensor or an array, not"):
        holders([torch.ones(1)])
    found = holders(np.ones(3))
    assert "nothing that can be seen" in repr(found)
    sparse = torch.eye(2).to_sparse()
    assert texts(holders(sparse)) == {"sparse"}
