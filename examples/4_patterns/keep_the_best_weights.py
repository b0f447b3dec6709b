# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Save and restore the best weights
=================================

``state_dict()`` shares memory with the weights that you keep training. Save a copy of
each tensor, and restore it with ``load_state_dict()``.
"""

# sphinx_gallery_setup = True
import copy

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# ``state_dict()`` changes with the next steps
# --------------------------------------------
# The weight goes up by 1 in each epoch, and the validation loss is the square of
# (weight - 3). So epoch 3 is the best one, and ``shallow`` and ``kept`` are from then.

model = nn.Linear(1, 1, bias=False, device=device)
w = model.weight
nn.init.zeros_(w)
optimizer = torch.optim.SGD([w], lr=1.0)
x = torch.tensor([[-1.0]], device=device)
best = float("inf")
for epoch in range(1, 6):
    optimizer.zero_grad()
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    validation = (w.item() - 3) ** 2
    if validation < best:
        best = validation
        shallow = model.state_dict().copy()
        kept = copy.deepcopy(model.state_dict())
shared = shallow["weight"]
saved = kept["weight"]
print(f"{shared.item() = }, {saved.item() = }")
assert shared.item() == 5
assert saved.item() == 3
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, shared, saved, w copied to saved"

# %%
# ``shared`` has the changes of epochs 4 and 5 (:ref:`silent-best-weights`), because
# ``copy()`` copies the dict, but not its tensors. ``saved`` still has epoch 3's weight.
#
# Which of five ways save a copy?
# -------------------------------
# BatchNorm has a weight, and a buffer that counts the batches. We set both to 3, save
# each tensor ``v`` of ``state_dict()`` in five ways, and then set both to 5. So a row
# with 5 means that no copy was saved.

norm = nn.BatchNorm1d(1, device=device)
print("saved | weight | batches | device")
ways = ["v", "v.cpu()", "v.clone()", "copy.deepcopy(v)"]
ways += ['v.to("cpu", copy=True)']
found = {}
for way in ways:
    nn.init.constant_(norm.weight, 3)
    norm.num_batches_tracked.fill_(3)
    saved_state = {}
    for name, v in norm.state_dict().items():
        if way == "v":
            saved_state[name] = v
        elif way == "v.cpu()":
            saved_state[name] = v.cpu()
        elif way == "v.clone()":
            saved_state[name] = v.clone()
        elif way == "copy.deepcopy(v)":
            saved_state[name] = copy.deepcopy(v)
        elif way == 'v.to("cpu", copy=True)':
            saved_state[name] = v.to("cpu", copy=True)
    nn.init.constant_(norm.weight, 5)
    norm.num_batches_tracked.fill_(5)
    weight = saved_state["weight"].item()
    batches = saved_state["num_batches_tracked"].item()
    place = saved_state["weight"].device.type
    print(f"{way} | {weight} | {batches} | {place}")
    found[way] = weight, batches
after_cpu = 5 if device == "cpu" else 3
assert found["v"] == (5, 5)
assert found["v.cpu()"] == (after_cpu, after_cpu)
for way in ways[2:]:
    assert found[way] == (3, 3)
# sphinx_gallery_folded = "The code that makes the table"

# %%
# ``v.cpu()`` copies a GPU tensor, but returns a CPU tensor itself
# (:ref:`silent-cpu-shares`). ``clone`` and ``deepcopy`` take memory on the model's
# device, and ``to("cpu", copy=True)`` takes CPU memory, also for a model on a GPU:

in_cpu_memory = {}
for name, v in model.state_dict().items():
    in_cpu_memory[name] = v.to("cpu", copy=True)
assert in_cpu_memory["weight"].is_cpu

# %%
# Restore, and keep training
# --------------------------
# ``load_state_dict`` copies into the parameters. They stay the same objects, so the
# optimizer can keep using them. Here it takes one more step.

model.load_state_dict(kept)
optimizer.zero_grad()
loss = model(x).mean()
loss.backward()
optimizer.step()
print(f"{model.weight.item() = }, {saved.item() = }")
assert model.weight is w
assert w.item() == 4
assert in_cpu_memory["weight"].item() == 5
assert saved.item() == 3

# %%
# .. predict:: What are the model's weight and the saved one?
#
#     - ``model.weight.item() = 4.0, saved.item() = 3.0``
#     - ``model.weight.item() = 6.0, saved.item() = 3.0`` without
#       ``model.load_state_dict(kept)``
#     - ``model.weight.item() = 3.0, saved.item() = 3.0`` with
#       ``model.load_state_dict(kept, assign=True)`` in the place of
#       ``model.load_state_dict(kept)``
#
# With ``assign=True`` the model gets new parameters. The optimizer doesn't have them,
# so its step doesn't change the model.
#
# Load a copy of the optimizer's state
# ------------------------------------
# Momentum is in the optimizer's ``state_dict()``. If device and dtype stay the same,
# ``optimizer.load_state_dict`` takes your tensor itself, and the next step changes it.

p = nn.Parameter(torch.zeros(1, device=device))
optimizer = torch.optim.SGD([p], lr=1.0, momentum=0.5)


def train_step():
    optimizer.zero_grad()
    loss = p.sum()
    loss.backward()
    optimizer.step()


train_step()
best_state = copy.deepcopy(optimizer.state_dict())
momentum = best_state["state"][0]["momentum_buffer"]

optimizer.load_state_dict(copy.deepcopy(best_state))
train_step()
kept_momentum = momentum.item()

optimizer.load_state_dict(best_state)  # no copy
train_step()
print(f"{kept_momentum = }, {momentum.item() = }")
assert kept_momentum == 1
assert momentum.item() == 1.5

# %%
# Remember
# --------
# - Save ``copy.deepcopy(model.state_dict())`` or each ``v.to("cpu", copy=True)``.
# - Restore with ``load_state_dict``, without ``assign=True``.
# - Save a copy of the optimizer's state as well, and load a copy of it.
