# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Move a tensor to the CPU: ``cpu`` and ``to``
============================================

:meth:`torch.Tensor.cpu` copies a CUDA tensor, and gradients flow back through
the copy; of a tensor on the CPU it returns the tensor itself.

You will see both, the same rule in :meth:`torch.Tensor.to`, and the argument
that makes a copy on every device.
"""

# sphinx_gallery_setup = True
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
w = torch.tensor([1.0], device=device)
b = torch.tensor([3.0], device=device)
v, c = torch.tensor([7.0]), torch.tensor([4.0])
for parameter in w, b, v, c:
    parameter.requires_grad_()

y = x * w + b
z = y.cpu()
f = v * z + c
y.retain_grad()
z.retain_grad()
print(f"{y = }")
print(f"{f = }")
assert f.item() == 39 and f.device.type == "cpu"
# sphinx_gallery_tensor_map = "w, y, z, v, f"

# %%
# The gradient crosses back
# -------------------------
# On CUDA the copy is a node in the autograd graph. The backward pass copies the
# gradient to where ``y`` lives. Each gradient is on its tensor's device. (``y``
# and ``z`` keep theirs: :doc:`../1_basics/retain_grad`.)

f.backward()
print(f"{z.grad = }")
print(f"{y.grad = }")
for t in w, b, y, z, v, c:
    assert t.grad.device == t.device
assert z.grad.item() == y.grad.item() == 7
assert w.grad.item() == 14 and b.grad.item() == 7

# %%
# A copy, or the tensor itself
# ----------------------------
# On CUDA, ``w.to("cpu")`` is a new tensor. On a CPU it *is* ``w``: ``to`` copies if
# the device, the dtype or the layout has to change, or with ``copy=True``.

same = w.to("cpu")
copied = w.to("cpu", copy=True)
image = torch.ones(1, 2, 2, 2)
turned = image.to(memory_format=torch.channels_last)
print(f"{same is w = }")
print(f"{w.to(torch.float64) is w = }")
print(f"{copied = }")
assert (same is w) == (device == "cpu")
assert w.to(w.device) is w.to(torch.float32) is w
assert w.to(torch.float64) is not w
assert turned is not image and copied is not w
assert copied.grad_fn.name() == "ToCopyBackward0"
# sphinx_gallery_tensor_map_lead = "w, same, copied"

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
print(f"{layer.weight.dtype = }, {alias.dtype = }")
assert w.dtype == alias.dtype == torch.float32
assert layer.weight.dtype == torch.float64
assert w.to(torch.float64).requires_grad
assert not w.to(torch.int64).requires_grad

# %%
# Write into the result
# ---------------------
# On CUDA, ``same`` is a copy of ``w``. On a CPU it is ``w`` itself, a leaf that
# requires grad. What ``copy=True`` made takes a write on either device.

try:
    same[0] = 7.0
except RuntimeError as error:
    print("RuntimeError:", error)
copied[0] = 7.0
print(w.item(), same.item(), copied.item())
assert w.item() == 1 and copied.item() == 7
assert same.item() == (1 if same is w else 7)
# sphinx_gallery_predict = "What do ``w`` and ``same`` hold now?"
# sphinx_gallery_predict_instead = 'same = w.to("cpu") -> same = w.detach()'
# sphinx_gallery_predict_instead_2 = "copied[0] = 7.0 -> copied.clone()[0] = 7.0"

# %%
# On a CPU autograd refuses the write into a leaf. On CUDA it lands in the copy.

# %%
# What a CUDA tensor does, seen without a GPU
# -------------------------------------------
# ``FakeTensorMode`` (private, so it may move) runs PyTorch's real dispatch on
# tensors without data. Two devices do not mix, with three exceptions: in an
# element-wise operation a CPU tensor without dimensions may join, indices may be
# on the CPU, and ``copy_`` crosses.

with FakeTensorMode():
    g, h = torch.ones(1, device="cuda"), torch.ones(1)
    moved, joined = g.cpu(), g + h.sum()
    try:
        h + g.sum()
    except RuntimeError as error:
        message = str(error)
print(f"{moved is g = }, {joined.device = }")
print("RuntimeError:", message)
assert moved is not g and joined.device == g.device
assert "cuda:0" in message and "cpu" in message
assert w.detach()[torch.tensor([0])].device == w.device
assert torch.zeros(1).copy_(w).device.type == "cpu"

# %%
# Remember
# --------
# - ``cpu`` and ``to`` copy if something has to change, or with ``copy=True``.
# - A copy that autograd records sends the gradient back. Take the result.
# - A copy on the CPU, from every device: ``w.detach().to("cpu", copy=True)``.
