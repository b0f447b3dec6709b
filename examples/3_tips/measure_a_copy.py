# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Is one copy really faster?
==========================

Only if the difference is larger than the spread of the times. The chart compares five
calls with ``x.detach().clone()``.
"""

# sphinx_gallery_setup = True
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.ticker import EngFormatter
from torch.utils.benchmark import Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Five copies and a lower limit
# -----------------------------
# The first five are the copies of :doc:`copy_a_tensor`. The last one is a lower limit,
# because it only writes to memory that already exists. The others run more operators
# and need new memory. On a CPU, that also takes *page faults* if the copy is very large
# (:doc:`pages_of_a_copy`).

calls = [
    "x.detach().clone()",
    "x.clone().detach()",
    "torch.empty_like(x).copy_(x)",
    "x.new_tensor(x)",
    "torch.tensor(x)",
    "warm.copy_(x)",
]
SIZES = [1, 2**10, 2**20, 2**24]  # elements
LABELS = ["4 B", "4 KiB", "4 MiB", "64 MiB"]
x, warm = torch.ones(2), torch.empty(2)
print(f"{warm.copy_(x) is warm = }")

# %%
# Time the calls in turns
# -----------------------
# :class:`torch.utils.benchmark.Timer` runs a call many times in one thread, and waits
# for CUDA to finish. Here a *turn* runs one of the six calls as often as
# ``x.detach().clone()`` runs in about a millisecond, at least once. In a *round*, each
# call has one turn. So a machine that slows down for a while slows down all six calls.
# Each round starts with a different call.

quality = os.environ.get("BENCHMARK_QUALITY")
rounds = {"quick": 33, "long": 300}.get(quality, 63)
warnings.simplefilter("ignore")  # two calls warn
timers, numbers = {}, {}
for n, size in zip(SIZES, LABELS):
    x = torch.ones(n, device=device)
    about = {"label": "copy", "description": size}
    about["globals"] = {"x": x, "warm": x.clone()}
    for call in calls:
        timers[n, call] = Timer(call, **about)
    once = timers[n, calls[0]].timeit(5).mean
    numbers[n] = 1 + int(0.001 / once)
times = np.full((rounds, 4, len(calls)), np.nan)
for r in range(rounds):
    for s, n in enumerate(SIZES):
        if n == 2**24 and r % 3:
            continue  # slow: every third round
        for c in np.roll(range(len(calls)), r):
            run = timers[n, calls[c]].timeit(numbers[n])
            times[r, s, c] = run.mean
samples = [
    dict(method=calls[c], elements=SIZES[s], seconds=t)
    for (r, s, c), t in np.ndenumerate(times)
    if np.isfinite(t)
]
# sphinx_gallery_folded = "The code that times"

# %%
# Compare two times of the same round
# -----------------------------------
# During one round, the machine is mostly in the same state. So divide two times of the
# same round by each other. The middle half of these ratios is the bar in the chart at
# the top. A call is slower if that whole half is above 4/3, and faster if it is below
# 3/4. Beside such a bar is the median, and the title counts these calls for the
# smallest and the largest size. Smaller differences aren't counted, even if they are
# outside the spread. The table has the median times.
#
# The assertions use the fastest runs, because other programs disturb those least. 4 KiB
# take less than twice the time of 4 B. On a CPU, 64 MiB take more than twice the time
# of 4 MiB. On a GPU, that is only asserted for ``warm.copy_(x)``.

fastest = np.nanmin(times, axis=0)
ratios = times / times[:, :, :1]
parts = [0.25, 0.5, 0.75]
low, mid, high = np.nanquantile(ratios, parts, 0)
slower, faster = low > 4 / 3, high < 3 / 4
medians = np.nanmedian(times, axis=0)
rows = [{"call": call} for call in calls]
verdict, others = [], len(calls) - 1
fig, axs = plt.subplots(1, 4, sharex=True, sharey=True)
for s, axes in enumerate(axs):
    bars = mid[s] - low[s], high[s] - mid[s]
    axes.errorbar(mid[s], calls, xerr=bars, fmt="o")
    differs = slower[s] | faster[s]
    for c in np.flatnonzero(differs):
        axes.text(high[s, c], c, f" {mid[s, c]:.1f}×")
    more, less = slower[s].sum(), faster[s].sum()
    said = f"{more} of {others} calls took longer"
    said += f", and {less} took less time"
    verdict.append(f"At {LABELS[s]}, {said}.")
    for row, t in zip(rows, medians[s]):
        digits = f"{t:.2e}"  # three, as in 2.90e-06
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
longer = fastest[3] > 2 * fastest[2]
assert (fastest[1] < 2 * fastest[0]).all()
assert longer.all() if device == "cpu" else longer[-1]
# sphinx_gallery_folded = "The code that reads and draws"
# sphinx_gallery_lead = True

# %%
# Remember
# --------
# - A difference smaller than the spread doesn't count. Take turns, divide, and compare.
# - With a small tensor you measure the cost of calls, with a large one the speed of
#   memory, and on a CPU also of page faults.
# - One run is one sample. Run the script several times and trust what all runs say.
