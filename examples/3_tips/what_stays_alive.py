# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What memory does a stored loss, output or slice keep?
=====================================================

A tensor keeps its whole storage alive, even if it is a small slice like ``part`` below
(clone the slice). A tensor with a graph also keeps everything that the graph saved,
until ``backward()`` frees it.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "What keeps memory alive"
import io

import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A slice keeps its whole storage
# -------------------------------
# ``out`` has 1 MiB. We keep two of its elements and delete ``out``. The slice keeps
# the whole 1 MiB alive. A clone of the slice has its own 8 bytes.

MIB = 2**20
out = torch.ones(MIB // 4, device=device)
part = out[:2]
clone = part.clone()
del out
print(f"{part.untyped_storage().nbytes() = }")
print(f"{clone.untyped_storage().nbytes() = }")
assert part.nbytes == clone.nbytes == 8
assert part.untyped_storage().nbytes() == MIB
assert clone.untyped_storage().nbytes() == 8
# sphinx_gallery_tensor_map_lead = "part, clone, part copied to clone"

# %%
# Count the memory that a training step keeps
# -------------------------------------------
# Each step has a new batch ``x`` and an output, both of 1 MiB. The graph saves both,
# because the product needs ``x`` and the derivative of ``exp`` is its result.

w = torch.ones((), device=device).requires_grad_()


def three_steps(name, backward):
    kept, total = [], 0
    for _ in range(3):
        x = torch.ones(MIB // 4, device=device)
        out = (x * w).exp()
        loss = out.sum()
        if backward:
            loss.backward()
        value = loss.detach()
        first = out[0].detach()
        ways = {
            "loss": loss,
            "total + loss": total + loss,
            "total + value": total + value,
            "loss.item()": loss.item(),
            "out": out,
            "out.detach()": out.detach(),
            "out[0].detach()": first,
            "out[0].detach().clone()": first.clone(),
        }
        kept.append(ways[name])
        total = kept[-1] if "total" in name else 0
    return kept, list(ways)


# %%
# The meter runs three steps, keeps their results, and counts the new bytes. On CUDA the
# allocator counts them, on the CPU the profiler.


# sphinx_gallery_folded = "The meter"
def new_mib(name, backward):
    cpu = [ProfilerActivity.CPU]
    meter = profile(activities=cpu, profile_memory=True)
    before = torch.cuda.memory_allocated()
    with meter:
        kept = three_steps(name, backward)
    calls = meter.key_averages()
    new = sum(c.self_cpu_memory_usage for c in calls)
    if device == "cuda":
        new = torch.cuda.memory_allocated() - before
    del kept
    return round(new / MIB)


print("A loss after backward:", new_mib("loss", True))


# %%
# What stays in memory after three steps?
# ---------------------------------------
# Without ``backward()``, as in validation without ``no_grad``, a loss of 4 bytes keeps
# two tensors of its step. ``backward()`` frees the saved tensors, but an output that
# you keep stays. A detached output has no graph, but it still keeps its whole storage
# alive. A slice of the output does the same. (``value`` is ``loss.detach()``.)

names = three_steps("loss", True)[1]
rows = []
for name in names:
    row = {"kept in each step": name}
    for column in "no backward", "after backward":
        kept = new_mib(name, column == "after backward")
        row[column] = f"{kept} MiB"
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
found = [list(row.values())[1:] for row in rows]
assert found[:2] == [["6 MiB", "0 MiB"]] * 2
assert found[2:4] == [["0 MiB", "0 MiB"]] * 2
assert found[4] == ["6 MiB", "3 MiB"]
assert found[5:7] == [["3 MiB", "3 MiB"]] * 2
assert found[7] == ["0 MiB", "0 MiB"]
# sphinx_gallery_folded = "The code that fills the table"
# sphinx_gallery_table = "rows"

# %%
# ``item()`` returns a Python number, so it doesn't keep a tensor alive. But on CUDA it
# waits in each step (:doc:`what_waits`). You can move an output from CUDA to the CPU
# with ``out.detach().cpu()``, which also waits.
#
# ``backward()`` frees the saved tensors but not the nodes. So a running sum of losses
# grows by the nodes of the whole graph in each step
# (:doc:`../4_patterns/logging_without_leaking`). A node takes little memory, and only
# on the CPU. A second ``backward()`` raises at a node whose saved tensors are freed
# (:ref:`backward-twice`).
#
# A file keeps the storage too
# ----------------------------
# :func:`torch.save` writes the whole storage of a tensor. That way, tensors that share
# a storage share it again after loading, if you save them together. A slice of two
# elements from 1 MiB makes a file of 1 MiB. Save a clone of the slice.


def file_bytes(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    return file.tell()


print(f"{file_bytes(part) = }, {file_bytes(clone) = }")
assert file_bytes(part) > MIB > 99 * file_bytes(clone)

# %%
# Remember
# --------
# - A stored tensor keeps its whole storage and what its graph saved for ``backward()``.
# - Keep ``loss.detach()``, and run validation under ``torch.no_grad()``.
# - To keep a slice or save it to a file, call ``detach().clone()`` on it.
