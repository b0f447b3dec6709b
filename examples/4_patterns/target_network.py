# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Keep a target network, or an average of the weights
===================================================

A target is a ``deepcopy`` that you write into under ``no_grad``: with ``copy_`` for
a hard update, with ``lerp_`` for a soft one.

You will see both beside a "target" that is the network itself, an update that
changes nothing, and what happens to the buffers of BatchNorm.
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
# Two targets, eight steps
# ------------------------
# The weight of ``net`` starts at 0, and each step adds 1, in place. Every fourth step
# the hard target takes it; the soft target goes half of the way each time.


@torch.no_grad()
def soft_update(target, net, share):
    pairs = zip(target.parameters(), net.parameters())
    for old, new in pairs:
        old.lerp_(new, share)


net = nn.Linear(1, 1, bias=False, device=device)
w = nn.init.zeros_(net.weight)
hard = copy.deepcopy(net).requires_grad_(False)
soft = copy.deepcopy(hard)
nets = {"soft": soft, "hard": hard, "net": net}
path = {name: [0.0] for name in nets}
for step in range(1, 9):
    nn.init.constant_(w, step)  # as optimizers write
    if step % 4 == 0:
        hard.load_state_dict(net.state_dict())
    soft_update(soft, net, 0.5)
    for name, one in nets.items():
        path[name].append(one.weight.item())
print(*path.values(), sep="\n")
assert path["hard"][3:6] == [0, 4, 4]
assert path["soft"][:4] == [0, 0.5, 1.25, 2.125]
_, axes = plt.subplots(figsize=(8, 2))
sixth = [values[6] for values in path.values()]
axes.bar_label(axes.barh(list(path), sixth), fmt="%.1f")
axes.set_title("Hard waits, soft lags behind")
axes.set_xlabel("weight after step 6 of 8")
plt.show()
# sphinx_gallery_lead = True

# %%
# Why a target follows when it should not
# ---------------------------------------
# Five ways to make a target of a net that holds 1. Then the net takes a step to 2.

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
for line, target in made.items():
    holds = target.weight.item()
    rows.append({"target": line, "holds": holds})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
held = [row["holds"] for row in rows]
assert held == [2, 2, 1, 2, 1]
# sphinx_gallery_folded = "The code that makes the table"
# sphinx_gallery_table = "rows"

# %%
# ``state_dict`` and ``copy.copy`` hand out the same tensors; ``load_state_dict`` and
# ``deepcopy`` copy them. An average that is the weight: :ref:`silent-average`.
#
# The loop variable
# -----------------
# The target holds 1 and the net 2. Half of the way is 1.5.

pairs = zip(target.parameters(), net.parameters())
with torch.no_grad():
    for old, new in pairs:
        old = old.lerp(new, 0.5)
print(f"{target.weight.item() = }")
assert target.weight.item() == 1
# sphinx_gallery_predict = "What does the target hold?"
# sphinx_gallery_predict_instead = "old = old.lerp(new -> old.lerp_(new"
# sphinx_gallery_predict_instead_2 = "old = old.lerp(new, 0.5) -> old.copy_(new)"

# %%
# ``old = ...`` names a new tensor, and the module keeps its own. Call ``old.lerp_``.
#
# Buffers: the averages of BatchNorm
# ----------------------------------
# ``parameters()`` has no buffers: a soft update leaves running averages as they were.
# :class:`torch.optim.swa_utils.AveragedModel` copies or averages them. In two passes
# the running mean goes from 0 to 1 and to 1.5.

norm = nn.BatchNorm1d(1, momentum=0.5)  # on the CPU
batch = torch.tensor([[1.0], [3.0]])
use = {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.5)}
average = swa.AveragedModel(norm, **use)
both = swa.AveragedModel(norm, use_buffers=True, **use)
by_hand = copy.deepcopy(norm)
for _ in range(2):
    norm(batch)
    soft_update(by_hand, norm, 0.5)
    average.update_parameters(norm)
    both.update_parameters(norm)
modules = by_hand, average.module, both.module
means = [one.running_mean.item() for one in modules]
print("soft_update:", means[0])
print("AveragedModel:", means[1])
print("AveragedModel, use_buffers=True:", means[2])
assert means == [0, 1.5, 1.25]

# %%
# ``AveragedModel`` copies the buffers, or averages them from the first ones on: 1, then
# half of the way to 1.5. By hand, copy the ``buffers()`` as well, pair by pair.
#
# Remember
# --------
# - ``deepcopy`` once, then write with ``copy_`` or ``lerp_`` under ``no_grad``.
# - ``state_dict()``, ``copy.copy`` and ``assign=True`` make no copy.
# - Update buffers as well, or take ``AveragedModel``.
