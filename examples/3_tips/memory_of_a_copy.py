# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does ``x.detach().clone().numpy()`` waste memory?
=================================================

Not on the CPU, where the clone is the only copy. On a GPU ``numpy()`` raises, and if
you add ``.cpu()`` before it, the clone is one copy too many.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach().clone().numpy()"
import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Count the bytes that a call allocates
# -------------------------------------
# For the CPU, the profiler adds up the bytes that PyTorch allocates in a call and
# doesn't free. For CUDA, PyTorch's allocator counts its bytes and their peak. The meter
# returns the results of the calls and three numbers: the new MiB on the CPU, the new
# MiB on CUDA, and the peak on CUDA.

# sphinx_gallery_folded = "The meter"
MIB = 2**20
CPU = [ProfilerActivity.CPU]


def measure(call, *inputs):
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    old = torch.cuda.memory_allocated()
    meter = profile(activities=CPU, profile_memory=True)
    with meter:
        results = [call(x) for x in inputs]
    kept = torch.cuda.memory_allocated() - old
    peak = torch.cuda.max_memory_allocated() - old
    calls = meter.key_averages()
    host = sum(c.self_cpu_memory_usage for c in calls)
    new = host, kept, peak
    return results, [round(n / MIB) for n in new]


_, new = measure(torch.clone, torch.ones(MIB))
print(f"A clone of 4 MiB: {new[0]} MiB")
assert new == [4, 0, 0]


# %%
# ``clone`` allocates, ``detach`` doesn't
# ---------------------------------------
# ``x`` has 4 MiB. ``detach`` and :meth:`~torch.Tensor.numpy` share memory, and
# ``clone`` allocates. On CUDA ``numpy`` raises, but only after the clone exists.
# ``gpu`` is on CUDA, or on ``meta`` if there is no GPU.

x = torch.ones(MIB, device=device)
x.requires_grad_()
(detached,), of_detach = measure(torch.detach, x)
(y,), of_clone = measure(torch.clone, detached)
on_cpu = y.cpu()
array = on_cpu.numpy()
print(f"New MiB by detach: {sum(of_detach[:2])}")
print(f"New MiB by clone: {sum(of_clone[:2])}")

gpu = y.to("cuda" if device == "cuda" else "meta")
try:
    gpu.numpy()
except TypeError as error:
    message = str(error)
print("TypeError:", message)
assert sum(of_detach) == 0
assert sum(of_clone[:2]) == 4
assert np.shares_memory(array, on_cpu.numpy())
assert f"can't convert {gpu.device.type}" in message
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, y, array, gpu raises TypeError, x copied to y"

# %%
# The waste is one tensor, not ten
# --------------------------------
# Each call gets ten tensors of 4 MiB, one after the other, and we keep the results. The
# table shows the new memory on the CPU and, if the tensors are on CUDA, the peak there.

calls = {
    "x.detach().cpu()": lambda x: x.detach().cpu(),
    "x.detach().clone().cpu()": (  # a clone before
        lambda x: x.detach().clone().cpu()
    ),
    'x.detach().to("cpu", copy=True)': (  # in one
        lambda x: x.detach().to("cpu", copy=True)
    ),
}
rows, found = [], []
for call, copy in calls.items():
    xs = torch.ones(10, MIB, device=device)
    ys, new = measure(copy, *xs)
    found.append(new)
    row = {"call": call, "on the CPU": f"{new[0]} MiB"}
    if device == "cuda":
        row["peak on the GPU"] = f"{new[2]} MiB"
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
cuda = device == "cuda"
assert [n[0] for n in found] == [40 * cuda, 40, 40]
assert [n[1] for n in found] == [0, 0, 0]
assert [n[2] for n in found] == [0, 4 * cuda, 0]

# %%
# .. predict:: How much memory does each call need?
#
# On CUDA the clone wastes 4 MiB at the peak, not 40, because each clone is freed before
# the next is made. If the tensors are on the CPU, the clone doesn't waste memory.
# ``cpu`` doesn't copy there, so the clone is the only copy.

# %%
# A slice with gaps, or an expanded tensor, needs one more copy on CUDA, because PyTorch
# first `makes it contiguous on the GPU
# <https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Copy.cu>`_.
# (That's from its source code. Without CUDA, the peak there is 0.)

gaps = torch.ones(2 * MIB, device=device)[::2]
_, new = measure(torch.Tensor.cpu, gaps)
print(f"Peak for a slice with gaps: {new[2]} MiB")
# sphinx_gallery_not_simulated = True

# %%
# The graphs that you keep do add up
# ----------------------------------
# Each loss in a list keeps its graph alive. Until ``backward()``, the graph keeps what
# it saved, here the 4 MiB that ``exp`` returned. A detached loss doesn't keep a graph
# (:doc:`what_stays_alive`).

xs = [x] * 3
_, kept = measure(lambda x: x.exp().sum(), *xs)
_, rest = measure(lambda x: x.exp().sum().detach(), *xs)
print(f"Three losses: {sum(kept[:2])} MiB")
print(f"Three, detached: {sum(rest[:2])} MiB")
assert sum(kept[:2]) == 12 and sum(rest[:2]) == 0

# %%
# Remember
# --------
# - ``clone`` allocates new memory. ``detach`` and ``numpy`` don't.
# - For one copy on the CPU from any device, use ``x.detach().to("cpu", copy=True)``.
# - A temporary clone needs the memory of one tensor. Tensors that you keep add up.
