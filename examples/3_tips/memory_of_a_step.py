# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Count the memory of one training step
=====================================

In float32, weights, gradients and Adam's two averages take four times the memory of the
weights. Activations also take memory, from the forward pass until ``backward()``.
"""

# sphinx_gallery_setup = True
from weakref import WeakSet

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.autograd import graph
from torch.optim import SGD, Adam

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Activations: what autograd saves
# --------------------------------
# Each weight takes 1 MiB, the batch and the result of each layer 4 MiB.

MIB = 2**20
first = nn.Linear(512, 512, bias=False)
last = nn.Linear(512, 512, bias=False)
model = nn.Sequential(first, nn.ReLU(), last).to(device)
weights = [first.weight, last.weight]
batch = torch.ones(2048, 512, device=device)
loss = model(batch).square().mean()
loss.backward()

# %%
# A hook gets each tensor that autograd saves. ``WeakSet`` has storages that still live.


def forward():
    saved = WeakSet()

    def note(tensor):
        saved.add(tensor.untyped_storage())
        return tensor

    with graph.saved_tensors_hooks(note, lambda t: t):
        x = torch.ones(2048, 512).to(weights[0])
        loss = model(x).square().mean()
    for w in weights:  # which were there before
        saved.discard(w.untyped_storage())
    return loss, saved


loss, saved = forward()
print([s.nbytes() / MIB for s in saved])
loss.backward()
assert len(saved) == 0
# sphinx_gallery_folded = "The code that asks what a graph saves"

# %%
# These are the batch, the result of ``relu`` and the output. ``relu`` and ``last`` save
# the same storage. Saved weights need no new memory. ``backward()`` freed all three.
#
# What stays in use after each phase?
# -----------------------------------
# The folded code counts after each phase of a step and after the next forward pass. On
# CUDA it compares its total with ``torch.cuda.memory_allocated()``, which rounds
# tensors up to 512 bytes and includes a work space for products (`notes
# <https://docs.pytorch.org/docs/stable/notes/cuda.html#cublas-workspaces>`__).


def mib(tensors):
    found = [t for t in tensors if t is not None]
    return round(sum(t.nbytes for t in found) / MIB)


model.zero_grad()
before = torch.cuda.memory_allocated() / MIB - 2
adam = Adam(weights)
rows = []
phases = ["forward", "back", "step", "zero", "forward"]
for phase in phases:
    if phase == "forward":
        loss, saved = forward()
    elif phase == "back":
        loss.backward()
    elif phase == "step":
        adam.step()
    else:
        adam.zero_grad()
    averages = []
    for state in adam.state.values():
        averages += state.values()
    row = [mib(weights), mib([w.grad for w in weights])]
    activations = sum(s.nbytes() for s in saved)
    row += [mib(averages), activations // MIB]
    rows.append([*row, sum(row)])
    now = torch.cuda.memory_allocated() / MIB - before
    assert device == "cpu" or abs(now - sum(row)) < 0.01
names = "weights gradients averages activations total"
for name, line in zip(names.split(), zip(*rows)):
    plt.plot(line, "o-", label=name)
plt.xticks(range(5), phases)
plt.yticks(range(0, 19, 6))
plt.title("Forward pass 2 leaves the most in use")
plt.ylabel("MiB in use after each phase")
plt.legend()
plt.show()
assert [row[4] for row in rows] == [14, 4, 8, 6, 18]
assert rows[2] == [2, 2, 4, 0, 8]
assert rows[4][3] == 12
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that counts and draws"

# %%
# The averages stay, so the second forward pass leaves more in use than the first
# (:ref:`q-training-memory`). The peak is within ``backward()``, where even more is in
# use for a moment.
#
# Adam keeps two tensors for each weight, plain SGD none
# ------------------------------------------------------
# For each weight, plain SGD keeps no tensor of its size, SGD with momentum keeps one,
# Adam two.

loss.backward()
momentum = SGD(weights, momentum=0.9)
kept = []
for optimizer in SGD(weights), momentum, adam:
    optimizer.step()
    state = optimizer.state[first.weight]
    kept.append(mib(state.values()))
print(kept, "MiB for a weight of 1 MiB")
assert kept == [0, 1, 2]

# %%
# How much memory does autocast save?
# -----------------------------------
# ``autocast`` leaves weights, gradients and averages in float32. It casts the input and
# the weight of a linear layer, so the result has half the bytes. This runs on the CPU.

model.cpu()
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss, saved = forward()
sizes = sorted(s.nbytes() / MIB for s in saved)
print(sum(sizes), "MiB")
assert sizes == [0.5, 2, 2, 2]
assert mib(weights) == 2  # as before

# %%
# .. predict:: Float32 saves 12 MiB. How much does ``autocast`` save?
#
#     - ``6.5 MiB``
#     - ``6.0 MiB`` with ``model.cpu().bfloat16()`` in the place of ``model.cpu()``
#     - ``12.0 MiB`` with ``with torch.autocast("cpu", enabled=False):`` in the place of
#       ``with torch.autocast("cpu", dtype=torch.bfloat16):``
#
# That's half of 12 MiB, and a cast copy of the last weight. The first weight's copy
# isn't saved, because the batch doesn't require grad. Autocast keeps both copies until
# the block ends, and can need more than float32 (:ref:`q-half-memory`).
#
# Remember
# --------
# - In float32, Adam's state takes twice the memory of the weights, momentum's the same.
# - Activations grow with the batch, and ``backward()`` frees them.
# - Autocast halves the activations that it casts, not weights, gradients and state.
