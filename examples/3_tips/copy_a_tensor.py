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
import warnings

import matplotlib.pyplot as plt
import numpy as np
import perfplot
import torch

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
# This is the benchmark of a :doc:`2021 article <../../article>`. ``perfplot.bench``
# repeats each call for a tenth of a second and reports the smallest time. The tensors
# are on the CPU, without a graph, and one thread copies. Warnings aren't shown, but
# take time. Above the chart stand the calls that took more than 4/3 of the time of
# ``x.detach().clone()``. Smaller differences can change with the next run. First, 16
# MiB are freed. After that, Linux's C library keeps smaller blocks, so these copies
# don't wait for :doc:`new pages <pages_of_a_copy>`, as much larger ones do.
# `From the mallopt manual <https://man7.org/linux/man-pages/man3/mallopt.3.html>`__

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.ones(2**22)  # once freed, no copy needs new pages
bench = perfplot.bench(
    setup=torch.ones,
    kernels=list(copies.values()),
    n_range=[4**k for k in range(11)],
    target_time_per_measurement=0.1,
    equality_check=torch.equal,
    show_progress=False,
)
ratios = bench.timings_s / bench.timings_s[0]
plt.semilogx(bench.n_range, ratios.T, label=[*copies])
calls, verdict = np.array(list(copies)), []
for size, k in ("4 B", 0), ("4 MiB", -1):
    slower = calls[ratios[:, k] > 4 / 3]
    said = " and ".join(slower) or "no call"
    verdict.append(f"At {size}, {said} took longer.")
sizes = ["4 B", "4 KiB", "4 MiB"]
plt.xticks([1, 2**10, 2**20], sizes)
plt.title("\n".join(verdict))
plt.xlabel("Size of x")
plt.ylabel("Time / time of the first call")
plt.ylim(0), plt.legend()
plt.show()
print("call", *sizes, sep=" | ")
for call, times in zip(copies, bench.timings_s):
    cells = [f"{1e6 * t:.2f} µs" for t in times[::5]]
    print(call, *cells, sep=" | ")
# sphinx_gallery_folded = "The code that times and draws"

# %%
# Remember
# --------
# - Copy with ``x.detach().clone()``. Then a write to the copy doesn't change ``x``, and
#   no gradient flows back.
# - ``torch.empty_like(x).copy_(x)`` stays in the graph, unless you detach ``x``.
# - Keep ``torch.tensor`` and ``new_tensor`` for numbers, lists and arrays.
