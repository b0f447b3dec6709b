"""Read what PyTorch and NumPy tell of one tensor or array; nothing is written."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import date, datetime, timedelta
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

import torch

from tensor_maps.words import as_tuple

MOST_VALUES = 6  # of a tensor that is printed


def is_drawn(value: object) -> bool:
    """Whether it is a tensor or an array; no code of its own is run."""
    return issubclass(type(value), torch.Tensor) or is_array(value)


def is_array(value: object) -> bool:
    """Whether it is a NumPy array; NumPy is not imported for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(type(value), getattr(numpy, "ndarray", ()))


def tried(read: Callable[[], Any], otherwise: Any = None) -> Any:
    """Return what ``read`` returns; what PyTorch refuses to tell is ``otherwise``."""
    try:
        return read()
    except Exception:  # each layout and each subclass refuses in a way of its own
        return otherwise


def forget_copy(frame: FrameType) -> None:
    """Let go of what a function's names hold, which its frame keeps a copy of.

    Until Python 3.13 a look at the names makes that copy. One that the program holds
    too, as ``saved = locals()``, stays; so do the names of a class or a module, which
    are no copy.
    """
    if not frame.f_code.co_flags & CO_OPTIMIZED:
        return
    copied = frame.f_locals
    # Of the frame, of the name here, and of the call that counts.
    if type(copied) is dict and sys.getrefcount(copied) <= 3:
        copied.clear()


@contextmanager
def unseen() -> Iterator[None]:
    """Keep what is called inside from the modes that the program has switched on."""
    modes = torch.utils._python_dispatch
    # Held here, because torch 2.6 frees a mode that nothing else holds, and crashes.
    held = modes._get_current_dispatch_mode_stack()
    off = modes._disable_current_modes() if held else nullcontext()
    with torch._C.DisableTorchFunction(), off:
        yield


# What holds of an array, and of a tensor until more is seen.
_SEEN = {
    **dict.fromkeys(("parameter", "requires_grad", "is_leaf", "retains_grad"), False),
    **dict.fromkeys(("inference", "reaches_more"), False),
    **dict.fromkeys(("gradient", "version", "storage")),
    **dict.fromkeys(("operation", "memory"), ""),
    **{"flows": [], "made_of": [], "reaches": [], "reaches_unnamed": 0},
}


def see(value: Any) -> dict:
    """Return what :func:`tensor_maps.observe.observe` tells of a tensor or an array.

    That is without its names, its memory and its graph.
    """
    is_tensor = not is_array(value)
    seen = _SEEN | {
        "kind": "tensor" if is_tensor else "array",
        "shape": shape_of(value),
        "dtype": str(value.dtype).removeprefix("torch."),
        "device": str(value.device) if is_tensor else "cpu",
        "values": _values(readable(value) if is_tensor else value),
    }
    return seen | _see_autograd(value) if is_tensor else seen


def _see_autograd(tensor: torch.Tensor) -> dict:
    is_leaf = tried(lambda: tensor.is_leaf, False)
    retains = not is_leaf and bool(tried(lambda: tensor.retains_grad, False))
    inference, needs = tried(tensor.is_inference, False), bool(tensor.requires_grad)
    # `.grad` of any other tensor warns. A leaf that requires none may have one.
    grad = tried(lambda: tensor.grad) if is_leaf or retains else None
    told = "None" if needs and (is_leaf or retains) else None
    if grad is not None:
        told = _values(readable(grad)) or f"of shape {as_tuple(shape_of(grad))}"
    return {
        "parameter": isinstance(tensor, torch.nn.Parameter),
        "requires_grad": needs,
        "is_leaf": is_leaf,
        "retains_grad": retains,
        "inference": inference,
        "gradient": told,
        "version": None if inference else tried(lambda: tensor._version),
    }


def shape_of(tensor: Any) -> list[int] | None:
    """Return the shape, or None where PyTorch tells none."""
    return tried(lambda: [int(length) for length in tensor.shape])


def readable(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the tensor's data outside of autograd, if there is memory behind it."""

    def inside() -> bool:
        if is_meta(tensor) or tensor.numel() == 0:
            return not is_meta(tensor)
        window = tensor.storage_offset(), tensor.shape, tensor.stride()
        _, end = address_range(*window, 1)
        # A storage can be resized under a tensor, which must not be read then.
        size = tensor.untyped_storage().nbytes()
        return storage_address(tensor) != 0 and end * tensor.element_size() <= size

    return tried(tensor.detach) if tried(inside, False) else None


def is_meta(tensor: torch.Tensor) -> bool:
    """Whether it has a shape and no data, as a fake tensor too."""
    return tensor.is_meta or tensor.untyped_storage().device.type == "meta"


def storage_address(tensor: torch.Tensor) -> int:
    """Return the address of the storage, or 0 if there is none; a lazy copy stays."""
    return tried(lambda: torch._C._data_address(tensor), 0)


def _values(data: Any) -> str | None:
    if data is None or math.prod(data.shape) > MOST_VALUES:
        return None
    return tried(lambda: number_text(data.tolist()))


# The text of any other object would run code of its own.
_PRINTED = (bool, int, str, bytes, type(None), date, datetime, timedelta)


def number_text(values: Any) -> str:
    """Return nested lists of numbers as text.

    Integers are exact, floats have four significant digits. Of an object that is
    neither number nor text, the name of its type is returned.
    """
    kind = type(values)
    if kind is list:
        return "[" + ", ".join(map(number_text, values)) + "]"
    if kind is tuple:  # one item of a structured array
        return "(" + ", ".join(map(number_text, values)) + ")"
    if kind in (float, complex):
        return f"{values:.4g}"
    return str(values) if kind in _PRINTED else f"<{kind.__name__}>"


def address_range(
    first: int, shape: Sequence[int], strides: Sequence[int], item_size: int
) -> tuple[int, int]:
    """Return where a window begins and ends; strides are in bytes."""
    if 0 in shape:
        return first, first
    steps = [
        (length - 1) * stride for length, stride in zip(shape, strides, strict=True)
    ]
    low = first + sum(step for step in steps if step < 0)
    return low, first + sum(step for step in steps if step > 0) + item_size
