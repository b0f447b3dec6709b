# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Change weights in place under ``no_grad``
=========================================

An in-place write under :class:`torch.no_grad` keeps the Parameter and its memory, so
the optimizer still trains it. Every tensor that shares this memory also changes.
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
# Write the new values into the weight
# ------------------------------------
# ``alias`` shares memory with the weight, as the weight of another model might.

layer = nn.Linear(2, 1, bias=False).to(device)
weight = nn.init.zeros_(layer.weight)
alias = weight.detach()
# sphinx_gallery_lead = True
new = torch.tensor([[3.0, 4.0]], device=device)
with torch.no_grad():
    weight.copy_(new)
same = layer.weight is weight
print(f"{alias.tolist() = }, {same = }")
assert same and alias.tolist() == [[3, 4]]
# sphinx_gallery_tensor_map = "weight, alias"

# %%
# .. predict:: What are ``alias`` and ``same``?
#
#     - ``alias.tolist() = [[3.0, 4.0]], same = True``
#     - ``alias.tolist() = [[0.0, 0.0]], same = True`` with ``weight.data = new`` in the
#       place of ``weight.copy_(new)``
#     - ``alias.tolist() = [[0.0, 0.0]], same = False`` with ``layer.weight =
#       nn.Parameter(new)`` in the place of ``weight.copy_(new)``
#
# After which of six edits does the optimizer train the weight?
# -------------------------------------------------------------
# Each edit sets the weight ``w`` of a new layer to 3, the value of ``t``. The
# ``fused`` optimizer gets a gradient that leads to 3. The last column is about ``sgd``,
# an optimizer from before the edit.


def replace():
    layer.weight = nn.Parameter(t)


edits = {
    "w.copy_(t)": lambda: w.copy_(t),
    "nn.init.constant_(w, 3)": (  # in place
        lambda: nn.init.constant_(w, 3)
    ),
    "w.data.copy_(t)": lambda: w.data.copy_(t),
    "fused.step()": lambda: fused.step(),
    "w.data = t": lambda: setattr(w, "data", t),
    "layer.weight = nn.Parameter(t)": replace,
}

# %%
rows = []
for edit, change in edits.items():
    layer = nn.Linear(1, 1, bias=False).to(device)
    w, old = layer.weight, layer.weight.detach()
    sgd = torch.optim.SGD([w], lr=1)
    fused = torch.optim.SGD([w], lr=1, fused=True)
    t = torch.full_like(old, 3)
    w.grad, before = old - t, w._version
    with torch.no_grad():
        change()
    now = layer.weight
    row = {"edit": edit, "same Parameter": now is w}
    row["same memory"] = shares_memory(now, old)
    row["memory of t"] = shares_memory(now, t)
    row["version counter"] = f"+{w._version - before}"
    now.grad = torch.ones_like(now)
    sgd.step()  # from 3 to 2, if it has this weight
    row["optimizer trains it"] = now.item() == 2
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
columns = list(zip(*(row.values() for row in rows)))
assert columns[1] == (True,) * 5 + (False,)
assert columns[2] == (True,) * 4 + (False,) * 2
assert columns[3] == (False,) * 4 + (True,) * 2
assert columns[5] == columns[1]
assert columns[4][:4] == ("+1", "+1", "+0", "+0")
# sphinx_gallery_folded = "The code that edits and looks"

# %%
# - ``w.data.copy_`` and a fused step don't increment the version counter
#   (:doc:`../1_basics/detach`), so autograd doesn't catch a write that changes a saved
#   value (:ref:`silent-data`, :ref:`silent-fused`).
# - After ``w.data = t`` the optimizer writes to the memory of ``t``. Tensors that
#   shared memory with the weight keep the old values.
# - After ``layer.weight = ...`` the optimizer still has the old, unused Parameter.
#
# Does ``vector_to_parameters`` copy the vector?
# ----------------------------------------------
# :func:`torch.nn.utils.parameters_to_vector` copies all weights into one vector. With
# ``vector_to_parameters`` they get a vector's memory, dtype and device, without a copy.

model = nn.Linear(1, 1).to(device)
best = torch.tensor([1.0, 2.0], device=device)
vector_to_parameters(best, model.parameters())
sgd = torch.optim.SGD(model.parameters(), lr=0.5)
model(torch.ones(1, 1, device=device)).backward()
sgd.step()
vector = parameters_to_vector(model.parameters())
print(f"{best.tolist() = }")
assert best.tolist() == [0.5, 1.5]
assert shares_memory(model.weight, best)
assert not shares_memory(model.weight, vector)

# %%
# .. predict:: What does ``best`` hold now?
#
#     - ``best.tolist() = [0.5, 1.5]``
#     - ``best.tolist() = [1.0, 2.0]`` with ``vector_to_parameters(best.clone(),
#       model.parameters())`` in the place of ``vector_to_parameters(best,
#       model.parameters())``
#     - ``best.tolist() = [0.0, 1.0]`` with ``sgd = torch.optim.SGD(model.parameters(),
#       lr=1.0)``
#
# To keep ``best``, call ``vector_to_parameters(best.clone(), model.parameters())``.
#
# Write gradient descent by hand under ``no_grad``
# ------------------------------------------------
# Gradient descent moves ``w`` toward 4, and ``clamp_`` keeps it at 3 or below. Without
# ``no_grad`` the write raises (:ref:`leaf-in-place`). ``w = w - ...`` makes another
# tensor and doesn't change the weight itself (:ref:`silent-rebinding`).

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
# - Write in place under ``no_grad``, after ``step()`` and before the next forward pass.
#   Within ``autocast``, layers may still use the old weights.
# - A new Parameter leaves the optimizer with the old weight.
# - ``vector_to_parameters`` shares memory with the vector. Pass in a clone.
