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
# Each weight takes 1 MiB, the batch and the result of each layer 4 MiB. A hook gets
# each tensor that autograd saves. The ``WeakSet`` forgets a storage once it's freed.

MIB = 2**20
first = nn.Linear(512, 512, bias=False)
last = nn.Linear(512, 512, bias=False)
model = nn.Sequential(first, nn.ReLU(), last).to(device)
weights = [first.weight, last.weight]


def mib(tensors):
    found = [t for t in tensors if t is not None]
    return round(sum(t.nbytes for t in found) / MIB)


def forward():
    saved = WeakSet()

    def pack(tensor):
        saved.add(tensor.untyped_storage())
        return tensor

    with graph.saved_tensors_hooks(pack, lambda t: t):
        x = first.weight.new_ones(2048, 512)
        loss = model(x).square().mean()
    for w in weights:  # which were there before
        saved.discard(w.untyped_storage())
    return loss, saved


loss, saved = forward()
print([s.nbytes() / MIB for s in saved])
loss.backward()
print(f"after backward(): {len(saved)} storages")
assert len(saved) == 0

# %%
# These are the batch, the result of ``relu`` (also saved by ``last``) and the output.
# Here only the graph holds them, so ``backward()`` frees them. Weights aren't copied.
#
# What stays in use after each phase?
# -----------------------------------
# The folded code counts after each phase of a step and after the next forward pass. On
# CUDA it asserts that ``torch.cuda.memory_allocated()`` grows by the same bytes.


def count():
    averages = []
    for state in adam.state.values():
        averages += state.values()
    row = [mib(weights), mib([w.grad for w in weights])]
    activations = sum(s.nbytes() for s in saved)
    row += [mib(averages), activations // MIB]
    rows.append([*row, sum(row)])
    new = torch.cuda.memory_allocated() / MIB - before
    added = sum(row) - mib(weights)
    assert device == "cpu" or abs(new - added) < 0.01


model.zero_grad()
before = torch.cuda.memory_allocated() / MIB
adam = Adam(weights)
rows = []
loss, saved = forward()
count()
loss.backward()
count()
adam.step()
count()
adam.zero_grad()
count()
loss, saved = forward()
count()
names = ["weights", "gradients", "averages"]
names += ["activations", "total"]
for k, name in enumerate(names):
    plt.plot([row[k] for row in rows], "o-", label=name)
phases = ["forward", "back", "step", "zero", "forward"]
plt.xticks(range(5), phases)
plt.title("Forward pass 2 leaves the most in use")
plt.ylabel("MiB in use after each phase")
plt.legend()
plt.show()
assert [row[4] for row in rows] == [14, 4, 8, 6, 18]
assert rows[2] == [2, 2, 4, 0, 8]
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that counts and draws"

# %%
# The averages stay, so the second forward pass leaves more in use than the first. The
# chart doesn't show the peak within a phase (:ref:`q-training-memory`).
#
# Adam keeps two tensors for each weight, plain SGD none
# ------------------------------------------------------
# Plain SGD keeps no tensor of a weight's size, SGD with momentum one and Adam two.

momentum = SGD(weights, lr=0.1, momentum=0.9)
adam = Adam(weights, lr=0.1)
kept = []
for optimizer in SGD(weights, lr=0.1), momentum, adam:
    optimizer.zero_grad()
    x = torch.ones(2048, 512, device=device)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    state = optimizer.state[first.weight]
    kept.append(mib(state.values()))
print(f"{kept} MiB for a weight of 1 MiB")
assert kept == [0, 1, 2]

# %%
# How much memory does autocast save?
# -----------------------------------
# ``autocast`` casts the input and the weight of a linear layer, so the result has half
# the bytes. The weights stay float32. This runs on the CPU.

model.cpu()
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss, saved = forward()
sizes = sorted(s.nbytes() / MIB for s in saved)
print(f"{sum(sizes)} MiB")
assert sizes == [0.5, 2, 2, 2]
assert first.weight.dtype == torch.float32

# %%
# .. predict:: In float32, autograd saves 12 MiB. How much under ``autocast``?
#
#     - ``6.5 MiB``
#     - ``6.0 MiB`` with ``model.cpu().bfloat16()`` in the place of ``model.cpu()``
#     - ``12.0 MiB`` with ``with torch.autocast("cpu", enabled=False):`` in the place of
#       ``with torch.autocast("cpu", dtype=torch.bfloat16):``
#
# That's half of 12 MiB, and a cast copy of the last weight. The first weight's copy
# isn't saved, because the batch doesn't require grad. For what else autocast keeps, see
# :ref:`q-half-memory`.
#
# Remember
# --------
# - Momentum takes as much memory as float32 weights, Adam's averages twice as much.
# - Autograd keeps activations from the forward pass until ``backward()`` frees them.
# - Autocast halves the bytes of a linear layer's input and result, not of its weight.
