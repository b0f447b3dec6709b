"""Assert in tests what shares memory, and which tensors a gradient reaches.

For example ``assert_no_sharing(net, copy.deepcopy(net))``.
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

    The values are two or more tensors or arrays of any shape and on any device, or
    objects that hold some, such as modules. Tensors inside the same value may share.

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

    The values and errors are those of :func:`assert_no_sharing`. The message says why
    two values don't share memory.
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

    It follows the graph behind ``loss``, of any shape, and doesn't run ``backward()``.
    The values are modules (their parameters, not their buffers), tensors, and
    containers of these.

    Raises
    ------
    AssertionError
        If some aren't reached. The message has their names and the reason.
    TypeError, RuntimeError
        As :func:`tensor_maps.flows`.
    """
    __tracebackhide__ = True
    frame, caller = sys._getframe(1), "assert_gradient_reaches"
    name, tensors, flow = _flow(frame, caller, loss, values)
    reached = listing(_few([one for one in flow if flow[one]], 3))
    why = f"no path, the graph of {name} reaches {reached} only"
    if not loss.requires_grad:
        why = f"{name} has no graph (its requires_grad is False)"
    elif not reached:
        why = f"no path, the graph of {name} reaches none of the tensors"
    cut: dict[str, list[str]] = {}
    for one in flow:
        if not flow[one]:
            frozen = not tensors[one].requires_grad
            cut.setdefault("requires_grad is False" if frozen else why, []).append(one)
    if cut:
        said = [f"{listing(_few(names))}: {why}" for why, names in cut.items()]
        raise AssertionError("no gradient reaches " + "; ".join(said))


def assert_no_gradient_reaches(loss: torch.Tensor, *values: object) -> None:
    """Assert that ``loss.backward()`` gives no gradient to any of the tensors.

    The values and errors are those of :func:`assert_gradient_reaches`.
    """
    __tracebackhide__ = True
    frame, caller = sys._getframe(1), "assert_no_gradient_reaches"
    name, _, flow = _flow(frame, caller, loss, values)
    if reached := [one for one in flow if flow[one]]:
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
