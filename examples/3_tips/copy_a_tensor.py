# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "perfplot", "matplotlib"]
# ///
"""
The best way to copy a tensor
=============================

Use ``x.detach().clone()``. The copy has new memory, no gradient flows back to ``x``,
and PyTorch doesn't warn.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach().clone()"
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch
from matplotlib.ticker import EngFormatter

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# ``x.detach().clone()`` copies and leaves the graph
# --------------------------------------------------
# ``clone`` copies the values, and after ``detach`` the copy doesn't require grad.

x = torch.ones(2, device=device, requires_grad=True)
y = x.detach().clone()
print(f"{y.requires_grad = }")
assert torch.equal(x, y) and not y.requires_grad
assert x.data_ptr() != y.data_ptr()
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, y, x copied to y"

# %%
# Which of five calls stay in the graph or warn?
# ----------------------------------------------
# The five calls in the table return the values of ``x`` in new memory. Autograd records
# ``copy_``, so its result requires grad. Two of the calls warn.

copies = {
    "x.detach().clone()": lambda x: x.detach().clone(),
    "x.clone().detach()": lambda x: x.clone().detach(),
    "torch.empty_like(x).copy_(x)": (  # two steps
        lambda x: torch.empty_like(x).copy_(x)
    ),
    "x.new_tensor(x)": lambda x: x.new_tensor(x),
    "torch.tensor(x)": lambda x: torch.tensor(x),
}
words = ["no", "yes"]
rows, values = [], []
for call, copy in copies.items():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = copy(x)
    row = {"call": call}
    row["requires grad"] = words[y.requires_grad]
    row["warns"] = words[bool(seen)]
    rows.append(row)
    y.detach()[0] = 7.0
    values.append((x.tolist(), y.tolist()))
grads = [row["requires grad"] for row in rows]
warned = [row["warns"] for row in rows]
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
assert values == [([1, 1], [7, 1])] * 5  # new memory
assert grads == ["no", "no", "yes", "no", "no"]
assert warned == ["no"] * 3 + ["yes"] * 2
# sphinx_gallery_folded = "The five calls, and the code that tries them"

# %%
# The two that warn are made for numbers, lists and arrays. ``t.new_tensor(x)`` returns
# a copy with the dtype of ``t``, since torch 2.7 also on the device of ``t``
# (:doc:`../../changes`). Detach before ``copy_``. Otherwise gradients flow back to
# ``x``.

t = x.double()
y = torch.empty_like(x).copy_(x)
z = torch.empty_like(x).copy_(x.detach())
(3 * y).sum().backward()
print(f"{x.grad = }, {z.requires_grad = }")
assert x.grad.tolist() == [3, 3]
assert not z.requires_grad
assert t.new_tensor(1.0).dtype == t.dtype

# %%
# .. predict:: What is ``x.grad``?
#
#     - ``x.grad = tensor([3., 3.]), z.requires_grad = False``
#     - ``x.grad = tensor([3., 3.]), z.requires_grad = True`` with ``z =
#       torch.empty_like(x).copy_(x)``
#     - ``RuntimeError: element 0 of tensors does not require grad and does not have a
#       grad_fn`` with ``(3 * z).sum().backward()`` in the place of ``(3 *
#       y).sum().backward()``
#
# Which of the five calls are slower?
# -----------------------------------
# This is the benchmark of a :doc:`2021 article <../../article>`, with tensors on the
# CPU, without a graph, in one thread. Warnings aren't shown, but take time.
# ``perfplot`` only reports its smallest time, so the code runs it in rounds and
# compares as in :doc:`measure_a_copy`. The table has the median times.


def in_words(ratio):
    if ratio > 1:
        return f"takes {ratio:.1f} times the time"
    return f"is about {1 / ratio:.2g} times faster"


SIZES = [1, 2**10, 2**20, 2**24]  # elements
LABELS = ["4 B", "4 KiB", "4 MiB", "64 MiB"]
quality = os.environ.get("BENCHMARK_QUALITY")
rounds = 30 if quality == "long" else 11
target = {"quick": 0.02, "long": 1.0}.get(quality, 0.1)
warnings.simplefilter("ignore")
torch.set_num_threads(1)
calls = list(copies)
times = np.empty((rounds, len(SIZES), len(calls)))
for r in range(rounds):
    order = np.roll(range(len(calls)), r)
    bench = perfplot.bench(
        setup=torch.ones,
        kernels=[copies[calls[c]] for c in order],
        n_range=[1, *SIZES],  # the first warms up
        target_time_per_measurement=target,
        equality_check=torch.equal,
        show_progress=False,
    )
    times[r][:, order] = bench.timings_s.T[1:]
samples = [
    dict(method=calls[c], elements=SIZES[s], seconds=t)
    for (r, s, c), t in np.ndenumerate(times)
]

ratios = times / times[:, :, :1]
parts = [0.25, 0.5, 0.75]
low, mid, high = np.quantile(ratios, parts, 0)
differs = (low > 4 / 3) | (high < 3 / 4)
medians = np.median(times, axis=0)
rows = [{"call": call} for call in calls]
verdict = []
fig, axs = plt.subplots(1, 4, sharex=True, sharey=True)
for s, axes in enumerate(axs):
    bars = mid[s] - low[s], high[s] - mid[s]
    axes.errorbar(mid[s], calls, xerr=bars, fmt="o")
    found = []
    for c in np.flatnonzero(differs[s]):
        ratio = mid[s, c]
        axes.text(high[s, c], c, f" {ratio:.1f}×")
        found += [f"`{calls[c]}` {in_words(ratio)}"]
    said = " and ".join(found) or "no call differs"
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
# sphinx_gallery_folded = "The code that times and draws"

# %%
# Remember
# --------
# - Copy with ``x.detach().clone()``. Then a write to the copy doesn't change ``x``, and
#   no gradient flows back.
# - ``torch.empty_like(x).copy_(x)`` stays in the graph, unless you detach ``x``.
# - Keep ``torch.tensor`` and ``new_tensor`` for numbers, lists and arrays.
