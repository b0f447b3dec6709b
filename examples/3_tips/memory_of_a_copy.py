# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does ``x.detach().clone().numpy()`` waste memory?
=================================================

On a CPU it wastes nothing: the clone is the one copy. On CUDA it raises.

You will see what each step allocates, and that with ``cpu`` behind it a clone on
CUDA wastes one tensor at a time.
"""

import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)
# sphinx_gallery_setup = True

# %%
# A meter
# -------
# With ``profile_memory`` the profiler adds up what is allocated on the CPU and not
# freed. PyTorch's allocator for CUDA counts its own bytes. The meter returns the
# results and the new MiB: on the CPU, on CUDA, and CUDA's peak.

MIB = 2**20
CPU = [ProfilerActivity.CPU]


def measure(step, *inputs):
    start = kept = peak = 0
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        start = torch.cuda.memory_allocated()
    meter = profile(activities=CPU, profile_memory=True)
    with meter:
        results = [step(x) for x in inputs]
    if device == "cuda":
        kept = torch.cuda.memory_allocated() - start
        peak = torch.cuda.max_memory_allocated() - start
    calls = meter.key_averages()
    host = sum(c.self_cpu_memory_usage for c in calls)
    new = host / MIB, kept / MIB, peak / MIB
    return results, [round(size) for size in new]


_, new = measure(torch.clone, torch.ones(MIB))
print(f"a clone of 4 MiB on the CPU: {new[0]} MiB")
assert new == [4, 0, 0]
# sphinx_gallery_folded = "The meter"

# %%
# Step by step
# ------------
# ``x`` holds 4 MiB. ``detach`` and :meth:`torch.Tensor.numpy` return aliases,
# ``clone`` allocates 4 MiB more. On CUDA ``numpy`` raises, after the clone has
# been made. Without a GPU, the ``meta`` device shows the same error.

# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, detached, clone"
x = torch.ones(MIB, device=device, requires_grad=True)
(detached,), new = measure(torch.detach, x)
print(f"detach: {sum(new[:2])} MiB")
assert sum(new) == 0
(clone,), new = measure(torch.clone, detached)
print(f"clone: {sum(new[:2])} MiB")
assert sum(new[:2]) == 4
host = clone.cpu()
host.numpy()[0] = 5.0
assert host[0] == 5  # the array is an alias

there = clone if device == "cuda" else clone.to("meta")
try:
    there.numpy()
except TypeError as error:
    message = str(error)
print("TypeError:", message)
assert message.startswith("can't convert")
assert there.device.type in message

# %%
# The waste is one tensor, not ten
# --------------------------------
# Ten tensors of 4 MiB go to the CPU, one after the other. New MiB: kept on the CPU,
# and where ``x`` is on another device, kept there and at the peak.

routes = {
    "x.detach().cpu()": lambda x: x.detach().cpu(),
    "x.detach().clone().cpu()": (  # one copy too many
        lambda x: x.detach().clone().cpu()
    ),
    'x.detach().to("cpu", copy=True)': (  # always one
        lambda x: x.detach().to("cpu", copy=True)
    ),
}
# sphinx_gallery_predict = "What does the clone waste?"
# sphinx_gallery_table = "rows"
names = ["route", "CPU", "other device", "peak there"]
rows = []
for route, step in routes.items():
    xs = torch.ones(10, MIB, device=device)
    ys, new = measure(step, *xs)
    if device == "cpu":
        new[1:] = "–", "–"
    rows.append(dict(zip(names, [route, *new])))
    if device == "cuda":
        waste = 4 if "clone" in route else 0
        assert new == [40, 0, waste]
    else:
        alias = route == "x.detach().cpu()"
        assert new[0] == (0 if alias else 40)
print(*names, sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")

# %%
# On CUDA the clone costs 4 MiB at the peak: each is freed before the next is made.
# The allocator keeps its memory: ``nvidia-smi`` still counts it. On a CPU, ``cpu``
# is an alias, and nothing is wasted: the clone is the one copy.

# %%
# Only a GPU can show this: a CUDA slice with gaps has a peak, for it is
# `first packed
# <https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Copy.cu>`_.

gaps = torch.ones(2 * MIB, device=device)[::2]
_, new = measure(torch.Tensor.cpu, gaps)
print(f"peak for a slice with gaps: {new[2]} MiB")

# %%
# What does add up: the graphs you keep
# -------------------------------------
# Each loss in a list keeps its graph alive, and the graph keeps what it has
# saved: here the 4 MiB result of ``exp``. A detached loss keeps no graph.


def losses(x):
    return [(x * 2).exp().sum() for _ in range(3)]


_, kept = measure(losses, x)
_, rest = measure(lambda x: sum(losses(x)).detach(), x)
print(f"three losses {sum(kept[:2])} MiB")
print(f"their detached sum {sum(rest[:2])} MiB")
assert sum(kept[:2]) == 12 and sum(rest[:2]) == 0

# %%
# Remember
# --------
# - ``clone`` allocates. ``detach`` and ``numpy`` do not.
# - From any device one copy, on the CPU: ``x.detach().to("cpu", copy=True)``.
# - A temporary clone costs one tensor at the peak. What you keep adds up.
#
# Next: :doc:`../4_patterns/frozen_network`
