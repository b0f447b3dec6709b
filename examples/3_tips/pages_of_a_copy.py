# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Why are very large copies slow? Page faults
===========================================

On the CPU, a copy of 64 MiB into new memory takes time to move the bytes, and usually
also for page faults. In a page fault, the system finds memory for a new page.
"""

# sphinx_gallery_setup = True
import os
from pathlib import Path
from timeit import repeat

import matplotlib.pyplot as plt
import torch

device = "cpu"
print("This lesson runs on:", device)

# %%
# The first write to each page causes a page fault
# ------------------------------------------------
# Allocating 64 MiB usually only reserves addresses. The first write to each *page*,
# often a block of 4 or 16 KiB, makes the system find memory for it. That's a *page
# fault*. The folded ``page_faults`` runs a call three times and returns the fewest page
# faults. ``warm`` already has its pages, so a write to it causes hardly any faults.

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:
    raise SystemExit("Needs Linux or macOS.") from None


def page_faults(call):
    counts = []
    for _ in range(3):
        before = getrusage(RUSAGE_SELF).ru_minflt
        call()
        after = getrusage(RUSAGE_SELF).ru_minflt
        counts.append(after - before)
    return min(counts)


# sphinx_gallery_folded = "The code that counts"

# %%

x = torch.ones(4096, 4096, device=device)
warm = x.clone()
pages = x.nbytes // os.sysconf("SC_PAGE_SIZE")
clone_faults = page_faults(lambda: x.clone())
write_faults = page_faults(lambda: warm.copy_(x))
print(f"{pages = }")
print(f"{clone_faults = }")
print(f"{write_faults = }")
assert write_faults < pages / 100

# %%
# Does ``empty_like`` cause page faults?
# --------------------------------------
# ``empty_like`` allocates as many bytes as ``clone``, but doesn't write to them.

empty_faults = page_faults(lambda: torch.empty_like(x))
print(f"{empty_faults = }")
assert empty_faults < pages / 100

# %%
# .. predict:: How many page faults does ``empty_like`` cause?
#
# NumPy asks for larger pages
# ---------------------------
# Linux also has larger pages, mostly of 2 MiB. With the policy ``madvise``, a program
# has to ask for them. NumPy does so for its large arrays (`NUMPY_MADVISE_HUGEPAGE
# <https://numpy.org/doc/stable/reference/global_state.html>`_). PyTorch does so for
# large tensors only if the process starts with `THP_MEM_ALLOC_ENABLE
# <https://github.com/pytorch/pytorch/pull/107697>`_ set to 1.

numpy_faults = page_faults(lambda: x.numpy().copy())
print(f"{numpy_faults = }")

# %%
# Your numbers may differ if all programs get larger pages, or with another allocator,
# as on ARM Linux since PyTorch 2.10. Otherwise, on x86 Linux, the folded code checks
# that a clone causes a fault for each page. With ``madvise``, NumPy's copy has fewer.

system = Path("/sys/kernel/mm/transparent_hugepage")
files = sorted(system.rglob("enabled"))
policies = "".join(f.read_text() for f in files)
settings = {"GLIBC_TUNABLES", "LD_PRELOAD"}
settings.add("THP_MEM_ALLOC_ENABLE")
changed = settings.intersection(os.environ)
usual = len(files) > 0 and "[always]" not in policies
x86 = os.uname().machine == "x86_64"
if x86 and usual and not changed:
    policy = (system / "enabled").read_text()
    size = (system / "hpage_pmd_size").read_text()
    print("Policy:", policy.strip())
    assert clone_faults >= pages
    if "[madvise]" in policy and int(size) == 2**21:
        assert numpy_faults < pages
# sphinx_gallery_folded = "The code that asserts"

# %%
# How much time do new pages take?
# --------------------------------
# Each bar is the fastest of five calls in one thread. The time for a new page depends
# on the machine.

torch.set_num_threads(1)
new_pages = {
    "x.clone()": clone_faults,
    "x.numpy().copy()": numpy_faults,
    "warm.copy_(x)": write_faults,
}
tensors = {"x": x, "warm": warm}
times, labels = [], []
for call, new in new_pages.items():
    runs = repeat(call, globals=tensors, number=1)
    times.append(min(runs))
    ms = f"{1e3 * min(runs):.1f} ms"
    labels.append(f"{ms}, {new:,} new pages")
plt.figure(figsize=(4.6, 1.6), layout="constrained")
bars = plt.barh(list(new_pages), times)
plt.bar_label(bars, labels, padding=3)
plt.xlim(0, 2.6 * max(times))
plt.xticks([])
plt.grid(False)
plt.gca().invert_yaxis()
ratio = times[0] / times[-1]
faster = f"about {ratio:.2g} times faster"
plt.title(f"No new pages: {faster}")
plt.xlabel("Time and new pages of a copy of 64 MiB")
plt.show()
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that times and draws"

# %%
# Reuse a buffer in a loop
# ------------------------
# If a loop needs only the newest copy, allocate a buffer once and write to it. In grad
# mode, autograd records ``copy_`` from a source that requires grad, and the graph grows
# with each write. So detach the source (:ref:`silent-buffer-graph`).

w = torch.ones(2, requires_grad=True)
buffer = torch.empty(2)
for _ in range(3):
    buffer.copy_(w.detach())
print(f"{buffer.requires_grad = }")
wrong = torch.empty(2)
for _ in range(3):
    wrong.copy_(w)  # the graph grows
print(f"{wrong.requires_grad = }")
assert buffer.grad_fn is None
assert wrong.grad_fn.next_functions[0][0] is not None

# %%
# Remember
# --------
# - A very large copy into new memory usually also takes time for page faults.
# - In a loop, reuse one buffer for the newest copy: ``buffer.copy_(x.detach())``.
# - On Linux, NumPy's copy can cause fewer faults, because NumPy asks for larger pages.
