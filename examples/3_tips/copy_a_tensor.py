# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "perfplot", "matplotlib"]
# ///
"""
The best way to copy a tensor
=============================

You will see that five common copies are not the same: one of them stays in the
autograd graph, and two of them warn. Then you will see what they cost. The one
to use is ``x.detach().clone()``.
"""

import textwrap
import warnings
from functools import partial

import matplotlib.pyplot as plt
import perfplot
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# What each of them returns
# -------------------------
# All five return the values of ``x`` in new memory. ``x`` requires grad.
# Autograd records ``copy_``, so the third result requires one as well.

methods = [
    "x.new_tensor(x)",
    "x.clone().detach()",
    "torch.empty_like(x).copy_(x)",
    "torch.tensor(x)",
    "x.detach().clone()",
]
x = torch.ones(2, device=device, requires_grad=True)
memory = x.untyped_storage().data_ptr()
for number, method in enumerate(methods, 1):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = eval(method)
    warns = "warns" if caught else "does not warn"
    print(f"{number}: {method} {warns}")
    node = type(y.grad_fn).__name__
    print("   requires_grad", y.requires_grad, "|", node)
    assert y.untyped_storage().data_ptr() != memory
    assert torch.equal(y, x)
    assert y.requires_grad == ("copy_" in method)
    assert bool(caught) == ("tensor(" in method)

# %%
# The copy that stays in the graph
# --------------------------------
# The gradient of ``3 * y`` reaches ``x``. To fill a buffer with the values
# alone, detach first, as for ``out``.

y = torch.empty_like(x).copy_(x)
out = torch.empty_like(x).copy_(x.detach())
(3 * y).sum().backward()
print("x.grad", x.grad)
assert x.grad.tolist() == [3, 3] and not out.requires_grad

# %%
# The two that warn
# -----------------
# They are :func:`torch.tensor` and :meth:`torch.Tensor.new_tensor`. The second
# takes dtype and device from the tensor it is called on, and not from ``x``.

t = torch.zeros(1, dtype=torch.float64)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = t.new_tensor(x)
text = f"{caught[0].category.__name__}: {caught[0].message}"
print(textwrap.fill(text.split(" (Trig")[0], 60))
print("x is", x.dtype, "and the copy", y.dtype)
assert "recommended to use" in text
assert (y.dtype, y.device) == (t.dtype, t.device)

# %%
# Measure
# -------
# This is the article's benchmark, on one thread, with CPU tensors: perfplot
# does not wait for CUDA. It runs again with tensors that require grad.
# The warnings are silenced. The time still includes issuing them.

SIZES = [2**k for k in range(0, 15, 2)]
SECONDS = 0.4  # for each kernel and size
torch.set_num_threads(1)
kernels = [eval("lambda x: " + m) for m in methods]
times = {}
for grad in (False, True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = perfplot.bench(
            setup=partial(torch.randn, requires_grad=grad),
            kernels=kernels,
            labels=methods,
            n_range=SIZES,
            target_time_per_measurement=SECONDS,
            equality_check=torch.equal,
            show_progress=False,
        )
    times[grad] = b.timings_s * 1e6
print(len(methods), "kernels,", len(SIZES), "sizes, twice")

# %%
# Read the result
# ---------------
# The columns are the methods. The article says that any of 2, 3 and 5 may be
# used. It measured a constant. If ``x`` requires grad, 2 and 3 make a
# node of the graph on the way, and 5 does not.

unit = "microseconds per call"
assert x.clone().grad_fn and not x.detach().clone().grad_fn
for grad, table in times.items():
    print(f"requires_grad={grad}, {unit}")
    print(f"{'n':>6} {1:6} {2:6} {3:6} {4:6} {5:6}")
    for n, row in zip(SIZES, table.T, strict=True):
        print(f"{n:6}", *(f"{time:6.2f}" for time in row))
    least = table[:, :5].min(axis=1)
    print(f"Up to {SIZES[4]} elements, as multiples of 5:")
    print(" " * 6, *(f"{f:6.2f}" for f in least / least[4]))
    figure, axes = plt.subplots(layout="constrained")
    axes.loglog(SIZES, table.T, label=methods)
    axes.set_title(f"Five copies, requires_grad={grad}")
    axes.set_xlabel("number of elements")
    axes.set_ylabel(unit + ", lower is better")
    axes.legend()
plt.show()

# %%
# Remember
# --------
# - Copy with ``x.detach().clone()``.
# - ``torch.empty_like(x).copy_(x)`` stays in the graph.
# - Keep ``torch.tensor`` and ``new_tensor`` for numbers and lists.
#
# Next: :doc:`memory_of_a_copy`
