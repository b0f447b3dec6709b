# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why is a very large copy slow? Count the pages
==============================================

You will see that a CPU copy of 64 MiB spends most of its time on new memory, which
the system hands out page by page. Two changes avoid that.
"""

import os
import subprocess
import sys
from pathlib import Path
from timeit import repeat

import torch

try:
    from resource import RUSAGE_SELF, getpagesize, getrusage
except ImportError:
    sys.exit("Windows counts no pages: use Linux or macOS.")

device = "cpu"
print("This lesson runs on:", device)
os.environ.pop("THP_MEM_ALLOC_ENABLE", None)  # see below
policy = Path("/sys/kernel/mm/transparent_hugepage/enabled")
huge = policy.read_text() if policy.exists() else "unknown"
print("huge pages of the system:", huge.strip())

# %%
# A page is handed out when it is first written
# ---------------------------------------------
# An allocation of 64 MiB reserves addresses. The first write to each page stops
# and asks the system for memory: a *page fault*. The system counts them, and
# noise hardly touches the count. ``warm`` has its pages already.


def page_faults(step):
    counts = []
    for _ in range(3):
        start = getrusage(RUSAGE_SELF).ru_minflt
        result = step()
        end = getrusage(RUSAGE_SELF).ru_minflt
        del result
        counts.append(end - start)
    return min(counts)


x = torch.ones(4096, 4096, device=device)
warm = x.clone()
pages = x.nbytes // getpagesize()
cloned = page_faults(lambda: x.clone())
written = page_faults(lambda: warm.copy_(x))
print(f"{x.nbytes >> 20} MiB are {pages} pages")
print("x.clone():", cloned, "| warm.copy_(x):", written)
assert written < pages / 100
if "[madvise]" in huge or "[never]" in huge:
    assert cloned >= pages
# sphinx_gallery_tensor_map = "x, warm"

# %%
# Memory that nobody writes
# -------------------------
# ``empty_like`` allocates as many bytes as ``clone``.

empty = page_faults(lambda: torch.empty_like(x))
print("torch.empty_like(x):", empty)
assert empty < pages / 100
# sphinx_gallery_predict = "How many pages are written?"

# %%
# NumPy asks for larger pages
# ---------------------------
# Linux has pages of 2 MiB too. Where its policy is ``madvise``, it gives them to
# those who ask. NumPy asks
# (`NUMPY_MADVISE_HUGEPAGE <https://numpy.org/doc/stable/reference/global_state.html>`_),
# PyTorch does not.

array = page_faults(lambda: x.numpy().copy())
print(f"x.numpy().copy(): {array}")
if "[madvise]" in huge:
    assert array < pages / 10

# %%
# Let PyTorch ask
# ---------------
# It does if `THP_MEM_ALLOC_ENABLE <https://github.com/pytorch/pytorch/pull/107697>`_
# is 1 when the process starts. So here are two new ones.

PROGRAM = """
import resource, timeit, torch
def faults():
    this = resource.RUSAGE_SELF
    return resource.getrusage(this).ru_minflt
torch.set_num_threads(1)
x = torch.ones(4096, 4096)
start = faults()
y = x.clone()
count = faults() - start
times = timeit.repeat(x.clone, number=1, repeat=5)
print(count, min(times))
"""
for value in "01":
    env = {**os.environ, "THP_MEM_ALLOC_ENABLE": value}
    command = [sys.executable, "-c", PROGRAM]
    out = subprocess.check_output(command, env=env)
    count, seconds = map(float, out.split())
    ms = 1000 * seconds
    print(f"{value}: {count:.0f} pages, {ms:.1f} ms")
if "[madvise]" in huge:
    assert count < pages / 10

# %%
# The time follows the pages
# --------------------------
# One thread, the fastest of nine calls. All three move the same bytes.

torch.set_num_threads(1)
known = {"x": x, "warm": warm}
codes = "x.clone()", "x.numpy().copy()", "warm.copy_(x)"
for code in codes:
    times = repeat(code, globals=known, number=1, repeat=9)
    print(f"{1000 * min(times):5.1f} ms  {code}")

# %%
# Remember
# --------
# - On a CPU, a copy of 64 MiB pays more for new memory than for its bytes.
# - In a loop, allocate once and write: ``buffer.copy_(x)``.
# - On Linux, ``THP_MEM_ALLOC_ENABLE=1`` asks for larger pages.
#
# Next: :doc:`copy_between_devices`
