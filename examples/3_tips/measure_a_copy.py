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
x, warm = torch.ones(2), torch.empty(2)
print(f"{warm.copy_(x) is warm = }")

# %%
# Time the calls in turns
# -----------------------
# :class:`torch.utils.benchmark.Timer` runs a call many times in one thread, and waits
# for CUDA to finish. In each round, all six calls have one turn of about a tenth of a
# millisecond, or of one run. So a machine that slows down for a while slows down all
# six, and the times of a round can be divided by each other. There are 99 rounds, and
# 11 for 64 MiB. In the chart, the bar is the middle half of these ratios, and the dot
# their median. A call took longer if that whole half is above 4/3, and less time if it
# is below 3/4. Smaller differences don't count, even if they are outside the spread.
# The table has the median times and the ends of the bars.


def named(which):
    found = np.array(calls)[which]
    return " and ".join(found) or "no call"


warnings.simplefilter("ignore")  # two calls warn
verdict, columns, shortest = [], [], []
cases = ("4 B", 1, 99), ("64 MiB", 2**24, 11)
for k, (size, n, rounds) in enumerate(cases):
    x = torch.ones(n, device=device)
    known = {"x": x, "warm": x.clone()}
    timers = [Timer(c, globals=known) for c in calls]
    runs = 1 + int(1e-4 / timers[0].timeit(5).mean)
    times = np.empty((rounds, 6))
    for turn in times:
        turn[:] = [t.timeit(runs).mean for t in timers]
    ratios = times / times[:, :1]
    parts = [0.25, 0.5, 0.75]
    low, mid, high = np.quantile(ratios, parts, 0)
    y = np.arange(6) + k / 4
    bars = [mid - low, high - mid]
    dots = {"fmt": "os"[k], "label": size}
    plt.errorbar(mid, y, xerr=bars, **dots)
    said = f"{named(low > 4 / 3)} took longer, and "
    said += f"{named(high < 3 / 4)} took less time"
    verdict.append(f"At {size}, {said}.")
    unit = EngFormatter("s", 1)
    medians = map(unit, np.median(times, 0))
    cell = "{}, {:.2f} to {:.2f}×"
    columns.append(map(cell.format, medians, low, high))
    shortest.append(times.min())
plt.yticks(np.arange(6) + 1 / 8, calls)
plt.gca().invert_yaxis()
plt.xscale("log", base=2)
plt.gca().xaxis.set_major_formatter("{x:g}×")
plt.title("\n".join(verdict))
plt.xlabel("Time relative to x.detach().clone()")
plt.legend()
plt.show()
print("call | 4 B | 64 MiB")
for row in zip(calls, *columns):
    print(*row, sep=" | ")
assert shortest[0] < shortest[1]
# sphinx_gallery_folded = "The code that times and draws"
# sphinx_gallery_lead = True

# %%
# Remember
# --------
# - A difference smaller than the spread doesn't count. Take turns, divide, and compare.
# - With a small tensor you measure the cost of calls, with a large one the speed of
#   memory, and on a CPU also of page faults.
# - One run is one sample. Run the script several times and trust what all runs say.
