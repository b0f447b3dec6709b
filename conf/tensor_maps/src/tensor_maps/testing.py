"""Assertions on shared memory and on gradients, for tests.

For example::

    from tensor_maps.testing import assert_gradient_reaches, assert_no_sharing

    def test_target_network():
        target = copy.deepcopy(net)
        assert_no_sharing(net, target)
        assert_gradient_reaches(loss(net(x)), net)
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

import torch

from tensor_maps.relations import flows_in, sharing_in, why_not_reached
from tensor_maps.words import count_of

# Of many, as many are told.
MOST_TOLD = 5


def assert_no_sharing(*values: object) -> None:
    """Assert that no two of the values have a byte of memory in common.

    Parameters
    ----------
    *values
        Two or more tensors, arrays, modules, optimizers or containers of these, of
        any shape and on any device. Tensors inside the same value may share.

    Raises
    ------
    AssertionError
        If two share memory (the message says how), or if it isn't known because one
        is sparse or nested.
    TypeError
        If fewer than two are given, or one contains no tensor.
    """
    __tracebackhide__ = True
    for one in _compared(sys._getframe(1), "assert_no_sharing", values):
        if one.shares or not one.known:
            raise AssertionError(one.why)


def assert_sharing(*values: object) -> None:
    """Assert that each two of the values have a byte of memory in common.

    The parameters and errors are those of :func:`assert_no_sharing`. The message says
    why two values don't share memory.
    """
    __tracebackhide__ = True
    for one in _compared(sys._getframe(1), "assert_sharing", values):
        if not one.shares:
            raise AssertionError(one.why)


def _compared(frame: FrameType, caller: str, values: tuple) -> Iterable[Any]:
    if len(values) < 2:
        raise TypeError(
            f"{caller}() takes at least two tensors, arrays, modules or containers, "
            f"not {len(values)}"
        )
    for one, other in itertools.combinations(range(len(values)), 2):
        yield sharing_in(frame, caller, values, (one, other))


def assert_gradient_reaches(loss: torch.Tensor, *values: object) -> None:
    """Assert that ``loss.backward()`` gives a gradient to each of the tensors.

    It follows the graph and doesn't run ``backward()``.

    Parameters
    ----------
    loss
        A tensor of any shape.
    *values
        Modules (their parameters), tensors, and containers of these. Buffers of a
        module are ignored.

    Raises
    ------
    AssertionError
        If one isn't reached. The message has its name and the reason.
    TypeError, RuntimeError
        As :func:`tensor_maps.flows`.
    """
    __tracebackhide__ = True
    caller = "assert_gradient_reaches"
    flow, tensors = _flow(sys._getframe(1), caller, loss, values)
    cut = [
        why_not_reached(loss, name, flow, tensors)
        for name, reached in flow.items()
        if not reached
    ]
    if cut:
        raise AssertionError("no gradient reaches " + _few(cut))


def assert_no_gradient_reaches(loss: torch.Tensor, *values: object) -> None:
    """Assert that ``loss.backward()`` gives no gradient to any of the tensors.

    The parameters and errors are those of :func:`assert_gradient_reaches`.
    """
    __tracebackhide__ = True
    caller = "assert_no_gradient_reaches"
    flow, _ = _flow(sys._getframe(1), caller, loss, values)
    reached = [name for name, is_reached in flow.items() if is_reached]
    if reached:
        raise AssertionError("a gradient reaches " + _few(reached))


def _flow(
    frame: FrameType, caller: str, loss: torch.Tensor, values: tuple
) -> tuple[dict[str, bool], dict[str, Any]]:
    flow, tensors = flows_in(frame, caller, loss, values, {}, buffers=False)
    if not flow:
        raise TypeError(f"{caller}() takes modules and tensors after loss, not none")
    return flow, tensors


def _few(said: list[str]) -> str:
    rest = len(said) - MOST_TOLD
    more = [f"and {count_of(rest, 'more tensor')}"] if rest > 0 else []
    return "; ".join([*said[:MOST_TOLD], *more])
