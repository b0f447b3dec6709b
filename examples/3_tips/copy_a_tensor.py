# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "perfplot", "matplotlib"]
# ///
"""
The best way to copy a tensor
=============================

You will see that five common copies are not the same: one stays in the autograd
graph, and two warn. Then you will see what they cost. The one to use is
``x.detach().clone()``.
"""

import os
import warnings

import matplotlib.pyplot as plt
import perfplot
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# What each of them returns
# -------------------------
# All five return the values of ``x`` in new memory. ``x`` requires grad, and
# autograd records ``copy_``, so the third result requires grad as well.

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
    print(number, method, "warns" if caught else "silent")
    print("   ", y.requires_grad, type(y.grad_fn).__name__)
    assert y.untyped_storage().data_ptr() != memory
    assert torch.equal(y, x)
    assert y.requires_grad == ("copy_" in method)
    assert bool(caught) == ("tensor(" in method)

# %%
# A copy into a new tensor
# ------------------------
# ``x`` requires grad, the tensors from ``empty_like`` do not.

y = torch.empty_like(x).copy_(x)
out = torch.empty_like(x).copy_(x.detach())
(3 * y).sum().backward()
print("x.grad", x.grad)
assert x.grad.tolist() == [3, 3] and not out.requires_grad
# sphinx_gallery_predict = "What is ``x.grad``?"

# %%
# ``copy_`` stays in the graph. For the values alone detach first, as for ``out``.
#
# The two that warn
# -----------------
# :func:`torch.tensor` and :meth:`torch.Tensor.new_tensor`. The second takes the
# dtype, and since PyTorch 2.7 the device, of the tensor it is called on. Here
# that is ``meta``, the device without data that every machine has.

t = torch.zeros(1, dtype=torch.float64, device="meta")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = t.new_tensor(x)
print(str(caught[0].message).split(",")[0])
print(x.dtype, x.device, "became", y.dtype, y.device)
source = t if torch.__version__ >= "2.7" else x
assert y.dtype == t.dtype and y.device == source.device

# %%
# Measure
# -------
# This is the article's benchmark on one thread, with CPU tensors on every
# machine, and again with tensors that require grad. What perfplot leaves out: it
# reports the fastest call and no spread, does not wait for CUDA, and its equality
# check fails on tensors that require grad. Silenced warnings still take time. The
# setup writes more than it returns: a host can be slow to hand out free memory.

SIZES = [2**k for k in range(0, 25, 3)]
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
WAIT = {"quick": 0.01, "normal": 0.25, "long": 2.0}
torch.set_num_threads(1)
kernels = [eval("lambda x: " + m) for m in methods]
times = {}
for grad in (False, True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = perfplot.bench(
            setup=lambda n, g=grad: (  # a leaf, if g
                torch.randn(4, n).sum(0).requires_grad_(g)
            ),
            kernels=kernels,
            labels=methods,
            n_range=SIZES,
            target_time_per_measurement=WAIT[quality],
            equality_check=torch.equal,
            show_progress=False,
        )
    times[grad] = b.timings_s * 1e6
print(len(methods), "kernels,", len(SIZES), "sizes")

# %%
# Read the result
# ---------------
# The columns are the methods. The article lets you use any of 2, 3 and 5. It
# measured a constant. If ``x`` requires grad, 2 and 3 make a node of the graph.

unit = "microseconds per call"
assert x.clone().grad_fn and not x.detach().clone().grad_fn
for grad, table in times.items():
    print(f"CPU tensors, requires_grad={grad}, {unit}")
    print(f"{'n':>8}", *(f"{k:8}" for k in range(1, 6)))
    for n, row in zip(SIZES, table.T, strict=True):
        print(f"{n:8}", *(f"{time:8.1f}" for time in row))
    least = table[:, :3].min(axis=1)
    late = 1.25 * least[4]
    slow = [k + 1 for k in range(5) if least[k] > late]
    print(f"over a quarter slower than 5, up to 64: {slow}")
    figure, axes = plt.subplots(layout="constrained")
    axes.loglog(SIZES, table.T, label=methods)
    axes.set_title(f"CPU tensors, requires_grad={grad}")
    axes.set(xlabel="number of elements", ylabel=unit)
    axes.legend()
plt.show()
samples = [
    {"method": m, "grad": g, "elements": n, "seconds": t}
    for g, table in times.items()
    for m, row in zip(methods, table / 1e6, strict=True)
    for n, t in zip(SIZES, row, strict=True)
]
# sphinx_gallery_benchmark_data = "samples"

# %%
# Remember
# --------
# - Copy with ``x.detach().clone()``.
# - ``torch.empty_like(x).copy_(x)`` stays in the graph.
# - Keep ``torch.tensor`` and ``new_tensor`` for numbers, lists and arrays.
#
# Next: :doc:`measure_a_copy`
