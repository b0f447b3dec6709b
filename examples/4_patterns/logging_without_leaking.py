# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Log losses without keeping their graphs
=======================================

Log ``loss.detach()`` and convert the log to numbers once at the end. The loss itself
keeps its graph, and ``item()`` in each step waits for a CUDA GPU.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach()"
from weakref import ref

import matplotlib.pyplot as plt
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Which logs keep their graphs?
# -----------------------------
# Here are four ways to log. Each function gets the log and a new loss ``x``, and
# returns the new log.

ways = {
    "total + loss": lambda log, x: [sum(log, x)],
    "loss": lambda log, x: [*log, x],
    "min(best, loss)": lambda log, x: [min([*log, x])],
    "loss.detach()": lambda log, x: [*log, x.detach()],
}

# %%
# We log eight steps of training and eight steps of validation without ``no_grad``. The
# chart shows how many graph nodes the log keeps. The number is the same in training and
# in validation. The table also counts the batches that the graphs keep in memory.


def nodes_behind(log):
    nodes = [r.grad_fn for r in log if r.requires_grad]
    for node in nodes:  # the list grows meanwhile
        for before, _ in node.next_functions:
            if before and before not in nodes:
                nodes.append(before)
    return len(nodes)


w = torch.ones(2, device=device).requires_grad_()
axes = plt.subplots()[1]
rows = []
for call, way in ways.items():
    row = {"what is logged": call}
    for name in "training", "validation":
        log, story, batches = [], [], []
        for _ in range(8):
            x = torch.ones(2, device=device)
            batches.append(ref(x))
            loss = (w * x).sum()
            log = way(log, loss)
            if name == "training":
                loss.backward()
            story.append(nodes_behind(log))
        del x, loss
        alive = sum(b() is not None for b in batches)
        row["nodes"] = story[-1]
        row[f"batches, {name}"] = alive
    axes.plot(range(1, 9), story, label=call)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
axes.legend()
axes.set_title("Detached losses keep no graph nodes")
axes.set_xlabel("Step")
axes.set_ylabel("Nodes kept")
plt.show()
assert not any(r["batches, training"] for r in rows)
kept = [r["batches, validation"] for r in rows]
assert kept == [8, 8, 1, 0]
nodes = [row["nodes"] for row in rows]
assert nodes == sorted(nodes, reverse=True)
assert nodes[-1] == 0
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True

# %%
# In training, ``backward()`` has freed the tensors that the graphs had saved, but the
# nodes stay, so the leak is small and slow. In validation no backward pass frees the
# saved batches. They stay in memory as long as you keep the losses. Use
# :class:`torch.no_grad` there. ``total + loss`` links every loss to the one before, and
# ``min(best, loss)`` keeps one whole graph. A shorter example of the second row:
# :ref:`silent-loss-list`.
#
# A running sum needs its own memory
# ----------------------------------
# Don't start a sum with the first loss of the log if you add to it in place.
# Even its ``detach()`` shares memory, so the first entry of the log becomes the sum.

losses = torch.tensor([4.0, 2.0, 1.0], device=device)
log = [loss.detach() for loss in losses.clone()]
total = log[0]
for loss in log[1:]:
    total += loss
print([entry.item() for entry in log])
assert [entry.item() for entry in log] == [7, 2, 1]

# %%
# .. predict:: What does the log hold?
#
#     - ``[7.0, 2.0, 1.0]``
#     - ``[11.0, 2.0, 1.0]`` with ``for loss in log:`` in the place of ``for loss in
#       log[1:]:``
#     - ``[4.0, 2.0, 1.0]`` with ``total = total + loss``
#
# Start the sum with zeros and ``best`` with a detached clone (these losses don't
# require grad). Log clones of the sum. A list that has one tensor three times
# :doc:`shows its last value three times <../3_tips/expanded_tensors>`.
# :func:`torch.minimum` keeps the best loss on the device (``fmin`` also ignores NaN).

total = torch.zeros((), device=device)
best = losses[0].clone()
sums = []
for loss in losses:
    total += loss.detach()
    best = torch.minimum(best, loss.detach())
    sums.append(total.clone())
print(torch.stack(sums).tolist(), best.item())
assert sums[2].item() == 7 and best.item() == 1

# %%
# The zeros are float32. In bfloat16 a sum of ones stops at 256, because 256 + 1 is
# rounded to 256.

ones = torch.ones(300, dtype=torch.bfloat16)
bf16 = sum(ones)
fp32 = sum(ones, torch.zeros(()))
print(f"{bf16.item() = }, {fp32.item() = }")
assert (bf16.item(), fp32.item()) == (256, 300)

# %%
# ``item()`` waits for the GPU, ``detach()`` doesn't
# --------------------------------------------------
# On a CUDA GPU, ``item()`` and ``if loss < best`` wait for all work queued before them
# on the current stream. ``tolist()`` of a stacked log waits once for all numbers
# (:doc:`../3_tips/what_waits`).
#
# Remember
# --------
# - Log ``loss.detach()``, and turn the log into numbers once, at the end.
# - Start a running sum with float32 zeros, and clone each sum that you keep.
# - Validate under ``no_grad``. Otherwise each stored loss keeps its batch in memory.
