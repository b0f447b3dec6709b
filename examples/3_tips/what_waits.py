# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Which calls wait for the GPU?
=============================

A call on a CUDA tensor waits if the CPU needs values of that tensor. The measured time
of that call then includes all work that was queued before it on the same stream.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "Calls that wait for the GPU"
import time

import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A call waits if it needs values
# -------------------------------
# Most calls on a CUDA tensor only *queue* work and return (from the `PyTorch
# documentation
# <https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution>`__). A
# call that needs values waits for the work that computes them. You can find most of
# these calls without a GPU, because they raise for a ``meta`` tensor, which has no
# values. On CUDA the folded code also checks if earlier work is done when they return.

gpu = device == "cuda"
calls = {
    "x + 1": lambda x: x + 1,
    "x.sum()": torch.sum,
    "x * (x > 1)": lambda x: x * (x > 1),
    "x.sum().item()": lambda x: x.sum().item(),
    "x.tolist()": torch.Tensor.tolist,
    "if x.sum() > 1:": lambda x: bool(x.sum() > 1),
    "x.cpu()": torch.Tensor.cpu,
    "x[x > 1]": lambda x: x[x > 1],
    "x.equal(x + 1)": lambda x: x.equal(x + 1),
}
others = str, lambda x: torch.ones(4).to(x.device)


def waits(call):
    x = torch.arange(4.0, device=device)
    call(x)  # the first call loads code
    torch.cuda.synchronize()
    torch.cuda._sleep(10**8)  # private, in cycles
    event = torch.cuda.Event()
    event.record()
    call(x)
    return "yes" if event.query() else "no"


rows = []
for written, call in calls.items():
    row = {"call": written, "needs values": "no"}
    try:
        call(torch.empty(4, device="meta"))
    except RuntimeError:
        row["needs values"] = "yes"
    if gpu:
        row["waits"] = waits(call)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
asked = [row["needs values"] for row in rows]
assert asked == ["no"] * 3 + ["yes"] * 6
waited = [row["waits"] for row in rows[3:] if gpu]
waited += [*map(waits, others)] if gpu else []
assert {*waited} <= {"yes"}
assert torch.eye(2, device="meta").inverse().is_meta
# sphinx_gallery_timeline = "what_waits"
# sphinx_gallery_folded = "The calls, and the code that asks"
# sphinx_gallery_table = "rows"

# %%
# ``print`` and ``torch.linalg.inv`` don't raise on ``meta``, but wait on CUDA (for
# ``inv`` from the `PyTorch documentation
# <https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv.html>`__). A copy
# from the CPU to the GPU without ``non_blocking=True`` waits for the work queued before
# it (from the `CUDA documentation
# <https://docs.nvidia.com/cuda/cuda-runtime-api/api-sync-behavior.html>`__). Copies
# that don't wait are in :doc:`copy_between_devices`.
#
# Synchronize before you read the clock
# -------------------------------------
# Right after a call, the clock shows how long it took to queue the work. The time of
# the work itself appears in the next call that waits. So synchronize before you read
# the clock, and leave out the first run. PyTorch's ``Timer`` does both
# (:doc:`measure_a_copy`). ``share`` is the product's share of the time up to the end of
# ``item()``. On CUDA it's small without the wait, but not in the first run. On a CPU
# it's always large.

n = 2**11 if gpu else 2**9
big = torch.ones(n, n, device=device)
for wait in False, False, True:
    began = time.perf_counter()
    product = big @ big
    if wait and gpu:
        torch.cuda.synchronize()
    between = time.perf_counter()
    product[0, 0].item()
    ended = time.perf_counter()
    share = (between - began) / (ended - began)
    print(f"{wait = }, {share = :.0%}")

# %%
# Wait once after a loop, not in each iteration
# ---------------------------------------------
# ``item`` and ``print`` wait in each iteration. Add up detached losses on the device
# instead, and read the sum once. The profiler counts the reads. Use ``float32`` for the
# sum, even if the losses are ``bfloat16``. ``bfloat16`` has too few bits to count
# beyond 256.

w = torch.tensor(2.0, device=device)
w.requires_grad_()
reads, cpu = {}, [ProfilerActivity.CPU]
for read in torch.Tensor.item, torch.Tensor.detach:
    with profile(activities=cpu) as log:
        total = torch.zeros((), device=device)
        for _ in range(10):
            total += read(w * w)
        total = total.item()
    names = [event.name for event in log.events()]
    number = names.count("aten::_local_scalar_dense")
    reads[f"total += loss.{read.__name__}()"] = number
half = torch.zeros((), dtype=torch.bfloat16)
for _ in range(1000):
    half += 1
print(reads)
print(f"1000 ones in bfloat16: {half.item()}")
assert list(reads.values()) == [11, 1]
assert total == 40 and half == 256

# %%
# ``detach`` first, ``numpy`` last
# --------------------------------
# Write ``x.detach().cpu().numpy()``. Another order doesn't change which call waits, but
# if you copy before ``detach``, autograd records it (:doc:`../1_basics/clone_detach`).
# ``numpy`` needs a CPU tensor.
#
# Remember
# --------
# - Calls that need values wait: numbers, ``if``, arrays, data-dependent shapes.
# - Synchronize before you start the clock and before you stop it.
# - In a loop, add up ``loss.detach()`` and read once.
