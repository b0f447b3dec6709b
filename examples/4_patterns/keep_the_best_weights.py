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
# (weight - 3). So epoch 3 is the best one, and ``state`` and ``kept`` are from then.

model = nn.Linear(1, 1, bias=False, device=device)
w = nn.init.zeros_(model.weight)
optimizer = torch.optim.SGD([w], lr=1.0)
x = torch.tensor([[-1.0]], device=device)
best = float("inf")
for epoch in range(1, 6):
    optimizer.zero_grad()
    model(x).backward()
    optimizer.step()
    loss = (w.item() - 3) ** 2
    if loss < best:
        best = loss
        state = model.state_dict()
        kept = copy.deepcopy(model.state_dict())
shared = state.copy()["weight"]
saved = kept["weight"]
print(f"{shared.item() = }, {saved.item() = }")
assert best == 0 and shared.item() == w.item() == 5
assert saved.item() == 3
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, shared, saved, w copied to saved"

# %%
# ``shared`` has the changes of epochs 4 and 5 (:ref:`silent-best-weights`), because
# ``state.copy()`` copies the dict, but not its tensors. ``saved`` still has the weight
# of epoch 3.
#
# Which of five ways save a copy?
# -------------------------------
# BatchNorm has a weight, and a buffer that counts the batches. We set both to 3, save
# each tensor ``v`` of ``state_dict()`` in five ways, and then set both to 5. So a row
# with 5 means that nothing was saved.

ways = {
    "v": lambda v: v,
    "v.cpu()": lambda v: v.cpu(),
    "v.clone()": lambda v: v.clone(),
    "copy.deepcopy(v)": copy.deepcopy,
    'v.to("cpu", copy=True)': lambda v: v.to(
        "cpu",
        copy=True,
    ),
}
norm = nn.BatchNorm1d(1, device=device)
rows = []
for way, save in ways.items():
    nn.init.constant_(norm.weight, 3)
    norm.num_batches_tracked.fill_(3)
    now = norm.state_dict().values()
    weight, *_, count = [save(v) for v in now]
    nn.init.constant_(norm.weight, 5)
    norm.num_batches_tracked.fill_(5)
    row = {"saved": way, "weight": weight.item()}
    row["batches"] = count.item()
    row["device"] = count.device.type
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
weights = [row["weight"] for row in rows]
cpu = 5 if device == "cpu" else 3
assert weights == [5, cpu, 3, 3, 3]
assert weights == [row["batches"] for row in rows]
# sphinx_gallery_folded = "The code that makes the table"

# %%
# ``v.cpu()`` copies a GPU tensor, but returns a CPU tensor itself
# (:ref:`silent-cpu-shares`). ``clone`` and ``deepcopy`` take memory on the model's
# device, and ``to("cpu", copy=True)`` takes CPU memory.
#
# Restore, and keep training
# --------------------------
# ``load_state_dict`` copies into the parameters. They stay the same objects, so the
# optimizer can keep using them. Here it takes one more step.

model.load_state_dict(kept)
optimizer.zero_grad()
model(x).backward()
optimizer.step()
print(f"{model.weight.item() = }, {saved.item() = }")
assert model.weight is w and w.item() == 4
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
# With ``assign=True`` the model gets new parameters that share memory with the saved
# tensors. The optimizer doesn't have them. A new optimizer would change the saved
# tensors.
#
# Load a copy of the optimizer's state
# ------------------------------------
# Momentum is in the optimizer's ``state_dict()``. The optimizer's ``load_state_dict``
# copies it only if its dtype or device isn't the parameter's (below, the float64
# ``double``). Otherwise it takes your tensor itself, so the next step would change the
# state that you saved. Load a copy.

v = nn.Parameter(torch.zeros(1, device=device))
sgd = torch.optim.SGD([v], lr=1.0, momentum=0.5)
v.sum().backward()
sgd.step()
kept = copy.deepcopy(sgd.state_dict())
state = kept["state"][0]
momentum = state["momentum_buffer"]
sgd.load_state_dict(copy.deepcopy(kept))
sgd.step()
copied = momentum.item()
sgd.load_state_dict(kept)
sgd.step()
double = state["momentum_buffer"] = momentum.double()
sgd.load_state_dict(kept)
sgd.step()
print(f"copy loaded: {copied}, itself: {momentum[0]}")
assert copied == 1 and momentum.item() == 1.5
assert double.item() == 1.5  # converted, so copied

# %%
# Remember
# --------
# - Save ``copy.deepcopy(model.state_dict())``, or ``to("cpu", copy=True)`` of each
#   tensor.
# - Restore with ``load_state_dict``, without ``assign=True``.
# - Save a copy of the optimizer's state as well, and load a copy of it.
