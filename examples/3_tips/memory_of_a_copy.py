# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does ``x.detach().clone().numpy()`` waste memory?
=================================================

You will see the article's last question answered by measurement. Only ``clone``
allocates, it wastes one tensor at a time, and on CUDA the expression raises.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A meter
# -------
# On CUDA, PyTorch counts the bytes that it hands out. For a CPU, ``MemTracker``
# (a private module) adds up the storages that are alive. Both return the MiB
# that a step keeps and the most that it holds on the way, without its inputs.

MIB = 2**20


def on_cuda(step, *inputs):
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    result = step(*inputs)
    kept = torch.cuda.memory_allocated() - start
    peak = torch.cuda.max_memory_allocated() - start
    return result, kept / MIB, peak / MIB


def tracked(step, *inputs):
    tracker, where = MemTracker(), inputs[0].device
    tracker.track_external(*inputs)
    snapshot = tracker.get_tracker_snapshot
    start = snapshot("current")[where]["Total"]
    with tracker:
        result = step(*inputs)
    kept = snapshot("current")[where]["Total"] - start
    peak = snapshot("peak")[where]["Total"] - start
    return result, kept / MIB, peak / MIB


measure = on_cuda if device == "cuda" else tracked
print("the meter:", measure.__name__)

# %%
# Step by step
# ------------
# ``x`` holds 4 MiB. ``detach`` and :meth:`torch.Tensor.numpy` return aliases,
# ``clone`` allocates 4 MiB more. On CUDA ``numpy`` raises, after the clone has
# been made. Without a GPU, the ``meta`` device shows the same error.

x = torch.ones(MIB, device=device, requires_grad=True)
detached, a, _ = measure(torch.detach, x)
clone, b, _ = measure(torch.clone, detached)
_, c, _ = tracked(torch.Tensor.numpy, clone.cpu())
print(f"detach {a} MiB, clone {b} MiB, numpy {c} MiB")
assert (a, b, c) == (0, 4, 0)

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
# Ten tensors of 4 MiB go to the host, one after the other. Before you read the
# output: what does the clone waste? Each is freed before the next is made.
# ``FakeTensorMode`` (private too) shows CUDA without a GPU: sizes and no data.

routes = {
    "x.detach().cpu()": 0,
    "x.detach().clone().cpu()": 4,
    'x.detach().to("cpu", copy=True)': 0,
    'x.detach().clone().to("cpu", copy=True)': 4,
}
fake = FakeTensorMode()
print("MiB kept here | kept on a GPU | peak on a GPU")
for route, waste in routes.items():
    each = eval("lambda *xs: [" + route + " for x in xs]")
    xs = [torch.ones(MIB, device=device) for _ in range(10)]
    _, here, _ = measure(each, *xs)
    with fake:
        fakes = [torch.ones(MIB, device="cuda") for _ in xs]
        _, kept, peak = tracked(each, *fakes)
    print(f"{here:5.0f} {kept:3.0f} {peak:3.0f}  {route}")
    none = device == "cuda" or route == "x.detach().cpu()"
    assert (here, kept) == (0 if none else 40, 0)
    assert peak == waste

# %%
# What to write instead
# ---------------------
# Two arrays get a number. Does ``x`` get it too?

x.detach().cpu().numpy()[0] = 7.0
x.detach().to("cpu", copy=True).numpy()[0] = 9.0
print("x[0] is", x[0].item())
assert x[0].item() == (7 if device == "cpu" else 1)
# sphinx_gallery_predict = "What is ``x[0]``?"

# %%
# ``cpu`` copies from CUDA, and returns an alias of what is on the CPU already.
#
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
# - Use ``x.detach().to("cpu", copy=True).numpy()``: one copy on every device.
# - A temporary clone costs one tensor at the peak. What you keep adds up.
#
# Next: :doc:`../4_patterns/frozen_network`
