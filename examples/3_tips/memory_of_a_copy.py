# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does ``x.detach().clone().numpy()`` waste memory?
=================================================

You will see the memory that each step allocates, measured. The article ends with
this question. The answer: only ``clone`` allocates, the waste is one tensor at a
time, and on CUDA the expression raises before it returns anything.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A meter
# -------
# PyTorch counts the bytes it hands out on CUDA. On a CPU it does not, and there
# ``MemTracker`` (a private module) adds up the storages that are alive. Both say
# how many MiB a step keeps and how many it holds at its peak, without its inputs.

MIB = 2**20


def on_gpu(step, *inputs):
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    result = step(*inputs)
    kept = torch.cuda.memory_allocated() - start
    peak = torch.cuda.max_memory_allocated() - start
    return result, kept / MIB, peak / MIB


def tracked(step, *inputs, kind="cpu"):
    def total(when):
        uses = tracker.get_tracker_snapshot(when).items()
        return sum(u["Total"] for d, u in uses if d.type == kind)

    tracker = MemTracker()
    tracker.track_external(*inputs)
    start = total("current")
    with tracker:
        result = step(*inputs)
    kept, peak = total("current") - start, total("peak") - start
    return result, kept / MIB, peak / MIB


measure = on_gpu if device == "cuda" else tracked
print("the meter is", measure.__name__)

# %%
# Step by step
# ------------
# ``x`` holds 4 MiB. ``detach`` returns a view of it, and the array is a second
# name for the tensor it is made from. In between, ``clone`` allocates 4 MiB.

x = torch.ones(MIB, device=device, requires_grad=True)
detached, a, _ = measure(torch.detach, x)
clone, b, _ = measure(torch.clone, detached)
array, c, _ = tracked(torch.Tensor.numpy, clone.cpu())
print(f"detach {a} MiB, clone {b} MiB, numpy {c} MiB")
assert (a, b, c) == (0, 4, 0)

# %%
# On CUDA it does not run
# -----------------------
# The clone is made, and then :meth:`torch.Tensor.numpy` refuses it, because it is
# not on the CPU. Without a GPU, the ``meta`` device shows the same refusal.

elsewhere = "meta" if device == "cpu" else "cuda"
clone = torch.ones(MIB, device=elsewhere).detach().clone()
try:
    clone.numpy()
except TypeError as error:
    message = str(error)
print(clone.nbytes / MIB, "MiB cloned, then TypeError:")
print(message)
assert message.startswith(f"can't convert {clone.device}")

# %%
# The waste is one tensor, not the sum
# ------------------------------------
# ``to("cpu", copy=True)`` is a copy by itself, so a clone before it is wasted.
# Before you read the output: how much do ten clones waste? Each of them is freed
# before the next one is made. The waste is what the peak adds to what is kept.


def direct(*ts):
    return [t.detach().to("cpu", copy=True) for t in ts]


def detour(*ts):
    return [t.detach().clone().to("cpu", copy=True) for t in ts]


xs = [torch.ones(MIB, device=device) for _ in range(10)]
for step, waste in ((direct, 0), (detour, 4)):
    for inputs in (xs[:1], xs):
        _, kept, peak = measure(step, *inputs)
        print(f"{step.__name__} x {len(inputs):2}:", end=" ")
        print(f"kept {kept:2.0f}, peak {peak:2.0f} MiB")
        assert peak - kept == waste

# %%
# GPU memory, seen without a GPU
# ------------------------------
# ``FakeTensorMode`` (private as well) gives CUDA tensors with a size and no data.
# The copies are in host memory, so only the clone counts on the GPU.

for step, waste in ((direct, 0), (detour, 4)):
    with FakeTensorMode():
        xs = [torch.ones(MIB, device="cuda") for _ in range(10)]
        _, kept, peak = tracked(step, *xs, kind="cuda")
    print(f"{step.__name__}: peak {peak:.0f} MiB on the GPU")
    assert (kept, peak) == (0, waste)

# %%
# What to write instead
# ---------------------
# ``x.detach().to("cpu", copy=True).numpy()`` makes one copy on either device.
# ``x.detach().cpu().numpy()`` makes one on CUDA and none on a CPU: an alias.

(copy,), kept, peak = tracked(direct, x)
copy.numpy()[0] = 7.0
print(f"host memory {peak:.0f} MiB, x[0] {x[0].item():.0f}")
assert kept == peak == 4 and x[0].item() == 1
x.detach().cpu().numpy()[0] = 7.0
print(f"after a write through cpu(): {x[0].item():.0f}")
assert x[0].item() == (7 if device == "cpu" else 1)

# %%
# What does add up
# ----------------
# Memory is held by what you keep. Each loss in a list keeps its graph alive, with
# the tensors saved in it: here the 4 MiB result of ``exp``.


def losses(x):
    return [(x * 2).exp().sum() for _ in range(3)]


def values(x):
    return [loss.detach() for loss in losses(x)]


for step, expected in ((losses, 12), (values, 0)):
    _, kept, _ = measure(step, x)
    print(f"three {step.__name__} keep {kept:.0f} MiB")
    assert round(kept) == expected

# %%
# Remember
# --------
# - Only ``clone`` allocates. ``detach`` and ``numpy`` do not.
# - ``x.detach().to("cpu", copy=True).numpy()`` is one copy on every device.
# - A temporary clone costs one tensor at the peak. What you keep adds up.
#
# Next: :doc:`../4_patterns/frozen_network`
