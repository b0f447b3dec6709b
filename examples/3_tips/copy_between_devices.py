# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
When is a ``non_blocking`` copy done?
=====================================

With pinned memory, the call can return before the copy is done. Synchronize before you
refill the source or read a result on the CPU.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "non_blocking=True"
import time
from functools import partial

import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A GPU reads from pinned memory
# ------------------------------
# The operating system may move ordinary, *pageable* memory while a GPU reads it. So a
# GPU reads *pinned* memory, which the system doesn't move.
# :meth:`torch.Tensor.pin_memory` copies a tensor into pinned memory. That call needs an
# accelerator, so without a GPU this lesson uses ``x`` itself.

x = torch.ones(2**22)  # 16 MiB
pinned = x.pin_memory() if device == "cuda" else x
print(f"{pinned.is_pinned() = }")
assert pinned.is_pinned() == (device == "cuda")
# sphinx_gallery_timeline = "non_blocking"

# %%
# On one device ``non_blocking`` does nothing
# -------------------------------------------
# The flag is ``non_blocking=True``. If the tensor is already on the device,
# :meth:`torch.Tensor.to` returns the same object, or copies with ``copy=True``. On a
# CPU that copy is done when the call returns.

same = x.to("cpu", non_blocking=True)
copied = x.to("cpu", non_blocking=True, copy=True)
x[0] = 2.0
print(f"{same[0].item() = }, {copied[0].item() = }")
assert same is x and copied[0] == 1

# %%
# When does the call return, and when is the copy done?
# -----------------------------------------------------
# Without the flag, a call between CPU and GPU returns when the copy is done. With the
# flag and pinned memory, it returns at once. With the flag and pageable memory, the
# driver first copies to its own pinned memory, and the call to the GPU returns after
# this *staging*. `From the CUDA documentation
# <https://docs.nvidia.com/cuda/cuda-runtime-api/api-sync-behavior.html>`__
#
# Pinning also takes time. ``x.pin_memory().to(device, non_blocking=True)`` can be up to
# twice as slow as ``x.to(device)``. For many small pageable tensors the flag helps,
# because you only wait once for all of them. `From PyTorch's tutorial
# <https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html>`__
#
# PyTorch keeps freed pinned memory and uses it again, so a later call of the same size
# usually doesn't have to pin new memory. `From PyTorch's source
# <https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/core/CachingHostAllocator.h>`__
#
# On a GPU the folded code times the call with the CPU's clock, and the copy with CUDA's
# events. It shows the first run of each and the median of ten more.


event = partial(torch.cuda.Event, enable_timing=True)


def times_of(copy):
    runs = []
    for _ in range(11):
        start, end = event(), event()
        torch.cuda.synchronize()
        start.record()
        began = time.perf_counter()
        copy()
        ms = (time.perf_counter() - began) * 1e3
        end.record()
        torch.cuda.synchronize()
        runs.append((ms, start.elapsed_time(end)))
    usual = np.median(runs[1:], axis=0)
    return *usual, runs[0][1]


copies = {}
for name, source in ("x", x), ("pinned", pinned):
    move = partial(source.to, device)
    for flag in False, True:
        call = f"{name}.to(device, non_blocking={flag})"
        copies[call] = partial(move, non_blocking=flag)
last = "x.pin_memory().to(device, non_blocking=True)"
copies[last] = lambda: (  # into pinned memory first
    x.pin_memory().to(device, non_blocking=True)
)
rows = []
head = ["No GPU here: not timed."]
if device == "cuda":
    head = ["copy", "returned", "done", "first time"]
    for call, copy in copies.items():
        times = times_of(copy)
        cells = [f"{t:#.3g} ms" for t in times]
        rows.append(dict(zip(head, [call, *cells])))
print(*head, sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that times"
# sphinx_gallery_table = "rows"

# %%
# To the GPU: do not refill a pinned source
# -----------------------------------------
# Work that you queue later on the same stream waits for the copy. Work on another
# stream doesn't (:doc:`side_streams`), and the CPU doesn't wait either. Here
# ``torch.cuda._sleep`` keeps the GPU busy. (It's private, so use it only for
# experiments.) With CUDA, the CPU writes 5.0 before the copy has read the source, so
# the result is usually 5.0. That's a race, so it isn't asserted. Without CUDA it's 1.0,
# because the copy is done when the call returns.
#
# A pageable source is safe if the driver stages it before the call returns, as on PCIe
# systems. Don't rely on it where the GPU can read pageable memory itself. `From the
# CUDA documentation
# <https://docs.nvidia.com/cuda/cuda-runtime-api/api-sync-behavior.html>`__


def busy():
    if device == "cuda":
        torch.cuda._sleep(2 * 10**8)  # cycles


busy()
there = pinned.to(device, non_blocking=True, copy=True)
pinned.fill_(5.0)  # too early, if it is pinned
print(f"sent 1.0, {there[-1].item() = }")
assert there[-1] == 1 or device == "cuda"

# %%
# To the CPU: do not read too early
# ---------------------------------
# From CUDA, ``non_blocking=True`` returns a new pinned tensor, which holds arbitrary
# values until the copy is done. Wait for the stream, as below, for an event, or for all
# work with :func:`torch.cuda.synchronize`. On a CUDA tensor, ``item``, ``tolist``,
# ``print``, ``if`` and ``cpu`` wait by themselves (:doc:`what_waits`).


def receive(value):
    source = torch.full_like(there, value)
    busy()
    result = source.to("cpu", non_blocking=True)
    early = result[0].item()
    if device == "cuda":
        torch.cuda.current_stream().synchronize()
    assert result.is_pinned() or device == "cpu"
    return early, result[0].item()


receive(1.0)  # its memory may be used again
early, late = receive(2.0)
print(f"sent 2.0: {early = }, {late = }")
assert late == 2

# %%
# Remember
# --------
# - With the flag and pinned memory, the call can return before the copy is done.
#   Synchronize.
# - Until then, don't refill the source or read the result on the CPU. Nothing raises.
# - Pinning also copies. Reuse a pinned buffer once its copy is done, or use
#   ``DataLoader(pin_memory=True)``.
