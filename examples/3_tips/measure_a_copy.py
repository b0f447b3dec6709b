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
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.ticker import EngFormatter
from torch.utils.benchmark import Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)
warnings.simplefilter("ignore")  # two calls warn

# %%
# Five copies and a lower limit
# -----------------------------
# The first five are the copies of :doc:`copy_a_tensor`. The last one is a lower limit,
# because it only writes to memory that already exists. The others run more operators
# and need new memory. On a CPU, that also takes *page faults* if the copy is very large
# (:doc:`pages_of_a_copy`).

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
assert warm.copy_(x) is warm  # no new memory

# %%
# Time one call
# -------------
# :class:`torch.utils.benchmark.Timer` runs a call many times in one thread, and waits
# for CUDA to finish. ``blocked_autorange`` chooses how often, and measures the spread
# of the times by the width of their middle half, the *interquartile range*.

timer = Timer("x.detach().clone()", globals={"x": x})
times = timer.blocked_autorange(min_run_time=0.1)
print(f"median: {1e6 * times.median:.2f} µs")
print(f"spread: {1e6 * times.iqr:.2f} µs")

# %%
# Time the calls in turns
# -----------------------
# In each round, all six calls have one turn of about a tenth of a millisecond, or of
# one run. So a machine that slows down for a while slows down all six, and the times of
# a round can be divided by each other. There are 99 rounds, and 11 for 64 MiB. In the
# chart, the bar is the middle half of these ratios, and the dot their median. A call
# took longer if that whole half is above 4/3, and less time if it is below 3/4. Smaller
# differences don't count, even if they are outside the spread. The table has the median
# times and the ends of the bars.


def time_in_turns(x, rounds):
    known = {"x": x, "warm": x.clone()}
    timers = [Timer(c, globals=known) for c in calls]
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
plt.title("\n".join(verdict))
plt.xlabel("Time relative to x.detach().clone()")
plt.legend()
plt.show()
print("call | 4 B | 64 MiB")
for call, small, large in zip(calls, *columns):
    print(f"{call} | {small} | {large}")
assert medians[0] < medians[1]  # bytes take time
# sphinx_gallery_folded = "The code that times and draws"
# sphinx_gallery_lead = True

# %%
# Remember
# --------
# - A difference smaller than the spread doesn't count. Take turns, divide, and compare.
# - With a small tensor you measure the cost of calls, with a large one the speed of
#   memory, and on a CPU also of page faults.
# - One run is one sample. Run the script several times and trust what all runs say.
