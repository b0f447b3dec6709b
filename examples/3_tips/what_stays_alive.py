# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does a kept loss, output or slice keep alive?
==================================================

A tensor keeps its whole storage, and if it has a graph, all that the graph saved for
a backward pass that has not come.

You will see eight things that people keep in a training loop, the memory that they
hold with and without ``backward``, and what is written when you save a slice.
"""

# sphinx_gallery_setup = True
import io

import torch
from torch.profiler import ProfilerActivity, profile

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A step, and a meter
# -------------------
# Each step has a new batch ``x`` and an output, both of 1 MiB. The graph saves both:
# the product needs ``x``, and the derivative of ``exp`` is its result.

MIB = 2**20
w = torch.ones((), device=device).requires_grad_()
print(f"{w = }")


def three_steps(name, backward):
    kept, total = [], 0
    for _ in range(3):
        x = torch.ones(MIB // 4, device=device)
        out = (x * w).exp()
        loss = out.sum()
        if backward:
            loss.backward()
        value, first = loss.detach(), out[0].detach()
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
# The meter runs the steps, holds what they return, and counts the bytes that are new
# then: on CUDA the allocator's, on the CPU what the profiler saw.


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
# Three steps, and what is left of them
# -------------------------------------
# Without ``backward`` (in validation, say) a loss of 4 bytes keeps two tensors of its
# step. ``backward`` frees what was saved; an output that you keep stays. Detached, it
# keeps no graph, yet all of its storage; so does one element of it. A clone of the
# element keeps next to nothing. (``value`` is ``loss.detach()``.)

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
# sphinx_gallery_table = "rows"

# %%
# ``item`` holds nothing, but on CUDA it waits in each step (:doc:`what_waits`). An
# output can be kept on the host: ``out.detach().cpu()``, which waits too.
#
# ``backward`` frees what was saved, not the nodes. So a running sum of losses grows by
# some nodes in each step (:doc:`../4_patterns/logging_without_leaking`): little memory,
# all of it on the host. A second ``backward`` through them raises
# (:ref:`backward-twice`).
#
# A file keeps the storage too
# ----------------------------
# :func:`torch.save` writes the storage behind a tensor, not the part that you see, so
# that tensors which share one and are saved together share it again after loading.
# Two elements out of 1 MiB make a file of 1 MiB. Save a clone of the part.


def file_bytes(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    return file.tell()


part = torch.ones(MIB // 4, device=device)[:2]
clone = part.clone()
print(f"{part.nbytes = }")
print(f"{file_bytes(part) = }")
print(f"{file_bytes(clone) = }")
assert file_bytes(part) > MIB > 99 * file_bytes(clone)
# sphinx_gallery_tensor_map_lead = "part, clone"

# %%
# Remember
# --------
# - A tensor with a graph keeps what the graph saved, until ``backward`` frees it.
# - Keep ``loss.detach()``; run validation under ``torch.no_grad()``.
# - A slice keeps its whole storage, in memory and in a file: clone it.
