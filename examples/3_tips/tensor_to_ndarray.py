# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "perfplot", "matplotlib"]
# ///
"""
Turn a tensor into an ndarray
=============================

You will see nine routes from a tensor that requires grad to an array:
which fail, alias or copy on which device, and what three of them cost.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Nine routes
# -----------
# The table shows the code that ran. Each array gets a 7. If the tensor then has
# it too, the array is an alias: on a CPU :func:`numpy.shares_memory` must agree.

routes = [
    "t.numpy()",
    "t.clone().numpy()",
    "t.detach().numpy()",
    "t.detach().numpy().copy()",
    "t.detach().clone().numpy()",
    "t.clone().detach().numpy()",
    "t.detach().cpu().numpy()",
    "t.numpy(force=True)",
    't.detach().to("cpu", copy=True).numpy()',
]


def follow(route, where):
    t = torch.ones(3, device=where, requires_grad=True)
    try:
        array = eval(route)
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    array[0] = 7.0
    alias = t[0].item() == 7
    if where == "cpu":
        assert alias == np.shares_memory(array, t.detach())
    return "alias" if alias else "independent"


results = [follow(route, device) for route in routes]
for result, route in zip(results, routes, strict=True):
    print(f"{result:12}", route)
if device == "cpu":
    assert results[:2] == ["RuntimeError"] * 2
    assert results[2:6] == ["alias"] + ["independent"] * 3
moved = "alias" if device == "cpu" else "independent"
assert results[6:] == [moved, moved, "independent"]

# %%
# Which one to choose
# -------------------
# On CUDA the first six raise ``TypeError``. So does the ``meta`` device, which
# needs no GPU. The next two copy on CUDA but alias on a CPU. Only the last one
# copies on both. Where an alias will do, ``t.numpy(force=True)`` is shorter.

elsewhere = "meta" if device == "cpu" else "cuda"
refused = [follow(route, elsewhere) for route in routes[:6]]
print(f"first six on {elsewhere}:", set(refused))
assert refused == ["TypeError"] * 6

# %%
# The layout can differ
# ---------------------
# ``t`` is transposed, and on the CPU. C order is the order row by row.

t = torch.arange(6.0).view(2, 3).t()
arrays = [eval(route) for route in routes[3:5] + routes[8:]]
layouts = [array.flags.c_contiguous for array in arrays]
print("C order:", layouts)
assert layouts == [True, False, False]
# sphinx_gallery_predict = "Which copies are in C order?"

# %%
# :meth:`numpy.ndarray.copy` is. ``clone`` and ``to`` keep a dense layout.
#
# Measure
# -------
# This is the article's benchmark, on one thread: CPU tensors that require no
# gradient. The article takes it for a comparison of CPU and GPU, but no GPU is
# in it: these routes raise on CUDA. The time is the fastest of many calls. The
# setup writes more than it returns: a host can be slow to give free memory.

SIZES = [2**k for k in range(0, 25, 3)]
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
WAIT = {"quick": 0.01, "normal": 0.3, "long": 2.0}
torch.set_num_threads(1)
b = perfplot.bench(
    setup=lambda n: torch.randn(4, n).sum(0),
    kernels=[eval("lambda t: " + r) for r in routes[3:6]],
    labels=routes[3:6],
    n_range=SIZES,
    target_time_per_measurement=WAIT[quality],  # seconds
    equality_check=np.array_equal,
    show_progress=False,
)
for number, label in enumerate(b.labels, 1):
    print(f"{number}: {label}")

# %%
# Read the result
# ---------------
# Where a line is flat, the copying hardly counts: you see the overhead of the
# calls. At the right end NumPy's own copy may win: :doc:`pages_of_a_copy`.

microseconds = b.timings_s * 1e6
print("microseconds per call, CPU tensors")
print(f"{'n':>8} {1:9} {2:9} {3:9}")
for n, row in zip(SIZES, microseconds.T, strict=True):
    print(f"{n:8}", *(f"{time:9.2f}" for time in row))
least = microseconds[:, :3].min(axis=1)
late = 1.25 * least.min()
slow = [k + 1 for k in range(3) if least[k] > late]
print(f"over a quarter slower up to 64 elements: {slow}")

figure, axes = plt.subplots(layout="constrained")
axes.loglog(SIZES, microseconds.T, label=b.labels)
axes.set(xlabel="number of elements", ylabel="microseconds")
axes.set_title("CPU tensor to independent array")
axes.legend()
plt.show()
samples = [
    {"method": m, "elements": n, "seconds": t}
    for m, row in zip(b.labels, b.timings_s, strict=True)
    for n, t in zip(SIZES, row, strict=True)
]
# sphinx_gallery_benchmark_data = "samples"

# %%
# Remember
# --------
# - Ask for the copy: ``t.detach().to("cpu", copy=True).numpy()``.
# - ``t.numpy(force=True)`` is an alias on a CPU and a copy on CUDA.
# - Choose by meaning and by layout, not by speed.
#
# Next: :doc:`copy_a_tensor`
