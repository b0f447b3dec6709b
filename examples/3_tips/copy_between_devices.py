# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does ``non_blocking=True`` promise?
========================================

You will see what a copy between the CPU and a CUDA device waits for, with
pageable and with pinned host memory, and when you may read the result. Without
CUDA you will see that the flag changes nothing.
"""

import time
from functools import partial

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# On one device the flag does nothing
# -----------------------------------
# There is nothing to move: :meth:`torch.Tensor.to` returns the same object. With
# ``copy=True`` the copy is made before the call returns, if both are on a CPU.

x = torch.ones(2**22)
same = x.to("cpu", non_blocking=True)
copied = x.to("cpu", non_blocking=True, copy=True)
print("same object", same is x, "| copy", copied is x)
assert same is x and torch.equal(copied, x)
# sphinx_gallery_tensor_map = "x, same, copied"

# %%
# Pinned memory
# -------------
# The system may move pageable memory, so the device cannot read it by itself.
# :meth:`torch.Tensor.pin_memory` copies into memory that stays where it is. It
# needs an accelerator.

try:
    pinned = x.pin_memory()
    print("pinned:", pinned.is_pinned())
    assert pinned.is_pinned() and not x.is_pinned()
except RuntimeError as error:
    pinned = x
    print("RuntimeError:", str(error).splitlines()[0])
    assert device == "cpu"

# %%
# Two clocks
# ----------
# The host's clock says when the call returned, CUDA's events say how long the
# device was busy (milliseconds, the median of ten). They differ where the call
# does not wait: that is the time which your program has for other work.


def clocks(copy):
    torch.cuda.synchronize()
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    began = time.perf_counter()
    start.record()
    copy()
    end.record()
    host = (time.perf_counter() - began) * 1e3
    torch.cuda.synchronize()
    return host, start.elapsed_time(end)


def median_of_ten(copy):
    clocks(copy)  # warm-up
    runs = [clocks(copy) for _ in range(10)]
    return [sorted(r[k] for r in runs)[5] for k in (0, 1)]


if device == "cuda":
    there = x.to(device)
    for name, host in (("pageable", x), ("pinned", pinned)):
        for flag in (False, True):
            move = partial(host.cuda, non_blocking=flag)
            call, busy = median_of_ten(move)
            print(f"{name} to CUDA, non_blocking={flag}:")
            print(f"   call {call:.3f}, device {busy:.3f}")
    call, busy = median_of_ten(there.clone)
    print(f"clone: call {call:.3f}, device {busy:.3f}")
else:
    print("no milliseconds: this needs CUDA")

# %%
# What it does not promise
# ------------------------
# The copy to the host may still be under way when the call has returned: what
# you read before :func:`torch.cuda.synchronize` may be old. After it, it holds.
# The other direction is safe: work on the device waits for the copy by itself.

result = x.to(device).to("cpu", non_blocking=True)
if device == "cuda":
    torch.cuda.synchronize()
print("after waiting:", torch.equal(result, x))
assert torch.equal(result, x)

# %%
# Remember
# --------
# - The flag helps with pinned memory and work to do meanwhile, else not.
# - To the host: synchronise before you read. No error tells you if you forget.
#
# Next: :doc:`memory_of_a_copy`
