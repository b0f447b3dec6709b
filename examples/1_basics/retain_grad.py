# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Keep the gradient of a non-leaf tensor: ``retain_grad``
=======================================================

Call :meth:`torch.Tensor.retain_grad` on a non-leaf tensor before ``backward()``
to keep its gradient.
"""

# sphinx_gallery_setup = True
import warnings

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Call ``retain_grad()`` before ``backward()``
# --------------------------------------------
# ``h`` is computed from ``w``, so it isn't a leaf. After ``retain_grad()``, the next
# backward pass that reaches ``h`` also stores the gradient in ``h.grad``. It is 4, the
# derivative of ``h * h`` at 2.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device)
w.requires_grad_()

h = x * w
h.retain_grad()
y = h * h
y.backward()
print(f"{h.retains_grad = }, {h.grad = }")
print(f"{w.grad = }")
assert h.retains_grad
assert not h.is_leaf
assert h.grad.item() == 4
assert w.grad.item() == 2 * h.grad.item()
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, h, y"

# %%
# Without ``retain_grad()``, you read None and get a warning
# ----------------------------------------------------------
# Without ``retain_grad()``, the gradient of ``h`` flows on to ``w`` and isn't kept.

w.grad = None
h = x * w
y = h * h
y.backward()
print(f"{h.retains_grad = }, {w.grad = }")
assert not h.retains_grad
assert w.grad.item() == 8

# %%
# If you now read ``h.grad``, you get None and a warning.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(f"{h.grad = }")
    h.retain_grad()
    late = h.grad  # None again, without a warning
warning = caught[0]
message = str(warning.message).split(". ")[0]
print(f"{warning.category.__name__}: {message}")
assert late is None
assert len(caught) == 1
assert "is not a leaf Tensor" in message
# sphinx_gallery_folded = "The code that reads it"

# %%
# Gradients from two paths are added
# ----------------------------------
# ``y`` uses ``w`` directly and once more through a clone. ``v.grad`` tells how much of
# the gradient of ``w`` came through the clone.

w.grad = None
v = w.clone()
v.retain_grad()
y = x * w + v
y.backward()
print(f"{v.grad = }, {w.grad = }")
assert y.item() == 3
assert v.grad.item() == 1
assert w.grad.item() == 2 + 1
# sphinx_gallery_tensor_map = "w, v, y"

# %%
# The direct path adds 2, the value of ``x``, and the path through ``v`` adds 1.
#
# A call after ``backward()`` doesn't raise
# -----------------------------------------
# Now we call ``retain_grad()`` after the backward pass. The call doesn't raise.

v = w.clone()
y = x * w + v
y.backward()
v.retain_grad()
print(f"{v.retains_grad = }, {v.grad = }")
assert v.retains_grad
assert v.grad is None

# %%
# .. predict:: What is ``v.grad``?
#
#     - ``v.retains_grad = True, v.grad = None``
#     - ``v.retains_grad = True, v.grad = tensor([1.])`` with ``v.retain_grad();
#       y.backward()`` in the place of ``y.backward()``
#     - ``v.retains_grad = False, v.grad = tensor([1.])`` with ``v =
#       w.detach().clone().requires_grad_()``
#
# The backward pass didn't keep the gradient. After the call, reading ``v.grad`` doesn't
# even warn. The next backward pass stores the gradient. (``clone`` doesn't save a
# tensor, so a second backward pass through ``v`` works.)

y = x * w + v
y.backward()
print(f"{v.grad = }")
assert v.grad.item() == 1

# %%
# On a leaf it does nothing; without grad it raises
# -------------------------------------------------
# A leaf that requires grad keeps its gradient anyway. A tensor that doesn't require
# grad has no gradient to keep, so the call raises.

w.retain_grad()
print(f"{w.retains_grad = }")
try:
    x.retain_grad()
except RuntimeError as error:
    message = str(error)
    print("RuntimeError:", message)
assert not w.retains_grad
assert "requires_grad=False" in message

# %%
# Remember
# --------
# - ``retain_grad()`` before ``backward()`` keeps the gradient of a non-leaf tensor.
# - If gradients reach a tensor through several paths, autograd adds them.
# - If ``v.grad`` is None without a warning, ``retain_grad()`` may have come too late.
