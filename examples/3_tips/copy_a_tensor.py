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
import perfplot
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# ``x.detach().clone()`` copies and leaves the graph
# --------------------------------------------------
# ``clone`` copies the values, and after ``detach`` the copy doesn't require grad. We
# write to the copy.

x = torch.ones(2, device=device, requires_grad=True)
y = x.detach().clone()
y[0] = 7.0  # x doesn't change
print(f"{x.tolist() = }, {y.tolist() = }")
print(f"{y.requires_grad = }")
assert x.tolist() == [1, 1]
assert y.tolist() == [7, 1]
assert not y.requires_grad
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, y, x copied to y"

# %%
# Which of five calls stay in the graph or warn?
# ----------------------------------------------
# The five calls in the table return the values of ``x`` in new memory. Autograd records
# ``copy_``, so its result requires grad. Two of the calls warn.


def new_and_copy(x):
    return torch.empty_like(x).copy_(x)


copies = {
    "x.detach().clone()": lambda x: x.detach().clone(),
    "x.clone().detach()": lambda x: x.clone().detach(),
    "torch.empty_like(x).copy_(x)": new_and_copy,
    "x.new_tensor(x)": lambda x: x.new_tensor(x),
    "torch.tensor(x)": lambda x: torch.tensor(x),
}
flags, warned, values = [], [], []
print("call | requires grad | warns")
for call, make_copy in copies.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = make_copy(x)
    flags.append("yes" if y.requires_grad else "no")
    warned.append("yes" if caught else "no")
    print(f"{call} | {flags[-1]} | {warned[-1]}")
    with torch.no_grad():
        y[0] = 7
    values.append(y.tolist())
assert values == [[7, 1]] * 5
assert x.tolist() == [1, 1]  # not overwritten
assert flags == ["no", "no", "yes", "no", "no"]
assert warned == ["no", "no", "no", "yes", "yes"]
# sphinx_gallery_folded = "The five calls, and the code that tries them"

# %%
# The two that warn are made for numbers, lists and arrays. The result of
# ``t.new_tensor`` has the dtype of ``t`` (for its device see :doc:`../../changes`).
# Detach before ``copy_``. Otherwise gradients flow back to ``x``.

y = torch.empty_like(x).copy_(x)
z = torch.empty_like(x).copy_(x.detach())
loss = (3 * y).sum()
loss.backward()
print(f"{x.grad = }, {z.requires_grad = }")
assert x.grad.tolist() == [3, 3]
assert not z.requires_grad
assert x.double().new_tensor(1).dtype == torch.double

# %%
# .. predict:: What is ``x.grad``?
#
#     - ``x.grad = tensor([3., 3.]), z.requires_grad = False``
#     - ``x.grad = tensor([3., 3.]), z.requires_grad = True`` with ``z =
#       torch.empty_like(x).copy_(x)``
#     - ``RuntimeError: element 0 of tensors does not require grad and does not have a
#       grad_fn`` with ``loss = (3 * z).sum()``
#
# Which of the five calls are slower?
# -----------------------------------
# This is the benchmark of a :doc:`2021 article <../../article>`. ``perfplot.bench``
# repeats each call many times and keeps the smallest time.
# The chart below divides these times by those of ``x.detach().clone()``, and its title
# names the calls that took more than 4/3 of that time. Smaller differences can change
# with the next run.
#
# The tensors are on the CPU, without a graph, and one thread copies. Warnings aren't
# shown, but take time. First, 16 MiB are freed. After that, Linux's C library keeps
# freed blocks that are smaller, so these copies don't wait for :doc:`new pages
# <pages_of_a_copy>`. Much larger copies do. `From the mallopt manual
# <https://man7.org/linux/man-pages/man3/mallopt.3.html>`__

warnings.simplefilter("ignore")
torch.set_num_threads(1)
freed = torch.ones(2**22)  # 16 MiB
del freed
# sphinx_gallery_folded = "The code that prepares the benchmark"

# %%
bench = perfplot.bench(
    setup=lambda n: torch.ones(n),
    kernels=[
        lambda x: x.detach().clone(),
        lambda x: x.clone().detach(),
        lambda x: torch.empty_like(x).copy_(x),
        lambda x: x.new_tensor(x),
        lambda x: torch.tensor(x),
    ],
    n_range=[4**k for k in range(11)],
    xlabel="Size of x",
    equality_check=torch.equal,
    target_time_per_measurement=0.1,  # seconds
    show_progress=False,
)

# %%
calls = list(copies)  # in the order of the kernels
ratios = bench.timings_s / bench.timings_s[0]
plt.figure(layout="constrained")
plt.semilogx(bench.n_range, ratios.T, label=calls)
verdict = []
for size, place in ("4 B", 0), ("4 MiB", -1):
    slower = []
    for call, ratio in zip(calls, ratios[:, place]):
        if ratio > 4 / 3:
            slower.append(call)
    if len(slower) == 0:
        slower.append("no call")
    names = " and ".join(slower)
    verdict.append(f"At {size}, {names} took longer.")
plt.title("\n".join(verdict))
sizes = ["4 B", "4 KiB", "4 MiB"]
plt.xticks([1, 2**10, 2**20], sizes)
plt.xlabel("Size of x")
plt.ylabel("Time / time of the first call")
plt.ylim(bottom=0)
plt.legend()
plt.show()
print("call | 4 B | 4 KiB | 4 MiB")
for call, times in zip(calls, bench.timings_s):
    cells = [f"{1e6 * t:.2f} µs" for t in times[::5]]
    print(f"{call} | {' | '.join(cells)}")
# sphinx_gallery_folded = "The code that draws"

# %%
# Remember
# --------
# - Copy with ``x.detach().clone()``. Then a write to the copy doesn't change ``x``, and
#   no gradient flows back.
# - ``torch.empty_like(x).copy_(x)`` stays in the graph, unless you detach ``x``.
# - Keep ``torch.tensor`` and ``new_tensor`` for numbers, lists and arrays.
