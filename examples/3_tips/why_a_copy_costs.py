# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why does a copy cost what it costs?
===================================

You will see what each copy asks PyTorch to do: how many operators it calls, how
many bytes it moves and in which order, and what a copy between the CPU and a
CUDA device waits for.
"""

import os
import shutil
import warnings

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.benchmark import Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
quality = os.environ.get("BENCHMARK_QUALITY", "normal")
print("This lesson runs on:", device)
warnings.simplefilter("ignore")  # two of the methods warn

# %%
# Small tensors: count the operators
# ----------------------------------
# :class:`torch.profiler.profile` lists what a call dispatches. Noise cannot
# touch these numbers. Two methods call six operators, the others three or four.

METHODS = {
    "x.new_tensor(x)": 6,
    "x.clone().detach()": 4,
    "torch.empty_like(x).copy_(x)": 3,
    "torch.tensor(x)": 6,
    "x.detach().clone()": 4,
}
x = torch.ones(2, device=device)
for method, expected in METHODS.items():
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        eval(method)
    names = [event.name for event in seen.events()]
    operators = [n[6:] for n in names if n[:4] == "aten"]
    print(f"{method}: {len(operators)}")
    print("   " + " ".join(operators))
    assert len(operators) == expected

# %%
# Instructions, where valgrind is
# -------------------------------
# A count that repeats: but it takes most of a minute for each method, so this
# runs only with ``BENCHMARK_QUALITY=long``.

x = torch.ones(2)
if quality == "long" and shutil.which("valgrind"):
    for method in METHODS:
        timer = Timer(method, globals={"x": x})
        seen = timer.collect_callgrind(number=100)
        print(method, seen.counts() // 100, "instructions")
else:
    print("not counted in this run")

# %%
# A meter that compares in turns
# ------------------------------
# In turns, as in :doc:`measure_a_copy`. Slower means here: over a quarter more
# time in three rounds of four. Faster means a fifth less.

QUARTILES = [0.25, 0.5, 0.75]


def times_of(**statements):
    timers = {}
    for name, (statement, x) in statements.items():
        known = {"x": x, "warm": x.detach().clone()}
        timers[name] = Timer(statement, globals=known)
        timers[name].timeit(2)
    once = max(t.timeit(2).mean for t in timers.values())
    number, rounds = 1 + int(0.002 / once), 15
    times = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            times[name].append(timer.timeit(number).mean)
    return {name: np.array(t) for name, t in times.items()}


def against(first, times):
    for name in times:
        ratios = times[name] / times[first]
        low, mid, high = np.quantile(ratios, QUARTILES)
        differs = low > 1.25 or high < 0.8
        word = f"{mid:.1f} times" if differs else "the same"
        print(f"{name}: {word}")


a = np.array([1.0, 1.4, 0.8, 1.0])
against("a", {"a": a, "twice": 2 * a, "noise": a[::-1]})

# %%
# If ``x`` requires grad
# ----------------------
# ``detach`` first, and the clone is not recorded. The other order makes a node
# of the graph and throws it away.

x = torch.ones(2, device=device, requires_grad=True)
assert x.clone().grad_fn and not x.detach().clone().grad_fn
against("detach_first", times_of(
    detach_first=("x.detach().clone()", x),
    clone_first=("x.clone().detach()", x),
))  # fmt: skip

# %%
# Large tensors: count the bytes, and mind their order
# ----------------------------------------------------
# A million elements. ``bfloat16`` has half of the bytes. ``clone`` keeps the
# layout of a transposed tensor: it reads and writes in one go, ``contiguous``
# does not. Memory that is there already needs no pages from the system.

x = torch.randn(1024, 1024, device=device)
half = x.bfloat16()
assert half.nbytes * 2 == x.nbytes
assert x.t().clone().stride() == x.t().stride()
against("clone", times_of(
    clone=("x.clone()", x),
    transposed=("x.clone()", x.t()),
    reordered=("x.contiguous()", x.t()),
    bfloat16=("x.clone()", half),
    warm=("warm.copy_(x)", x),
))  # fmt: skip

# %%
# Remember
# --------
# - A small copy costs its operators: choose by what the result is, not by them.
# - A large copy costs its bytes, and much more if their order changes.
#
# Next: :doc:`copy_between_devices`
