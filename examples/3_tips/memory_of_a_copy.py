# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does ``x.detach().clone().numpy()`` waste memory?
=================================================

Not on the CPU if you need a copy, because the clone is the only one. On a GPU
``numpy()`` raises, and if you add ``.cpu()`` before it, the clone is one copy too many.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach().clone().numpy()"
from contextlib import contextmanager

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Count the bytes that a call allocates
# -------------------------------------
# ``count_mib`` counts the MiB that PyTorch allocates in a block and hasn't freed at its
# end. ``cpu`` is for the CPU, ``new`` for CPU and GPU together, and ``gpu peak`` is the
# peak on the GPU. ``MIB`` is ``2**20``.

MIB = 2**20
CPU = [ProfilerActivity.CPU]


@contextmanager
def count_mib():
    used = {}
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    old = torch.cuda.memory_allocated()
    meter = profile(activities=CPU, profile_memory=True)
    with meter:
        yield used
    new = torch.cuda.memory_allocated() - old
    peak = torch.cuda.max_memory_allocated() - old
    calls = meter.key_averages()
    host = sum(c.self_cpu_memory_usage for c in calls)
    used["cpu"] = round(host / MIB)
    used["new"] = round((host + new) / MIB)
    used["gpu peak"] = round(peak / MIB)


four_mib = torch.ones(MIB)
with count_mib() as used:
    copied = four_mib.clone()
print(f"A clone of 4 MiB: {used['cpu']} MiB")
assert used["cpu"] == 4
# sphinx_gallery_folded = "The meter"

# %%
# ``clone`` allocates, ``detach`` doesn't
# ---------------------------------------
# ``x`` has 4 MiB. ``detach`` and :meth:`~torch.Tensor.numpy` share memory, and
# ``clone`` allocates. On CUDA ``numpy`` raises, but only after the clone exists.
# (``other`` is on CUDA, or on ``meta`` if there is no GPU.)

x = torch.ones(MIB, device=device, requires_grad=True)
with count_mib() as of_detach:
    detached = x.detach()
with count_mib() as of_clone:
    y = detached.clone()
on_cpu = y.cpu()
array = on_cpu.numpy()
print(f"New MiB by detach: {of_detach['new']}")
print(f"New MiB by clone: {of_clone['new']}")
elsewhere = "cuda" if device == "cuda" else "meta"
other = y.to(elsewhere)
try:
    other.numpy()
except TypeError as error:
    message = str(error)
    print("TypeError:", message)
assert of_detach["new"] == 0
assert of_clone["new"] == 4
assert np.shares_memory(array, on_cpu.numpy())
assert f"can't convert {elsewhere}" in message
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, y, array, other raises TypeError, x copied to y"

# %%
# On a GPU the clone wastes one tensor, not ten
# ---------------------------------------------
# Each call gets ten tensors of 4 MiB, one after the other, and we keep the results. The
# table shows the new memory on the CPU and, if the tensors are on CUDA, the peak there.

xs = torch.ones(10, MIB, device=device)
with count_mib() as of_cpu:
    moved = [x.detach().cpu() for x in xs]
with count_mib() as of_clone:
    clones = [x.detach().clone().cpu() for x in xs]
with count_mib() as of_to:
    ys = [x.detach().to("cpu", copy=True) for x in xs]
rows = {
    "x.detach().cpu()": of_cpu,
    "x.detach().clone().cpu()": of_clone,
    'x.detach().to("cpu", copy=True)': of_to,
}
head = "call | on the CPU"
if device == "cuda":
    head += " | peak on the GPU"
print(head)
for call, used in rows.items():
    row = f"{call} | {used['cpu']} MiB"
    if device == "cuda":
        row += f" | {used['gpu peak']} MiB"
    print(row)
assert of_cpu["cpu"] == (40 if device == "cuda" else 0)
assert of_clone["cpu"] == 40
assert of_to["cpu"] == 40
assert of_cpu["gpu peak"] == 0
assert of_clone["gpu peak"] == of_cpu["cpu"] // 10
assert of_to["gpu peak"] == 0

# %%
# .. predict:: How much memory does each call need?
#
# On CUDA the clone wastes 4 MiB at the peak, not 40, because each clone is freed before
# the next is made. If the tensors are on the CPU, ``cpu`` doesn't copy, so the clone is
# the only copy.

# %%
# A slice with gaps needs one more copy on CUDA, because PyTorch first `makes it
# contiguous on the GPU
# <https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Copy.cu>`_.
# (That's from PyTorch's source code. Without CUDA, the peak is 0.)

gaps = torch.ones(2 * MIB, device=device)[::2]
with count_mib() as used:
    on_cpu = gaps.cpu()
peak = used["gpu peak"]
print(f"Peak for a slice with gaps: {peak} MiB")
assert device == "cuda" or peak == 0
# sphinx_gallery_not_simulated = True

# %%
# The graphs that you keep do add up
# ----------------------------------
# Each loss in a list keeps its graph alive. Until ``backward()``, the graph keeps what
# it saved, here the 4 MiB that ``exp`` returned. A detached loss doesn't keep a graph
# (:doc:`what_stays_alive`).

with count_mib() as kept:
    losses = [x.exp().sum() for _ in range(3)]
with count_mib() as rest:
    logged = [x.exp().sum().detach() for _ in range(3)]
print(f"Three losses: {kept['new']} MiB")
print(f"Three, detached: {rest['new']} MiB")
assert kept["new"] == 12
assert rest["new"] == 0

# %%
# Remember
# --------
# - ``clone`` allocates new memory. ``detach`` and ``numpy`` don't.
# - For one copy on the CPU from CPU or GPU, use ``x.detach().to("cpu", copy=True)``.
# - A temporary clone needs the memory of one tensor. Tensors that you keep add up.
