# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Keep the best weights, and get them back
========================================

``state_dict`` returns the tensors that the model goes on training, so keep a copy
of each, and give them back with ``load_state_dict``.

You will see what five ways of keeping hold after two more epochs, what a restore
brings back, and what it does not: the optimizer.
"""

# sphinx_gallery_setup = True
import copy

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Train past the best
# -------------------
# The weight goes up by 1 in each epoch, and the loss on the validation data is
# (weight - 3)². So epoch 3 is the best, and there each way keeps what it keeps.
# BatchNorm has buffers: it counts its batches.


def five_ways(model):
    deep = copy.deepcopy(model.state_dict())
    items = model.state_dict().items()
    host = {k: v.to("cpu", copy=True) for k, v in items}
    return {
        "model.state_dict()": model.state_dict(),
        "v.cpu()": {k: v.cpu() for k, v in items},
        "v.clone()": {k: v.clone() for k, v in items},
        "deepcopy(model.state_dict())": deep,
        'v.to("cpu", copy=True)': host,
    }


line = nn.Linear(1, 1, bias=False)
model = nn.Sequential(line, nn.BatchNorm1d(1))
model = model.to(device)
nn.init.zeros_(line.weight)
optimizer = torch.optim.SGD([line.weight], lr=1.0)
batch = torch.tensor([[-1.0], [-1.0]], device=device)
best = float("inf")
for epoch in range(1, 6):
    optimizer.zero_grad()
    model(batch)  # BatchNorm counts
    line(batch).mean().backward()
    optimizer.step()
    loss = (line.weight.item() - 3) ** 2
    print(f"{epoch = }, {loss = }")
    if loss < best:
        best = loss
        found = five_ways(model)
assert best == 0 and line.weight.item() == 5

# %%
# What each way holds now
# -----------------------
# The best weight is 3, kept after 3 batches; the model is at 5.

rows = []
for way, kept in found.items():
    best_w = kept["0.weight"]
    count = kept["1.num_batches_tracked"]
    row = {"kept": way, "weight": best_w.item()}
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
w = line.weight
plain = found["model.state_dict()"]["0.weight"]
clone = found["v.clone()"]["0.weight"]
# sphinx_gallery_tensor_map_lead = "w, plain, clone"
# sphinx_gallery_table = "rows"

# %%
# ``plain`` and ``clone`` in the picture are the first and the third
# (:ref:`silent-best-weights`). ``v.cpu()`` copies from a GPU, and nothing on a CPU
# (:ref:`silent-cpu-shares`). ``clone`` and ``deepcopy`` cost the model's device the
# weights once more, and ``to("cpu", copy=True)`` costs host memory on every machine.
#
# Restore, and train on
# ---------------------
# ``load_state_dict`` copies into the parameters: they stay the same objects, so an
# optimizer goes on with them. What does ``kept`` hold after one more step?

kept = found["v.clone()"]
model.load_state_dict(kept)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
model.zero_grad()
line(batch).mean().backward()
optimizer.step()
print(f"{line.weight.item() = }")
print(f"{kept['0.weight'].item() = }")
assert line.weight is w and w.item() == 4
assert kept["0.weight"].item() == 3
# sphinx_gallery_predict = "What do the two hold?"
# sphinx_gallery_predict_instead = "dict(kept) -> dict(kept, assign=True)"
# sphinx_gallery_predict_instead_2 = "model.load_state_dict(kept) ->"

# %%
# With ``assign=True`` the kept tensors become the parameters, and are trained.
#
# The optimizer is not in there
# -----------------------------
# Momentum lives in the optimizer, and its ``state_dict`` is made of references too.
# Here a step has left a momentum of 1. ``load_state_dict`` of an optimizer does
# *not* copy: it takes the tensors that you kept, and the next step writes them.

v = nn.Parameter(torch.zeros(1, device=device))
sgd = torch.optim.SGD([v], lr=1.0, momentum=0.5)
v.sum().backward()
sgd.step()
kept = copy.deepcopy(sgd.state_dict())
momentum = kept["state"][0]["momentum_buffer"]
sgd.load_state_dict(copy.deepcopy(kept))
sgd.step()
print(f"loaded a copy: {momentum.item() = }")
assert momentum.item() == 1
sgd.load_state_dict(kept)
sgd.step()
print(f"loaded what was kept: {momentum.item() = }")
assert momentum.item() == 1.5

# %%
# Remember
# --------
# - Keep ``copy.deepcopy(model.state_dict())``, or ``to("cpu", copy=True)`` of each.
# - Restore with ``load_state_dict``, without ``assign=True``.
# - Keep the optimizer's state as well, and load a copy of it.
