"""Assertions for tests say what shares what, and what is not reached."""

from __future__ import annotations

import copy
import traceback

import pytest
import torch
from tensor_maps.testing import (
    assert_gradient_reaches,
    assert_no_gradient_reaches,
    assert_no_sharing,
    assert_sharing,
)


def test_sharing_is_asserted() -> None:
    a = torch.arange(8.0)
    b, c = a[4:], a.clone()
    net = torch.nn.Linear(2, 2)
    assert_sharing(a, b)
    assert_no_sharing(a, c)
    assert_no_sharing(net, copy.deepcopy(net), {"x": a})
    with pytest.raises(AssertionError, match=r"^b is a view of a: offset 4, stride"):
        assert_no_sharing(c, a, b)
    with pytest.raises(AssertionError, match=r"^no: c has memory of its own$"):
        assert_sharing(a, b, c)
    with pytest.raises(AssertionError, match="not known"):
        assert_no_sharing(a, torch.eye(2).to_sparse())
    with pytest.raises(TypeError, match=r"at least two .* not 1"):
        assert_no_sharing(a)


def test_gradients_are_asserted() -> None:
    w1, w2, w3 = (torch.ones(1, requires_grad=True) for _ in range(3))
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
    with pytest.raises(AssertionError, match=r"^a gradient reaches w1$"):
        assert_no_gradient_reaches(loss, w1, w2)


def test_parameters_of_a_module_are_asserted() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    loss = net(torch.ones(3, 2)).sum()
    assert_gradient_reaches(loss, net)  # not its buffers
    assert_gradient_reaches(loss, net, names=["0.weight"])
    net[0].weight.requires_grad_(False)
    with pytest.raises(AssertionError, match=r"0.weight: it does not require grad"):
        assert_gradient_reaches(net(torch.ones(3, 2)).sum(), net)
    with pytest.raises(AssertionError, match="loss has no graph"):
        assert_gradient_reaches(loss.detach(), net[1])
    with pytest.raises(ValueError, match="takes names of the tensors given, not 'x'"):
        assert_gradient_reaches(loss, net, names=["x"])
    with pytest.raises(TypeError, match="not none"):
        assert_gradient_reaches(loss)


def test_frames_of_the_assertion_are_hidden() -> None:
    a = torch.ones(1)
    try:
        assert_no_sharing(a, a)
    except AssertionError as error:
        frames = [one for one, _ in traceback.walk_tb(error.__traceback__)]
    assert frames[-1].f_locals["__tracebackhide__"] is True
