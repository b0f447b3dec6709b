# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "perfplot", "matplotlib"]
# ///
"""
The best way to copy a tensor
=============================

Copy with ``x.detach().clone()``: new memory, outside of the graph, no warning.

You will see that one of five common copies stays in the autograd graph, that two
warn, and what all five cost.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch
from matplotlib.ticker import EngFormatter

device = "cuda" if torch.cuda.is_available() else "cpu"
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# sphinx_gallery_setup = True

# %%
# What each of them returns
# -------------------------
# All five return the values of ``x`` in new memory. ``x`` requires grad, and
# autograd records ``copy_``: that result requires grad as well.

copies = {
    "x.detach().clone()": lambda x: x.detach().clone(),
    "x.clone().detach()": lambda x: x.clone().detach(),
    "torch.empty_like(x).copy_(x)": (  # two steps
        lambda x: torch.empty_like(x).copy_(x)
    ),
    "x.new_tensor(x)": lambda x: x.new_tensor(x),
    "torch.tensor(x)": lambda x: torch.tensor(x),
}
x = torch.ones(2, device=device, requires_grad=True)
rows = []
for call, copy in copies.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = copy(x)
    warns, grad = bool(caught), y.requires_grad
    rows.append(dict(call=call, warns=warns, grad=grad))
    assert not shares_memory(y, x) and torch.equal(y, x)
    assert grad == ("copy_" in call)
    assert warns == ("tensor(" in call)
print("call | warns | grad")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_table = "rows"

# %%
# The two that warn are made for numbers, lists and arrays. With ``copy_`` detach
# first, or the graph goes on:

# sphinx_gallery_predict = "What is ``x.grad``?"
y = torch.empty_like(x).copy_(x)
out = torch.empty_like(x).copy_(x.detach())
(3 * y).sum().backward()
print(f"{x.grad = }")
assert x.grad.tolist() == [3, 3] and out.grad_fn is None

# %%
# How it was timed
# ----------------
# This is the article's benchmark: CPU tensors without a graph, one thread.
# perfplot reports the fastest call and no spread, so it runs in rounds, each
# starting with another call. Silenced warnings still take time.

SIZES = [1, 2**10, 2**20, 2**24]  # elements
LABELS = ["4 B", "4 KiB", "4 MiB", "64 MiB"]
rounds = 30 if quality == "long" else 11
target = {"quick": 0.02, "long": 1.0}.get(quality, 0.1)
warnings.simplefilter("ignore")
torch.set_num_threads(1)
calls, kernels = list(copies), list(copies.values())
times = np.empty((rounds, len(SIZES), len(calls)))
for r in range(rounds):
    order = np.roll(range(len(calls)), r)
    bench = perfplot.bench(
        setup=lambda n: torch.ones(n),
        kernels=[kernels[c] for c in order],
        n_range=[1, *SIZES],  # the first warms up
        target_time_per_measurement=target,  # seconds
        equality_check=torch.equal,
        show_progress=False,
    )
    times[r][:, order] = bench.timings_s.T[1:]
samples = [
    dict(method=calls[c], elements=SIZES[s], seconds=t)
    for (r, s, c), t in np.ndenumerate(times)
]
print(rounds, "rounds of", len(calls), "calls")
# sphinx_gallery_folded = "The code that timed it"
# sphinx_gallery_benchmark_data = "samples"

# %%
# Read the result
# ---------------
# A call differs if the middle half of its ratios, taken within a round, is more
# than a third away from 1: :doc:`measure_a_copy`. Here are the medians.

ratios = times / times[:, :, :1]
parts = [0.25, 0.5, 0.75]
low, mid, high = np.quantile(ratios, parts, axis=0)
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
    medians = np.median(times[:, s], axis=0)
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
# - Copy with ``x.detach().clone()``.
# - ``torch.empty_like(x).copy_(x)`` stays in the graph.
# - Keep ``torch.tensor`` and ``new_tensor`` for numbers, lists and arrays.
#
# Next: :doc:`measure_a_copy`
