# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Copy the next batch on a side stream
====================================

Streams don't wait for each other. Let the stream that uses the copy wait for it, and
call ``record_stream``, so that the copy's memory isn't reused while it's still read.
"""

# sphinx_gallery_setup = True
from itertools import permutations

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Copy the next batch while the GPU computes
# ------------------------------------------
# A *stream* is a queue of GPU work. Work on one stream runs in order, work on two
# streams in any order or at the same time. So a side stream can copy the next batch
# from pinned memory while the current stream computes.
#
# An *event* marks a place in a stream. With ``wait_event``, another stream waits for it
# before its next work. The CPU doesn't wait (from the `CUDA documentation
# <https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__STREAM.html>`__).
# Without a GPU, ``side`` is None and the same code runs in order.

gpu = device == "cuda"
side = torch.cuda.Stream() if gpu else None
batches = torch.arange(6.0).reshape(3, 2)
if gpu:
    batches = batches.pin_memory()


def load(batch):
    with torch.cuda.stream(side):  # None: no stream
        x = batch.to(device, non_blocking=True)
        copied = None
        if gpu:
            copied = side.record_event()
    return x, copied


def wait_for(x, copied):
    """Let the current stream wait for the copy."""
    if gpu:
        current = torch.cuda.current_stream()
        current.wait_event(copied)
        x.record_stream(current)


squares = torch.zeros(2, device=device)
following, copied = load(batches[0])
for index in range(3):
    x = following
    wait_for(x, copied)
    if index < 2:
        following, copied = load(batches[index + 1])
    squares += x * x
print(f"{squares.tolist() = }")
assert squares.tolist() == [0 + 4 + 16, 1 + 9 + 25]
# sphinx_gallery_lead = "side_streams.html"

# %%
# ``current.wait_stream(side)`` would wait for all work queued on ``side`` before the
# call. Here that is one copy. With two batches loaded ahead, it would wait for both.
#
# Which results are possible with and without waits?
# --------------------------------------------------
# The wrong order may be rare, so one correct run proves little. The folded ``results``
# is a model of two streams, without a GPU. It tries all orders of three pieces of work:
# two copies to ``x``, which write 1 and 2, and ``y = 2 * x``. ``y`` should use the
# first copy, so it should be 2.
#
# The second copy may write to the same memory, because the loop above assigns the next
# batch to ``x``, which frees the old one. The allocator only knows the stream that a
# tensor was made on, so it may give the memory to the next copy on ``side`` (from
# `PyTorch's docs
# <https://docs.pytorch.org/docs/stable/generated/torch.Tensor.record_stream.html>`__).

WORK = "copy 1", "2 * x", "copy 2"


def results(waits):
    """Return each ``y`` that is possible."""
    found = set()
    for order in permutations(WORK):
        at = {work: order.index(work) for work in WORK}
        if any(at[b] < at[a] for a, b in waits):
            continue  # b waits for a
        x = 0
        for work in order:
            if work == "copy 1":
                x = 1
            elif work == "copy 2":
                x = 2
            else:
                y = 2 * x
        found.add(y)
    return sorted(found)


# sphinx_gallery_folded = "The model of two streams"

# %%
# The first work of each pair is done before the second.

by_stream = "copy 1", "copy 2"
by_wait = "copy 1", "2 * x"
by_record = "2 * x", "copy 2"
can_be = results([by_stream, by_wait])
print("y can be", can_be)
assert can_be == [2, 4]

# %%
# .. predict:: With ``wait_event`` alone, what can ``y`` be?
#
#     - ``y can be [2, 4]``
#     - ``y can be [0, 2, 4]`` with ``can_be = results([by_stream])``
#     - ``y can be [2]`` with ``can_be = results([by_stream, by_wait,
#       by_record])``
#
# ``wait_event`` excludes 0, which was in memory before. It doesn't exclude 4, because
# the next copy may write before ``2 * x`` has read. ``record_stream`` excludes 4. The
# allocator reuses the memory only after the recorded stream has done all work that was
# queued on it before ``x`` was freed.

without = results([by_stream])
both = results([by_stream, by_wait, by_record])
print(f"{without = }, {both = }")
assert without == [0, 2, 4]
assert both == [2]

# %%
# Instead of ``record_stream`` you can call ``side.wait_stream(current)``, after you
# queue the work that reads ``x``, but before ``x`` is freed. Then the next copy on
# ``side`` waits for all work queued on ``current`` so far.
#
# Copy a result back to the CPU
# -----------------------------
# Here the side stream reads what the current stream makes, so ``side`` has to wait. The
# CPU has to wait too before it reads the result.

if gpu:
    side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    result = squares.to("cpu", non_blocking=True)
if gpu:
    squares.record_stream(side)
    side.synchronize()  # the CPU waits
print(f"{result.tolist() = }")
assert result.tolist() == [20, 35]

# %%
# Remember
# --------
# - Before a stream reads a tensor that another stream writes, call ``wait_event`` or
#   ``wait_stream``.
# - Before you free a tensor that another stream uses, call ``record_stream``.
# - Before the CPU reads a ``non_blocking`` copy, call ``synchronize``.
