# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does ``non_blocking=True`` promise?
========================================

From pinned memory the call returns before the copy is done: you have to wait.

You will see what a copy between the CPU and a CUDA device waits for, with
pageable and with pinned memory, and what goes wrong if you do not wait. Without
CUDA you will see that the flag changes nothing.
"""

import time
from functools import partial

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)
# sphinx_gallery_setup = True

# %%
# On one device the flag does nothing
# -----------------------------------
# There is nothing to move: :meth:`torch.Tensor.to` returns the same object. With
# ``copy=True`` the copy is made before the call returns, if both are on a CPU.

# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, same, copied"
x = torch.ones(2**22)  # 16 MiB
same = x.to("cpu", non_blocking=True)
copied = x.to("cpu", non_blocking=True, copy=True)
x[0] = 2.0
print(f"{same[0].item() = }, {copied[0].item() = }")
assert same is x and copied is not x and copied[0] == 1

# %%
# Pinned memory
# -------------
# The system may move pageable memory. :meth:`torch.Tensor.pin_memory` copies to
# memory that stays, so that the device can read it. It needs an accelerator.

try:
    pinned = x.pin_memory()
    print(f"{pinned.is_pinned() = }")
    assert pinned.is_pinned() and not x.is_pinned()
except RuntimeError as error:
    pinned = x
    print("RuntimeError:", str(error).splitlines()[0])
    assert device == "cpu"

# %%
# Two clocks
# ----------
# The host's clock says when the call returned, CUDA's events when the copy was
# done, with the host's staging if memory is pageable: the median of ten, for
# ``non_blocking`` False and True. Pinning is a copy too: see the first row. Many
# small pageable copies gain from the flag, for you wait once and not for each
# (`PyTorch's guide
# <https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html>`_).


def median_of_ten(copy):
    runs = []
    for _ in range(11):  # the first one is the warm-up
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        began = time.perf_counter()
        copy()
        call = (time.perf_counter() - began) * 1e3
        end.record()
        torch.cuda.synchronize()
        runs.append((call, start.elapsed_time(end)))
    return torch.tensor(runs[1:]).median(dim=0).values


def pin_on_the_way():
    return x.pin_memory().to(device, non_blocking=True)


copies = {"x.pin_memory(), True": pin_on_the_way}
for name, host in {"x": x, "pinned": pinned}.items():
    for flag in False, True:
        go = partial(host.to, device, non_blocking=flag)
        copies[f"{name}.to(), {flag}"] = go
rows = []
for name, copy in copies.items():
    call = done = "needs CUDA"
    if device == "cuda":
        call, done = median_of_ten(copy)
        call, done = f"{call:.3f} ms", f"{done:.3f} ms"
    rows.append(dict(copy=name, call=call, done=done))
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that timed it"
# sphinx_gallery_table = "rows"

# %%
# To the device: do not refill a pinned source
# --------------------------------------------
# Work on the same stream waits for the copy by itself. The host does not: with a
# busy stream (``_sleep`` is private) it writes first, then the copy reads. A
# pageable source is staged before the call returns (`NVIDIA's account
# <https://docs.nvidia.com/cuda/cuda-runtime-api/api-sync-behavior.html>`_).


def busy():
    if device == "cuda":
        torch.cuda._sleep(2 * 10**8)  # ticks: 0.1 s


busy()
there = pinned.to(device, non_blocking=True, copy=True)
pinned.fill_(5.0)  # too early, if it is pinned
print(f"sent 1.0, {there[-1].item() = }")
assert there[-1] == 1 or device == "cuda"

# %%
# To the host: do not read too early
# ----------------------------------
# From CUDA the result is a new pinned tensor; its content is arbitrary until the
# copy is done. Wait for an event, for the stream, or for everything
# (:func:`torch.cuda.synchronize`). ``item``, ``tolist``, ``print``, ``if`` and
# ``cpu`` without the flag wait by themselves: in a loop that costs time.

for value in 1.0, 2.0:
    source = torch.full_like(there, value)
    busy()
    result = source.to("cpu", non_blocking=True)
    print(f"{value} at once: {result[0].item() = }")
    if device == "cuda":
        torch.cuda.current_stream().synchronize()
    print(f"{value} later: {result[0].item() = }")
    assert result[0] == value
    assert result.is_pinned() == (device == "cuda")
    del result  # the next one may get its memory

# %%
# Remember
# --------
# - Pinned: the call returns at once. Pageable: once the source has been staged.
# - Wait before you refill a pinned source or read on the host: nothing raises.
# - Pinning copies too: keep the buffer, or use ``DataLoader(pin_memory=True)``.
#
# Next: :doc:`memory_of_a_copy`
