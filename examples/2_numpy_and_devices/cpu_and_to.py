# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Move a tensor to the CPU: ``cpu`` and ``to``
============================================

:meth:`~torch.Tensor.cpu` copies a CUDA tensor, and gradients flow back through the
copy. For a CPU tensor it returns the tensor itself.
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
# On CUDA, ``same`` is a new tensor. On a CPU it *is* ``w``. :meth:`~torch.Tensor.to`
# follows the same rule. It copies if the device, the dtype or the memory format
# (``channels_last`` or not) has to change, or if you ask for a copy. To make a
# transposed matrix contiguous, call ``contiguous()``.

w = torch.ones(1, device=device, requires_grad=True)
same = w.cpu()
copied = w.to("cpu", copy=True)
image = torch.ones(1, 2, 2, 2)
turned = image.to(memory_format=torch.channels_last)
print(f"{same is w = }, {copied is w = }")
assert (same is w) == (device == "cpu")
assert w.to(w.device) is w.to(torch.float32) is w
assert w.to(torch.float64) is not w
assert turned is not image and copied is not w
assert copied.grad_fn.name() == "ToCopyBackward0"
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, same, copied"

# %%
# The gradient flows back to the other device
# -------------------------------------------
# ``y`` is computed on this lesson's device, but ``v`` is on the CPU, so we move ``y``
# to the CPU. On CUDA the copy is a node in the autograd graph. The backward pass copies
# the gradient back to the device of ``y``. (:doc:`retain_grad
# <../1_basics/retain_grad>` keeps the gradients of ``y`` and ``z``.)

v = torch.tensor([7.0], requires_grad=True)
y = w * 2
z = y.cpu()
y.retain_grad()
z.retain_grad()
(v * z).backward()
print(f"{z.grad = }, {y.grad = }")
assert y.grad.device == w.grad.device == w.device
assert z.grad.device == v.grad.device == v.device
assert z.grad.item() == y.grad.item() == 7
assert w.grad.item() == 14 and v.grad.item() == 2
# sphinx_gallery_tensor_map = "w, y, z, v"

# %%
# Assign the result of ``to``
# ---------------------------
# ``to`` doesn't change the tensor, so without an assignment it does nothing. A module's
# ``to`` (:meth:`torch.nn.Module.to`) does change the module (:doc:`what_moves`).
# Gradients flow back through a conversion. Integers can't require grad.

layer = torch.nn.Linear(1, 1, device=device)
w.to(torch.float64)  # unused
layer.to(torch.float64)
print(f"{w.dtype = }, {layer.weight.dtype = }")
assert w.dtype == torch.float32
assert layer.weight.dtype == torch.float64
assert w.to(torch.float64).requires_grad
assert not w.to(torch.int64).requires_grad

# %%
# Does a write to the result change the tensor?
# ---------------------------------------------
# On CUDA, ``same`` is a copy of ``w``. On a CPU it's ``w`` itself, a leaf that requires
# grad. ``copied`` has its own memory on either device.

try:
    same[0] = 7.0
except RuntimeError as error:
    print("RuntimeError:", error)
copied[0] = 7.0
print(w.item(), same.item(), copied.item())
assert w.item() == 1 and copied.item() == 7
assert same.item() == (1 if same is w else 7)

# %%
# .. predict:: On the CPU, what do ``w``, ``same`` and ``copied`` hold now?
#
#     - ``RuntimeError: a view of a leaf Variable that requires grad is…`` ``1.0 1.0
#       7.0``
#     - ``7.0 7.0 7.0`` with ``same = w.detach()``
#     - ``RuntimeError: a view of a leaf Variable that requires grad is…`` ``1.0 1.0
#       1.0`` with ``copied.clone()[0] = 7.0`` in the place of ``copied[0] = 7.0``
#
# On a CPU, ``same`` is a leaf and autograd raises. On CUDA, ``w`` doesn't change.
#
# Which operations may mix two devices?
# -------------------------------------
# An operation raises if its tensors are on two devices. The usual exceptions: a CPU
# tensor without dimensions may join an element-wise operation, ``copy_`` copies
# between devices, and a CPU index or mask works *in brackets*. Most functions need an
# index or a mask on the same device. ``FakeTensorMode`` (private, so it may change)
# makes CUDA tensors without data, and checks devices without a GPU.

with FakeTensorMode():
    g = torch.ones(2, 2, device="cuda")
    h, i = torch.ones(2), torch.arange(2)
calls = {
    "g + h.sum()": lambda: g + h.sum(),
    "h + g.sum()": lambda: h + g.sum(),
    "g.gather(0, i[None])": (  # an index
        lambda: g.gather(0, i[None])
    ),
    "g.index_select(0, i)": (  # an index
        lambda: g.index_select(0, i)
    ),
    "torch.where(i > 0, g, g)": (  # a mask
        lambda: torch.where(i > 0, g, g)
    ),
    "F.embedding(i, g)": (  # tokens
        lambda: F.embedding(i, g)
    ),
    "F.cross_entropy(g, i)": (  # targets
        lambda: F.cross_entropy(g, i)
    ),
}
rows, errors = [], []
for call, run in calls.items():
    row = {"g is on CUDA, h and i on the CPU": call}
    try:
        row["result"] = f"on {run().device.type}"
    except RuntimeError as error:
        row["result"] = "RuntimeError"
        errors.append(str(error))
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
assert rows[0]["result"] == "on cuda"
assert sum("cuda:0" in said for said in errors) == 6
assert torch.zeros(1).copy_(w).device.type == "cpu"
assert w.detach()[torch.tensor([0])].device == w.device
# sphinx_gallery_folded = "The code that tests them"

# %%
# Brackets work in one direction only. ``g[i]`` and ``g[mask]`` take an index on the
# CPU, but a CPU tensor only takes an index on CUDA if the index has no dimensions
# (`pytorch#69607 <https://github.com/pytorch/pytorch/pull/69607>`_). For the fix, see
# :ref:`devices-differ`.
#
# Remember
# --------
# - ``cpu`` and ``to`` copy only if something has to change, or with ``copy=True``.
# - Assign the result. If autograd records the copy, gradients flow back through it.
# - For a copy on the CPU from any device, use ``w.detach().to("cpu", copy=True)``.
