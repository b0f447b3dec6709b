"""The simulated device: a second device in CPU memory, for machines without a GPU.

What happens between two devices (what is copied, what is refused, where results and
gradients go) is decided by PyTorch, not by the device. ``device.cpp`` is a small
backend of PyTorch with the name ``standin``: with it this can be seen, with real
values. It shows neither times, nor work that runs ahead, nor memory that CUDA's
allocator keeps.

A second device changes what torch says in some messages. So only fresh processes have
it, never the one that builds.
"""

import hashlib
import os
import re
import subprocess
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from tensor_copies.gallery.machine import compiler, this_machine

logger = logging.getLogger(__name__)
NAME = "standin"
SOURCE = Path(__file__).with_name("device.cpp")
COMPILED = Path(__file__).parents[3] / "build" / "simulated"
# What the device can't show, by what code asks it for, or says so by a marker.
UNTRUE = re.compile(r"Stream|Event|_sleep|memory_reserved|gallery_not_simulated")


def is_wanted() -> bool:
    """Whether a build runs code on this device: there is a compiler, and no GPU."""
    return this_machine().device_kind == "cpu" and compiler() is not None


def setup(app: Sphinx) -> dict[str, bool]:
    """Say in one line what the site lacks where the device can't be compiled."""
    from tensor_copies.gallery import PARALLEL

    if this_machine().device_kind == "cpu" and not is_wanted():
        logger.info(
            "No C++ compiler: the Atlas, the explorer, some lessons and messages lack "
            "what the simulated device shows. Install g++ to have it."
        )
    return PARALLEL


def load_device() -> None:
    """Give this process the device; a second call does nothing."""
    import torch
    from torch.utils.dlpack import DLDeviceType

    from tensor_copies.simulated import torch_module

    if hasattr(torch, NAME):
        return
    torch.ops.load_library(_compiled())
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, torch_module)
    torch.utils.generate_methods_for_privateuse1_backend()
    known = torch.Tensor.__dlpack_device__

    def __dlpack_device__(self: torch.Tensor) -> tuple[DLDeviceType, int]:
        # PyTorch looks for the device under the name that it had before.
        on_it = self.device.type == NAME
        return (DLDeviceType.kDLExtDev, 0) if on_it else known(self)

    torch.Tensor.__dlpack_device__ = __dlpack_device__


def _compiled() -> Path:
    """Return the device, compiled once for the torch that is installed."""
    import torch

    folder = Path(torch.__file__).parent
    headers = folder / "include"
    options = [
        *("-std=c++20", "-O0", "-fPIC", "-shared"),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        "-DAT_PER_OPERATOR_HEADERS",  # else torch's headers include all operators
        *(f"-I{headers}", f"-I{headers}/torch/csrc/api/include"),
        *(f"-L{folder}/lib", "-ltorch_cpu", "-lc10"),
    ]
    made_from = repr([torch.__version__, options, SOURCE.read_text(encoding="utf-8")])
    name = hashlib.sha256(made_from.encode()).hexdigest()[:16]
    if not (library := COMPILED / f"{name}.so").exists():
        COMPILED.mkdir(parents=True, exist_ok=True)
        fresh = COMPILED / f"{name}.{os.getpid()}"  # others may compile it, too
        subprocess.run([compiler(), SOURCE, *options, "-o", fresh], check=True)
        fresh.replace(library)
    return library


def with_its_name(code: str) -> str:
    """Return code that names this device where it names CUDA.

    ``cuda`` is replaced as a word and as a part of a name between underscores, in code
    and in strings. ``CUDA`` and each line's number stay, and so does
    ``torch.version.cuda``, which tells of the build.
    """
    return re.sub(r"(?<![A-Za-z])(?<!version\.)cuda(?![A-Za-z])", NAME, code)
