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
# We log eight losses in four ways, in training with ``backward()``, and in validation,
# where we forget ``no_grad``. The chart shows how many graph nodes the log keeps, the
# same number in both. The table also counts batches that graphs keep.


def nodes_behind(results):
    todo = [result.grad_fn for result in results]
    seen = set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [n for n, _ in node.next_functions]
    return len(seen)


def run(way, trains):
    total = 0
    best = float("inf")
    log, nodes, batches = [], [], []
    for _ in range(8):
        batch = torch.ones(2, device=device)
        batches.append(ref(batch))
        loss = (w * batch).sum()
        if trains:
            loss.backward()
        if way == "total + loss":
            total = total + loss
            log = [total]
        elif way == "loss":
            log.append(loss)
        elif way == "min(best, loss)":
            best = min(best, loss)
            log = [best]
        elif way == "loss.detach()":
            log.append(loss.detach())
        nodes.append(nodes_behind(log))
    del batch, loss
    alive = sum(r() is not None for r in batches)
    return nodes, alive


w = torch.ones(2, device=device, requires_grad=True)
ways = ["total + loss", "loss"]
ways += ["min(best, loss)", "loss.detach()"]
head = "what is logged | nodes | batches, training"
print(f"{head} | batches, validation")
kept = []
for way in ways:
    nodes, train = run(way, trains=True)
    same_nodes, valid = run(way, trains=False)
    plt.plot(range(1, 9), nodes, label=way)
    print(f"{way} | {nodes[-1]} | {train} | {valid}")
    kept.append((train, valid))
    assert same_nodes == nodes
plt.legend()
plt.title("Detached losses keep no graph nodes")
plt.xlabel("Step")
plt.ylabel("Nodes kept")
plt.show()
# A kept graph has no batch after backward().
assert kept == [(0, 8), (0, 8), (0, 1), (0, 0)]
assert nodes[-1] == 0
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True

# %%
# In training, ``backward()`` has freed the tensors that the graphs had saved, but the
# nodes stay (:ref:`silent-loss-list`). In validation no backward pass frees the saved
# batches. Use :class:`torch.no_grad` there. ``total + loss`` chains all losses,
# ``min(best, loss)`` keeps one whole graph.
#
# A running sum needs its own memory
# ----------------------------------
# ``detach()`` doesn't copy. If you add to ``log[0].detach()`` in place, the first entry
# of the log becomes the sum. ``loss /= 2`` changes a logged ``loss.detach()`` as well.

losses = torch.tensor([4.0, 2.0, 1.0], device=device)
log = [loss.detach() for loss in losses.clone()]
total = log[0].detach()
for value in log[1:]:
    total += value
print([entry.item() for entry in log])
loss = losses[0].clone()
logged = loss.detach()
loss /= 2  # logged was 4, and is 2 now
assert [entry.item() for entry in log] == [7, 2, 1]
assert logged.item() == 2

# %%
# .. predict:: What does the log hold?
#
#     - ``[7.0, 2.0, 1.0]``
#     - ``[11.0, 2.0, 1.0]`` with ``for value in log:`` in the place of ``for value in
#       log[1:]:``
#     - ``[4.0, 2.0, 1.0]`` with ``total = total + value`` in the place of ``total +=
#       value``
#
# Start the sum with zeros and ``best`` with infinity. Log clones of the sum. A list
# that has one tensor three times :doc:`shows its last value three times
# <../3_tips/expanded_tensors>`. :func:`torch.minimum` updates ``best`` without ``if``.

total = torch.zeros((), device=device)
best = torch.full((), torch.inf, device=device)
sums = []
for loss in losses:
    total += loss.detach()
    best = torch.minimum(best, loss.detach())
    sums.append(total.clone())
print(f"{torch.stack(sums).tolist() = }")
print(f"{best.item() = }")
assert sums[2].item() == 7
assert best.item() == 1

# %%
# The zeros are float32. A bfloat16 sum of ones stops at 256, because 256 + 1 gives 256.

bf16 = torch.tensor(256, dtype=torch.bfloat16)
bf16 += 1
print(f"{bf16.item() = }")
assert bf16.item() == 256

# %%
# ``item()`` waits for the GPU, ``detach()`` doesn't
# --------------------------------------------------
# On a CUDA GPU, ``item()`` and ``if loss < best`` wait for all work queued before them
# on the current stream. ``tolist()`` of a stacked log waits once for all numbers
# (:doc:`../3_tips/what_waits`). This validation waits once, after the loop:

w = torch.ones(2, device=device, requires_grad=True)
log = []
with torch.no_grad():
    for batch in torch.ones(3, 2, device=device):
        loss = (w * batch).mean()
        log.append(loss)  # no graph in no_grad
print(f"{torch.stack(log).tolist() = }")
assert loss.grad_fn is None

# %%
# Remember
# --------
# - Log ``loss.detach()``, and turn the log into numbers once, at the end.
# - Start a running sum with float32 zeros. Clone a sum or a loss that you log and then
#   modify in place.
# - Validate under ``no_grad``. Otherwise a loss stored with its graph keeps its batch.
