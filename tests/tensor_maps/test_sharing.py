"""What shares memory with what, and why; and where gradients flow."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_maps.overlap import overlap
from tensor_maps.relations import flows, groups, sharing


def test_a_view_says_which_part() -> None:
    a = torch.arange(8.0)
    b = a[4:6]
    found = sharing(a, b)
    assert found
    assert str(found) == repr(found) == "b is a view of a: offset 4, stride (1,)"
    assert str(sharing(b, a)) == "b is a view of a: offset 4, stride (1,)"
    c = a[5:]
    assert str(sharing(b, c)) == (
        "b and c are views of one storage: b has offset 4, stride (1,), "
        "c has offset 5, stride (1,)"
    )
    z = a.detach()
    assert (
        str(sharing(a, z)) == "z is on the memory of a: same offset, shape and stride"
    )
    assert str(sharing(a, a)) == "a and a are the same object"


def test_no_byte_in_common_is_not_sharing() -> None:
    a = torch.arange(8.0)
    found = sharing(a[:4], a[4:])
    assert not found and found.known
    assert str(found).startswith("no: one storage, but no byte in common")
    even = torch.zeros(10**6)[::2]
    odd = even.as_strided(even.shape, even.stride(), 1)
    assert not sharing(even, odd)


def test_a_copy_has_memory_of_its_own() -> None:
    a = torch.ones(3)
    b = a.clone()
    assert not sharing(a, b)
    assert str(sharing(a, b)) == "no: b has memory of its own"
    m = torch.ones(3, device="meta")
    assert str(sharing(a, m)) == "no: a is on cpu and m on meta"


def test_numpy_and_dlpack_are_named() -> None:
    t = torch.ones(4)
    n = t.numpy()
    assert str(sharing(t, n)) == "t and n are on one memory, through NumPy"
    d = torch.from_dlpack(n)
    assert sharing(t, d) and "through DLPack" in str(sharing(t, d))
    assert str(sharing(n, n[1:])) == "n[1:] is a view of n: offset 1, stride (1,)"


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux tells it")
def test_a_file_mapped_twice(tmp_path: Path) -> None:
    np.arange(4, dtype=np.float32).tofile(tmp_path / "f")
    a = np.memmap(tmp_path / "f", dtype=np.float32, mode="r+")
    b = np.memmap(tmp_path / "f", dtype=np.float32, mode="r+")
    assert str(sharing(a, b)) == "a and b are one file mapped twice"


def test_modules_are_compared_tensor_by_tensor() -> None:
    net = torch.nn.Linear(2, 2)
    other = copy.deepcopy(net)
    assert str(sharing(net, other)) == "no: nothing in other shares memory with net"
    other.bias = net.bias
    assert str(sharing(net, other)) == "net.bias and other.bias are the same object"
    saved = net.state_dict()
    assert "; and 1 more pair" in str(sharing(net, saved))


def test_what_cannot_be_looked_at_is_not_known() -> None:
    sparse = torch.eye(2).to_sparse()
    found = sharing(sparse, torch.ones(2))
    assert not found and not found.known
    assert str(found).startswith("not known: sparse has no storage of its own")
    with pytest.raises(TypeError, match=r"sharing\(\) takes tensors.* not int"):
        sharing(3, sparse)


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
