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
    pairs = zip(target.parameters(), net.parameters())
    for old, new in pairs:
        old.lerp_(new, share)


net = nn.Linear(1, 1, bias=False, device=device)
w = nn.init.zeros_(net.weight)
hard = copy.deepcopy(net).requires_grad_(False)
soft = copy.deepcopy(hard)
nets = {"net": net, "soft": soft, "hard": hard}
path = {name: [0.0] for name in nets}
for step in range(1, 9):
    nn.init.constant_(w, step)  # as optimizers write
    if step % 3 == 0:
        hard.load_state_dict(net.state_dict())
    soft_update(soft, net, 0.5)
    for name, one in nets.items():
        path[name].append(one.weight.item())
assert path["hard"] == [0, 0, 0, 3, 3, 3, 6, 6, 6]
assert path["soft"][:4] == [0, 0.5, 1.25, 2.125]

# %%
# ``deepcopy`` gives each target its own memory, so its weights only change when you
# update them.

for name, values in path.items():
    plt.plot(values, label=name)
plt.title("Hard targets jump, soft targets follow")
plt.xlabel("step"), plt.ylabel("weight")
plt.legend()
plt.show()
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that draws"

# %%
# Keep soft targets in float32. In bfloat16, rounding loses a small update. (``lerp_``
# raises for two dtypes. For a bfloat16 net call ``old.lerp_(new.float(), share)``.)

low = torch.ones(1, dtype=torch.bfloat16)
print(f"{low.lerp(2 * low, 0.001) = }")
assert low.lerp(2 * low, 0.001) == 1

# %%
# Why a target follows when it should not
# ---------------------------------------
# The table shows five ways to make a target from a net whose weight is 1. After that, a
# step changes the weight of the net to 2.

nn.init.ones_(w)
made = {
    "net": net,
    "copy.copy(net)": copy.copy(net),
    "copy.deepcopy(net)": copy.deepcopy(net),
}
for assign in True, False:
    target = copy.deepcopy(net)
    state = net.state_dict()
    target.load_state_dict(state, assign=assign)
    made[f"load_state_dict({assign=})"] = target
nn.init.constant_(w, 2.0)
rows = []
for line, t in made.items():
    rows += [dict(target=line, holds=t.weight.item())]
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
assert [row["holds"] for row in rows] == [2, 2, 1, 2, 1]
# sphinx_gallery_folded = "The code that makes the table"

# %%
# ``copy.copy`` and ``state_dict()`` share the tensors, and ``assign=True`` keeps them
# shared. ``deepcopy`` and plain ``load_state_dict`` copy (:ref:`silent-average`).
#
# Does assigning to the loop variable change the target?
# ------------------------------------------------------
# The weight of ``target`` (the last row) is 1, and the net's weight ``w`` is 2. Half of
# the way is 1.5.

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
# or averages them. In two forward passes, the running mean of ``norm`` changes from 0
# to 1 and then to 1.5.

norm = nn.BatchNorm1d(1, momentum=0.5)  # on the CPU
use = {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.5)}
average = swa.AveragedModel(norm, **use)
both = swa.AveragedModel(norm, use_buffers=True, **use)
by_hand = copy.deepcopy(norm)
for _ in range(2):
    norm(torch.tensor([[1.0], [3.0]]))
    soft_update(by_hand, norm, 0.5)
    average.update_parameters(norm)
    both.update_parameters(norm)
modules = by_hand, average.module, both.module
means = [one.running_mean.item() for one in modules]
print(f"{means = }")
assert means == [0, 1.5, 1.25]

# %%
# The three numbers are from ``soft_update``, from ``AveragedModel``, which copies, and
# from ``AveragedModel`` with ``use_buffers=True``, which averages 1 and 1.5. If you
# update by hand, also copy each buffer.
#
# Remember
# --------
# - Use ``deepcopy`` once, then ``load_state_dict``, or ``lerp_`` under ``no_grad``.
# - ``state_dict()``, ``copy.copy`` and ``assign=True`` don't copy.
# - Update buffers as well, or use ``AveragedModel``.
