# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Tied weights: one parameter, two modules
========================================

Tied weights are one ``Parameter`` in two modules. ``parameters()`` returns it once, and
its gradient is the sum over both uses.
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
# The weight has the rows 2 and 3. ``inp`` looks up one row, and ``out`` multiplies it
# by all rows. So the scores for token 1 are 3 * 2 and 3 * 3. The gradient of their sum
# is 3 for both rows through ``out``, plus 2 + 3 for row 1 through ``inp``.


def tied():
    inp = nn.Embedding(2, 1)
    out = nn.Linear(1, 2, bias=False)
    out.weight = inp.weight
    return nn.Sequential(OrderedDict(inp=inp, out=out))


model = tied().to(device)
inp, out = model
with torch.no_grad():
    inp.weight.copy_(torch.tensor([[2.0], [3.0]]))
token = torch.tensor(1, device=device)
scores = model(token)
scores.sum().backward()
count = sum(p.numel() for p in model.parameters())
print(f"{count = }, {[*model.state_dict()] = }")
assert inp.weight is out.weight and count == 2
assert scores.tolist() == [6, 9]
assert inp.weight.grad.flatten().tolist() == [3, 8]
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "inp.weight, out.weight, scores"

# %%
# ``parameters()`` returns the weight only once. ``state_dict()`` has both names.
#
# What keeps the tie
# ------------------
# ``known`` is a copy of a tied model's state. Each call makes a model from it. The
# table shows whether the model then has one Parameter or two, and one memory block or
# two. Then a new optimizer with ``lr=1`` and ``weight_decay=1`` takes a step. Row 1 of
# the weight is 3. Its gradient is 3 + 5, and weight decay adds 3. So it should become
# 3 - (3 + 5 + 3) = -8.


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
parts = load().to("meta")
assert right == [True] * 3 + [False] * 3 + [True]
assert rows[3]["memory"] == rows[5]["memory"] == "one"
assert parts.inp.weight is not parts.out.weight
# sphinx_gallery_folded = "The code that makes the table"

# %%
# Two parameters that share memory look tied, but the optimizer steps both. So it
# applies weight decay twice, and the next cast separates them. With separate memory
# their values become different. Moves between CPU and CUDA keep the tie, but
# ``to("meta")`` doesn't.
#
# Does a copy of the parts keep the tie?
# --------------------------------------
# ``deepcopy`` keeps a tie within one call. Here we copy the parts one by one.

inp, out = [copy.deepcopy(part) for part in model]
with torch.no_grad():
    inp.weight[1] = 7.0
rows = inp.weight[1].item(), out.weight[1].item()
print(f"inp: {rows[0]}, out: {rows[1]}")
assert rows == (7, 3)

# %%
# .. predict:: What do ``inp`` and ``out`` hold in row 1?
#
#     - ``inp: 7.0, out: 3.0``
#     - ``inp: 7.0, out: 7.0`` with ``inp, out = [part for part in model]``
#     - ``inp: 3.0, out: 3.0`` with ``inp.weight[1].add(4.0)`` in the place of
#       ``inp.weight[1] = 7.0``
#
# With one call, ``copy.deepcopy(model)``, both names stay one Parameter, as in the
# table.
#
# Remember
# --------
# - ``out.weight = inp.weight`` ties. ``nn.Parameter(inp.weight)`` makes a second one.
# - ``deepcopy``, casts and ``load_state_dict`` keep the tie, ``to("meta")`` doesn't.
# - After ``assign=True``, or ``to_empty`` of a meta model, tie again, and then make the
#   optimizer.
