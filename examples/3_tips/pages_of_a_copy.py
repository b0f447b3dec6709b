# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Why is a very large copy slow? Count the pages
==============================================

A CPU copy of 64 MiB also pays for each page of its new memory.

You will see how many pages three copies are handed, and what that costs: with pages
of 4 KiB often more than the bytes. Two changes avoid it.
"""

import os
import sys
from pathlib import Path
from timeit import repeat

import matplotlib.pyplot as plt
import torch

try:
    import resource
except ImportError:
    sys.exit("Windows counts none: use Linux or macOS.")

device = "cpu"
print("This lesson runs on:", device)
# Some systems hand out larger pages to all, or have
# another allocator: there is nothing to assert there.
system = Path("/sys/kernel/mm/transparent_hugepage")
files = system.glob("**/enabled")
found = [path.read_text() for path in files]
allocators = {"LD_PRELOAD", "GLIBC_TUNABLES"}
odd = not found or "[always]" in "".join(found)
odd = odd or bool(allocators & {*os.environ})
os.environ.pop("THP_MEM_ALLOC_ENABLE", None)
# sphinx_gallery_setup = True

# %%
# A page is handed out when it is first written
# ---------------------------------------------
# An allocation of 64 MiB reserves addresses. The first write to each page asks the
# system for memory: a *page fault*, which it counts. ``warm`` has its pages.


def first_writes():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt


def page_faults(step):
    counts = []
    for _ in range(3):
        start = first_writes()
        step()
        counts.append(first_writes() - start)
    return min(counts)


x = torch.ones(4096, 4096, device=device)
warm = x.clone()
pages = x.nbytes // resource.getpagesize()
cloned = page_faults(lambda: x.clone())
written = page_faults(lambda: warm.copy_(x))
print("64 MiB:", pages, "pages")
print("x.clone():", cloned, "| warm.copy_(x):", written)
assert written < pages / 100
assert odd or cloned >= pages

# %%
# Memory that nobody writes
# -------------------------
# ``empty_like`` allocates as many bytes as ``clone``.

# sphinx_gallery_predict = "How many pages are written?"
empty = page_faults(lambda: torch.empty_like(x))
print("torch.empty_like(x):", empty)
assert empty < pages / 100

# %%
# NumPy asks for larger pages
# ---------------------------
# Linux has larger pages too, mostly of 2 MiB. Where its policy is ``madvise``, it
# gives them to those who ask: NumPy does
# (`NUMPY_MADVISE_HUGEPAGE <https://numpy.org/doc/stable/reference/global_state.html>`_).
# PyTorch does in a process that starts with
# `THP_MEM_ALLOC_ENABLE <https://github.com/pytorch/pytorch/pull/107697>`_ set to 1.

array = page_faults(x.numpy().copy)
print("x.numpy().copy():", array)
size = system / "hpage_pmd_size"
if size.exists() and int(size.read_text()) == 2**21:
    policy = (system / "enabled").read_text().strip()
    print("pages of 2 MiB:", policy)
    asked = "[madvise]" in policy
    assert not asked or array < pages / 10

# %%
# The time follows the pages
# --------------------------
# One thread, the fastest of nine calls. New pages cost more on some machines.

torch.set_num_threads(1)
steps = {
    "x.clone()": x.clone,
    "x.numpy().copy()": x.numpy().copy,
    "warm.copy_(x)": lambda: warm.copy_(x),
}
times, labels = [], []
for step in steps.values():
    times.append(min(repeat(step, number=1, repeat=9)))
    new = page_faults(step)
    time = f"{1e3 * times[-1]:.1f} ms"
    labels.append(f"{time}, {new:,} pages")
for step, label in zip(steps, labels):
    print(f"{step}: {label}")
fresh = 1 - times[2] / times[0]
assert odd or fresh > 0

# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that drew it"
fig, axes = plt.subplots()
bars = axes.barh(list(steps), times)
axes.bar_label(bars, labels)
axes.invert_yaxis()
fig.set_size_inches(10, 2)
verdict = f"{fresh:.0%} of x.clone(): its new pages."
axes.set_title(verdict)
axes.set_xlabel("A copy of 64 MiB: time, and new pages")
plt.show()

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
# Remember
# --------
# - On a CPU, a very large copy pays for its bytes and for each new page.
# - In a loop, allocate once and write: ``buffer.copy_(x.detach())``.
# - On Linux, ``THP_MEM_ALLOC_ENABLE=1`` asks for larger pages.
#
# Next: :doc:`copy_between_devices`
