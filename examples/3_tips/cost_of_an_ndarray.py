# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "perfplot", "matplotlib"]
# ///
"""
Copy into an ndarray: which way is the fastest?
===============================================

Each way copies once, so choose by what you need: which one is the fastest on this
machine, and at which size, the picture says.

You will see three ways to an array with its own memory timed side by side, each
time divided by that of the first way, and a verdict made from the numbers.
"""

# sphinx_gallery_setup = True
import os

import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch
from matplotlib.ticker import EngFormatter

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Three ways, one result
# ----------------------
# NumPy copies the alias, or PyTorch copies the tensor: detached first, or within
# the graph. All tensors here are on the CPU, so that the time is that of the copy
# and not of the way between two devices. For that, see
# :doc:`copy_between_devices`.

ways = {
    "t.detach().numpy().copy()": (  # NumPy copies
        lambda t: t.detach().numpy().copy()
    ),
    "t.detach().clone().numpy()": (  # torch copies
        lambda t: t.detach().clone().numpy()
    ),
    "t.clone().detach().numpy()": (  # in the graph
        lambda t: t.clone().detach().numpy()
    ),
}
t = torch.ones(3)
for call, way in ways.items():
    array = way(t)
    array[0] = 7
    print(f"{call} leaves {t[0].item() = }")
    assert t[0] == 1  # its own memory
    assert array.tolist() == [7, 1, 1]

# %%
# The time of each, divided
# -------------------------
# ``perfplot.bench`` times each way as often as fits a twentieth of a second and
# reports its fastest run; a warm-up comes first. Each round has another order, and in
# each round the times are divided by that of the first way. The bar is the
# middle half of the rounds, the dot their median, and the table has the median
# times. To see why 64 MiB take so long, :doc:`count the pages <pages_of_a_copy>`.

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
differs = (low > 4 / 3) | (high < 3 / 4)
medians = np.median(times, axis=0)
rows = [{"call": call} for call in calls]
verdict, same = [], "no call differs beyond the spread"
fig, axs = plt.subplots(1, 4, sharex=True, sharey=True)
for s, axes in enumerate(axs):
    bars = mid[s] - low[s], high[s] - mid[s]
    axes.errorbar(mid[s], calls, xerr=bars, fmt="o")
    found = []
    for c in np.flatnonzero(differs[s]):
        factor = f"{mid[s, c]:.1f}×"
        axes.text(high[s, c], c, f" {factor}")
        found += [f"{calls[c]} takes {factor} as long"]
    said = ", ".join(found) or same
    verdict.append(f"A tensor of {LABELS[s]}: {said}.")
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
fig.supxlabel(f"Time / time of {calls[0]}")
plt.show()
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that times and draws"
# sphinx_gallery_benchmark_data = "samples"
# sphinx_gallery_lead = True
# sphinx_gallery_table = "rows"

# %%
# A benchmark like this one was in an article of 2021, which took it for a comparison
# of CPU and GPU. It is none, there or here: ``torch.ones`` makes tensors on the CPU.
#
# Remember
# --------
# - All three copy once. Choose by what you need: NumPy's copy is in C order.
# - For any device: ``t.detach().to("cpu", copy=True).numpy()``.
