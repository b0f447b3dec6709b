# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Is one copy faster than another? Measure the spread
===================================================

Two methods differ if their times differ by more than the spread of these times.

You will see five copies and a limit timed in turns, divided by the time of
``x.detach().clone()`` in the same round, and a verdict made from the numbers.
"""

import os
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.ticker import EngFormatter
from torch.utils.benchmark import Compare, Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
warnings.simplefilter("ignore")  # two methods warn
print("This lesson runs on:", device)
# sphinx_gallery_setup = True

# %%
# What is compared
# ----------------
# The first five return the values of ``x`` in new memory. The last one is the
# limit: it writes to memory that is there already. What a copy takes beyond the
# limit goes into the calls, and on a CPU into new memory.

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
print(len(calls), "calls,", len(SIZES), "sizes")

# %%
# How it was timed
# ----------------
# perfplot reports the fastest call and no spread, and does not wait for CUDA.
# :class:`torch.utils.benchmark.Timer` waits, warms up, and takes one thread. Each
# round times every call, and starts with another one: when the machine slows down,
# it slows down for all. ``Compare`` prints the medians of one size.

rounds = {"quick": 33, "long": 300}.get(quality, 63)
least = 20 if device == "cuda" else 1
timers = []
for n, label in zip(SIZES, LABELS):
    x = torch.ones(n, device=device)
    new = partial(
        Timer,
        globals={"x": x, "warm": x.clone()},
        label="a copy",
        description=label,
    )
    timers.append([new(c, sub_label=c) for c in calls])
shape = rounds, len(SIZES), len(calls)
times = np.full(shape, np.nan)
small = []
for r in range(rounds):
    for s, n in enumerate(SIZES):
        if n == 2**24 and r % 3:
            continue  # it takes long: every third round
        number = least + 2**16 // (n + 2**10)
        for c in np.roll(range(len(calls)), r):
            run = timers[s][c].timeit(number)
            times[r, s, c] = run.mean
            small += [run] if n == 1 else []
Compare(small).print()
samples = [
    dict(method=calls[c], elements=SIZES[s], seconds=t)
    for (r, s, c), t in np.ndenumerate(times)
    if np.isfinite(t)
]
# sphinx_gallery_folded = "The code that timed it"
# sphinx_gallery_benchmark_data = "samples"

# %%
# A process is a sample too: the next one gets other memory and other neighbours.
# Run the script a few times, and believe what all of them say.
#
# Divide within a round
# ---------------------
# Two times of one round met the same state of the machine: divide them, round by
# round, and look at the middle half of these ratios, the bar. A call differs if
# all of that half is more than a third away from 1; it gets its median as a number.
# The table has the medians of the times.

ratios = times / times[:, :, :1]
parts = [0.25, 0.5, 0.75]
low, mid, high = np.nanquantile(ratios, parts, 0)
differs = (low > 4 / 3) | (high < 3 / 4)
assert not differs[:, 0].any()  # divided by itself

unit = EngFormatter("s")
fig, axs = plt.subplots(1, 4, sharex=True, sharey=True)
table, said = [], []
for s, axes in enumerate(axs):
    bars = mid[s] - low[s], high[s] - mid[s]
    axes.errorbar(mid[s], calls, xerr=bars, fmt="o")
    found = []
    for c in np.flatnonzero(differs[s]):
        factor = f"{mid[s, c]:.1f}×"
        axes.text(high[s, c], c, f" {factor}")
        found.append(f"{factor} with {calls[c]}")
    found = found or ["no difference beyond the spread"]
    said.append(f"{LABELS[s]}: {', '.join(found)}.")
    medians = np.nanmedian(times[:, s], axis=0)
    digits = [float(f"{time:.3g}") for time in medians]
    table.append([unit(time) for time in digits])
    axes.set_title(f"{LABELS[s]}\n{table[s][0]}")
axs[0].set_xscale("log", base=2)
axs[0].invert_yaxis()
fig.set_size_inches(12, 3)
fig.suptitle(f"{said[0]}\n{said[-1]}")
fig.supxlabel(f"Time / time of {calls[0]}")
plt.show()

names = ["call", *LABELS]
rows = [dict(zip(names, r)) for r in zip(calls, *table)]
print(*names, sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that reads it"
# sphinx_gallery_lead = True
# sphinx_gallery_table = "rows"

# %%
# Remember
# --------
# - Time in turns, divide within a round, and say the spread.
# - Small tensors: you time the calls. Large ones: you time the memory.
#
# Next: :doc:`why_a_copy_costs`
