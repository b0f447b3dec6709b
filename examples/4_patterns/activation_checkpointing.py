# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Save memory by running layers twice: ``checkpoint``
===================================================

A checkpoint keeps only the inputs of a block of layers, and runs the block again in the
backward pass. That takes less memory and more time.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "Activation checkpointing"
import warnings
import weakref
from functools import partial

import matplotlib.pyplot as plt
import torch
from torch.utils.checkpoint import checkpoint

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# How much memory the results take
# --------------------------------
# Here are four blocks of four layers, and each layer's result has 1 KiB. ``sin`` saves
# its input, because its derivative needs it. We run them plain and checkpointed.


def block(x):
    for _ in range(4):
        x = x.sin()
        watch(x)
    return x


checked = partial(checkpoint, use_reentrant=False)

# %%
# ``watch`` counts the KiB in memory after each layer, forward and then backward.

memory, story = [], []


def count(*_):
    kept = [r() for r in memory if r() is not None]
    story.append(sum(s.nbytes() for s in kept) // 1024)


def watch(x):
    memory.append(weakref.ref(x.untyped_storage()))
    count()
    x.register_hook(count)


x = torch.ones(256, device=device).requires_grad_()
axes, stories = plt.subplots()[1], {}
for name in "plain", "checkpoints":
    memory, story, y = [], [], x
    for _ in range(4):
        y = block(y) if name == "plain" else checked(block, y)
    y.sum().backward()
    axes.plot(range(1, len(story) + 1), story, label=name)
    stories[name] = story
axes.legend()
axes.set_title("Checkpoints: less memory, more steps")
axes.set_xlabel("Step, forward and then backward")
axes.set_ylabel("KiB of results")
plt.show()
plain, few = stories.values()
assert max(plain) == 16 and max(few) < 8
assert len(plain) == 32 < len(few)
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True

# %%
# Plain, all 16 results stay until the backward pass comes to them. With checkpoints the
# input of each block stays. The backward pass runs one block at a time again, which
# takes the additional steps.
#
# What the second run repeats
# ---------------------------
# The second run draws the same random numbers, so dropout has the same mask. But
# BatchNorm updates its averages in both runs. Here the mean starts at 0. It moves half
# of the way to 2, the mean of the batch, and then half of the rest. (On the CPU.)

norm = torch.nn.BatchNorm1d(1, momentum=0.5)
drawn = []


def layers(x):
    drawn.append(torch.rand(1))
    return norm(x)


x = torch.tensor([[1.0], [3.0]]).requires_grad_()
checked(layers, x).sum().backward()
print(f"{norm.running_mean = }")
assert norm.running_mean == 1.5
assert len(drawn) == 2 and drawn[0] == drawn[1]

# %%
# A smaller momentum corrects this (:ref:`q-checkpoint-batch-norm`).
#
# What must not change in between
# -------------------------------
# The gradient of ``x`` should be 2, the value of ``w`` in the forward pass. But then
# ``w`` changes, as in an optimizer's step that comes before ``backward()``.

w = torch.tensor([2.0], device=device).requires_grad_()
x = torch.tensor([3.0], device=device).requires_grad_()
y = checked(lambda x: x * w, x)
with torch.no_grad():
    w.mul_(5)
y.backward()
print(f"{x.grad.item() = }")
assert x.grad.item() == 10
# sphinx_gallery_predict = "What is the gradient of ``x``?"
# sphinx_gallery_predict_instead = "checked(lambda x: x * w, x) -> x * w raises"
# sphinx_gallery_predict_instead_2 = "x * w -> x * 2"

# %%
# The second run has used the new ``w``, and nothing raises. Without the checkpoint,
# ``backward()`` raises (:ref:`saved-value-changed`).
#
# Pass ``use_reentrant=False``
# ----------------------------
# The older kind, ``True``, looks only at the inputs. Behind a frozen layer they don't
# require grad, so the output doesn't either. PyTorch only warns. There are more
# differences (:ref:`q-checkpoint-use-reentrant`).

net = torch.nn.Linear(1, 1, device=device)
x = torch.ones(1, device=device)
with warnings.catch_warnings(record=True) as caught:
    old = checkpoint(net, x, use_reentrant=True)
new = checkpoint(net, x, use_reentrant=False)
print(f"{old.requires_grad = }, {new.requires_grad = }")
assert not old.requires_grad and new.requires_grad
assert "None of the inputs" in str(caught[0].message)

# %%
# Remember
# --------
# - A checkpoint keeps a block's inputs and runs the block again in the backward pass.
# - Call ``backward()`` before the weights change. BatchNorm updates its averages twice.
# - Pass ``use_reentrant=False``, so that weights behind a frozen layer get gradients.
