# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "perfplot", "matplotlib"]
# ///
"""
Turn a tensor into an ndarray
=============================

From any device, with its own memory: ``t.detach().to("cpu", copy=True).numpy()``.

You will see nine routes from a tensor that requires grad to an array: which fail,
alias or copy on which device, and what three of them cost.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch
from matplotlib.ticker import EngFormatter

device = "cuda" if torch.cuda.is_available() else "cpu"
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
print("This lesson runs on:", device)
# sphinx_gallery_setup = True

# %%
# Nine routes
# -----------
# Each array gets a 7. If the tensor then has it too, the array is an alias.

routes = {
    "t.numpy()": lambda t: t.numpy(),
    "t.clone().numpy()": lambda t: t.clone().numpy(),
    "t.detach().numpy()": lambda t: t.detach().numpy(),
    "t.detach().numpy().copy()": (  # NumPy copies
        lambda t: t.detach().numpy().copy()
    ),
    "t.detach().clone().numpy()": (  # PyTorch copies
        lambda t: t.detach().clone().numpy()
    ),
    "t.clone().detach().numpy()": (  # in the graph
        lambda t: t.clone().detach().numpy()
    ),
    "t.detach().cpu().numpy()": (  # from any device
        lambda t: t.detach().cpu().numpy()
    ),
    "t.numpy(force=True)": (  # from any device
        lambda t: t.numpy(force=True)
    ),
}
last = 't.detach().to("cpu", copy=True).numpy()'
routes[last] = lambda t: (  # from any device, always
    t.detach().to("cpu", copy=True).numpy()
)


def follow(route, where):
    t = torch.ones(3, device=where, requires_grad=True)
    try:
        array = route(t)
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    array[0] = 7.0
    return "alias" if t[0].item() == 7 else "own memory"


found = [follow(r, device) for r in routes.values()]
print("route | result")
rows = []
for route, result in zip(routes, found):
    rows.append(dict(route=route, result=result))
    print(route, "|", result)
if device == "cpu":
    assert found[:2] == ["RuntimeError"] * 2
    assert found[2:6] == ["alias"] + ["own memory"] * 3
assert found[6] == found[7]
assert found[8] == "own memory"
assert (found[6] == "alias") == (device == "cpu")
# sphinx_gallery_table = "rows"

# %%
# On CUDA the first six raise ``TypeError``. So does the ``meta`` device, which
# needs no GPU. The next two copy on CUDA but alias on a CPU. Only the last one
# copies on both. Where an alias will do, ``t.numpy(force=True)`` is shorter.

elsewhere = "meta" if device == "cpu" else "cuda"
first = list(routes.values())[:6]
refused = {follow(route, elsewhere) for route in first}
print(f"the first six on {elsewhere}: {refused}")
assert refused == {"TypeError"}

# %%
# The layout can differ
# ---------------------
# ``t`` is transposed, and on the CPU. C order is the order row by row.

# sphinx_gallery_predict = "Which copy is in C order?"
t = torch.arange(6.0).view(2, 3).t()
by_numpy = t.numpy().copy().flags.c_contiguous
by_torch = t.clone().numpy().flags.c_contiguous
print(f"{by_numpy = }, {by_torch = }")
assert by_numpy and not by_torch

# %%
# :meth:`numpy.ndarray.copy` makes it. ``clone`` and ``to`` keep a dense layout.
#
# How it was timed
# ----------------
# This is the article's benchmark, on one thread: CPU tensors without a graph. The
# article takes it for a comparison of CPU and GPU, but no GPU is in it. perfplot
# reports the fastest call and no spread, so it runs in rounds.

SIZES = [1, 2**10, 2**20, 2**24]  # elements
LABELS = ["4 B", "4 KiB", "4 MiB", "64 MiB"]
rounds = 30 if quality == "long" else 11
target = {"quick": 0.02, "long": 1.0}.get(quality, 0.1)
torch.set_num_threads(1)
calls = list(routes)[3:6]
kernels = [routes[call] for call in calls]
times = np.empty((rounds, len(SIZES), len(calls)))
for r in range(rounds):
    order = np.roll(range(len(calls)), r)
    bench = perfplot.bench(
        setup=lambda n: torch.ones(n),
        kernels=[kernels[c] for c in order],
        n_range=[1, *SIZES],  # the first warms up
        target_time_per_measurement=target,  # seconds
        equality_check=np.array_equal,
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
# than a third away from 1: :doc:`measure_a_copy`. For large tensors NumPy's own
# copy may win: :doc:`pages_of_a_copy`. Here are the medians.

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
# - Ask for the copy: ``t.detach().to("cpu", copy=True).numpy()``.
# - ``t.numpy(force=True)`` is an alias on a CPU and a copy on CUDA.
# - Choose by meaning and by layout, not by speed.
#
# Next: :doc:`copy_a_tensor`
