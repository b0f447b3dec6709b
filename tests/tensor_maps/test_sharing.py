"""What shares and why, where gradients flow, what is saved, and who keeps a memory."""

import doctest
import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from running import leaf
from tensor_maps import flows, holders, saved
from tensor_maps.testing import assert_gradient_reaches, assert_no_sharing


class Doubled(torch.autograd.Function):
    """A node of our own that saves its input."""

    @staticmethod
    def forward(ctx: Any, data: torch.Tensor) -> torch.Tensor:
        """Multiply by two."""
        ctx.save_for_backward(data)
        return data * 2


@pytest.mark.filterwarnings("ignore:The PyTorch API of")  # masked tensors
def test_what_is_told_of_two_tensors_of_gradients_and_of_what_is_saved() -> None:
    names = {"leaf": leaf, "Doubled": Doubled}
    assert doctest.testfile("related.txt", globs=names).failed == 0


def test_flows_are_what_backward_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    net[0].bias.requires_grad_(False)
    loss = net(torch.ones(3, 2)).sum()
    flow = flows(loss, net)
    loss.backward()
    for name, parameter in net.named_parameters():
        assert flow[f"net.{name}"] == (parameter.grad is not None)
    assert flow["net.1.running_mean"] is False
    y = leaf(1.0) * 2
    monkeypatch.setattr("tensor_maps.relations.MOST_FOLLOWED", 1)
    with pytest.raises(RuntimeError, match="follows 1 operations"):
        flows(y + 1, leaf(1.0))


def test_an_error_shows_no_frame_of_ours() -> None:
    x, y = torch.ones(2), torch.ones(2)
    wrong: list[Callable[[], object]] = [
        lambda: assert_no_sharing(x, x),
        lambda: assert_no_sharing(x, 3),
        lambda: assert_gradient_reaches(x, y),
        lambda: assert_gradient_reaches(3, x),
        lambda: saved(3),
    ]
    for call in wrong:
        with pytest.raises((AssertionError, TypeError)) as caught:
            call()
        # That above, and the call.
        assert len(caught.traceback.filter(caught)) == 2


def test_names_items_attributes_closures_and_caches_lead_to_a_memory() -> None:
    x, cache, net = torch.ones(10), {"a": [0]}, torch.nn.Sequential(torch.nn.Module())
    _private = x
    part, array = x[1:], x.numpy()
    cache["a"] += [x]
    net[0].seen, net[0].weight = [x], torch.nn.Parameter(x)
    net[0].register_buffer("mean", x)
    net[0].weight.grad = torch.ones(10)
    optimizer = torch.optim.SGD(net.parameters())
    hook = (lambda kept: lambda gradient: gradient * kept)(x)
    unit = functools.lru_cache(lambda tensor: tensor / tensor.norm())
    unit.__qualname__, y = "unit", unit(x)
    other, cached = ": a tensor that shares its memory", "the cache of unit (lru_cache)"
    assert {*holders(x).texts} >= {
        *("x (here)", "_private (here)", f"part (here){other}", f"array (here){other}"),
        *("cache['a'][1] (here)", "net.0.seen[0] (here)", "net.0.mean (here)"),
        *("hook.__closure__[0].cell_contents (here)", f"net.0.weight (here){other}"),
        cached,
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
