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
    print(f"{name}.grad", t.grad)
    assert t.grad.device == t.device
grads = [t.grad.item() for t in tensors.values()]
assert grads == [14, 7, 7, 7, 5, 1]

# %%
# A copy, or the tensor itself
# ----------------------------
# On CUDA, ``z`` is a new tensor, and its node is ``ToCopyBackward0``. On a CPU
# nothing has to move: ``z`` *is* ``y``. ``to`` has the same rule. It copies if
# the device, the dtype or the layout has to change, or if you add ``copy=True``.

copied = w.to("cpu", copy=True)
image = torch.ones(1, 2, 2, 2)
turned = image.to(memory_format=torch.channels_last)
print("z is y", z is y, "| node:", z.grad_fn.name())
print("new dtype: ", w.to(torch.float64) is w)
print("new layout:", turned is image)
print("copy=True: ", copied is w, copied)
assert (z is y) == (w.to("cpu") is w) == (device == "cpu")
assert z is y or z.grad_fn.name() == "ToCopyBackward0"
assert w.to(w.device) is w.to(torch.float32) is w
assert w.to(torch.float64) is not w and copied is not w
assert copied.grad_fn.name() == "ToCopyBackward0"
assert turned is not image

# %%
# Take the result
# ---------------
# ``to`` changes no tensor: alone on a line it does nothing. A module's ``to``
# (:meth:`torch.nn.Module.to`) changes the module, and its parameters get new
# memory. The gradient goes back through a copy, but not from integers.

layer = torch.nn.Linear(1, 1, device=device)
alias = layer.weight.detach()
w.to(torch.float64)
layer.to(torch.float64)
print(w.dtype, layer.weight.dtype, alias.dtype)
assert w.dtype == alias.dtype == torch.float32
assert layer.weight.dtype == torch.float64
assert w.to(torch.float64).requires_grad
assert not w.to(torch.int64).requires_grad

# %%
# Write into the result
# ---------------------
# On CUDA, ``v`` is a copy of ``w``. On a CPU it is ``w`` itself, a leaf that
# requires grad. What ``copy=True`` made takes a write on either device.

v = w.cpu()
try:
    v[0] = 7.0
except RuntimeError as error:
    print("RuntimeError:", error)
copied[0] = 7.0
print("w", w.item(), "v", v.item(), "copied", copied.item())
assert w.item() == 1 and copied.item() == 7
assert v.item() == (1 if v is w else 7)
# sphinx_gallery_predict = "What does ``w`` hold now?"

# %%
# What a CUDA tensor does, seen without a GPU
# -------------------------------------------
# ``FakeTensorMode`` (private, so it may move) runs PyTorch's real dispatch on
# tensors without data. Two devices do not mix, but for three exceptions: in an
# element-wise operation a CPU tensor without dimensions may join, indices may be
# on the CPU, and ``copy_`` crosses.

with FakeTensorMode():
    g, h = torch.ones(1, device="cuda"), torch.ones(1)
    same, joined = g.cpu() is g, g + h.sum()
    try:
        h + g.sum()
    except RuntimeError as error:
        message = str(error)
print("g.cpu() is g", same, "| sum on", joined.device)
print("RuntimeError:", message)
assert not same and joined.device == g.device
assert "cuda:0" in message and "cpu" in message
assert w.detach()[torch.tensor([0])].device == w.device
assert torch.zeros(1).copy_(w).device.type == "cpu"

# %%
# Remember
# --------
# - ``cpu`` and ``to`` copy if something has to change, or with ``copy=True``.
# - A copy that autograd records sends the gradient back. Take the result.
# - A copy on the CPU, from every device: ``w.detach().to("cpu", copy=True)``.
#
# Next: :doc:`numpy_bridge`
