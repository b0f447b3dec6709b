# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why does a copy cost what it costs?
===================================

You will see what each copy asks PyTorch to do: how many operators it calls, how
many bytes it moves, and in which order.
"""

import os
import shutil
import sysconfig
import warnings

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.benchmark import Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
print("This lesson runs on:", device)
warnings.simplefilter("ignore")  # two methods warn

# %%
# Small tensors: count the operators
# ----------------------------------
# :class:`torch.profiler.profile` lists what a call dispatches. Noise cannot
# touch these numbers. A device may add some operators to all of them, but two
# methods call more than the other three: those that warn.

METHODS = [
    "x.new_tensor(x)",
    "torch.tensor(x)",
    "x.clone().detach()",
    "x.detach().clone()",
    "torch.empty_like(x).copy_(x)",
]
x = torch.ones(2, device=device)
counts = []
for method in METHODS:
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        eval(method)
    names = [event.name for event in seen.events()]
    operators = [n[6:] for n in names if n[:4] == "aten"]
    print(f"{method}: {len(operators)}")
    print("   " + " ".join(operators))
    counts.append(len(operators))
assert min(counts[:2]) > max(counts[2:])

# %%
# Instructions, where valgrind is
# -------------------------------
# By callgrind, a minute or more for each method: ``BENCHMARK_QUALITY=long``.

if quality == "long" and shutil.which("valgrind"):
    here = sysconfig.get_path("scripts")  # of `python`
    os.environ["PATH"] = f"{here}:{os.environ['PATH']}"
    os.environ["PYTHONWARNINGS"] = "ignore"
    for method in METHODS:
        timer = Timer(method, setup="x = torch.ones(2)")
        seen = timer.collect_callgrind(number=100)
        print(method, seen.counts() // 100, "on a CPU")
else:
    print("not counted in this run")

# %%
# If ``x`` requires grad
# ----------------------
# ``detach`` first records no clone. The other order makes a node for the clone,
# and one for the leaf ``x`` if no other graph has one, and drops them at once.
# The meter times in turns, as in :doc:`measure_a_copy`, and compares with the
# first. Slower means: over a fifth more time in three rounds of four. Faster
# means a sixth less.


def compare(**statements):
    timers = []
    for statement, x in statements.values():
        timers.append(Timer(statement, globals={"x": x}))
    once = max(t.timeit(2).mean for t in timers)
    calls = 1 + int(0.002 / once)
    rounds = int(np.clip(2 / once, 9, 99))
    times = np.empty((rounds, len(timers)))
    for row in times:
        row[:] = [t.timeit(calls).mean for t in timers]
    ratios = times.T / times[:, 0]
    for name, ratio in zip(statements, ratios, strict=True):
        low, mid, high = np.percentile(ratio, [25, 50, 75])
        differs = low > 6 / 5 or high < 5 / 6
        word = f"{mid:.1f} times" if differs else "the same"
        print(f"{name}: {word}")
    middle = np.median(ratios, axis=1)
    return dict(zip(statements, middle, strict=True))


x = torch.ones(2, device=device, requires_grad=True)
compare(
    detach_first=("x.detach().clone()", x),
    clone_first=("x.clone().detach()", x),
)
y, z = x.clone(), x.detach().clone()
assert y.grad_fn and not z.grad_fn
# sphinx_gallery_tensor_map = "x, y, z"

# %%
# Large tensors: count the bytes, and mind their order
# ----------------------------------------------------
# A million elements; on CUDA 16 million, or you would time the launch. With
# ``bfloat16`` half of the bytes. ``clone`` keeps the layout of a transposed tensor
# and copies in one go, ``contiguous`` does not. On a CPU a block of 16 MiB is freed
# first: from then on the C library of Linux keeps smaller ones for the next call,
# and all copies here get theirs the same way.

if device == "cpu":
    freed = torch.ones(2**22)
    del freed
side = 1024 if device == "cpu" else 4096
x = torch.randn(side, side, device=device)
half = x.bfloat16()
assert half.nbytes * 2 == x.nbytes
assert x.t().clone().stride() == x.t().stride()
middle = compare(
    clone=("x.clone()", x),
    transposed=("x.clone()", x.t()),
    reordered=("x.contiguous()", x.t()),
    bfloat16=("x.clone()", half),
)
assert middle["bfloat16"] < 1 < middle["reordered"]

# %%
# Remember
# --------
# - A small copy costs its calls, roughly: choose by the result, not by them.
# - A copy that outlasts its call costs its bytes, more if their order changes.
#
# Next: :doc:`pages_of_a_copy`
