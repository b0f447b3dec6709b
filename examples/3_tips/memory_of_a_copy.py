# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does ``x.detach().clone().numpy()`` waste memory?
=================================================

On a CPU it wastes nothing, for the clone is the one copy; on CUDA it raises, and
with ``cpu`` before ``numpy`` the clone is one copy too many.

You will see what each step allocates, that the waste is one tensor however many
you convert, and what does add up.
"""

# sphinx_gallery_setup = True
import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A meter
# -------
# For the CPU, the profiler adds up what a step allocates and does not free. For
# CUDA, PyTorch's allocator counts its bytes and their peak. The meter returns the
# results of a step and the new MiB: on the CPU, on CUDA, and CUDA's peak.

# sphinx_gallery_folded = "The meter"
MIB = 2**20
CPU = [ProfilerActivity.CPU]


def measure(step, *inputs):
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    old = torch.cuda.memory_allocated()
    meter = profile(activities=CPU, profile_memory=True)
    with meter:
        results = [step(x) for x in inputs]
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
# Step by step
# ------------
# ``x`` holds 4 MiB; ``detach`` and :meth:`torch.Tensor.numpy` return aliases. On CUDA
# ``numpy`` raises, and by then the clone is made. ``meta`` shows it without a GPU.

x = torch.ones(MIB, device=device).requires_grad_()
(detached,), new = measure(torch.detach, x)
print(f"detach: {sum(new[:2])} MiB")
assert sum(new) == 0
(clone,), new = measure(torch.clone, detached)
print(f"clone: {sum(new[:2])} MiB")
assert sum(new[:2]) == 4
_, new = measure(torch.Tensor.numpy, clone.cpu())
print(f"numpy: {sum(new[:2])} MiB")
assert sum(new) == 0

other = "cuda" if device == "cuda" else "meta"
try:
    clone.to(other).numpy()
except TypeError as error:
    message = str(error)
print("TypeError:", message)
assert f"can't convert {other}" in message
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, detached, clone"

# %%
# The waste is one tensor, not ten
# --------------------------------
# Ten tensors of 4 MiB go to the CPU, one after the other. The table has what is new
# on the CPU and, if the tensors are on another device, the peak there.

routes = {
    "x.detach().cpu()": lambda x: x.detach().cpu(),
    "x.detach().clone().cpu()": (  # one too many
        lambda x: x.detach().clone().cpu()
    ),
    'x.detach().to("cpu", copy=True)': (  # one
        lambda x: x.detach().to("cpu", copy=True)
    ),
}
rows = []
for route, step in routes.items():
    xs = torch.ones(10, MIB, device=device)
    ys, (host, kept, peak) = measure(step, *xs)
    row = {"route": route, "on the CPU": f"{host} MiB"}
    row["peak elsewhere"] = "–"
    if device == "cuda":
        row["peak elsewhere"] = f"{peak} MiB"
        waste = 4 if "clone" in route else 0
        assert (host, kept, peak) == (40, 0, waste)
    else:
        alias = route == "x.detach().cpu()"
        assert host == (0 if alias else 40)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_predict = "What does the clone waste?"
# sphinx_gallery_table = "rows"

# %%
# On CUDA the clone wastes 4 MiB at the peak, not 40: each clone is freed before the
# next is made. On a CPU it wastes nothing: ``cpu`` returns an alias, and the clone is
# the one copy.

# %%
# On CUDA a slice with gaps makes one more copy, which only a GPU can show: it is
# `packed on the device first
# <https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Copy.cu>`_.

gaps = torch.ones(2 * MIB, device=device)[::2]
_, new = measure(torch.Tensor.cpu, gaps)
print(f"Peak for a slice with gaps: {new[2]} MiB")

# %%
# What does add up: the graphs you keep
# -------------------------------------
# Each loss in a list keeps its graph alive, and the graph keeps what it saved for
# the backward pass: here the 4 MiB that ``exp`` returned. A detached loss keeps no
# graph (:doc:`what_stays_alive`).

xs = [x] * 3
_, kept = measure(lambda x: x.exp().sum(), *xs)
_, rest = measure(lambda x: x.exp().sum().detach(), *xs)
print(f"Three losses: {sum(kept[:2])} MiB")
print(f"Three, detached: {sum(rest[:2])} MiB")
assert sum(kept[:2]) == 12 and sum(rest[:2]) == 0

# %%
# Remember
# --------
# - ``clone`` allocates, ``detach`` and ``numpy`` do not.
# - One copy, on the CPU, from any device: ``x.detach().to("cpu", copy=True)``.
# - A temporary clone costs one tensor at the peak. What you keep adds up.
