# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Edit weights: in place, and under ``no_grad``
=============================================

A write in place under :class:`torch.no_grad` changes the numbers of a weight and
leaves the Parameter and its memory, so optimizer and aliases go on with it.

You will see what six edits leave of a weight, how ``vector_to_parameters`` puts a
model on one vector's memory, and an optimizer written by hand.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn
from torch.nn.utils import (
    parameters_to_vector,
    vector_to_parameters,
)

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# A vector that becomes the model's memory
# ----------------------------------------
# :func:`torch.nn.utils.parameters_to_vector` copies all weights into one vector.
# The way back gives each parameter a part of the vector instead. The weights are set
# to 1 and 2, and ``best`` is to keep them. Then a step of 0.5 is taken.

model = nn.Linear(1, 1).to(device)
best = torch.tensor([1.0, 2.0], device=device)
vector_to_parameters(best, model.parameters())
weight, bias = model.parameters()
sgd = torch.optim.SGD(model.parameters(), lr=0.5)
model(torch.ones(1, 1, device=device)).backward()
sgd.step()
print(f"{best = }")
assert best.tolist() == [0.5, 1.5]
# sphinx_gallery_tensor_map_lead = "best, weight, bias"
# sphinx_gallery_predict = "What does ``best`` hold now?"
# sphinx_gallery_predict_instead = "(best, model -> (best.clone(), model"
# sphinx_gallery_predict_instead_2 = "lr=0.5 -> lr=1.0"

# %%
# Give the function a clone, and the vector is yours again.

best = torch.tensor([1.0, 2.0], device=device)
vector_to_parameters(best.clone(), model.parameters())
sgd.step()
print(f"{best = }")
assert best.tolist() == [1, 2]
vector = parameters_to_vector(model.parameters())
assert not shares_memory(vector, weight)

# %%
# Six edits
# ---------
# Each sets the weight ``w`` of a new layer to 3. Is it the same Parameter on the same
# memory? By how much did the version counter (:doc:`../1_basics/detach`) rise? And
# does an optimizer that was made before still train it?


def fused_step(w, t):
    w.grad = w.detach() - t
    torch.optim.SGD([w], lr=1, fused=True).step()


def new_data(w, t):
    w.data = t


def new_parameter(w, t):
    layer.weight = nn.Parameter(t)


edits = {
    "w.copy_(t)": torch.Tensor.copy_,
    "nn.init.constant_(w, 3)": (  # the same
        lambda w, t: nn.init.constant_(w, 3)
    ),
    "w.data.copy_(t)": lambda w, t: w.data.copy_(t),
    "a fused step": fused_step,
    "w.data = t": new_data,
    "layer.weight = nn.Parameter(t)": new_parameter,
}
rows = []
for call, edit in edits.items():
    layer = nn.Linear(1, 1, bias=False).to(device)
    w, old = layer.weight, layer.weight.detach()
    sgd = torch.optim.SGD([w], lr=1)
    t = torch.full_like(old, 3)
    before = w._version
    with torch.no_grad():
        edit(w, t)
    now = layer.weight
    row = {"edit, under no_grad": call}
    row["same Parameter"] = now is w
    row["same memory"] = shares_memory(now, old)
    row["version"] = f"+{w._version - before}"
    assert now.item() == 3
    now.grad = torch.ones_like(now)
    sgd.step()
    row["is trained"] = now.item() == 2
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that edits and looks"
# sphinx_gallery_table = "rows"

# %%
# In the last row the optimizer trains the old Parameter, which nobody uses. In the row
# before it trains ``t``, whose memory the weight has. The two +0 above these are writes
# that no backward pass notices: :ref:`silent-data`, :ref:`silent-fused`.
#
# An optimizer by hand
# --------------------
# ``w`` is to become 4, and is clipped at 3. What goes wrong: ``w = w - ...``
# (:ref:`silent-rebinding`), and a write without ``no_grad`` (:ref:`leaf-in-place`).

w = torch.zeros((), device=device).requires_grad_()
for _ in range(3):
    (w - 4).square().backward()
    with torch.no_grad():
        w -= w.grad / 4
        w.clamp_(max=3)
    w.grad = None
    print(f"{w.item() = }")
assert w.item() == 3

# %%
# Remember
# --------
# - Write in place under ``no_grad``, between a step and the next forward pass.
# - A new Parameter or ``w = ...`` leaves the optimizer with the old weight.
# - ``vector_to_parameters`` shares: give it a clone.
