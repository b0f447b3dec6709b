# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Save memory by running layers twice: ``checkpoint``
===================================================

``checkpoint(block, x)`` keeps only the input of a block of layers, and runs the block
again in the backward pass. That takes less memory and more time.
"""

# sphinx_gallery_setup = True
import warnings
from functools import partial
from weakref import WeakSet

import matplotlib.pyplot as plt
import torch
from torch.utils.checkpoint import checkpoint

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# How much memory do checkpoints save?
# ------------------------------------
# Autograd saves the input of each ``sin``, 1 KiB, for its derivative. Four blocks of
# four such layers run plain, and with ``torch.utils.checkpoint``.


def block(x):
    for _ in range(4):
        x = x.sin()
        watch(x)
    return x


checked = partial(checkpoint, use_reentrant=False)
checked_block = partial(checked, block)

# %%
# ``watch`` counts the KiB in memory after each layer, forward and then backward.

memory, story = WeakSet(), []


def count(*_):
    story.append(len(memory))


def watch(x):
    memory.add(x.untyped_storage())
    count()
    x.register_hook(count)


def follow(run):
    story.clear()
    x = torch.ones(256, device=device).requires_grad_()
    for _ in range(4):
        x = run(x)
    x.sum().backward()
    return story.copy()


plain, saving = follow(block), follow(checked_block)
more = [0] * (len(saving) - len(plain))
axes = plt.subplots()[1]
axes.plot(plain + more, label="plain")
axes.plot(saving, label="checkpoints")
axes.legend()
axes.set_title("Checkpoints save memory but add steps")
axes.set_xlabel("Step, forward and then backward")
axes.set_ylabel("KiB of results")
plt.show()
assert max(plain) == 16 and max(saving) < 8
assert len(plain) == 32 and more and not memory
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True

# %%
# Plain, all 16 results stay until the backward pass comes to them. With checkpoints
# only the inputs of the blocks stay, and the backward pass runs each block again.
#
# The second run updates BatchNorm again
# --------------------------------------
# By default both runs get the same random numbers from PyTorch, so dropout has the same
# mask. But BatchNorm updates its averages twice. Here (on the CPU) the mean moves
# halfway from 0 to 2, and halfway again. A smaller momentum :ref:`corrects this
# <q-checkpoint-batch-norm>`.

norm, drawn = torch.nn.BatchNorm1d(1, momentum=0.5), []


def layers(x):
    drawn.append(torch.rand(1))
    return norm(x)


x = torch.tensor([[1.0], [3.0]]).requires_grad_()
checked(layers, x).sum().backward()
print(f"{norm.running_mean = }")
assert norm.running_mean.item() == 1.5
assert len(drawn) == 2
assert drawn[0].item() == drawn[1].item()

# %%
# What if a weight changes before ``backward()``?
# -----------------------------------------------
# The gradient of ``x`` should be 2, the value of ``w`` in the forward pass. But ``w``
# changes before ``backward()``, as weights do in an optimizer's step.

w = torch.tensor([2.0], device=device)
x = torch.ones_like(w).requires_grad_()
y = checked(lambda x: x * w, x)
w.mul_(5)
y.backward()
print(f"{x.grad.item() = }")
assert x.grad.item() == 10

# %%
# .. predict:: What is the gradient of ``x``?
#
#     - ``x.grad.item() = 10.0``
#     - ``x.grad.item() = 2.0`` with ``y = checked(lambda x: x * 2, x)``
#     - ``RuntimeError: one of the variables needed for gradient computation has been
#       modified by an inplace operation…`` with ``y = x * w``
#
# The second run has used the new ``w``, and nothing raises. Without the checkpoint,
# ``backward()`` raises (:ref:`saved-value-changed`).
#
# Pass ``use_reentrant=False``
# ----------------------------
# With ``True``, the older way, the output requires grad only if the block's input does.
# After a frozen layer, it doesn't. PyTorch :ref:`only warns
# <checkpoint-no-grad-inputs>`.

net = torch.nn.Linear(1, 1, device=device)
x = torch.ones(1, device=device)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old = checkpoint(net, x, use_reentrant=True)
new = checkpoint(net, x, use_reentrant=False)
print(f"{old.requires_grad = }, {new.requires_grad = }")
assert len(caught) > 0  # it has warned
assert not old.requires_grad
assert new.requires_grad

# %%
# Remember
# --------
# - A checkpoint keeps a block's inputs and runs the block again in the backward pass.
# - Call ``backward()`` before the weights change. BatchNorm updates its averages twice.
# - Pass ``use_reentrant=False``, so that weights after a frozen layer get gradients.
