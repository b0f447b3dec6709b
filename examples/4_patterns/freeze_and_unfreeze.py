# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
What still changes in a frozen part
===================================

``requires_grad_(False)`` only stops new gradients. An optimizer may still change the
weights, and in training mode BatchNorm updates its averages and dropout drops values.
"""

# sphinx_gallery_setup = True
import matplotlib.pyplot as plt
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# An optimizer may still change a frozen weight
# ---------------------------------------------
# An optimizer ignores ``requires_grad``. It only skips a parameter whose ``.grad`` is
# ``None``. (LBFGS takes ``None`` as 0, and may still change the weight.)

w = nn.Parameter(torch.ones(1, device=device))
optimizer = torch.optim.SGD([w], lr=0.5)
loss = w.sum()
loss.backward()
w.requires_grad_(False)
optimizer.step()  # w.grad is still 1, so w becomes 0.5
optimizer.zero_grad()  # w.grad becomes None
optimizer.step()
print(f"{w.item() = }, {w.grad = }")
assert w.item() == 0.5

# %%
# Each weight takes a step, then is frozen and set to 1. The labels name the next step.

SGD, Adam = torch.optim.SGD, torch.optim.Adam
settings = [
    ("grad 1, SGD", 1, SGD, {}),
    ("grad 0, Adam", 0, Adam, {}),
    ("grad 0, momentum", 0, SGD, {"momentum": 0.5}),
    ("grad 0, decay", 0, SGD, {"weight_decay": 0.25}),
    ("grad 0, plain SGD", 0, SGD, {}),
    ("grad None, Adam", None, Adam, {}),
]
after = {}
for label, gradient, kind, options in settings:
    w = nn.Parameter(torch.ones(1, device=device))
    optimizer = kind([w], lr=0.5, **options)
    w.sum().backward()
    optimizer.step()
    w.requires_grad_(False)
    w.fill_(1.0)
    if gradient == 0:
        optimizer.zero_grad(set_to_none=False)
    elif gradient is None:
        optimizer.zero_grad()
    optimizer.step()
    after[label] = round(w.item(), 3)
found = list(after.values())
plt.figure(layout="constrained")
bars = plt.barh(list(after), found)
plt.bar_label(bars, fmt="%.3g", padding=3)
plt.title("With grad None, a frozen weight stays 1")
plt.xlabel("A frozen weight of 1 after one step")
plt.gca().invert_yaxis()
plt.xticks([])
plt.grid(visible=False)
plt.show()
assert found == [0.5, 0.665, 0.75, 0.875, 1, 1]
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that steps and draws"

# %%
# With a gradient of 0, weight decay changes the weight. After earlier steps, momentum
# and Adam do too. So call ``zero_grad()`` when you freeze (:ref:`silent-momentum`).
#
# ``train()`` wakes BatchNorm and dropout
# ---------------------------------------
# A forward pass in training mode updates running averages. ``eval()`` stops this until
# you call ``train()`` on the *whole* model (:ref:`silent-batch-norm`). The ``train()``
# of ``StaysFrozen`` keeps the frozen part in ``eval()``. Call it once on a new model.


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


models = Model(), StaysFrozen()

# %%
# The batch is 1 and 3. In training mode, momentum 0.5 moves the mean from 0 halfway to
# 2. Dropout gets 1000 ones. Each model is in ``eval()`` first, then in ``train()``.

batch = torch.tensor([[1.0], [3.0]])
print("class | training | mean | drops")
for net in models:
    for mode in False, True:
        net.train(mode)
        net.norm(batch)
        name = type(net).__name__
        mean = net.norm.running_mean.item()
        drops = 0 in net.drop(torch.ones(1000))
        print(f"{name} | {mode} | {mean} | {drops}")
        awake = mode and name == "Model"
        assert (mean, drops) == (awake, awake)
# sphinx_gallery_folded = "The code that makes the table"

# %%
# Does an unfrozen weight train again?
# ------------------------------------
# We create the optimizer without the frozen weight. Then that weight is unfrozen.

net = nn.Linear(1, 1, device=device)
w = nn.init.constant_(net.weight, 2.0)
w.requires_grad_(False)
free = [p for p in net.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(free, lr=0.5)
w.requires_grad_(True)
loss = net(torch.ones(1, device=device)).mean()
loss.backward()
optimizer.step()
print(f"{w.grad.item() = }, {w.item() = }")
assert w.item() == 2

# %%
# .. predict:: What are the gradient and the weight after the step?
#
#     - ``w.grad.item() = 1.0, w.item() = 2.0``
#     - ``w.grad.item() = 0.0, w.item() = 2.0`` with
#       ``net.zero_grad(set_to_none=False)`` in the place of ``optimizer.step()``
#     - ``w.grad.item() = 1.0, w.item() = 1.5`` with ``free = [p for p in
#       net.parameters()]``
#
# The weight has a gradient, but the optimizer doesn't have the weight.

# %%
# Add the weight with an ``lr``. Otherwise it gets the optimizer's first ``lr``, even if
# a scheduler has set another. (An old scheduler may raise at its next step.)

optimizer.add_param_group({"params": [w], "lr": 0.5})
optimizer.zero_grad()
loss = net(torch.ones(1, device=device)).mean()
loss.backward()
optimizer.step()
print(f"{w.item() = }")
assert w.item() == 1.5

# %%
# Remember
# --------
# - After ``zero_grad()``, SGD and Adam skip a frozen weight.
# - Let ``train()`` call ``eval()`` on the frozen part.
# - To unfreeze, set ``requires_grad``, and give the optimizer weights that it lacks.
