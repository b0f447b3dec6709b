# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Is one copy really faster?
==========================

Only if it is faster in most rounds, when you time both calls in turns. The chart
compares five calls with ``x.detach().clone()``.
"""

# sphinx_gallery_setup = True
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
# (:doc:`pages_of_a_copy`). ``x.new_tensor(x)`` and ``torch.tensor(x)`` warn, and we
# ignore that warning.

x = torch.ones(2, device=device)
warm = x.clone()
calls = [
    "x.detach().clone()",
    "x.clone().detach()",
    "torch.empty_like(x).copy_(x)",
    "x.new_tensor(x)",
    "torch.tensor(x)",
    "warm.copy_(x)",
]
warnings.filterwarnings("ignore", "To copy construct")
assert warm.copy_(x) is warm  # no new memory

# %%
# Time one call
# -------------
# :class:`torch.utils.benchmark.Timer` runs a call many times in one thread, and waits
# for CUDA to finish. ``blocked_autorange`` chooses how often, and measures the spread
# of the times by the width of their middle half, the *interquartile range*.

timer = Timer("x.detach().clone()", globals={"x": x})
result = timer.blocked_autorange(min_run_time=0.1)
print(f"median: {1e6 * result.median:.2f} µs")
print(f"spread: {1e6 * result.iqr:.2f} µs")

# %%
# Time the calls in turns
# -----------------------
# A machine that slows down for a while slows down both calls of a round. So we divide
# the two times of each round, and look at the middle half of the ratios. If that whole
# range is above 1, ``torch.tensor(x)`` took longer in most rounds.

other = Timer("torch.tensor(x)", globals={"x": x})
ratios = []
for _ in range(99):
    first = timer.timeit(100).mean
    second = other.timeit(100).mean
    ratios.append(second / first)
low, high = np.quantile(ratios, [0.25, 0.75])
print(f"torch.tensor(x): {low:.2f} to {high:.2f} times")
assert 0 < low <= high

# %%
# The chart does this for all calls, with 99 rounds for 4 B and 11 for 64 MiB. The bar
# is the middle half of the ratios, its mark the median. The title also ignores small
# differences. It says that a call took longer only if the whole bar is above 4/3, and
# less time only if it is below 3/4. The table has the median times and the ends of the
# bars.


def time_in_turns(x, rounds):
    known = {"x": x, "warm": x.clone()}
    timers = []
    for call in calls:
        timers.append(Timer(call, globals=known))
    once = timers[0].timeit(5).mean
    number = 1 + int(1e-4 / once)
    times = np.empty((rounds, 6))
    for turn in range(rounds):
        for c in range(6):
            run = timers[c].timeit(number)
            times[turn, c] = run.mean
    return times


def names(found):
    return " and ".join(found) if found else "no call"


unit = EngFormatter(unit="s", places=1)
cases = [
    ("4 B", 1, 99, "o"),
    ("64 MiB", 2**24, 11, "s"),
]
plt.figure(layout="constrained")
heights = np.arange(6)
verdict, columns, medians = [], [], []
for size, numel, rounds, mark in cases:
    x = torch.ones(numel, device=device)
    times = time_in_turns(x, rounds)
    ratios = times / times[:, :1]
    parts = [0.25, 0.5, 0.75]
    low, mid, high = np.quantile(ratios, parts, axis=0)
    longer, shorter, cells = [], [], []
    for c, call in enumerate(calls):
        if low[c] > 4 / 3:
            longer.append(call)
        if high[c] < 3 / 4:
            shorter.append(call)
        median = unit(np.median(times[:, c]))
        bar = f"{low[c]:.2f} to {high[c]:.2f}×"
        cells.append(f"{median}, {bar}")
    columns.append(cells)
    medians.append(np.median(times))
    said = f"{names(longer)} took longer, and "
    said += f"{names(shorter)} took less time"
    verdict.append(f"At {size}, {said}.")
    plt.errorbar(
        mid,
        heights,
        xerr=[mid - low, high - mid],
        fmt=mark,
        label=size,
    )
    heights = heights + 1 / 4
plt.yticks(np.arange(6) + 1 / 8, calls)
plt.gca().invert_yaxis()
plt.xscale("log", base=2)
plt.gca().xaxis.set_major_formatter("{x:g}×")
plt.title("\n".join(verdict), wrap=True)
plt.xlabel("Time relative to x.detach().clone()")
plt.legend()
plt.show()
print("call | 4 B | 64 MiB")
rows = zip(calls, *columns, strict=True)
for call, small, large in rows:
    print(f"{call} | {small} | {large}")
assert medians[0] < medians[1]  # bytes take time
# sphinx_gallery_folded = "The code that times and draws"
# sphinx_gallery_lead = True

# %%
# Remember
# --------
# - Take turns, divide, and look at the middle half of the ratios. If 1 is within it,
#   you don't know which call is faster.
# - With a small tensor you mostly measure the calls, with a large one the memory.
# - One run is one sample. Run the script several times and trust what all runs say.
