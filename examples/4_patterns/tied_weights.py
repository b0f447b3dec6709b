# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
One weight under two names: tied weights
========================================

Tied weights are one Parameter that two modules hold: it counts once, and gets the
gradients of both uses.

You will see which calls keep the tie, which leave two parameters on one memory,
and which leave two copies that drift apart.
"""

# sphinx_gallery_setup = True
import copy
from collections import OrderedDict

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Tie the output to the embedding
# -------------------------------
# ``inp`` looks up a row, ``out`` multiplies by all rows. For the token 1, with rows
# 2 and 3, the scores are 3 * 2 and 3 * 3. The gradient of their sum has a part from
# each use: 3 for both rows, through ``out``, and 2 + 3 for row 1, through ``inp``.


def tied():
    inp = nn.Embedding(2, 1)
    out = nn.Linear(1, 2, bias=False)
    out.weight = inp.weight
    return nn.Sequential(OrderedDict(inp=inp, out=out))


model = tied().to(device)
with torch.no_grad():
    model.inp.weight.copy_(torch.tensor([[2.0], [3.0]]))
token = torch.tensor(1, device=device)
scores = model(token)
scores.sum().backward()
first, second = model.inp.weight, model.out.weight
print(f"{scores.tolist() = }")
print(f"{first.grad.tolist() = }")
assert scores.tolist() == [6, 9]
assert first.grad.flatten().tolist() == [3, 8]
count = sum(p.numel() for p in model.parameters())
print(f"{count = }, {[*model.state_dict()] = }")
assert first is second and count == 2
# sphinx_gallery_tensor_map_lead = "first, second"

# %%
# The two numbers count once, and ``state_dict`` has both names.
#
# What keeps the tie
# ------------------
# ``known`` is a copy of the state of a tied model. Each call makes a model of it: with
# one Parameter, on one memory? Then a new optimizer takes one step with weight decay.
# Row 1 holds 3, and its gradients are 3 and 5: tied, it goes to 3 - (3 + 5 + 3) = -8.


def load(**options):
    model = tied().to(device)
    model.load_state_dict(known, **options)
    return model


def fill_later(tie=False):
    with torch.device("meta"):
        model = tied()
    model.to_empty(device=device)
    model.load_state_dict(known)
    if tie:
        model.out.weight = model.inp.weight
    return model


def as_parameter():
    model = load()
    model.out.weight = nn.Parameter(model.inp.weight)
    return model


made = {
    "deepcopy()": lambda: copy.deepcopy(load()),
    "double()": lambda: load().double(),
    "load_state_dict()": load,
    "the same, assign=True": lambda: load(assign=True),
    "to_empty() from meta, load": fill_later,
    "nn.Parameter(inp.weight)": as_parameter,
    "to_empty(), load, tie": lambda: fill_later(True),
}
# One parameter after the other, also on CUDA
sgd = torch.optim.SGD
options = dict(lr=1, weight_decay=1, foreach=False)
rows = []
for call, make in made.items():
    known = copy.deepcopy(model.state_dict())
    new = make()
    one, two = new.inp.weight, new.out.weight
    row = {"call": call}
    row["Parameter"] = "one" if one is two else "two"
    shared = one.data_ptr() == two.data_ptr()
    row["memory"] = "one" if shared else "two"
    new(token).sum().backward()
    sgd(new.parameters(), **options).step()
    row |= {"inp": one[1].item(), "out": two[1].item()}
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
right = [row["inp"] == row["out"] == -8 for row in rows]
assert right == [True] * 3 + [False] * 3 + [True]
assert rows[3]["memory"] == rows[5]["memory"] == "one"
# sphinx_gallery_folded = "The code that makes the table"
# sphinx_gallery_table = "rows"

# %%
# Two parameters on one memory look tied, but the optimizer steps it twice: weight decay
# comes out wrong, and the next cast parts them. On two memories they drift apart.
#
# Copy the parts, or the whole
# ----------------------------
# ``deepcopy`` keeps a tie within one call. Here the parts are copied one by one.

inp, out = [copy.deepcopy(part) for part in model]
with torch.no_grad():
    inp.weight[1] = 7.0
print(inp.weight[1].item(), out.weight[1].item())
assert inp.weight[1] == 7 and out.weight[1] == 3
# sphinx_gallery_predict = "What do the two hold in row 1?"
# sphinx_gallery_predict_instead = "copy.deepcopy(part) -> part"
# sphinx_gallery_predict_instead_2 = "inp.weight[1] = 7.0 -> inp.weight[1].add(4.0)"

# %%
# In one call, ``copy.deepcopy(model)``, they stay one Parameter, as in the table.
#
# Remember
# --------
# - ``out.weight = inp.weight``: one Parameter. Not ``nn.Parameter(inp.weight)``.
# - ``deepcopy``, casts and ``load_state_dict`` keep the tie.
# - After ``assign=True`` or ``to_empty`` tie again, and only then make the optimizer.
