# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Move a tensor to the CPU: ``cpu`` and ``to``
============================================

You will see that :meth:`torch.Tensor.cpu` copies a CUDA tensor, and that the
gradient flows back through the copy. A tensor that is on the CPU already is not
copied: you get the same object. :meth:`torch.Tensor.to` follows the same rule.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# One graph on two devices
# ------------------------
# ``y = 2 * 1 + 3`` is computed on the lesson's device. ``v`` and ``c`` are on
# the CPU, so ``y`` has to move there before ``f = 7 * 5 + 4``.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device, requires_grad=True)
b = torch.tensor([3.0], device=device, requires_grad=True)
v = torch.tensor([7.0], requires_grad=True)
c = torch.tensor([4.0], requires_grad=True)

y = x * w + b
y.retain_grad()
z = y.cpu()
z.retain_grad()
f = v * z + c
print("y", y)
print("f", f)
assert f.item() == 39 and f.device.type == "cpu"
# sphinx_gallery_tensor_map = "x, w, b, y, z, v, c, f"

# %%
# The gradient crosses back
# -------------------------
# On CUDA the copy is a node in the autograd graph. The backward pass copies the
# gradient to where ``y`` lives. Each gradient is on its tensor's device.

f.backward()
tensors = {"w": w, "b": b, "y": y, "z": z, "v": v, "c": c}
for name, t in tensors.items():
    value, where = t.grad.item(), t.grad.device
    print(f"{name}.grad {value:2.0f} on {where}")
    assert where == t.device
grads = [t.grad.item() for t in tensors.values()]
assert grads == [14, 7, 7, 7, 5, 1]

# %%
# A copy, or the tensor itself
# ----------------------------
# On CUDA, ``z`` is a new tensor, and its node is ``ToCopyBackward0``. On a CPU
# nothing has to move: ``z`` *is* ``y``. ``to`` has the same rule for device and
# dtype: it copies if one of them differs, or if you add ``copy=True``.

copied = w.to("cpu", copy=True)
print("z is y", z is y, "| node:", z.grad_fn.name())
print("same device:", w.to(w.device) is w)
print("new dtype:  ", w.to(torch.float64) is w)
print("copy=True:  ", copied is w, copied)
assert (z is y) == (device == "cpu")
assert z is y or z.grad_fn.name() == "ToCopyBackward0"
assert (w.to("cpu") is w) == (w.cpu() is w) == (z is y)
assert w.to(w.device) is w.to(torch.float32) is w
assert w.to(torch.float64) is not w and copied is not w
assert copied.grad_fn.name() == "ToCopyBackward0"

# %%
# Write into the result
# ---------------------
# On CUDA, ``v`` is a copy of ``w``. On a CPU it is ``w`` itself, a leaf that
# requires grad. The copy made with ``copy=True`` takes a write on either
# device.

v = w.cpu()
try:
    v[0] = 7.0
except RuntimeError as error:
    print("RuntimeError:", error)
copied[0] = 7.0
for name, t in {"w": w, "v": v, "copied": copied}.items():
    print(name, t)
assert w.item() == 1 and copied.item() == 7
assert v.item() == (1 if v is w else 7)
# sphinx_gallery_predict = "What does ``w`` hold now?"

# %%
# What a CUDA tensor does, seen without a GPU
# -------------------------------------------
# ``FakeTensorMode`` (private, so it may move) runs PyTorch's real dispatch on
# tensors without data. Two devices do not mix, unless one tensor is on the CPU
# and has no dimensions.

with FakeTensorMode():
    g = torch.ones(1, device="cuda")
    same, mixed = g.cpu() is g, g + torch.tensor(1.0)
    try:
        g + torch.ones(1)
    except RuntimeError as error:
        message = str(error)
print("g.cpu() is g", same)
print("RuntimeError:", message)
print("0-dim CPU tensor: result on", mixed.device)
assert not same and mixed.device == g.device
assert "cuda:0" in message and "cpu" in message

# %%
# Remember
# --------
# - ``cpu`` and ``to`` copy only if the device or the dtype has to change.
# - The copy of a tensor that requires grad sends the gradient back.
# - An independent copy on every device: ``w.detach().to("cpu", copy=True)``.
#
# Next: :doc:`numpy_bridge`
