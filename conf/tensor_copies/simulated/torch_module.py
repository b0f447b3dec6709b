"""``torch.standin``: what ``torch.cuda`` is for CUDA, as far as it can be true here.

PyTorch itself asks a device's module for some of these functions: to seed, to save and
to load, under FakeTensorMode. The others are those of ``torch.cuda`` that code about
copies uses, with its arguments. What is missing raises ``AttributeError``.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from tensor_copies.simulated import NAME

# How a variable of the environment is read; no device is asked.
_parse_visible_devices = torch.cuda._parse_visible_devices


def is_available() -> bool:
    return True


is_initialized = is_available


def _is_in_bad_fork() -> bool:
    return False


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the dtypes of autocast, which a checkpoint asks for before it saves."""
    return [torch.float16, torch.bfloat16]


def device_count() -> int:
    return 1


def current_device() -> int:
    return 0


def set_device(device: Any = None) -> None:
    """Do nothing: there is one device, and a call returns when its work is done."""


init = _lazy_init = synchronize = empty_cache = _sleep = set_device


def device(device: Any) -> AbstractContextManager[None]:
    """Return a context in which this is the current device, or stream: it always is."""
    return nullcontext()


stream = device


def get_device_name(device: Any = None) -> str:
    return "simulated device (no GPU)"


def current_stream(device: Any = None, priority: int = 0) -> torch.Stream:
    return torch.accelerator.current_stream(NAME)


Stream = default_stream = current_stream


def Event(enable_timing: bool = False, blocking: bool = False) -> torch.Event:
    """Return a point in time, by the host's clock; ``blocking`` changes nothing."""
    return torch.Event(NAME, enable_timing=enable_timing)


def memory_allocated(device: Any = None) -> int:
    """Return the bytes in use, in blocks of 512; none are kept for later."""
    return torch.ops.standin.memory()[0]


def max_memory_allocated(device: Any = None) -> int:
    return torch.ops.standin.memory()[1]


memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    torch.ops.standin.reset_peak()


def get_allocator_backend() -> str:
    return "malloc"


def manual_seed(seed: int) -> None:
    torch.ops.standin.generator().manual_seed(seed)


manual_seed_all = manual_seed


def get_rng_state(device: Any = None) -> torch.Tensor:
    return torch.ops.standin.generator().get_state()


def set_rng_state(state: torch.Tensor, device: Any = None) -> None:
    torch.ops.standin.generator().set_state(state)
