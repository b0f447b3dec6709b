# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why is a very large copy slow? Count the pages
==============================================

You will see that a CPU copy of 64 MiB also pays for each page of its new memory:
with pages of 4 KiB often more than for its bytes. Two changes avoid that.
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
system = Path("/sys/kernel/mm/transparent_hugepage")
huge = {p: p.read_text() for p in system.glob("**/enabled")}
policy = huge.get(system / "enabled", "unknown").strip()
print("huge pages of the system:", policy)
size = system / "hpage_pmd_size"
mib = int(size.read_text()) >> 20 if size.exists() else 0
asked = "[madvise]" in policy and mib == 2
malloc = {"LD_PRELOAD", "GLIBC_TUNABLES"} & {*os.environ}
odd = malloc or not huge or "[always]" in str(huge)

# %%
# A page is handed out when it is first written
# ---------------------------------------------
# An allocation of 64 MiB reserves addresses. The first write to each page asks the
# system for memory: a *page fault*, which it counts. ``warm`` has its pages.


def page_faults(step):
    counts = []
    for _ in range(3):
        start = getrusage(RUSAGE_SELF).ru_minflt
        step()
        end = getrusage(RUSAGE_SELF).ru_minflt
        counts.append(end - start)
    return min(counts)


x = torch.ones(4096, 4096, device=device)
warm = x.clone()
pages = x.nbytes // getpagesize()
cloned = page_faults(lambda: x.clone())
written = page_faults(lambda: warm.copy_(x))
print("64 MiB:", pages, "pages of", getpagesize(), "bytes")
print("x.clone():", cloned, "| warm.copy_(x):", written)
assert written < pages / 100 and (odd or cloned >= pages)
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
# Linux has larger pages too, mostly of 2 MiB. Where its policy is ``madvise``, it
# gives them to those who ask: NumPy
# (`NUMPY_MADVISE_HUGEPAGE <https://numpy.org/doc/stable/reference/global_state.html>`_),
# and PyTorch in a process that starts with
# `THP_MEM_ALLOC_ENABLE <https://github.com/pytorch/pytorch/pull/107697>`_ set to 1.

PROGRAM = """
import resource as r, timeit, torch
torch.set_num_threads(1)
x = torch.ones(4096, 4096)
start = r.getrusage(r.RUSAGE_SELF).ru_minflt
times = timeit.repeat(x.clone, number=1, repeat=5)
end = r.getrusage(r.RUSAGE_SELF).ru_minflt
print((end - start) / 5, 1000 * min(times))
"""
array = page_faults(x.numpy().copy)
print("x.numpy().copy():", array)
for value in "01":
    env = {**os.environ, "THP_MEM_ALLOC_ENABLE": value}
    command = [sys.executable, "-c", PROGRAM]
    out = subprocess.check_output(command, env=env)
    count, ms = map(float, out.split())
    print(f"{value}: {count:.0f} pages, {ms:.1f} ms")
assert not asked or max(array, count) < pages / 10

# %%
# Use memory that is there
# ------------------------
# In a loop, allocate a buffer once and write. ``copy_`` is recorded: without
# ``detach`` each write hangs on the last one, and no graph is ever freed.

w = torch.ones(2, requires_grad=True)
buffer, chain = torch.empty(2), torch.empty(2)
for _ in range(3):
    buffer.copy_(w.detach())
    chain.copy_(w)
before = chain.grad_fn.next_functions[0][0]
print("the last write hangs on", type(before).__name__)
assert before is not None and buffer.grad_fn is None

# %%
# The time follows the pages
# --------------------------
# One thread, the fastest of nine calls. New pages cost more on some machines.

torch.set_num_threads(1)
steps = [x.clone, x.numpy().copy, lambda: warm.copy_(x)]
times = [min(repeat(s, number=1, repeat=9)) for s in steps]
print("x.clone(), x.numpy().copy(), warm.copy_(x):")
print("  ".join(f"{1000 * t:.1f} ms" for t in times))
new = 1 - times[2] / times[0]
print(f"new memory: {new:.0%} of x.clone()")
assert odd or new > 0

# %%
# Remember
# --------
# - On a CPU, a very large copy pays for its bytes and for each new page.
# - In a loop, allocate once and write: ``buffer.copy_(x.detach())``.
# - On Linux, ``THP_MEM_ALLOC_ENABLE=1`` asks for larger pages.
#
# Next: :doc:`copy_between_devices`
