"""Assert in tests what shares memory, and which tensors a gradient reaches.

For example ``assert_no_sharing(net, copy.deepcopy(net))``.
"""

import sys

import torch

from tensor_maps.relations import compare, why_not_reached
from tensor_maps.words import few


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
    for one in compare(sys._getframe(1), "assert_no_sharing", values):
        if one.shares or not one.known:
            raise AssertionError(one.why)


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
    cut: dict[str, list[str]] = {}
    frame, caller = sys._getframe(1), "assert_gradient_reaches"
    for name, why in why_not_reached(frame, caller, loss, values).items():
        if why:
            cut.setdefault(why, []).append(name)
    if cut:
        said = [f"{few(names)}: {why}" for why, names in cut.items()]
        raise AssertionError("no gradient reaches " + "; ".join(said))
