"""Hold what the simulated device does against two other accounts of a second device.

``FakeTensorMode`` follows PyTorch's rules for CUDA with tensors that have no data; the
``meta`` device shares the refusals of all devices that are not the CPU. Neither runs
our code. Where one of them cannot tell, because it has no data or no CUDA, it is not
asked; the phrases by which it says so are listed here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from tensor_copies.simulated import NAME, load_device
from tensor_maps.atlas import calls
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from witness import Witness

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
    "masked_select": "how many there are depends on data",
    "aten.nonzero": "how many there are depends on data",
    "aten::nonzero": "how many there are depends on data",  # so says torch 2.6
    "torch.nonzero() raises unimplemented": "how many there are depends on data",
    "_share_fd_: only available on CPU": "its storage is on neither device",
    "_apply(): Couldn't swap": "a device sets the data of parameters",
    "Unknown device type meta for Dlpack": "DLPack has no meta device",
    "Cannot pack tensors on meta": "DLPack has no meta device",
    "Tensors of supported devices": "an optimizer's list of devices has no meta",
}
# What only a device with data refuses: a fake takes it.
UNSEEN_BY_FAKES = "more than one element of the written-to tensor"
# Facts that FakeTensorMode gets wrong on every device, by a call, and why.
WRONG_IN_FAKES = {
    "copy.copy(x)": ("shares_memory", "it makes a fake anew, with a storage of its own")
}
if torch.__version__ < "2.7":  # of 2.6 it is known, of 2.13 that it is not so
    of_module = "the data of a fake Parameter is set, its device stays"
    WRONG_IN_FAKES['module.to("cpu").weight'] = ("device", of_module)


def compare_all(faulty: str) -> list[list[tuple[str, int, list[str]]]]:
    """Compare all rows of the Atlas, then one once more for which the device is wrong.

    Of each cell return the row, how many facts a witness confirmed, and what one
    denied. It changes this process.
    """
    load_device()
    cells = [list(compared(calls.CALLS))]
    copies = torch.Tensor.cpu
    torch.Tensor.cpu = lambda x: copies(x) if x.device.type != NAME else x
    cells.append(list(compared([faulty])))
    return cells


def compared(names: Iterable[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Yield each cell of some calls, with who confirms and who denies it."""
    for operation in map(calls.CALLS.get, names):
        for state in operation.states if operation.subject == "x" else ():
            yield operation.id, *compare(operation, state)


def compare(operation: calls.Call, state: str) -> tuple[int, list[str]]:
    """Run one call on the device and before both witnesses; return who disagrees."""

    def look(place: str) -> dict[str, Any]:
        with warnings.catch_warnings(action="ignore"):
            asked = Witness(operation.code, operation.given, "x", state, place)
            return _facts(asked)

    torch.ops.standin.let_cuda_be_faked()
    here = look(NAME)
    with FakeTensorMode():
        fake = look("cuda")
    fake.pop(WRONG_IN_FAKES.get(operation.code, ("",))[0], None)
    # The meta device knows no result that is a copy on the CPU: only what it refuses.
    meta = {fact: saw for fact, saw in look("meta").items() if fact == "raises"}
    confirmed, denied = 0, []
    for witness, facts in (("FakeTensorMode", fake), ("the meta device", meta)):
        for fact in facts.keys() & here.keys():
            if facts[fact] == here[fact]:
                confirmed += 1
            else:
                denied.append(
                    f"{operation.id}, {state}: {fact.replace('_', ' ')}: the simulated "
                    f"device says {here[fact]}, {witness} says {facts[fact]}"
                )
    return confirmed, sorted(denied)


def _facts(asked: Witness) -> dict[str, Any]:
    """Return what was seen; a fact that its device cannot tell is missing."""
    ran = asked.start()
    try:
        result = asked.call(ran)
    except Exception as error:
        if _cannot_tell(error, asked.device) or UNSEEN_BY_FAKES in str(error):
            return {}
        return {"raises": type(error).__name__}
    facts: dict[str, Any] = {"raises": "nothing", "same_object": result is ran.x}
    if isinstance(result, torch.Tensor):
        away = result.device.type != "cpu"
        facts |= {
            "is_a_parameter": isinstance(result, torch.nn.Parameter),
            "device": "that of x" if away else "the CPU",
            "shares_memory": _memory(result) == _memory(ran.x),
            "requires_grad": result.requires_grad,
            "is_leaf": result.is_leaf,
        }
    return facts


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
