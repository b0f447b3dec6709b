# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
What still moves in a frozen part
=================================

``requires_grad_(False)`` stops gradients and nothing else: an optimizer may still
step, BatchNorm still averages and dropout still drops.

You will see where one step takes a frozen weight, what ``train()`` wakes up, and
why an unfrozen weight may stay where it is.
"""

# sphinx_gallery_setup = True
import matplotlib.pyplot as plt
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A step on a frozen weight
# -------------------------
# ``w`` has a gradient of 1 from its last step; then it is frozen and set to 1. An
# optimizer skips parameters without a ``.grad``, and does not ask for
# ``requires_grad``: the next step depends on the old gradient and on the optimizer.


def step(gradient, **options):
    w = nn.Parameter(torch.ones(1, device=device))
    sgd = torch.optim.SGD([w], lr=0.5, **options)
    w.sum().backward()
    sgd.step()
    w.requires_grad_(False).fill_(1.0)
    if gradient != "kept":
        sgd.zero_grad(set_to_none=gradient is None)
    sgd.step()
    return w.item()


momentum = {"momentum": 0.5}
decay = {"weight_decay": 0.25}
after = {
    "gradient kept": step("kept"),
    "set to 0, momentum": step(0, **momentum),
    "set to 0, weight decay": step(0, **decay),
    "set to None, momentum": step(None, **momentum),
    "set to None, weight decay": step(None, **decay),
}
assert list(after.values()) == [0.5, 0.75, 0.875, 1, 1]
bars = plt.barh(list(after), list(after.values()))
plt.bar_label(bars, fmt="%g")
plt.title("Only without a gradient it stays 1")
plt.xlabel("A frozen weight of 1 after one step")
plt.gca().invert_yaxis()
plt.show()
# sphinx_gallery_lead = True

# %%
# ``zero_grad()`` sets gradients to None, so call it when you freeze. One case is in
# :ref:`silent-momentum`.
#
# ``train()`` wakes BatchNorm and dropout
# ---------------------------------------
# Running averages are buffers, no parameters: a forward pass in training mode writes
# them. ``eval()``, which is ``train(False)``, stops that, until ``train()`` of the
# *whole* model turns the frozen part on again, unless you say otherwise, as
# ``StaysFrozen`` does. BatchNorm gets the batch 1 and 3, dropout 1000 ones. (On a CPU.)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1, momentum=0.5)
        self.drop = nn.Dropout(0.5)
        self.norm.requires_grad_(False)


class StaysFrozen(Model):
    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        self.drop.eval()
        return self


batch = torch.tensor([[1.0], [3.0]])
models = Model().eval(), Model(), StaysFrozen().train()
rows = []
for model in models:
    model.norm(batch)
    row = {"class": type(model).__name__}
    row["training"] = model.training
    row["mean"] = model.norm.running_mean.item()
    row["drops"] = 0 in model.drop(torch.ones(1000))
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
evaluating, training, stays = rows
assert training["mean"] == 1 and training["drops"]
for row in evaluating, stays:
    assert row["mean"] == 0 and not row["drops"]
assert stays["training"]
# sphinx_gallery_table = "rows"

# %%
# Or call ``eval()`` on that part after each ``train()`` (:ref:`silent-batch-norm`).
#
# Unfreeze
# --------
# An optimizer made of the free parameters does not know the frozen ones. Set the
# flag again, and gradients arrive. Does the weight move?

net = nn.Linear(1, 1, device=device)
nn.init.constant_(net.weight, 2.0)
net.weight.requires_grad_(False)
free = [p for p in net.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(free, lr=0.5)
net.weight.requires_grad_(True)
net(torch.ones(1, 1, device=device)).backward()
optimizer.step()
print(f"{net.weight.grad.item() = }")
print(f"{net.weight.item() = }")
assert net.weight.grad == 1 and net.weight == 2
# sphinx_gallery_predict = "What is the weight after the step?"
# sphinx_gallery_predict_instead = "parameters() if p.requires_grad -> parameters()"
# sphinx_gallery_predict_instead_2 = "optimizer.step() -> net.zero_grad(False)"

# %%
# It got a gradient, and no optimizer holds it. Add it:

optimizer.add_param_group({"params": [net.weight]})
optimizer.step()
print(f"{net.weight.item() = }")
assert net.weight.item() == 1.5

# %%
# Remember
# --------
# - Freeze, then ``zero_grad()``: a step skips what has no gradient.
# - After each ``train()`` call ``eval()`` on the frozen part.
# - Unfreeze: set the flag, and give the parameters to the optimizer.
