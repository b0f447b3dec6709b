# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Save memory by running layers twice: ``checkpoint``
===================================================

``checkpoint(block, x, use_reentrant=False)`` keeps only the input of a block of layers,
and ``backward()`` runs the block again. Several blocks take less memory and more time.
"""

# sphinx_gallery_setup = True
import warnings
from weakref import WeakSet

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)
warnings.filterwarnings("ignore", "None of the inputs")

# %%
# How much memory do checkpoints save?
# ------------------------------------
# Autograd saves the input of each ``sin``, 1 KiB, for its derivative. Here four blocks
# of four such layers run with ``torch.utils.checkpoint``.


def block(x):
    for _ in range(4):
        x = x.sin()
    return x


x = torch.ones(256, device=device, requires_grad=True)
y = x
for _ in range(4):
    y = checkpoint(block, y, use_reentrant=False)
loss = y.sum()
loss.backward()

# %%
# The chart also has the blocks without checkpoints, ``y = block(y)``. It shows the KiB
# of results that are in memory after each layer, forward and then backward.

storages = WeakSet()
counts = []


def count(gradient=None):
    counts.append(len(storages))


def traced_block(x, layers=4):
    for _ in range(layers):
        x = x.sin()
        storages.add(x.untyped_storage())
        count()
        x.register_hook(count)
    return x


traced_block(x, 16).sum().backward()
plain = counts.copy()
counts.clear()
y = checkpoint(traced_block, x, 16, use_reentrant=False)
y.sum().backward()
one_block = counts.copy()
counts.clear()
y = x
for _ in range(4):
    y = checkpoint(traced_block, y, use_reentrant=False)
y.sum().backward()
extra = len(counts) - len(plain)
plt.plot(plain + [0] * extra, label="plain")
plt.plot(counts, label="checkpoints")
plt.legend()
plt.title("Checkpoints save memory but add steps")
plt.xlabel("Step, forward and then backward")
plt.ylabel("KiB of results")
plt.show()
assert max(plain) == 16
assert max(one_block) == 16
assert max(counts) < 8
assert extra > 0
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True

# %%
# Plain, all 16 results stay until the backward pass comes to them. With checkpoints
# only the inputs of the blocks stay, and the backward pass runs each block again. (One
# block of all 16 layers doesn't lower the peak.)
#
# The second run updates BatchNorm again
# --------------------------------------
# By default both runs get the same random numbers from PyTorch, so dropout has the same
# mask. But BatchNorm in train mode updates its averages twice. Here (on the CPU) the
# mean moves halfway from 0 to 2, and halfway again (:ref:`q-checkpoint-batch-norm`).

norm = nn.BatchNorm1d(1, momentum=0.5)
x = torch.tensor([[1.0], [3.0]])
y = checkpoint(norm, x, use_reentrant=False)
loss = y.sum()
loss.backward()
print(f"{norm.running_mean = }")
assert norm.running_mean.item() == 1.5

# %%
dropout = nn.Dropout()
x = torch.ones(64, requires_grad=True)
y = checkpoint(dropout, x, use_reentrant=False)
loss = y.sum()
loss.backward()
# Both are the mask, times 2.
assert x.grad.tolist() == y.tolist()
# sphinx_gallery_folded = "The code that compares the masks"

# %%
# What if a weight changes before ``backward()``?
# -----------------------------------------------
# The gradient of ``x`` should be 2, the value of ``w`` in the forward pass. But ``w``
# changes before ``backward()``, as weights do in an optimizer's step.

layer = nn.Linear(1, 1, bias=False, device=device)
w = nn.init.constant_(layer.weight, 2.0)
x = torch.ones(1, device=device, requires_grad=True)
y = checkpoint(layer, x, use_reentrant=False)
with torch.no_grad():
    w.mul_(5)
y.backward()
print(f"{x.grad.item() = }")
assert x.grad.item() == 10

# %%
# .. predict:: What is the gradient of ``x``?
#
#     - ``x.grad.item() = 10.0``
#     - ``x.grad.item() = 2.0`` with ``w.mul_(1)`` in the place of ``w.mul_(5)``
#     - ``RuntimeError: one of the variables needed for gradient computation has been
#       modified by an inplace operation…`` with ``y = layer(x)``
#
# The second run has used the new ``w``, and nothing raises. Without the checkpoint,
# ``backward()`` raises (:ref:`saved-value-changed`).
#
# Pass ``use_reentrant=False``
# ----------------------------
# With ``True``, the older way, the output requires grad only if the block's input does.
# Here ``x`` doesn't, so only ``new`` gives ``net`` a gradient. PyTorch :ref:`only warns
# <checkpoint-no-grad-inputs>` (here the warning is off).

net = nn.Linear(1, 1, device=device)
x = torch.ones(1, device=device)
old = checkpoint(net, x, use_reentrant=True)
new = checkpoint(net, x, use_reentrant=False)
new.backward()
print(f"{old.requires_grad = }, {net.weight.grad = }")
assert not old.requires_grad
assert net.weight.grad.item() == 1

# %%
# Remember
# --------
# - A checkpoint keeps a block's inputs and runs the block again in the backward pass.
# - Call ``backward()`` before weights change. BatchNorm in train mode updates twice.
# - Pass ``use_reentrant=False``. The weights then get gradients even if ``x`` doesn't.
