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
# sphinx_gallery_short_title = "Save the best weights"
import copy

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Train past the best epoch
# -------------------------
# The weight goes up by 1 in each epoch, and the validation loss is the square of
# (weight - 3). So epoch 3 is the best, and the weights are saved there in five ways.
# BatchNorm counts its batches in a buffer.


def five_ways(model):
    deep = copy.deepcopy(model.state_dict())
    items = model.state_dict().items()
    cpu = {k: v.to("cpu", copy=True) for k, v in items}
    return {
        "model.state_dict()": model.state_dict(),
        "v.cpu()": {k: v.cpu() for k, v in items},
        "v.clone()": {k: v.clone() for k, v in items},
        "deepcopy(model.state_dict())": deep,
        'v.to("cpu", copy=True)': cpu,
    }


line = nn.Linear(1, 1, bias=False)
model = nn.Sequential(line, nn.BatchNorm1d(1))
model = model.to(device)
w = nn.init.zeros_(line.weight)
optimizer = torch.optim.SGD([w], lr=1.0)
batch = torch.tensor([[-1.0], [-1.0]], device=device)
best = float("inf")
for epoch in range(1, 6):
    optimizer.zero_grad()
    model(batch)  # BatchNorm counts
    line(batch).mean().backward()
    optimizer.step()
    loss = (w.item() - 3) ** 2
    if loss < best:
        best = loss
        found = five_ways(model)

shared = found["model.state_dict()"]["0.weight"]
clone = found["v.clone()"]["0.weight"]
print(f"{shared.item() = }, {clone.item() = }")
assert best == 0 and w.item() == 5
assert shared.item() == 5 and clone.item() == 3
# sphinx_gallery_tensor_map_lead = "w, shared, clone, w copied to clone"

# %%
# ``shared`` was trained for two more epochs (:ref:`silent-best-weights`). ``clone``
# holds the best weight. What do all five ways hold now?

rows = []
for way, kept in found.items():
    count = kept["1.num_batches_tracked"]
    row = {"kept": way}
    row["weight"] = kept["0.weight"].item()
    row["batches"] = count.item()
    row["device"] = count.device.type
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
weights = [row["weight"] for row in rows]
batches = [row["batches"] for row in rows]
assert weights[0] == batches[0] == 5
assert weights[1] == (5 if device == "cpu" else 3)
assert weights[2:] == batches[2:] == [3] * 3
# sphinx_gallery_folded = "The code that makes the table"
# sphinx_gallery_table = "rows"

# %%
# ``v.cpu()`` copies from a GPU, but on a CPU it returns the same tensor
# (:ref:`silent-cpu-shares`). ``clone`` and ``deepcopy`` take memory on the model's
# device, ``to("cpu", copy=True)`` takes CPU memory.
#
# Restore, and keep training
# --------------------------
# ``load_state_dict`` copies into the parameters. They stay the same objects, so the
# optimizer can keep using them. What happens to ``saved`` in one more step?

kept = found["v.clone()"]
saved = kept["0.weight"]
model.load_state_dict(kept)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
model.zero_grad()
line(batch).mean().backward()
optimizer.step()
print(f"{line.weight.item() = }, {saved.item() = }")
assert line.weight is w and w.item() == 4
assert saved.item() == 3
# sphinx_gallery_predict = "What are the model's weight and the saved one?"
# sphinx_gallery_predict_instead = "dict(kept) -> dict(kept, assign=True)"
# sphinx_gallery_predict_instead_2 = "model.load_state_dict(kept) ->"

# %%
# With ``assign=True`` the saved tensors become the parameters and are trained.
#
# The optimizer state is separate
# -------------------------------
# Momentum is in the optimizer's ``state_dict()``, which shares memory too. Its
# ``load_state_dict`` converts tensors to the parameter's dtype and device. It doesn't
# copy one that already fits. So load a copy, or the next step changes what you saved.

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
print(f"loaded a copy: {copied}, itself: {momentum}")
assert copied == 1 and momentum.item() == 1.5
assert double.item() == 1.5  # converted, so copied

# %%
# Remember
# --------
# - Save ``copy.deepcopy(model.state_dict())``, or ``to("cpu", copy=True)`` of each.
# - Restore with ``load_state_dict``, without ``assign=True``.
# - Save a copy of the optimizer's state as well, and load a copy of it.
