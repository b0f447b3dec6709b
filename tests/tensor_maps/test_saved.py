"""What a graph has saved for backward, and whose memory it is."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import pytest
import torch
from tensor_maps import saved


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
    assert repr(found).startswith("saved for backward: 48 bytes in 2 memories")


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


def test_nothing_is_kept_alive() -> None:
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
