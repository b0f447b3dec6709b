# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why does a copy cost what it costs?
===================================

You will see what each copy asks PyTorch to do: how many operators it calls, how
many bytes it moves, in which order, and where the memory comes from.
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
# A count that repeats, with callgrind. It takes most of a minute for each method:
# it runs only with ``BENCHMARK_QUALITY=long``.

if quality == "long" and shutil.which("valgrind"):
    here = sysconfig.get_path("scripts")  # of `python`
    os.environ["PATH"] = f"{here}:{os.environ['PATH']}"
    os.environ["PYTHONWARNINGS"] = "ignore"
    for method in METHODS:
        timer = Timer(method, setup="x = torch.ones(2)")
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
    timers = []
    for statement, x in statements.values():
        known = {"x": x, "warm": x.detach().clone()}
        timers.append(Timer(statement, globals=known))
    once = max(t.timeit(2).mean for t in timers)
    calls = 1 + int(0.002 / once)
    times = np.empty((15, len(timers)))
    for row in times:
        row[:] = [t.timeit(calls).mean for t in timers]
    return dict(zip(statements, times.T, strict=True))


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
# ``detach`` first records no clone. The other order makes a node and drops it.

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
# layout of a transposed tensor and copies in one go, ``contiguous`` does not.

x = torch.randn(1024, 1024, device=device)
half = x.bfloat16()
assert half.nbytes * 2 == x.nbytes
assert x.t().clone().stride() == x.t().stride()
against("clone", times_of(
    clone=("x.clone()", x),
    transposed=("x.clone()", x.t()),
    reordered=("x.contiguous()", x.t()),
    bfloat16=("x.clone()", half),
))  # fmt: skip

# %%
# Very large tensors: mind where the memory comes from
# ----------------------------------------------------
# On the CPU, new memory of 64 MiB comes from the system, page by page, at each
# call; ``warm`` is there already. On CUDA, PyTorch keeps what was freed.

x = torch.ones(4096, 4096, device=device)
assert x.nbytes == 64 * 2**20
against("clone", times_of(
    clone=("x.clone()", x),
    warm=("warm.copy_(x)", x),
))  # fmt: skip

# %%
# Remember
# --------
# - A small copy costs its operators: choose by what the result is, not by them.
# - A large copy costs its bytes, and much more if their order changes.
#
# Next: :doc:`copy_between_devices`
