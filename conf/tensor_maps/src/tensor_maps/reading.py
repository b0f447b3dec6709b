"""What PyTorch and NumPy tell of one tensor or array; nothing is written."""

from __future__ import annotations

import ctypes
import datetime
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

import torch

from tensor_maps.words import as_tuple

# What is small enough to be printed or compared.
MOST_VALUES = 6


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
    "parameter": False,
    "requires_grad": False,
    "is_leaf": False,
    "retains_grad": False,
    "inference": False,
    "gradient": None,
    "version": None,
    "operation": "",
    "flows": [],
    "made_of": [],
    "reaches": [],
    "reaches_unnamed": 0,
    "reaches_more": False,
    "storage": None,
    "memory": "",
}


def see_tensor(tensor: torch.Tensor, names: list[str], compared: int) -> dict:
    """Return the entry of a tensor: see :func:`tensor_maps.observe.observe`."""
    data, seen = readable(tensor), _SEEN | see_autograd(tensor)
    return seen | {
        "names": names,
        "kind": "tensor",
        "parameter": isinstance(tensor, torch.nn.Parameter),
        "shape": shape_of(tensor),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "device": str(tensor.device),
        "values": _values(data),
        "digest": digest_of(data, compared),
        "gradient": _gradient(tensor, seen) if has_gradient(seen) else None,
    }


def see_autograd(tensor: torch.Tensor) -> dict:
    """Return what autograd says of a tensor."""
    is_leaf = tried(lambda: tensor.is_leaf, False)
    inference = tried(tensor.is_inference, False)
    return {
        "requires_grad": bool(tensor.requires_grad),
        "is_leaf": is_leaf,
        "retains_grad": not is_leaf and bool(tried(lambda: tensor.retains_grad, False)),
        "inference": inference,
        "version": None if inference else tried(lambda: tensor._version),
    }


def has_gradient(autograd: dict) -> bool:
    """Whether ``.grad`` is for reading."""
    # `.grad` of any other tensor warns. A leaf that requires none may have one.
    return autograd["is_leaf"] or autograd["retains_grad"]


def see_array(array: Any, names: list[str], compared: int) -> dict:
    """Return the entry of an array."""
    few = array.size <= MOST_VALUES
    return _SEEN | {
        "names": names,
        "kind": "array",
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "device": "cpu",
        "values": tried(lambda: number_text(array.tolist())) if few else None,
        "digest": array_digest(array, compared),
    }


def shape_of(tensor: torch.Tensor) -> list[int] | None:
    """Return the shape, or None where PyTorch tells none."""
    return tried(lambda: [int(length) for length in tensor.shape])


def strides_of(tensor: torch.Tensor) -> list[int] | None:
    """Return the strides in elements, or None where PyTorch tells none."""
    return tried(lambda: [int(stride) for stride in tensor.stride()])


def readable(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the tensor's data outside of autograd, if there is memory behind it."""

    def inside() -> bool:
        if is_meta(tensor):
            return False
        if tensor.numel() == 0:
            return True
        _, end = address_range(
            tensor.storage_offset(), tensor.shape, tensor.stride(), 1
        )
        # A storage can be resized under a tensor, which must not be read then.
        size = tensor.untyped_storage().nbytes()
        return storage_address(tensor) != 0 and end * tensor.element_size() <= size

    return tried(tensor.detach) if tried(inside, False) else None


def is_meta(tensor: torch.Tensor) -> bool:
    """Whether it has a shape and no data, as a fake tensor too."""
    return tensor.is_meta or tensor.untyped_storage().device.type == "meta"


def storage_address(tensor: torch.Tensor) -> int:
    """Return the address of the storage, or 0; a lazy copy stays lazy."""

    def address() -> int:
        tensor.untyped_storage()  # which a sparse tensor refuses
        return torch._C._data_address(tensor)

    return tried(address, 0)


def is_lazy(tensor: torch.Tensor) -> bool:
    """Whether the memory is copied at the first write (``_lazy_clone``)."""
    return tried(lambda: torch._C._is_cow_tensor(tensor), False)


def _values(data: torch.Tensor | None) -> str | None:
    if data is None or data.numel() > MOST_VALUES:
        return None
    return tried(lambda: number_text(data.tolist()))


def digest_of(data: torch.Tensor | None, compared: int) -> str | None:
    """Return a hash of all values, or None for more than ``compared`` bytes."""
    if data is None or data.numel() * data.element_size() > compared:
        return None

    def read() -> str:
        plain = data.resolve_conj().resolve_neg().cpu().contiguous()
        size = plain.numel() * plain.element_size()
        begin = plain.storage_offset() * plain.element_size()
        address = storage_address(plain) + begin
        return short_hash(ctypes.string_at(address, size) if size else b"")

    return tried(read)


def array_digest(array: Any, compared: int) -> str | None:
    """Return the same for an array."""
    small = array.nbytes <= compared
    return tried(lambda: short_hash(array.tobytes())) if small else None


def short_hash(data: bytes) -> str:
    """Return sixteen hexadecimal digits that differ when any byte differs."""
    return hashlib.sha256(data).hexdigest()[:16]


def _gradient(tensor: torch.Tensor, autograd: dict) -> str | None:
    gradient = tried(lambda: tensor.grad)
    if gradient is None:
        return "None" if autograd["requires_grad"] else None
    values = _values(readable(gradient))
    return values or f"of shape {as_tuple(shape_of(gradient))}"


# The text of any other object would run code of its own.
_PRINTED = (bool, int, str, bytes, type(None), datetime.date, datetime.datetime)
_PRINTED += (datetime.timedelta,)


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
    """Return the lowest and the highest address of a window; strides in bytes."""
    steps = [
        (length - 1) * stride for length, stride in zip(shape, strides, strict=True)
    ]
    low = first + sum(step for step in steps if step < 0)
    return low, first + sum(step for step in steps if step > 0) + item_size
