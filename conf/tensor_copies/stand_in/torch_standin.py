"""``torch.standin``: what ``torch.cuda`` is for CUDA, as far as it can be true here.

PyTorch asks a device's module for some of these functions itself: to seed, to save
and to load, under FakeTensorMode. The others are those of ``torch.cuda`` that code
about copies uses. What is missing raises ``AttributeError``.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

NAME = "standin"
# How a variable of the environment is read; no device is asked.
_parse_visible_devices = torch.cuda._parse_visible_devices
CYCLES = 1_000_000_000  # of the clock by which `_sleep` counts, in one second
STREAMS = (
    "It shows what happens while the device is busy. The simulated device finishes "
    "each call before the call returns."
)
KEPT = (
    "CUDA's allocator keeps freed memory for new tensors. The simulated device doesn't."
)
PACKED = (
    "CUDA packs a slice with gaps on the device before it copies. The simulated "
    "device doesn't."
)
# Why an answer that the device gave is not CUDA's.
_untrue: list[str] = []


def untrue() -> str:
    """Return why what was asked of the device since the last time is no answer.

    That is nothing where each call did what it does on CUDA, but for the time it took.
    """
    reason = _untrue[0] if _untrue else ""
    _untrue.clear()
    return reason


def is_available() -> bool:
    """Say that the device is there."""
    return True


def is_initialized() -> bool:
    """Say that the device needs no start."""
    return True


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the dtypes of autocast, which a checkpoint asks for before it saves."""
    return [torch.float16, torch.bfloat16]


def init() -> None:
    """Refuse a forked process, as ``torch.cuda`` does; else the device needs no start.

    Host memory survives a fork: what is asked says so only where it is replaced.
    """
    if _is_in_bad_fork():
        raise RuntimeError(
            f"Cannot re-initialize {NAME} in forked subprocess. To use {NAME} with "
            "multiprocessing, you must use the 'spawn' start method"
        )


_lazy_init = init


def _is_in_bad_fork() -> bool:
    return False


def device_count() -> int:
    """Return how many stand-in devices there are: one."""
    return 1


def current_device() -> int:
    """Return the index of the current device."""
    return 0


def set_device(device: Any) -> None:
    """Do nothing: there is one device."""


def device(device: Any) -> AbstractContextManager[None]:
    """Return a context in which ``device`` is the current one: it always is."""
    return nullcontext()


def get_device_name(device: Any = None) -> str:
    """Return what a reader sees as the name of the device."""
    return "simulated device (no GPU)"


def synchronize(device: Any = None) -> None:
    """Do nothing: a call returns when its work is done."""


def _sleep(cycles: int) -> None:
    """Keep the device busy; the call returns when it no longer is."""
    _untrue.append(STREAMS)
    time.sleep(cycles / CYCLES)


def Stream(device: Any = None, priority: int = 0) -> torch.Stream:
    """Return the device's only stream, whatever is asked for."""
    return current_stream()


def current_stream(device: Any = None) -> torch.Stream:
    """Return the device's only stream."""
    return torch.accelerator.current_stream(NAME)


default_stream = current_stream


def stream(stream: Any) -> AbstractContextManager[None]:
    """Return a context in which work goes to ``stream``: it always does."""
    return nullcontext()


def Event(enable_timing: bool = False, blocking: bool = False) -> torch.Event:
    """Return a point in time, by the host's clock; ``blocking`` changes nothing."""
    return torch.Event(NAME, enable_timing=enable_timing)


def memory_allocated(device: Any = None) -> int:
    """Return the bytes in use, in blocks of 512."""
    return torch.ops.standin.memory()[0]


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes in use since :func:`reset_peak_memory_stats`."""
    _, peak, _, packed = torch.ops.standin.memory()
    _untrue.extend([PACKED] * bool(packed))
    return peak


def memory_reserved(device: Any = None) -> int:
    """Return the bytes in use: this device keeps no memory for later."""
    _untrue.append(KEPT)
    return memory_allocated()


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes in use: this device keeps no memory for later."""
    _untrue.append(KEPT)
    return max_memory_allocated()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let :func:`max_memory_allocated` start from what is in use now."""
    torch.ops.standin.reset_peak()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the counts of the device's allocator, under the names of CUDA's."""
    now, peak, asked, _ = torch.ops.standin.memory()
    return {
        "allocated_bytes.all.current": now,
        "allocated_bytes.all.peak": peak,
        "requested_bytes.all.allocated": asked,
    }


def get_allocator_backend() -> str:
    """Name the allocator: it is none of CUDA's two."""
    return "malloc"


def empty_cache() -> None:
    """Do nothing: this device keeps no memory for later."""


def manual_seed(seed: int) -> None:
    """Seed the device's default generator."""
    torch.ops.standin.generator().manual_seed(seed)


manual_seed_all = manual_seed


def get_rng_state(device: Any = None) -> torch.Tensor:
    """Return the state of the device's default generator."""
    return torch.ops.standin.generator().get_state()


def set_rng_state(state: torch.Tensor, device: Any = None) -> None:
    """Set the state of the device's default generator."""
    torch.ops.standin.generator().set_state(state)
