# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Is one copy faster than another? Measure the spread
===================================================

You will see the five copies timed in turns, with medians and quartiles, beside
the limit that memory sets. A sentence made from the data of this very run says
which differences are larger than the noise.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.utils.benchmark import Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# What perfplot leaves out
# ------------------------
# It reports the fastest call and no spread, and it does not wait for CUDA.
# :class:`torch.utils.benchmark.Timer` waits, and fixes the number of threads.
# Each round times every method once, in turns: when the machine slows down, it
# slows down for all of them. ``BENCHMARK_QUALITY=long`` asks for more rounds.

METHODS = [
    "x.new_tensor(x)",
    "x.clone().detach()",
    "torch.empty_like(x).copy_(x)",
    "torch.tensor(x)",
    "x.detach().clone()",
]
LIMIT = "limit: warm.copy_(x)"
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
ROUNDS = {"quick": 5, "normal": 15, "long": 150}[quality]
SIZES = [2**k for k in (0, 5, 10, 16, 20, 24)]
QUARTILES = [0.25, 0.5, 0.75]
SECONDS = 0.003  # for one method in one round, at least
print(f"{ROUNDS} rounds, 1 thread, quality {quality}")


def calls(method, n):
    x = torch.randn(n, device=device)
    known = {"x": x, "warm": torch.zeros(n, device=device)}
    statement = method.removeprefix("limit: ")
    timer = Timer(statement, globals=known, num_threads=1)
    timer.timeit(2)  # warm-up
    once = timer.timeit(5).mean
    return timer, 1 + int(SECONDS / once)


def measure(*cases):
    timers = {case: calls(*case) for case in cases}
    times = {case: [] for case in cases}
    for _ in range(ROUNDS):
        for case, (timer, number) in timers.items():
            times[case].append(timer.timeit(number).mean)
    return {case: np.array(t) for case, t in times.items()}


# %%
# A rule for "slower"
# -------------------
# Two methods of one round met the same state of the machine, so compare them
# round by round. A method is slower if in three rounds of four it took over a
# third more time. Else there is no difference beyond the spread.


def slower(times, other):
    ratios = times / other
    low, middle, _ = np.quantile(ratios, QUARTILES)
    return middle if low > 4 / 3 else None


a = np.array([1.0, 1.4, 0.8, 1.0])
print("twice:", slower(2 * a, a))
print("noise:", slower(a, a[::-1]))
assert slower(2 * a, a) == 2 and slower(a, a[::-1]) is None

# %%
# Constants, up to 16 million elements
# ------------------------------------
# The line called limit copies into memory that is there already. What a copy
# takes beyond it goes into the calls, and into fetching fresh memory.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    names = [*METHODS, LIMIT]
    times = measure(*((m, n) for n in SIZES for m in names))
samples = [
    {"method": m, "elements": n, "round": r, "seconds": t}
    for (m, n), series in times.items()
    for r, t in enumerate(series)
]
figure, axes = plt.subplots(layout="constrained")
for m in names:
    series = np.array([times[m, n] for n in SIZES]) * 1e6
    low, mid, high = np.quantile(series, QUARTILES, axis=1)
    dash = "--" if m == LIMIT else "-"
    axes.loglog(SIZES, mid, dash, label=m)
    axes.fill_between(SIZES, low, high, label="_" + m)
axes.set_title("Five copies of a constant, and the limit")
axes.set_xlabel("number of elements")
axes.set_ylabel("microseconds per call, median")
axes.legend()
plt.show()
print(len(samples), "samples")
assert len(samples) == len(times) * ROUNDS
# sphinx_gallery_benchmark_data = "samples"

# %%
# Read the result
# ---------------
# The sentences are made from the samples. The base is ``x.detach().clone()``.
# The limit is that of the two largest sizes. Another run, in another process,
# can be faster or slower by some percent: compare within one run.

base = METHODS[-1]
for m in METHODS[:-1]:
    found = {}
    for n in SIZES:
        found[n] = slower(times[m, n], times[base, n])
    slow = [n for n in SIZES if found[n]]
    most = max((found[n] for n in slow), default=1)
    print(f"{m}: up to {most:.1f} times as long;")
    same = [n for n in SIZES if n > max(slow, default=0)]
    since = f"from n = {same[0]} on" if same else "nowhere"
    print(f"   no difference beyond the spread {since}")
for m in METHODS:
    shares = [times[LIMIT, n] / times[m, n] for n in SIZES]
    a, b = np.median(shares, axis=1)[-2:]
    print(f"{m}: {a:.0%} and {b:.0%} of the limit")

# %%
# Remember
# --------
# - Time in turns, compare round by round, and say the spread.
# - Small tensors: you time the calls. Large ones: you time the memory.
#
# Next: :doc:`why_a_copy_costs`
