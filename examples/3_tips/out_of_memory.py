# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Out of memory: find what is kept
================================

Count the bytes in use after each epoch: if the count grows, something is kept, and
if it does not, one step is too large.

You will see a program that fails over epochs, one in validation and one at a clone,
each counted and cured, and what the allocator calls allocated and reserved.
"""

# sphinx_gallery_setup = True
import weakref

import matplotlib.pyplot as plt
import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A meter
# -------
# It runs a function and counts the MiB that are new when it has returned: on CUDA the
# allocator's, on the CPU what the profiler saw allocated and not freed.

MIB = 2**20


def measure(run, *inputs):
    cpu = [ProfilerActivity.CPU]
    meter = profile(activities=cpu, profile_memory=True)
    before = torch.cuda.memory_allocated()
    with meter:
        result = run(*inputs)
    calls = meter.key_averages()
    new = sum(c.self_cpu_memory_usage for c in calls)
    if device == "cuda":
        new = torch.cuda.memory_allocated() - before
    return result, round(new / MIB)


x = torch.ones(MIB // 4, device=device)
w = torch.ones((), device=device, requires_grad=True)
print(f"{x.nbytes = }")
# sphinx_gallery_folded = "The meter"

# %%
# Over epochs: the count grows
# ----------------------------
# Each of the four products saves its input of 1 MiB for the backward pass; the first
# input is ``x``, which stays anyway. (What else people keep: :doc:`what_stays_alive`.)


def forward(x):
    for _ in range(4):
        x = x * w
    return x


def wrong(history):
    history.append(forward(x).mean())


def right(history):
    history.append(forward(x).mean().detach())


in_use = {}
for epoch in wrong, right:
    history, total = [], 0
    for number in 1, 2, 3:
        total += measure(epoch, history)[1]
        name = f"{epoch.__name__}, epoch {number}"
        in_use[name] = total
print(in_use)
assert list(in_use.values()) == [3, 6, 9, 0, 0, 0]

# %%

fig, axes = plt.subplots()
bars = axes.barh(list(in_use), list(in_use.values()))
axes.bar_label(bars, fmt="%d MiB")
axes.invert_yaxis()
axes.set_title("A kept loss keeps 3 MiB an epoch.")
axes.set_xlabel("In use after the epoch")
plt.show()
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that draws"

# %%
# In validation: nothing frees the graph
# --------------------------------------
# Validation has no ``backward``: the graph stays with the output. ``no_grad`` has none.

_, with_graph = measure(forward, x)
with torch.no_grad():
    _, without = measure(forward, x)
print(f"{with_graph = } MiB, {without = } MiB")
assert with_graph == 4 and without == 1

# %%
# At a clone: how much does it ask for?
# -------------------------------------
# As much as ``nbytes`` says. That can be more than is in memory: ``expand`` repeats a
# number without a copy, and the clone writes it out. Leave the clone out, or make it
# on the host with ``to("cpu", copy=True)``.

wide = w.detach().expand(MIB // 4)
held = wide.untyped_storage().nbytes()
copied, new = measure(torch.clone, wide)
print(f"{held = } bytes, {wide.nbytes = }")
assert (held, wide.nbytes, new) == (4, MIB, 1)
# sphinx_gallery_tensor_map = "wide, copied"

# %%
# Recover behind ``except``
# ------------------------------------
# In the block the error's traceback keeps the tensors of the failed step.


def fails():
    batch = torch.ones(MIB // 4, device=device)
    seen.append(weakref.ref(batch))
    torch.empty(2**50, device=device)


seen = []
try:
    fails()
except RuntimeError:
    inside = seen[0]() is not None
behind = seen[0]() is not None
print(f"batch is alive: {inside = }, {behind = }")
assert inside and not behind

# %%
# Allocated and reserved
# ----------------------
# PyTorch's allocator for CUDA gives out blocks of a multiple of 512 bytes. It reserves
# larger pieces from the driver and keeps what you delete, for its next tensors
# (`PyTorch's notes
# <https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management>`_). So
# ``nvidia-smi`` shows what is reserved, and ``empty_cache`` gives back what is unused,
# which helps other programs. A CPU has no such counters.


def counters():
    if device == "cuda":
        now = torch.cuda.memory_allocated()
        return now, torch.cuda.memory_reserved()
    return "no counters"


one = torch.ones(1, device=device)
print("with one float:", counters())
del one
print("without it:", counters())

# %%
# Remember
# --------
# - Count after each epoch: growth is something kept, so look for a graph.
# - Validate under ``torch.no_grad()``; ``backward`` is what frees a graph.
# - A clone needs ``nbytes`` at once, whatever the storage behind it holds.
