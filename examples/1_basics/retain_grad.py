# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Keep the gradient of a clone: ``retain_grad``
=============================================

Call :meth:`torch.Tensor.retain_grad` before the backward pass, and a tensor
that is not a leaf keeps its gradient as well.

You will see a gradient arrive in a leaf by two paths, read the share that came
through a tensor on the way, and see what happens when you ask too late.
"""

# sphinx_gallery_setup = True
import warnings

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def read_grad(t):
    """Return t.grad and the warnings it caused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return t.grad, caught


# %%
# Two paths from ``y`` to ``w``
# -----------------------------
# ``y`` uses ``w`` directly and, through the clone ``v``, once more.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device)
w.requires_grad_()

v = w.clone()
y = x * w + v
y.backward()
print(f"{y = }")
print(f"{w.grad = }")
assert y.item() == 3 and w.grad.item() == 3

# %%
# The direct path brings 2, the value of ``x``, and the path through ``v``
# brings 1. Autograd adds what arrives: 2 + 1 · 1 = 3.
#
# The gradient of ``v`` was not kept
# ----------------------------------
# ``v`` is not a leaf. Its gradient was handed on to ``w`` and dropped, so you
# read None, with a warning.

grad, caught = read_grad(v)
print("v.grad =", grad)
print(caught[0].category.__name__)
print(str(caught[0].message).split(". ")[0])
assert grad is None and len(caught) == 1

# %%
# Ask for it before the backward pass
# -----------------------------------
# ``retain_grad`` marks the tensor. The next backward pass that reaches it
# leaves the gradient there as well, and reading it no longer warns. The picture
# at the top shows this state.

w.grad = None
v = w.clone()
v.retain_grad()
y = x * w + v
y.backward()
grad, caught = read_grad(v)
print(f"{v.retains_grad = }")
print("v.grad =", grad)
print("w.grad =", w.grad)
assert v.retains_grad and not caught
assert grad.item() == 1
assert w.grad.item() == x.item() + grad.item() == 3
# sphinx_gallery_tensor_map_lead = "w, v, y"

# %%
# Too late is not an error
# ------------------------
# Now the call comes after the backward pass. PyTorch says nothing.

v = w.clone()
(x * w + v).backward()
v.retain_grad()
grad, caught = read_grad(v)
print("v.grad =", grad)
print("warnings:", len(caught))
assert grad is None and not caught
# sphinx_gallery_predict = "What is ``v.grad``?"
# sphinx_gallery_predict_instead = "(x * w + v) -> v.retain_grad(); (x * w + v)"
# sphinx_gallery_predict_instead_2 = "v.retain_grad() ->"

# %%
# The gradient is gone, and now not even a warning tells you.

# %%
# The next backward pass brings one. (Clone saves no values, so ``v`` can be used
# once more.)

(x * w + v).backward()
print("v.grad =", v.grad)
assert v.grad.item() == 1

# %%
# On a leaf it does nothing, on a constant it fails
# -------------------------------------------------
# A leaf that requires grad has its ``grad`` filled anyway. A tensor that
# requires none has nothing to keep, and PyTorch says so.

w.retain_grad()
print(f"{w.retains_grad = }")
assert not w.retains_grad
try:
    x.retain_grad()
except RuntimeError as error:
    message = str(error)
    print("RuntimeError:", message)
assert "requires_grad=False" in message

# %%
# Remember
# --------
# - Gradients that reach a tensor by several paths are added.
# - ``retain_grad`` before ``backward`` keeps the gradient of a non-leaf.
# - None without a warning can mean that you called it too late.
