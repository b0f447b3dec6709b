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

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# Tie the output to the embedding
# -------------------------------
# The weight has the rows 2 and 3. ``inp`` looks up one row, and ``out`` multiplies it
# by all rows. So the scores for token 1 are 3 * 2 and 3 * 3. The gradient of their sum
# is 3 for both rows through ``out``, plus 2 + 3 for row 1 through ``inp``.


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Embedding(2, 1)
        self.out = nn.Linear(1, 2, bias=False)
        self.out.weight = self.inp.weight

    def forward(self, token):
        return self.out(self.inp(token))


model = Tied().to(device)
inp, out = model.inp, model.out
with torch.no_grad():
    inp.weight.copy_(torch.tensor([[2.0], [3.0]]))
token = torch.tensor(1, device=device)
scores = model(token)
loss = scores.sum()
loss.backward()
print(f"{len(list(model.parameters())) = }")
print(f"{list(model.state_dict()) = }")
print(f"{inp.weight.grad.tolist() = }")
assert inp.weight is out.weight
assert scores.tolist() == [6, 9]
assert inp.weight.grad.tolist() == [[3], [8]]
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "inp.weight, out.weight, scores"

# %%
# ``parameters()`` returns the weight only once. ``state_dict()`` has both names.
#
# What keeps the tie
# ------------------
# ``known`` is a copy of a tied model's state. Each call makes a model from it. The
# table shows whether it has one Parameter or two, and one memory block or two. Then an
# optimizer with ``lr=0.25`` and ``weight_decay=1`` takes a step. Row 1 of the weight is
# 3, its gradient is 3 + 5, and decay adds 3. So 3 - 0.25 * (3 + 5 + 3) = 0.25 is right.

calls = [
    "deepcopy()",
    "double()",
    "load_state_dict()",
    "the same, assign=True",
    "to_empty() from meta, load",
    "nn.Parameter(inp.weight)",
    "to_empty(), load, tie",
]
print("call | Parameter | memory | inp | out")
found = []
for call in calls:
    new = Tied().to(device)
    known = copy.deepcopy(model.state_dict())
    if call.startswith("to_empty()"):
        new = new.to("meta").to_empty(device=device)
    assign = call == "the same, assign=True"
    new.load_state_dict(known, assign=assign)
    if call == "deepcopy()":
        new = copy.deepcopy(new)
    elif call == "double()":
        new.double()
    elif call == "nn.Parameter(inp.weight)":
        new.out.weight = nn.Parameter(new.inp.weight)
    elif call == "to_empty(), load, tie":
        new.out.weight = new.inp.weight
    a, b = new.inp.weight, new.out.weight
    parameter = "one" if a is b else "two"
    memory = "one" if shares_memory(a, b) else "two"
    optimizer = torch.optim.SGD(
        new.parameters(),
        lr=0.25,
        weight_decay=1,
        foreach=False,  # one weight at a time
    )
    loss = new(token).sum()
    loss.backward()
    optimizer.step()
    values = a[1].item(), b[1].item()
    row = f"{call} | {parameter} | {memory}"
    print(f"{row} | {values[0]} | {values[1]}")
    found.append((parameter, memory, *values))
assert found[:3] == [("one", "one", 0.25, 0.25)] * 3
assert found[3] == ("two", "one", 0, 0)
assert found[4] == ("two", "two", 1, 1.5)
assert found[5] == ("two", "one", 0, 0)
assert found[6] == ("one", "one", 0.25, 0.25)
new.to("meta")
assert new.inp.weight is not new.out.weight
# sphinx_gallery_folded = "The code that makes the table"

# %%
# Two parameters that share memory look tied, but the optimizer steps both. The first
# step gives 3 - 0.25 * (5 + 3) = 1, the second 1 - 0.25 * (3 + 1) = 0. So it applies
# weight decay twice. With separate memory their values become different. Moves between
# CPU and CUDA keep the tie, but ``to("meta")`` doesn't. After ``assign=True`` or
# ``to_empty``, tie again, and then make the optimizer:

new = Tied().to(device)
known = copy.deepcopy(model.state_dict())
new.load_state_dict(known, assign=True)
new.out.weight = new.inp.weight
optimizer = torch.optim.SGD(new.parameters(), lr=1)
print(f"{len(list(new.parameters())) = }")
assert len(list(new.parameters())) == 1

# %%
# Does a copy of the parts keep the tie?
# --------------------------------------
# ``deepcopy`` keeps a tie within one call. Copying the parts one by one is a bug:

parts = [copy.deepcopy(m) for m in model.children()]
inp, out = parts
with torch.no_grad():
    inp.weight[1] = 7.0
print(f"inp: {inp.weight[1].item()}")
print(f"out: {out.weight[1].item()}")
assert inp.weight[1].item() == 7
assert out.weight[1].item() == 3

# %%
# .. predict:: What do ``inp`` and ``out`` hold in row 1?
#
#     - ``inp: 7.0`` ``out: 3.0``
#     - ``inp: 7.0`` ``out: 7.0`` with ``parts = list(model.children())``
#     - ``inp: 3.0`` ``out: 3.0`` with ``inp.weight[1].add(4.0)`` in the place of
#       ``inp.weight[1] = 7.0``
#
# With one call, ``copy.deepcopy(model)``, both stay one Parameter, as in the table.
#
# Remember
# --------
# - ``out.weight = inp.weight`` ties. ``nn.Parameter(inp.weight)`` doesn't.
# - ``deepcopy``, casts and ``load_state_dict`` keep the tie, ``to("meta")`` doesn't.
# - After ``assign=True`` or ``to_empty``, tie again, and then make the optimizer.
