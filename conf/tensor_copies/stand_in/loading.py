"""Give a process the device: load what was compiled, tell torch its name.

Where a new Python has the device because it imports torch, torch imports this module
before its own import has ended.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from threading import Thread

import torch
from torch.utils.dlpack import DLDeviceType

from tensor_copies.stand_in import torch_standin
from tensor_copies.stand_in.compiling import CACHE, compiled
from tensor_copies.stand_in.scripts import CACHE_VARIABLE
from tensor_copies.stand_in.torch_standin import NAME


def is_loaded() -> bool:
    """Say whether this process has the device."""
    return getattr(torch, NAME, None) is torch_standin


def load_device(cache: Path = CACHE) -> None:
    """Give this process the device ``standin``; a second call does nothing.

    To compile it takes some ten seconds; ``cache`` keeps it for every later process.
    Where it cannot be compiled, :class:`NoStandIn` is raised.
    """
    if is_loaded():
        return
    torch.ops.load_library(compiled(cache))
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, torch_standin)
    torch.utils.generate_methods_for_privateuse1_backend()
    _name_for_dlpack()
    atexit.register(_let_backward_end)
    # A forked child has no such thread.
    os.register_at_fork(after_in_child=lambda: atexit.unregister(_let_backward_end))


def _name_for_dlpack() -> None:
    """Let DLPack know the device: torch looks for it under the name it had before."""
    known = torch.Tensor.__dlpack_device__

    def __dlpack_device__(self: torch.Tensor) -> tuple[DLDeviceType, int]:
        if self.device.type == NAME:
            return DLDeviceType.kDLExtDev, 0
        return known(self)

    torch.Tensor.__dlpack_device__ = __dlpack_device__


def _let_backward_end() -> None:
    """Wait until the device's backward thread has nothing to do.

    After a backward pass that thread drops what was kept of its caller, Python objects
    among it; if Python ends just then, the process is aborted. The thread takes one
    task after the other, so a last one, begun by a caller of whom no Python object is
    kept, ends after the others have been dropped. ``x.backward()`` would keep some.
    """
    x = torch.zeros(1, device=NAME, requires_grad=True)
    start = torch.autograd.Variable._execution_engine.run_backward
    caller = Thread(
        target=start,
        args=((x,), (torch.zeros_like(x),), False, False, ()),
        kwargs={"allow_unreachable": True, "accumulate_grad": True},
    )
    caller.start()
    caller.join()


def load_in_child() -> None:
    """Load the device because torch was imported (see :func:`environment`)."""
    if CACHE_VARIABLE in os.environ:
        load_device(Path(os.environ[CACHE_VARIABLE]))
