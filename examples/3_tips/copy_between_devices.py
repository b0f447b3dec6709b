# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does ``non_blocking=True`` promise?
========================================

From pinned memory the call returns before the copy is done, and you have to wait
for it yourself.

You will see when a copy from the CPU to a CUDA device returns, when it is done,
and what goes wrong if you do not wait. Without CUDA you will see that the flag
changes nothing.
"""

# sphinx_gallery_setup = True
import time
from functools import partial

import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# On one device the flag does nothing
# -----------------------------------
# If nothing has to move, :meth:`torch.Tensor.to` returns the same object. With
# ``copy=True`` it copies, and on a CPU the copy is done when the call returns.

x = torch.ones(2**22)  # 16 MiB
same = x.to("cpu", non_blocking=True)
copied = x.to("cpu", non_blocking=True, copy=True)
x[0] = 2.0
print(f"{same[0].item() = }")
print(f"{copied[0].item() = }")
assert same is x and copied[0] == 1
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, same, copied"

# %%
# Pinned memory
# -------------
# The system may move ordinary, *pageable* memory while a device reads it. So a
# device reads from *pinned* memory, which stays where it is.
# :meth:`torch.Tensor.pin_memory` copies a tensor there. It needs an accelerator.

try:
    pinned = x.pin_memory()
    print(f"{pinned.is_pinned() = }")
    assert pinned.is_pinned()
except RuntimeError as error:
    pinned = x
    message = str(error).splitlines()[0]
    print("RuntimeError:", message)
    assert device == "cpu"

# %%
# Two clocks
# ----------
# The host's clock says when the call returned, and CUDA's events say when the copy
# was done. The table has the medians of ten copies; without CUDA it stays empty.
# From pageable memory the call returns once the source is *staged*: copied to
# pinned memory of the driver. To pin ``x`` is a copy too, as the last row shows.
# With many small pageable copies the flag helps: you wait once for all of them
# (`PyTorch's guide
# <https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html>`_).


def median_of_ten(copy):
    runs = []
    for _ in range(11):  # the first one warms up
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        began = time.perf_counter()
        copy()
        ms = (time.perf_counter() - began) * 1e3
        end.record()
        torch.cuda.synchronize()
        runs.append((ms, start.elapsed_time(end)))
    return np.median(runs[1:], axis=0)


copies = {}
for name, source in {"x": x, "pinned": pinned}.items():
    move = partial(source.to, device)
    for flag in False, True:
        call = f"{name}.to(device, non_blocking={flag})"
        copies[call] = partial(move, non_blocking=flag)
last = "x.pin_memory().to(device, non_blocking=True)"
copies[last] = lambda: (  # pins each time
    x.pin_memory().to(device, non_blocking=True)
)
rows = []
for call, copy in copies.items():
    returned = done = "–"
    if device == "cuda":
        times = median_of_ten(copy)
        returned, done = (f"{t:#.3g} ms" for t in times)
    row = {"copy": call, "returned after": returned}
    rows.append(row | {"done after": done})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that times"
# sphinx_gallery_table = "rows"

# %%
# To the device: do not refill a pinned source
# --------------------------------------------
# What you queue on the same stream waits for the copy. The host does not wait.
# Here ``torch.cuda._sleep`` keeps the stream busy. It is private: use it to try
# things out, no more, where no public call takes a known time. So the host writes
# 5.0 first, then the copy reads it, and 5.0 arrives. A pageable source is safe, for
# it is staged before the call returns (`NVIDIA's account
# <https://docs.nvidia.com/cuda/cuda-runtime-api/api-sync-behavior.html>`_).


def busy():
    if device == "cuda":
        torch.cuda._sleep(2 * 10**8)  # about 0.1 s


busy()
there = pinned.to(device, non_blocking=True, copy=True)
pinned.fill_(5.0)  # too early, if it is pinned
print(f"sent 1.0, {there[-1].item() = }")
assert there[-1] == 1 or device == "cuda"

# %%
# To the host: do not read too early
# ----------------------------------
# From CUDA the result is a new pinned tensor, and until the copy is done you read
# what happens to be there. So wait: for an event, for the stream as below, or for
# all that is queued, with :func:`torch.cuda.synchronize`. ``item``, ``tolist``,
# ``print`` and ``if`` on a CUDA tensor, and ``cpu`` without the flag, wait by
# themselves. In a loop each of these waits costs time.

for value in 1.0, 2.0:
    source = torch.full_like(there, value)
    busy()
    result = source.to("cpu", non_blocking=True)
    early = result[0].item()
    if device == "cuda":
        torch.cuda.current_stream().synchronize()
    late = result[0].item()
    print(f"sent {value}: {early = }, {late = }")
    assert late == value
    assert result.is_pinned() == (device == "cuda")
    del result  # the next one may get its memory

# %%
# Remember
# --------
# - From pinned memory the call returns at once, from pageable once it is staged.
# - Wait before you refill a pinned source or read on the host: nothing raises.
# - Pinning copies too: keep the buffer, or use ``DataLoader(pin_memory=True)``.
