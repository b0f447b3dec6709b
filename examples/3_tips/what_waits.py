# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Which calls wait for the GPU?
=============================

A call waits if the host needs the values, and then it is charged with all the work
that was queued before it.

You will see which calls need values, and on CUDA which of them wait; then how to
time a step, and how a loop waits once instead of in every step.
"""

# sphinx_gallery_setup = True
import time

import matplotlib.pyplot as plt
import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Two probes
# ----------
# Most calls on a CUDA tensor *queue* work and return (`PyTorch's notes
# <https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution>`_).
# A tensor on ``meta`` has no values: a call that needs them raises there. And on CUDA
# an event, queued behind some work, says if that is done when the call returns. A CPU
# queues nothing and has no answer (–).

gpu = device == "cuda"
host = torch.arange(4.0)
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
    "print(x)": str,
    "host.to(x.device)": lambda x: host.to(x.device),
}


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
    row["waits"] = waits(call) if gpu else "–"
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
asked = [row["needs values"] for row in rows]
assert asked[:9] == ["no"] * 3 + ["yes"] * 6
assert all(row["waits"] != "no" for row in rows[3:])
# sphinx_gallery_folded = "The calls, and the code that asks"
# sphinx_gallery_table = "rows"

# %%
# ``print`` needs none on ``meta`` alone, and a copy from ordinary host memory waits too
# (`NVIDIA <https://docs.nvidia.com/cuda/cuda-runtime-api/api-sync-behavior.html>`_).
# Copies that do not wait, and who should pin: :doc:`copy_between_devices`.
#
# Time a step
# -----------
# Right after a call the clock shows how long it took to queue the work, and the next
# call that waits is charged with it. So wait before you read the clock, and leave out
# the first run, as ``Timer`` does (:doc:`measure_a_copy`). Below is the product's share
# of the time of product and ``item``: a first run, without the wait, and with it.

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
# One wait for a loop
# -------------------
# ``item`` and ``print`` wait in each step. Sum up on the device, detached, and read
# once. The profiler counts the reads: ``_local_scalar_dense`` reads one number.

w = torch.tensor(2.0, device=device).requires_grad_()
reads, cpu = {}, [ProfilerActivity.CPU]
for read in torch.Tensor.item, torch.Tensor.detach:
    with profile(activities=cpu) as log:
        total = 0.0
        for _ in range(10):
            total += read(w * w)
        total = float(total)  # reads a tensor
    assert total == 40
    found = {e.key: e.count for e in log.key_averages()}
    name = f"total += loss.{read.__name__}()"
    reads[name] = found["aten::_local_scalar_dense"]
print(reads)
assert list(reads.values()) == [10, 1]

plt.bar_label(plt.barh(list(reads), reads.values()))
plt.title("Each read in a loop is a wait.")
plt.xlabel("Waits in ten steps, on CUDA")
plt.show()
# sphinx_gallery_lead = True

# %%
# ``detach`` first, ``numpy`` last
# --------------------------------
# The order changes no waiting, but a copy before ``detach`` is recorded, and nobody
# needs that node of the graph (:doc:`../1_basics/clone_detach`). ``numpy`` comes last:
# it takes a CPU tensor (:ref:`numpy-device`).
#
# Remember
# --------
# - Numbers, ``if``, arrays and shapes that depend on values wait for the queue.
# - Wait before you start the clock and before you stop it.
# - In a loop, sum up ``loss.detach()`` and read once.
