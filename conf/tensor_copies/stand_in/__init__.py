"""The stand-in: a second device made in host memory, so that two devices are anywhere.

What happens between two devices (what is copied, what is refused, where results and
gradients go) is decided by PyTorch, not by the device. :func:`load` compiles a small
backend for the torch that is installed and registers it under the name ``standin``;
the rules can then be seen, with real values, on a machine without a GPU.

It is not CUDA: nothing here shows times, streams that run ahead, or an allocator that
keeps memory for later. Who asks it for one of these is told so by
``torch.standin.untrue``.
"""

from __future__ import annotations

# Before the modules of this room: torch itself imports them in a child process.
import torch  # noqa: F401

from tensor_copies.stand_in.compiling import CACHE, NoCompiler, NoStandIn
from tensor_copies.stand_in.loading import is_loaded, load_device
from tensor_copies.stand_in.scripts import environment, for_stand_in, new_python
from tensor_copies.stand_in.torch_standin import NAME

__all__ = [
    "CACHE",
    "NAME",
    "NoCompiler",
    "NoStandIn",
    "environment",
    "for_stand_in",
    "is_loaded",
    "load_device",
    "new_python",
]
