# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "perfplot", "matplotlib"]
# ///
"""
The fastest ndarray copy
========================

The chart compares ``t.detach().numpy().copy()`` with two other ways to copy a CPU
tensor into an array. On another machine, another way may be the fastest.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "Fastest ndarray copy"
# sphinx_gallery_try = "x.detach().numpy().copy()"
import os

import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch
from matplotlib.ticker import EngFormatter

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Three calls that make the same copy
# -----------------------------------
# In the first way, NumPy copies the array that shares memory with the tensor. In the
# others, PyTorch copies the tensor, either after ``detach`` or before it. Autograd
# would record a clone before ``detach``, but these tensors don't require grad. All
# tensors are on the CPU. For copies from a GPU see :doc:`copy_between_devices`.

ways = {
    "t.detach().numpy().copy()": (  # NumPy copies
        lambda t: t.detach().numpy().copy()
    ),
    "t.detach().clone().numpy()": (  # torch
        lambda t: t.detach().clone().numpy()
    ),
    "t.clone().detach().numpy()": (  # in the graph
        lambda t: t.clone().detach().numpy()
    ),
}
t = torch.ones(3)
arrays = [way(t) for way in ways.values()]
for array in arrays:
    array[0] = 7
print(f"{t.tolist() = }, {arrays[2].tolist() = }")
assert t[0] == 1  # each has its own memory
assert all(a.tolist() == [7, 1, 1] for a in arrays)

# %%
# How are the calls compared?
# ---------------------------
# After a warm-up, ``perfplot.bench`` repeats each way for a fraction of a second and
# reports its smallest time. Each round starts with another way. In each round, we
# divide the times by that of the first way in the table. The bar is the middle half of
# these ratios, the dot their median. The table has the median times.
# :doc:`pages_of_a_copy` explains why 64 MiB take so long, and why NumPy can be faster.


SIZES = [1, 2**10, 2**20, 2**24]  # elements
LABELS = ["4 B", "4 KiB", "4 MiB", "64 MiB"]
quality = os.environ.get("BENCHMARK_QUALITY")
rounds = 30 if quality == "long" else 9
target = {"quick": 0.02, "long": 0.5}.get(quality, 0.05)
torch.set_num_threads(1)
calls = list(ways)
times = np.empty((rounds, len(SIZES), len(calls)))
for r in range(rounds):
    order = np.roll(range(len(calls)), r)
    bench = perfplot.bench(
        setup=torch.ones,
        kernels=[ways[calls[c]] for c in order],
        n_range=[1, *SIZES],  # the first warms up
        target_time_per_measurement=target,
        show_progress=False,
    )
    times[r][:, order] = bench.timings_s.T[1:]
samples = [
    dict(method=call, elements=n, seconds=t)
    for s, n in enumerate(SIZES)
    for c, call in enumerate(calls)
    for t in times[:, s, c]
]

ratios = times / times[:, :, :1]
parts = [0.25, 0.5, 0.75]
low, mid, high = np.quantile(ratios, parts, 0)
slower, faster = low > 4 / 3, high < 3 / 4
medians = np.median(times, axis=0)
rows = [{"call": call} for call in calls]
verdict, others = [], len(calls) - 1
fig, axs = plt.subplots(1, 4, sharex=True, sharey=True)
for s, axes in enumerate(axs):
    bars = mid[s] - low[s], high[s] - mid[s]
    axes.errorbar(mid[s], calls, xerr=bars, fmt="o")
    for c in np.flatnonzero(slower[s] | faster[s]):
        axes.text(high[s, c], c, f" {mid[s, c]:.1f}×")
    more, less = slower[s].sum(), faster[s].sum()
    said = f"{more} of {others} calls took longer"
    said += f", and {less} took less time"
    verdict.append(f"At {LABELS[s]}, {said}.")
    for row, time in zip(rows, medians[s]):
        digits = f"{time:.2e}"  # three, as in 2.90e-06
        places = 2 - int(digits[-3:]) % 3
        unit = EngFormatter("s", places)
        row[LABELS[s]] = unit(float(digits))
    axes.set_title(f"{LABELS[s]}\n{rows[0][LABELS[s]]}")
axs[0].set_xscale("log", base=2)
axs[0].invert_yaxis()
fig.set_size_inches(12, 3)
fig.suptitle(f"{verdict[0]}\n{verdict[-1]}")
fig.supxlabel(f"Time relative to `{calls[0]}`")
plt.show()
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that times and draws"
# sphinx_gallery_benchmark_data = "samples"
# sphinx_gallery_lead = True
# sphinx_gallery_table = "rows"

# %%
# A :doc:`2021 article <../../article>` called such a benchmark a comparison of CPU and
# GPU. But ``torch.ones`` makes tensors on the CPU, so the benchmark never uses a GPU.
#
# Remember
# --------
# - All three copy once. NumPy's copy is always in C order (row by row). ``clone`` keeps
#   the strides of a tensor without gaps.
# - From any device, use ``t.detach().to("cpu", copy=True).numpy()``.
