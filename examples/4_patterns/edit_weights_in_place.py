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
assert same
assert alias.tolist() == [[3, 4]]
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
# Each edit sets the weight ``w`` of a new layer to ``t``, which is 3. ``fused`` is SGD
# with ``fused=True``. For the last column, we made an SGD optimizer before the edit.
# Autograd notices a write by the *version counter* (:doc:`../1_basics/detach`).


edits = [
    "w.copy_(t)",
    "nn.init.constant_(w, 3)",
    "w.data.copy_(t)",
    "fused.step()",
    "w.data = t",
    "layer.weight = nn.Parameter(t)",
]
print(
    "edit | same Parameter | same memory | memory of t"
    " | version counter | optimizer trains it"
)
found = []
for edit in edits:
    layer = nn.Linear(1, 1, bias=False).to(device)
    w = layer.weight
    old = w.detach()
    optimizer = torch.optim.SGD([w], lr=1)
    fused = torch.optim.SGD([w], lr=1, fused=True)
    t = torch.full_like(old, 3)
    before = w._version
    with torch.no_grad():
        if edit == "w.copy_(t)":
            w.copy_(t)
        elif edit == "nn.init.constant_(w, 3)":
            nn.init.constant_(w, 3)
        elif edit == "w.data.copy_(t)":
            w.data.copy_(t)
        elif edit == "fused.step()":
            w.grad = old - t
            fused.step()
        elif edit == "w.data = t":
            w.data = t
        elif edit == "layer.weight = nn.Parameter(t)":
            layer.weight = nn.Parameter(t)
    count = w._version - before
    now = layer.weight
    same = now is w
    shared = shares_memory(now, old)
    taken = shares_memory(now, t)
    now.grad = torch.ones_like(now)
    optimizer.step()  # 3 to 2, if it has this weight
    trains = now.item() == 2
    row = f"{edit} | {same} | {shared} | {taken}"
    print(f"{row} | +{count} | {trains}")
    found.append((same, shared, taken, count, trains))
assert found[:2] == [(True, True, False, 1, True)] * 2
assert found[2:4] == [(True, True, False, 0, True)] * 2
assert found[4] == (True, False, True, 0, True)
assert found[5] == (False, False, True, 0, False)
# sphinx_gallery_folded = "The six edits, and the code that tries them"

# %%
# - ``w.data.copy_``, a fused step and ``w.data = t`` don't change the version counter.
#   So a ``backward()`` that needs the old weight doesn't raise, and its gradient can
#   be wrong (:ref:`silent-data`, :ref:`silent-fused`).
# - After ``w.data = t`` the optimizer writes to the memory of ``t``. Tensors that
#   shared memory with the weight keep the old values.
# - After ``layer.weight = ...`` the optimizer still has the old, unused Parameter.
#
# Does ``vector_to_parameters`` copy the vector?
# ----------------------------------------------
# :func:`torch.nn.utils.parameters_to_vector` copies all weights into one vector. With
# ``vector_to_parameters`` they share a vector's memory, without a copy.

model = nn.Linear(1, 1).to(device)
best = torch.tensor([1.0, 2.0], device=device)
vector_to_parameters(best, model.parameters())
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
loss = model(torch.ones(1, device=device)).sum()
loss.backward()
optimizer.step()
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
#     - ``best.tolist() = [0.0, 1.0]`` with ``optimizer =
#       torch.optim.SGD(model.parameters(), lr=1.0)``
#
# To keep ``best``, call ``vector_to_parameters(best.clone(), model.parameters())``.
#
# Write gradient descent by hand under ``no_grad``
# ------------------------------------------------
# Gradient descent moves ``w`` toward 4, and ``clamp_`` keeps it at 3 or below. Without
# ``no_grad`` the write raises (:ref:`leaf-in-place`). ``w = w - ...`` makes another
# tensor and doesn't change the weight itself (:ref:`silent-rebinding`).

w = torch.zeros((), device=device, requires_grad=True)
for _ in range(3):
    loss = (w - 4).square()
    loss.backward()
    with torch.no_grad():
        w -= w.grad / 4
        w.clamp_(max=3)
    w.grad = None
print(f"{w.item() = }")
assert w.item() == 3

# %%
# Remember
# --------
# - Write in place under ``no_grad``, between ``backward()`` and the next forward pass.
# - A new Parameter leaves the optimizer with the old weight.
# - ``vector_to_parameters`` shares memory with the vector. Pass in ``best.clone()``.
