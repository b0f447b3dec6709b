# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does ``non_blocking=True`` promise?
========================================

From pinned memory the call returns before the copy is done: wait for it yourself.

You will see when a copy from the CPU to a CUDA device returns, when it is done, and
what goes wrong if you do not wait; without CUDA, that the flag changes nothing.
"""

# sphinx_gallery_setup = True
import time

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
print(f"{same[0] = }, {copied[0] = }")
assert same is x and copied[0] == 1
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, same, copied"

# %%
# Pinned memory
# -------------
# The system may move ordinary, *pageable* memory while a device reads it. So a
# device reads from *pinned* memory, which stays where it is.
# :meth:`torch.Tensor.pin_memory` copies a tensor there. It needs an accelerator.

pinned = x
try:
    pinned = x.pin_memory()
except RuntimeError as error:
    print("RuntimeError:", str(error).splitlines()[0])
print(f"{pinned.is_pinned() = }")
assert pinned.is_pinned() == (device == "cuda")

# %%
# Two clocks
# ----------
# The host's clock says when the call returned, CUDA's events when the copy was done.
# Without CUDA the table of medians stays empty. From pageable memory the call returns
# once the source is *staged*: copied to pinned memory of the driver. To pin ``x`` is a
# copy too, as the last row shows. With many small pageable copies the flag helps: you
# wait once for all of them (`PyTorch's guide
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
    return torch.tensor(runs[1:]).quantile(0.5, dim=0)


copies = [
    "x.to(device)",
    "x.to(device, non_blocking=True)",
    "pinned.to(device)",
    "pinned.to(device, non_blocking=True)",
    "x.pin_memory().to(device, non_blocking=True)",
]
rows = []
for call in copies:
    back = done = "–"
    if device == "cuda":
        times = median_of_ten(eval(f"lambda: {call}"))
        back, done = (f"{t:#.3g} ms" for t in times)
    row = {"copy": call, "returned after": back}
    rows.append(row | {"done after": done})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that times"
# sphinx_gallery_table = "rows"

# %%
# To the device: do not refill a pinned source
# --------------------------------------------
# What you queue on the same stream waits for the copy. The host does not. Here
# ``torch.cuda._sleep`` (private: only to try things out) keeps the stream busy. So the
# host writes 5.0 first, then the copy reads it, and 5.0 arrives. A pageable source is
# safe, for it is staged before the call returns (:doc:`what_waits`).


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
# From CUDA the result is a new pinned tensor, and until the copy is done you read what
# happens to be there. So wait: for an event, for the stream as below, or for all that
# is queued, with :func:`torch.cuda.synchronize`. Calls that need the values wait by
# themselves, which costs time in a loop (:doc:`what_waits`).

source = torch.full_like(there, 3.0)
busy()
result = source.to("cpu", non_blocking=True)
early = result[0].item()
if device == "cuda":
    torch.cuda.current_stream().synchronize()
late = result[0].item()
print(f"sent 3.0: {early = }, {late = }")
assert late == 3
assert result.is_pinned() == (device == "cuda")

# %%
# Remember
# --------
# - From pinned memory the call returns at once, from pageable once it is staged.
# - Wait before you refill a pinned source or read on the host: nothing raises.
# - Pinning copies too: keep the buffer, or use ``DataLoader(pin_memory=True)``.
