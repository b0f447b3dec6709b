# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Move a tensor to the CPU: ``cpu`` and ``to``
============================================

:meth:`~torch.Tensor.cpu` copies a CUDA tensor, and gradients flow back through the copy
if autograd records it. For a CPU tensor, ``cpu`` returns the tensor itself.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.cpu()"
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# When do ``cpu`` and ``to`` copy?
# --------------------------------
# On CUDA, ``on_cpu`` is a new tensor. On a CPU it *is* ``w``. :meth:`~torch.Tensor.to`
# follows the same rule. It copies if the device, the dtype or the memory format
# (``channels_last`` or not) has to change, or if you ask for a copy.

w = torch.ones(1, device=device, requires_grad=True)
on_cpu = w.cpu()
copied = w.to("cpu", copy=True)
print(f"{on_cpu is w = }, {copied is w = }")
assert copied.grad_fn.name() == "ToCopyBackward0"
assert w.to(w.device) is w
assert w.to(torch.float32) is w
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, on_cpu, copied"

# %%
# The gradient flows back to the other device
# -------------------------------------------
# ``y`` is computed on this lesson's device, but ``v`` and ``c`` are on the CPU, so we
# move ``y`` to the CPU. On CUDA the copy is a node in the autograd graph. The backward
# pass copies the gradient back to the device of ``y``. (:doc:`retain_grad
# <../1_basics/retain_grad>` keeps the gradients of ``y`` and ``z``.)

x = torch.tensor([2.0], device=device)
b = torch.tensor([3.0], device=device)
b.requires_grad_()
v = torch.tensor([7.0], requires_grad=True)
c = torch.tensor([4.0], requires_grad=True)
y = x * w + b
y.retain_grad()
z = y.cpu()
z.retain_grad()
f = v * z + c
f.backward()
print(f"{f.item() = }")
print(f"{w.grad = }, {b.grad = }")
print(f"{y.grad = }, {z.grad = }")
print(f"{v.grad = }, {c.grad = }")
assert w.grad.device == w.device
assert y.grad.device == w.device
assert z.grad.device == v.device
assert w.grad.item() == 14
# sphinx_gallery_tensor_map = "w, y, z, v"

# %%
# Assign the result of ``to``
# ---------------------------
# ``to`` doesn't change the tensor, so without an assignment it does nothing. A module's
# ``to`` (:meth:`torch.nn.Module.to`) does change the module (:doc:`what_moves`).
# ``w64`` requires grad, because ``w`` does. Integers can't require grad.

layer = torch.nn.Linear(1, 1, device=device)
w.to(torch.float64)  # unused
w64 = w.to(torch.float64)
layer.to(torch.float64)
print(f"{w.dtype = }, {w64.dtype = }")
print(f"{layer.weight.dtype = }")
assert w.dtype == torch.float32
assert layer.weight.dtype == torch.float64
assert w64.requires_grad
assert not w.to(torch.int64).requires_grad

# %%
# Does a write to the result change the tensor?
# ---------------------------------------------
# On CUDA, ``on_cpu`` is a copy of ``w``. On a CPU it's ``w`` itself, a leaf that
# requires grad. ``copied`` has its own memory on either device.

try:
    on_cpu[0] = 7.0
except RuntimeError as error:
    print("RuntimeError:", error)
copied[0] = 7.0
print(f"{w.item() = }, {on_cpu.item() = }")
print(f"{copied.item() = }")
assert w.item() == 1
assert copied.item() == 7
assert (on_cpu is w) == (device == "cpu")
assert on_cpu.item() == (1 if on_cpu is w else 7)

# %%
# .. predict:: On the CPU, what do ``w``, ``on_cpu`` and ``copied`` hold now?
#
#     - ``RuntimeError: a view of a leaf Variable that requires grad is…`` ``w.item() =
#       1.0, on_cpu.item() = 1.0`` ``copied.item() = 7.0``
#     - ``w.item() = 7.0, on_cpu.item() = 7.0`` ``copied.item() = 7.0`` with ``on_cpu =
#       w.detach()``
#     - ``RuntimeError: a view of a leaf Variable that requires grad is…`` ``w.item() =
#       1.0, on_cpu.item() = 1.0`` ``copied.item() = 1.0`` with ``copied.clone()[0] =
#       7.0`` in the place of ``copied[0] = 7.0``
#
# On a CPU ``on_cpu`` is a leaf and autograd raises in grad mode. On CUDA ``w`` stays 1.
#
# Which operations may mix two devices?
# -------------------------------------
# An operation raises if its tensors are on two devices. The usual exceptions: a CPU
# tensor without dimensions may join an element-wise operation, ``copy_`` copies
# between devices, and a CPU index or mask works *in brackets*. Most functions need an
# index or a mask on the same device. ``FakeTensorMode`` (private, so it may change)
# makes CUDA tensors without data. It checks these calls, but not brackets.

with FakeTensorMode():
    g = torch.ones(2, 2, device="cuda")
    h, i = torch.ones(2), torch.arange(2)
labels = [
    "g + h.sum()",
    "h + g.sum()",
    "g.gather(0, i[None])",
    "g.index_select(0, i)",
    "torch.where(i > 0, g, g)",
    "F.embedding(i, g)",
    "F.cross_entropy(g, i)",
]
calls = [
    lambda: g + h.sum(),
    lambda: h + g.sum(),
    lambda: g.gather(0, i[None]),
    lambda: g.index_select(0, i),
    lambda: torch.where(i > 0, g, g),
    lambda: F.embedding(i, g),
    lambda: F.cross_entropy(g, i),
]
results = {}
print("g is on CUDA, h and i on the CPU | result")
for label, call in zip(labels, calls, strict=True):
    try:
        results[label] = f"on {call().device.type}"
    except RuntimeError as error:
        results[label] = "RuntimeError"
        assert "cuda:0" in str(error)
    print(f"{label} | {results[label]}")
assert results["g + h.sum()"] == "on cuda"
for label in labels[1:]:
    assert results[label] == "RuntimeError"
assert torch.zeros(1).copy_(w).is_cpu
assert w.detach()[torch.tensor([0])].device == w.device
image = torch.ones(1, 2, 2, 2)
last = torch.channels_last
assert image.to(memory_format=last) is not image
# sphinx_gallery_folded = "The code that tests them"

# %%
# In brackets, a CUDA tensor takes an index or a mask on the CPU. A CPU tensor takes an
# index on CUDA only if the index has no dimensions (`pytorch#69607
# <https://github.com/pytorch/pytorch/pull/69607>`_). The fix: :ref:`devices-differ`.
#
# Remember
# --------
# - Without ``copy=True``, ``cpu`` and ``to`` copy only if something has to change.
# - Assign the result. If autograd records the copy, gradients flow back through it.
# - For a copy on the CPU from CPU or GPU, use ``w.to("cpu", copy=True)``.
