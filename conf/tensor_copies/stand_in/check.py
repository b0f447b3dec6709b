"""Hold what the stand-in does against two other accounts of a second device.

``FakeTensorMode`` follows PyTorch's rules for CUDA with tensors that have no data; the
``meta`` device shares the refusals of all devices that are not the CPU. Neither runs
our code. Where one of them cannot tell, because it has no data or no CUDA, it is not
asked; the phrases by which it says so are listed here.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from tensor_copies.stand_in.scripts import for_stand_in
from tensor_copies.stand_in.torch_standin import NAME

# What a witness says when it cannot tell what a device would do, and why.
CANNOT_TELL = {
    ".numpy() is not supported for tensor subclasses": "a fake has no data",
    "Cannot copy out of meta tensor": "no data to copy",
    "item() cannot be called on meta tensors": "no data to read",
    "Torch not compiled with CUDA enabled": "CUDA itself is asked",
    "Found no NVIDIA driver": "CUDA itself is asked",
    "from the 'CUDA' backend": "CUDA itself is asked",
    "Can't pickle local object": "a fake is not written to a file",
    "NYI: aten._pin_memory": "FakeTensorMode does not know pinned memory",
    "Cannot view a tensor with shape": "FakeTensorMode's words for a RuntimeError",
    "aten.nonzero": "how many there are depends on data",
    "torch.nonzero() raises unimplemented": "how many there are depends on data",
    "_share_fd_: only available on CPU": "its storage is on neither device",
    "_apply(): Couldn't swap": "a device sets the data of parameters",
    "Unknown device type meta for Dlpack": "DLPack has no meta device",
    "Cannot pack tensors on meta": "DLPack has no meta device",
}
# Facts that FakeTensorMode gets wrong on every device, by a call, and why.
WRONG_IN_FAKES = {
    "copy.copy(x)": ("shares_memory", "it makes a fake anew, with a storage of its own")
}


@dataclass(frozen=True)
class Comparison:
    """One cell: how many facts another witness confirmed, and which it denied."""

    cell: str
    confirmed: int
    denied: tuple[str, ...]


def compare(
    cell: str,
    call: str,
    new_x: Callable[[str], torch.Tensor],
    *,
    given: str = "",
    grad: bool = True,
) -> Comparison:
    """Run one call on the stand-in and before both witnesses; return who disagrees.

    The stand-in is loaded before this is called.

    Parameters
    ----------
    cell
        The name of the cell, for what is denied.
    call
        An expression that uses ``x``, or statements that leave ``y``. The device is
        called ``cuda`` in it.
    new_x
        Makes a new ``x`` on the device that it is given the name of.
    given
        Statements that run before, such as those that make a module of ``x``.
    grad
        Whether grad mode is on.
    """

    def look(place: str) -> dict[str, Any]:
        code = [for_stand_in(text) if place == NAME else text for text in (given, call)]
        with warnings.catch_warnings(), torch.set_grad_enabled(grad):
            warnings.simplefilter("ignore")
            return _facts(*code, new_x, place)

    torch.ops.standin.let_cuda_be_faked()
    here = look(NAME)
    with FakeTensorMode():
        fake = look("cuda")
    fake.pop(WRONG_IN_FAKES.get(call, ("",))[0], None)
    # The meta device knows no result that is a copy on the CPU: only what it refuses.
    meta = {fact: saw for fact, saw in look("meta").items() if fact == "raises"}
    confirmed, denied = 0, []
    for witness, facts in (("FakeTensorMode", fake), ("the meta device", meta)):
        for fact in facts.keys() & here.keys():
            if facts[fact] == here[fact]:
                confirmed += 1
            else:
                denied.append(
                    f"{cell}: {fact.replace('_', ' ')}: the stand-in says "
                    f"{here[fact]}, {witness} says {facts[fact]}"
                )
    return Comparison(cell, confirmed, tuple(sorted(denied)))


def _facts(
    given: str, call: str, new_x: Callable[[str], torch.Tensor], place: str
) -> dict[str, Any]:
    """Return what was seen; a fact that this place cannot tell is missing."""
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "np": np, "copy": copy}
    with torch.enable_grad():
        names["x"] = new_x(place)
    exec(given, names)
    x = names["x"]
    try:
        result = _run(call, names)
    except Exception as error:
        if _cannot_tell(error, place):
            return {}
        return {"raises": type(error).__name__}
    facts: dict[str, Any] = {"raises": "nothing", "same_object": result is x}
    if isinstance(result, torch.Tensor):
        away = result.device.type != "cpu"
        facts |= {
            "is_a_parameter": isinstance(result, torch.nn.Parameter),
            "device": "that of x" if away else "the CPU",
            "shares_memory": _memory(result) == _memory(x),
            "requires_grad": result.requires_grad,
            "is_leaf": result.is_leaf,
        }
    return facts


def _run(call: str, names: dict[str, Any]) -> Any:
    try:
        code = compile(call, "<call>", "eval")
    except SyntaxError:
        exec(call, names)
        return names["y"]
    return eval(code, names)


def _cannot_tell(error: Exception, place: str) -> bool:
    return place != NAME and (
        isinstance(error, DataDependentOutputException)
        or any(phrase in str(error) for phrase in CANNOT_TELL)
    )


def _memory(tensor: torch.Tensor) -> tuple[str, int]:
    """Return what tells a tensor's memory from any other."""
    storage = tensor.untyped_storage()
    if tensor.device.type == NAME or type(tensor) is torch.Tensor:
        return tensor.device.type, storage.data_ptr()
    return tensor.device.type, storage._cdata  # a fake has no address
