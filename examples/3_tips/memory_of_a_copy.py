# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does ``x.detach().clone().numpy()`` waste memory?
=================================================

You will see that on a CPU it wastes nothing: the clone is the one copy. On CUDA
it raises, and with ``cpu`` behind the clone it wastes one tensor at a time.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A meter
# -------
# On CUDA, PyTorch counts the bytes that it hands out; on a CPU, ``MemTracker``
# (private) adds up live storages. Both return the new MiB: kept, and at the peak.

MIB = 2**20


def on_cuda(step, *inputs):
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    results = [step(x) for x in inputs]
    kept = torch.cuda.memory_allocated() - start
    peak = torch.cuda.max_memory_allocated() - start
    return results, kept / MIB, peak / MIB


def tracked(step, *inputs):
    tracker, where = MemTracker(), inputs[0].device
    tracker.track_external(*inputs)
    snapshot = tracker.get_tracker_snapshot
    start = snapshot("current")[where]["Total"]
    with tracker:
        results = [step(x) for x in inputs]
    kept = snapshot("current")[where]["Total"] - start
    peak = snapshot("peak")[where]["Total"] - start
    return results, kept / MIB, peak / MIB


measure = on_cuda if device == "cuda" else tracked
print("the meter:", measure.__name__)

# %%
# Step by step
# ------------
# ``x`` holds 4 MiB. ``detach`` and :meth:`torch.Tensor.numpy` return aliases,
# ``clone`` allocates 4 MiB more. On CUDA ``numpy`` raises, after the clone has
# been made. Without a GPU, the ``meta`` device shows the same error.

x = torch.ones(MIB, device=device, requires_grad=True)
(detached,), a, _ = measure(torch.detach, x)
(clone,), b, _ = measure(torch.clone, detached)
host = clone.cpu()
host.numpy()[0] = 5.0
print(f"detach {a} MiB, clone {b} MiB, host[0] {host[0]}")
assert (a, b) == (0, 4) and host[0] == 5

there = clone if device == "cuda" else clone.to("meta")
try:
    there.numpy()
except TypeError as error:
    message = str(error)
print("TypeError:", message)
assert message.startswith(f"can't convert {there.device}")
# sphinx_gallery_tensor_map = "x, detached, clone"

# %%
# The waste is one tensor, not ten
# --------------------------------
# Ten tensors of 4 MiB go to the host, one after the other. Without a GPU the last
# column is computed: ``FakeTensorMode`` (private too) has sizes and no data.

routes = {
    "cpu": lambda x: x.detach().cpu(),
    "clone, cpu": lambda x: x.detach().clone().cpu(),
    "copy=True": lambda x: x.detach().to("cpu", copy=True),
}
print("new MiB: on x's device, on the host | peak on a GPU")
for name, route in routes.items():
    xs = torch.ones(10, MIB, device=device)
    ys, kept, peak = measure(route, *xs)
    new = {y.data_ptr() for y in ys}
    host = 4 * len(new - {x.data_ptr() for x in xs})
    if device == "cpu":
        assert peak == kept == host  # nothing is wasted
        with FakeTensorMode():
            xs = torch.ones(10, MIB, device="cuda")
            _, _, peak = tracked(route, *xs)
    print(f"{kept:5.0f} {host:5.0f} {peak:5.0f}  {name}")
    assert host == (0 if name == device == "cpu" else 40)
    assert peak == (4 if name == "clone, cpu" else 0)
# sphinx_gallery_predict = "What does the clone waste?"

# %%
# 4 MiB: each clone is freed before the next is made. The allocator of PyTorch
# keeps its memory: ``nvidia-smi`` still counts it. On a CPU, ``cpu`` is an alias.

# %%
# Only a GPU can show this: a CUDA slice with gaps has a peak, for it is `first packed
# <https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Copy.cu>`_.
# On a CPU, ``cpu`` is an alias and takes nothing.

gaps = torch.ones(2 * MIB, device=device)[::2]
_, _, peak = measure(torch.Tensor.cpu, gaps)
print(f"peak for a slice with gaps: {peak} MiB")

# %%
# What does add up: the graphs you keep
# -------------------------------------
# Each loss in a list keeps its graph alive, and the graph keeps what it has
# saved: here the 4 MiB result of ``exp``. A detached loss keeps no graph.


def losses(x):
    return [(x * 2).exp().sum() for _ in range(3)]


_, kept, _ = measure(losses, x)
_, rest, _ = measure(lambda x: sum(losses(x)).detach(), x)
print(f"three losses {kept:.0f} MiB, detached {rest:.0f}")
assert round(kept) == 12 and round(rest) == 0

# %%
# Remember
# --------
# - ``clone`` allocates. ``detach`` and ``numpy`` do not.
# - From any device one copy, on the CPU: ``x.detach().to("cpu", copy=True)``.
# - A temporary clone costs one tensor at the peak. What you keep adds up.
#
# Next: :doc:`../4_patterns/frozen_network`
