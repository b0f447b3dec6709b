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

MIB = 2**20
x = torch.ones(MIB // 4, device=device)
w = torch.ones((), device=device, requires_grad=True)


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


# %%
# Over epochs: the count grows
# ----------------------------
# ``measure`` counts the MiB that are new when a function returns: on CUDA by the
# allocator, on the CPU by the profiler. The four products save their inputs of 1 MiB;
# the first is ``x``, which stays anyway. (More of this: :doc:`what_stays_alive`.)


def forward(x):
    return x * w * w * w * w


def epoch(log, detach):
    loss = forward(x).mean()
    log.append(loss.detach() if detach else loss)


in_use = {}
for detach in False, True:
    log, total = [], 0
    for number in 1, 2, 3:
        total += measure(epoch, log, detach)[1]
        in_use[f"{detach = }, epoch {number}"] = total
print(in_use)
assert list(in_use.values()) == [3, 6, 9, 0, 0, 0]

# %%
bars = plt.barh(list(in_use), list(in_use.values()))
plt.bar_label(bars, fmt="%d MiB")
plt.gca().invert_yaxis()
plt.title("A kept loss keeps 3 MiB an epoch.")
plt.xlabel("In use after the epoch")
plt.show()
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that draws"

# %%
# In validation: nothing frees the graph
# --------------------------------------
# Validation has no ``backward``: the graph stays with the output. ``no_grad`` has none.

with_graph = measure(forward, x)[1]
with torch.no_grad():
    without = measure(forward, x)[1]
print(f"{with_graph = } MiB, {without = } MiB")
assert with_graph == 4 and without == 1

# %%
# At a clone: how much does it ask for?
# -------------------------------------
# As much as ``nbytes`` says, here more than is in memory (:doc:`expanded_tensors`).
# Leave the clone out, or make it on the host with ``to("cpu", copy=True)``.

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
# PyTorch's allocator for CUDA gives out multiples of 512 bytes, from larger pieces that
# it reserves. What you delete it keeps for its next tensors: ``nvidia-smi`` counts it,
# ``empty_cache`` gives it back (:ref:`out-of-memory`). On a CPU both counters stay 0.

one = torch.ones(1, device=device)
for name in "with one float", "without it":
    now = torch.cuda.memory_allocated()
    kept = torch.cuda.memory_reserved()
    print(f"{name}: {(now, kept)}")
    one = None  # lets go of it

# %%
# Remember
# --------
# - Count after each epoch: growth is something kept, so look for a graph.
# - Validate under ``torch.no_grad()``; ``backward`` is what frees a graph.
# - A clone needs ``nbytes`` at once, whatever the storage behind it holds.
