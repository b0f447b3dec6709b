# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why does a copy cost what it costs?
===================================

A small copy costs its calls, a large one its bytes.

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
warnings.simplefilter("ignore")  # two methods warn
print("This lesson runs on:", device)
# sphinx_gallery_setup = True

# %%
# Small tensors: count the operators
# ----------------------------------
# :class:`torch.profiler.profile` lists what a call dispatches. Noise cannot
# touch these numbers. A device may add some operators to all of them, but two
# methods call more than the other three: those that warn.

copies = {
    "x.detach().clone()": lambda x: x.detach().clone(),
    "x.clone().detach()": lambda x: x.clone().detach(),
    "torch.empty_like(x).copy_(x)": (  # two steps
        lambda x: torch.empty_like(x).copy_(x)
    ),
    "x.new_tensor(x)": lambda x: x.new_tensor(x),
    "torch.tensor(x)": lambda x: torch.tensor(x),
}
x = torch.ones(2, device=device)
ON_CPU = [ProfilerActivity.CPU]
rows = []
for call, copy in copies.items():
    with profile(activities=ON_CPU) as seen:
        copy(x)
    names = [event.name for event in seen.events()]
    found = [n[6:] for n in names if n[:6] == "aten::"]
    row = {"call": call, "number": len(found)}
    rows.append(row | {"operators": ", ".join(found)})
print("call | number | operators")
for row in rows:
    print(*row.values(), sep=" | ")
numbers = [row["number"] for row in rows]
assert max(numbers[:3]) < min(numbers[3:])
# sphinx_gallery_table = "rows"

# %%
# Instructions, where valgrind is
# -------------------------------
# By callgrind, a minute or more for each call: ``BENCHMARK_QUALITY=long``.

if quality == "long" and shutil.which("valgrind"):
    here = sysconfig.get_path("scripts")  # of `python`
    os.environ["PATH"] = f"{here}:{os.environ['PATH']}"
    os.environ["PYTHONWARNINGS"] = "ignore"
    for call in copies:
        timer = Timer(call, setup="x = torch.ones(2)")
        seen = timer.collect_callgrind(number=100)
        print(call, seen.counts() // 100, "on a CPU")
else:
    print("not counted in this run")
# sphinx_gallery_folded = "The code that counts them"

# %%
# If ``x`` requires grad
# ----------------------
# ``detach`` first records no clone. The other order makes a node for the clone,
# and one for the leaf ``x`` if no other graph has one, and drops them at once.

# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, y, z"
x = torch.ones(2, device=device, requires_grad=True)
y, z = x.clone(), x.detach().clone()
print(f"{y.requires_grad = }, {z.requires_grad = }")
assert y.grad_fn and not z.grad_fn

# %%
# Large tensors: half of the bytes, or another order
# --------------------------------------------------
# With ``bfloat16`` half of the bytes. ``clone`` keeps the layout of a transposed
# tensor and copies in one go, ``contiguous`` does not. A million elements; on CUDA
# 16 million, or you would time the launch.

side = 1024 if device == "cpu" else 4096
wide = torch.randn(side, side, device=device)
half = wide.bfloat16()
print(f"{wide.nbytes = }, {half.nbytes = }")
assert half.nbytes * 2 == wide.nbytes
assert wide.t().clone().stride() == wide.t().stride()

# %%
# How they were timed
# -------------------
# In turns, each divided by the first of its round: :doc:`measure_a_copy`. A row
# says "the same" if not all of the middle half of its ratios is more than a fifth
# away from 1. On a CPU a block of 16 MiB is freed first: from then on the C library
# of Linux keeps smaller ones, and all copies here get theirs the same way.


def compare(*cases):
    timers = []
    for call, x in cases:
        timers.append(Timer(call, globals={"x": x}))
    once = max(timer.timeit(2).mean for timer in timers)
    calls = 1 + int(0.002 / once)
    rounds = int(np.clip(2 / once, 9, 99))
    times = np.empty((rounds, len(timers)))
    for row in times:
        row[:] = [t.timeit(calls).mean for t in timers]
    ratios = times / times[:, :1]
    return np.quantile(ratios, parts, axis=0)


parts = [0.25, 0.5, 0.75]
if device == "cpu":
    freed = torch.ones(2**22)
    del freed
nodes = compare(
    ("x.detach().clone()", x),
    ("x.clone().detach()", x),
)
order = compare(
    ("x.clone()", wide),
    ("x.clone()", wide.t()),
    ("x.contiguous()", wide.t()),
    ("x.clone()", half),
)
assert order[1, 3] < 1 < order[1, 2]
print(len(nodes.T) + len(order.T), "cases timed")
# sphinx_gallery_folded = "The code that timed them"

# %%
# Read the result
# ---------------
# The first row of each group is what the others are divided by.

labels = [
    ("x.detach().clone()", "small, requires grad"),
    ("x.clone().detach()", "small, requires grad"),
    ("x.clone()", "large"),
    ("x.clone()", "large, transposed"),
    ("x.contiguous()", "large, transposed"),
    ("x.clone()", "large, bfloat16"),
]
rows = []
ratios = np.hstack([nodes, order]).T
print("call | tensor | time")
for (call, kind), quarters in zip(labels, ratios):
    low, mid, high = quarters
    differs = low > 6 / 5 or high < 5 / 6
    time = f"{mid:.1f}×" if differs else "the same"
    rows.append(dict(call=call, tensor=kind, time=time))
    print(call, kind, time, sep=" | ")
# sphinx_gallery_table = "rows"

# %%
# Remember
# --------
# - A small copy costs its calls, roughly: choose by the result, not by them.
# - A copy that outlasts its call costs its bytes, more if their order changes.
#
# Next: :doc:`pages_of_a_copy`
