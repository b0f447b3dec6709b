# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Is one copy faster than another? Measure the spread
===================================================

You will see five copies timed in turns, with medians and quartiles, beside the
limit that memory sets, and sentences made from the data of this very run.
"""

import json
import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# What perfplot leaves out
# ------------------------
# It reports the fastest call and no spread, and it does not wait for CUDA.
# :class:`torch.utils.benchmark.Timer` waits, warms up, and fixes the number of
# threads. Each round times every method once, in turns: when the machine slows
# down, it slows down for all. Each new process differs from the last (the last
# line of output says by how much): ask several. Each runs the program below.

PROGRAM = """
import json, sys, torch, warnings
from torch.utils.benchmark import Timer

warnings.simplefilter("ignore")  # two methods warn
device, ns, methods, rounds, least = json.loads(sys.argv[1])
timers = []
for n in ns:
    x = torch.ones(n, device=device)
    known = {"x": x, "warm": x.clone()}
    calls = max(least, 2**25 // (n + 2**14))
    for m in methods:
        timer = Timer(m, globals=known, num_threads=1)
        timers.append((timer, calls))
for _ in range(rounds):
    print(json.dumps([t.timeit(k).mean for t, k in timers]))
"""
METHODS = [
    "x.new_tensor(x)",
    "x.clone().detach()",
    "torch.empty_like(x).copy_(x)",
    "torch.tensor(x)",
    "x.detach().clone()",
    "warm.copy_(x)",
]
*OTHERS, BASE, LIMIT = METHODS
SIZES = [2**k for k in (0, 5, 10, 16, 20, 24)]
EACH = 2  # rounds in each process
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
few, least = (6, 20) if device == "cuda" else (12, 1)
processes = {"quick": 2, "normal": few, "long": 60}[quality]
order = json.dumps([device, SIZES, METHODS, EACH, least])
python = [sys.executable, "-c", PROGRAM, order]
rows = []
for _ in range(processes):
    out = subprocess.check_output(python)
    rows += [json.loads(line) for line in out.splitlines()]
cases = [(m, n) for n in SIZES for m in METHODS]
times = dict(zip(cases, np.array(rows).T, strict=True))
print(processes, "processes,", EACH, "rounds, 1 thread")

# %%
# Constants, up to 16 million elements
# ------------------------------------
# The line called limit copies into memory that is there already. What a copy takes
# beyond it goes into the calls, and on a CPU into fresh memory (CUDA reuses it).

QUARTILES = [0.25, 0.5, 0.75]
figure, axes = plt.subplots(layout="constrained")
for m in METHODS:
    series = np.array([times[m, n] for n in SIZES]) * 1e6
    low, mid, high = np.quantile(series, QUARTILES, axis=1)
    label = f"limit: {m}" if m == LIMIT else m
    dash = "--" if m == LIMIT else "-"
    axes.loglog(SIZES, mid, dash, label=label)
    axes.fill_between(SIZES, low, high, label="_" + label)
axes.set(xlabel="number of elements", ylabel="microseconds")
axes.set_title("Five copies and the limit: medians")
axes.legend()
plt.show()
samples = [
    dict(process=p // EACH, method=m, elements=n, seconds=t)
    for (m, n), series in times.items()
    for p, t in enumerate(series)
]
print(len(samples), "samples")
# sphinx_gallery_benchmark_data = "samples"

# %%
# Read the result
# ---------------
# Two methods of one round met the same process and the same state of the
# machine, so compare them round by round. They differ if in three rounds of four
# one took over a third more time. Else: no difference beyond the spread.


def factor(times, other):
    low, mid, high = np.quantile(times / other, QUARTILES)
    return mid if low > 4 / 3 or high < 3 / 4 else None


a = np.array([1.0, 1.4, 0.8, 1.0])
found = factor(2 * a, a), factor(a, a[::-1])
print("twice as long, and noise:", *found)
assert found == (2, None)

# %%
# Each method against ``x.detach().clone()``, then as a share of the limit, at
# the two largest sizes. The last line: how far apart processes are at ``n = 1``.

for m in OTHERS:
    last, found, said = 0, [], ""
    for n in SIZES:
        if f := factor(times[m, n], times[BASE, n]):
            last, found = n, [*found, f]
    if found:
        f = np.median(found)
        said = f" {f:.1f} times as long, until n = {last}"
    print(f"{m}:{said}")
    same = [n for n in SIZES if n > last]
    since = f"from n = {same[0]} on" if same else "nowhere"
    print(f"   no difference beyond the spread {since}")
for m in [*OTHERS, BASE]:
    for n in SIZES[-2:]:
        share = np.median(times[LIMIT, n] / times[m, n])
        print(f"{m}: {share:.0%} of the limit at n = {n}")
each = np.median(times[BASE, 1].reshape(-1, EACH), axis=1)
low, _, high = np.quantile(each, QUARTILES)
print(f"half of the processes within {high / low - 1:.0%}")

# %%
# Remember
# --------
# - Time in turns, in several processes, and say the spread.
# - Small tensors: you time the calls. Large ones: you time the memory.
#
# Next: :doc:`why_a_copy_costs`
