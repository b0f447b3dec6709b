# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Keep a target network, or an average of the weights
===================================================

Create the target with ``deepcopy``, and update it in place. Use ``load_state_dict`` for
a hard update, and ``lerp_`` under ``no_grad`` for a soft one.
"""

# sphinx_gallery_setup = True
import copy

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.optim import swa_utils as swa

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A hard target copies, a soft target averages
# --------------------------------------------
# A target is a copy that follows ``net`` with a delay. The weight of ``net`` starts at
# 0, and each step adds 1 in place. The hard target copies it at every third step. The
# soft target moves half of the way to it at each step (an exponential average, EMA).


@torch.no_grad()
def soft_update(target, net, share):
    """Move the parameters, not the buffers."""
    olds, news = target.parameters(), net.parameters()
    for old, new in zip(olds, news, strict=True):
        old.lerp_(new, share)


net = nn.Linear(1, 1, bias=False, device=device)
w = nn.init.zeros_(net.weight)
hard = copy.deepcopy(net)
hard.requires_grad_(False)
soft = copy.deepcopy(hard)
weights, soft_path, hard_path = [0.0], [0.0], [0.0]
for step in range(1, 9):
    with torch.no_grad():
        w.add_(1)  # in place, as an optimizer's step
    if step % 3 == 0:
        hard.load_state_dict(net.state_dict())
    soft_update(soft, net, share=0.5)
    weights.append(w.item())
    soft_path.append(soft.weight.item())
    hard_path.append(hard.weight.item())
assert hard_path == [0, 0, 0, 3, 3, 3, 6, 6, 6]
assert soft_path[:4] == [0, 0.5, 1.25, 2.125]

# %%
# Each target has its own memory, so its weights only change when you update them.

plt.plot(weights, label="net")
plt.plot(soft_path, label="soft")
plt.plot(hard_path, label="hard")
plt.title("Hard targets jump, soft targets follow")
plt.xlabel("step")
plt.ylabel("weight")
plt.legend()
plt.show()
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that draws"

# %%
# Keep soft targets in float32. In bfloat16, rounding loses a small update. For a
# bfloat16 net, call ``old.lerp_(new.float(), share)``.

low = torch.ones(1, dtype=torch.bfloat16)
old = torch.ones(1)
new = 2 * low
print(f"{low.lerp(new, 0.001) = }")
print(f"{old.lerp(new.float(), 0.001) = }")
assert low.lerp(new, 0.001).item() == 1
assert old.lerp(new.float(), 0.001).item() > 1

# %%
# Why a target follows when it should not
# ---------------------------------------
# We make four targets from ``net`` with the weight 1. Then a step changes ``w`` to 2.

nn.init.ones_(w)
assigned = copy.deepcopy(net)
assigned.load_state_dict(net.state_dict(), assign=True)
loaded = copy.deepcopy(net)
loaded.load_state_dict(net.state_dict(), assign=False)
made = {
    "copy.copy(net)": copy.copy(net),
    "copy.deepcopy(net)": copy.deepcopy(net),
    "load_state_dict(assign=True)": assigned,
    "load_state_dict(assign=False)": loaded,
}
with torch.no_grad():
    w.add_(1)
print("target | holds")
for name, one in made.items():
    print(f"{name} | {one.weight.item()}")
assert made["copy.copy(net)"].weight.item() == 2
assert made["copy.deepcopy(net)"].weight.item() == 1
assert assigned.weight.item() == 2
assert loaded.weight.item() == 1
# sphinx_gallery_folded = "The code that makes the table"

# %%
# ``copy.copy`` and ``state_dict()`` share the tensors, and ``assign=True`` keeps them
# shared. ``deepcopy`` and plain ``load_state_dict`` copy (:ref:`silent-average`).
#
# Does assigning to the loop variable change the target?
# ------------------------------------------------------
# The weight of ``target`` is 1, and ``w`` is now 2. Half of the way is 1.5.

target = copy.deepcopy(net)
nn.init.ones_(target.weight)
with torch.no_grad():
    for old in target.parameters():
        old = old.lerp(w, 0.5)
print(f"{target.weight.item() = }")
assert target.weight.item() == 1

# %%
# .. predict:: What does the target hold?
#
#     - ``target.weight.item() = 1.0``
#     - ``target.weight.item() = 2.0`` with ``old.copy_(w)`` in the place of ``old =
#       old.lerp(w, 0.5)``
#     - ``target.weight.item() = 1.5`` with ``old.lerp_(w, 0.5)`` in the place of ``old
#       = old.lerp(w, 0.5)``
#
# ``lerp`` returns a new tensor, and only the name ``old`` gets it. The module keeps its
# parameter. Call ``old.lerp_``, which changes the parameter in place.
#
# Also update the buffers of BatchNorm
# ------------------------------------
# ``soft_update`` ignores buffers. :class:`torch.optim.swa_utils.AveragedModel` copies
# them by default. In two forward passes, the running mean of ``norm`` changes from 0 to
# 1 and then to 1.5, each time half of the way to the mean of the batch, 2.

norm = nn.BatchNorm1d(1, momentum=0.5)  # on the CPU
ema = swa.get_ema_multi_avg_fn(decay=0.5)  # 1 - share
average = swa.AveragedModel(norm, multi_avg_fn=ema)
by_hand = copy.deepcopy(norm)
for _ in range(2):
    norm(torch.tensor([[1.0], [3.0]]))
    soft_update(by_hand, norm, share=0.5)
    average.update_parameters(norm)
before = by_hand.running_mean.item()
copied = average.module.running_mean.item()
for old, new in zip(by_hand.buffers(), norm.buffers()):
    old.copy_(new)
after = by_hand.running_mean.item()
print(f"{before = }, {after = }, {copied = }")
assert before == 0
assert (after, copied) == (1.5, 1.5)

# %%
# The last loop copies the buffers to ``by_hand``. Run it after each soft update.
#
# Remember
# --------
# - Use ``deepcopy`` once, then ``load_state_dict``, or ``lerp_`` under ``no_grad``.
# - ``state_dict()``, ``copy.copy`` and ``assign=True`` don't copy.
# - Update buffers as well, or use ``AveragedModel``.
