# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Out of memory: what to do
=========================

If the memory in use grows within each epoch, the epoch's loop keeps tensors, and if it
only grows from epoch to epoch, code outside the loop does. If it doesn't grow, one step
is too large, the free memory is in pieces, or another program uses the GPU.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "Out of memory"
import weakref

import matplotlib.pyplot as plt
import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

MIB = 2**20
x = torch.ones(MIB // 4, device=device)
w = torch.ones((), device=device).requires_grad_()


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
# Count after each step to see what keeps memory
# ----------------------------------------------
# ``measure`` counts the MiB that a call leaves in use. It asks PyTorch's allocator on
# CUDA and the profiler on the CPU. In your own loop on a GPU, print
# ``torch.cuda.memory_allocated()`` after each step. Here, an epoch has four steps
# without ``backward()``, as in validation, and the graph of a loss saves three tensors
# of 1 MiB. We keep all losses of one epoch, each epoch's last loss, or detached losses.


def forward(x):
    return x * w * w * w * w


def train(x):
    loss = forward(x).mean()
    return loss, loss.backward()


def step(kept, number, keep):
    place = number % 4  # in its epoch
    if keep == "kept by the loop" and place == 0:
        kept.clear()
    loss = forward(x).mean()
    if keep == "detached":
        kept.append(loss.detach())
    elif keep == "kept by the loop" or place == 3:
        kept.append(loss)


curves = []
ways = "kept by the loop", "kept by the program"
for keep in (*ways, "detached"):
    kept, in_use = [], [0]
    for number in range(12):
        new = measure(step, kept, number, keep)[1]
        in_use.append(in_use[-1] + new)
    curves.append(in_use[1:])
    plt.plot(range(1, 13), in_use[1:], "o-")
    plt.text(12.4, in_use[-1], keep, va="center")
plt.xlim(0, 17)
plt.xticks([4, 8, 12])
plt.title("Without backward(), kept losses fill memory")
plt.xlabel("Step (an epoch has four)")
plt.ylabel("MiB in use after the step")
plt.show()
loop, program, detached = curves
assert loop == [3, 6, 9, 12] * 3
assert program[3::4] == [3, 6, 9]
assert detached == [0] * 12
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that counts and draws"

# %%
# If you only count once per epoch, you don't see the first case, but a longer epoch can
# run out of memory. In both, keep ``loss.detach()`` (:doc:`what_stays_alive`).
#
# In validation, an output keeps its graph
# ----------------------------------------
# In training, ``backward()`` frees the tensors that the graph saved. In validation they
# stay in memory as long as you keep the output. Under ``no_grad`` there is no graph.
# ``train`` returns a loss after ``backward()``. The numbers are MiB that stay in use.

trained = measure(train, x)[1]
with_graph = measure(forward, x)[1]
with torch.no_grad():
    without = measure(forward, x)[1]
print(f"{trained = }, {with_graph = }, {without = }")
assert (trained, with_graph, without) == (0, 4, 1)

# %%
# No growth: one step is too large
# --------------------------------
# A step usually needs the most memory when ``backward()`` starts, and this peak grows
# with the batch (:doc:`memory_of_a_step`). ``torch.cuda.max_memory_allocated()``
# returns the peak. A clone of an expanded tensor stores all of its elements. A copy to
# the CPU also does, first on the GPU. So clone or move a tensor before you expand it
# (:ref:`q-expanded-to-device`). If the GPU has no room for a clone of a tensor without
# gaps, copy it to the CPU with ``to("cpu", copy=True)``, which takes no GPU memory.

double = measure(forward, torch.cat([x, x]))[1]
wide = w.detach().expand(MIB // 4)
held = wide.untyped_storage().nbytes()
of_clone = measure(torch.clone, wide)[1]
print(f"batch: {with_graph} MiB, two: {double} MiB")
print(f"wide: {held} bytes, clone: {of_clone} MiB")
assert double == 2 * with_graph == 8
assert wide.nbytes == MIB
assert (held, of_clone) == (4, 1)

# %%
# No growth: the free memory is in pieces
# ---------------------------------------
# PyTorch reserves large blocks of GPU memory and puts tensors there. The memory of a
# deleted tensor stays reserved for new tensors, and ``nvidia-smi`` counts it as used.
# If ``memory_reserved()`` is far above ``memory_allocated()``, the free pieces may be
# too small for a new tensor (*fragmentation*). `PyTorch's notes on CUDA
# <https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management>`_ and the
# error's message advise ``PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True``. The notes
# also say that ``empty_cache()`` releases unused memory to other programs. PyTorch
# itself doesn't get more memory that way (:ref:`out-of-memory`), but :ref:`sometimes
# fewer pieces <q-empty-cache>`. On a CPU you can't see any of this.
#
# Recover after ``except``
# ------------------------
# Put the step into a function. Inside the ``except`` block, the error's traceback keeps
# the function's tensors alive. Retry with a smaller batch after the block.


def fails():
    batch = torch.ones(MIB // 4, device=device)
    seen.append(weakref.ref(batch))
    torch.empty(2**50, device=device)


seen = []
try:
    fails()
except RuntimeError:
    inside = seen[0]() is not None
after = seen[0]() is not None
print(f"batch is alive: {inside = }, {after = }")
assert inside and not after

# %%
# Remember
# --------
# - If memory grows within an epoch, the loop keeps tensors. If it only grows from epoch
#   to epoch, code outside the loop does.
# - If it doesn't grow, one step is too large, the free memory is in pieces, or another
#   program uses the GPU (``nvidia-smi`` shows it).
# - Keep ``loss.detach()``, and validate under ``torch.no_grad()``.
