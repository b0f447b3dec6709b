"""Assert in tests what shares memory, and which tensors a gradient reaches.

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
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from tensor_maps.find import argument_texts
from tensor_maps.relations import Sharing, flows_to, sharing_in, tensors_in
from tensor_maps.words import count_of, listing

# Of many names, and of the characters of the loss's source, as many are told.
MOST_TOLD, MOST_TEXT = 5, 40


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
        is sparse or nested, or wraps other tensors.
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


def _compared(frame: FrameType, caller: str, values: tuple) -> Iterator[Sharing]:
    __tracebackhide__ = True
    if len(values) < 2:
        raise TypeError(
            f"{caller}() takes at least two tensors, arrays, modules or containers, "
            f"not {len(values)}"
        )
    for pair in itertools.combinations(range(len(values)), 2):
        yield sharing_in(frame, caller, values, pair)


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
    frame, caller = sys._getframe(1), "assert_gradient_reaches"
    name, tensors, flow = _flow(frame, caller, loss, values)
    cut: dict[str, list[str]] = {}
    reached = listing(_few([n for n, is_reached in flow.items() if is_reached], 3))
    for missed in (n for n, is_reached in flow.items() if not is_reached):
        why = "requires_grad is False"
        if tensors[missed].requires_grad:
            only = (
                f"reaches {reached} only" if reached else "reaches none of the tensors"
            )
            why = f"no path, the graph of {name} {only}"
            if not loss.requires_grad:
                why = f"{name} has no graph (its requires_grad is False)"
        cut.setdefault(why, []).append(missed)
    if cut:
        said = [f"{listing(_few(names))}: {why}" for why, names in cut.items()]
        raise AssertionError("no gradient reaches " + "; ".join(said))


def assert_no_gradient_reaches(loss: torch.Tensor, *values: object) -> None:
    """Assert that ``loss.backward()`` gives no gradient to any of the tensors.

    The parameters and errors are those of :func:`assert_gradient_reaches`.
    """
    __tracebackhide__ = True
    frame, caller = sys._getframe(1), "assert_no_gradient_reaches"
    name, _, flow = _flow(frame, caller, loss, values)
    reached = [n for n, is_reached in flow.items() if is_reached]
    if reached:
        raise AssertionError(f"a gradient of {name} reaches {listing(_few(reached))}")


def _flow(
    frame: FrameType, caller: str, loss: torch.Tensor, values: tuple
) -> tuple[str, dict[str, Any], dict[str, bool]]:
    """Return the name of the loss, the tensors by name, and which it reaches."""
    __tracebackhide__ = True
    name, *texts = argument_texts(frame, 1 + len(values))
    tensors = tensors_in(texts, values, {}, buffers=False)
    if isinstance(loss, torch.Tensor) and not tensors:
        raise TypeError(f"{caller}() takes modules and tensors after loss, not none")
    short = name if name and len(name) <= MOST_TEXT else "loss"
    return short, tensors, flows_to(caller, loss, tensors)


def _few(names: list[str], most: int = MOST_TOLD) -> list[str]:
    more = len(names) - most
    return names[:most] + [count_of(more, "more tensor")] * (more > 0)
