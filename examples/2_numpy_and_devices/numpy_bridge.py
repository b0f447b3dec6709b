# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Share memory with NumPy: ``numpy`` and ``from_numpy``
=====================================================

:meth:`torch.Tensor.numpy` copies nothing: the array and the tensor are one
memory, and autograd does not see what NumPy writes there.

You will see a gradient go wrong that way, the kinds of tensor that ``numpy``
refuses, and the way back from an array to a tensor.
"""

# sphinx_gallery_setup = True
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# One memory, two libraries
# -------------------------
# NumPy works in the memory of the CPU, so ``x`` is there on every machine. The write
# goes to the array, ``z``.

x = torch.tensor([2.0])
z = x.numpy()
z[0] = 7.0
print(f"{z = }")
print(f"{x = }")
assert x.item() == z.item() == 7
# sphinx_gallery_tensor_map_lead = "x, z"

# %%
# A write before the backward pass
# --------------------------------
# The gradient of ``(w * w).sum()`` is ``2 * w``, which is 2 for ones. NumPy
# writes a 3 before the backward pass. Had PyTorch written it, with
# ``w.detach().fill_(3.0)``, the backward pass would stop with an error: it compares
# version counters (:doc:`../1_basics/detach`).

w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()  # saves w for backward
w.detach().numpy()[:] = 3.0
loss.backward()
print(f"{w._version = }")
print(f"{w.grad = }")
assert w._version == 0
assert w.grad.tolist() == [6, 6, 6]
# sphinx_gallery_predict = "What is ``w.grad``?"
# sphinx_gallery_predict_instead = "numpy() -> numpy().copy()"
# sphinx_gallery_predict_instead_2 = "numpy()[:] = 3.0 -> fill_(3.0) raises"

# %%
# The counter stays at 0. Autograd takes the 3 for the value that it saved: the
# gradient is 2 * 3, where 2 is right, and there is no error.
#
# Refused: a tensor that requires grad
# ------------------------------------
# ``w.numpy()``, without ``detach``, is refused. That protects you from the silent
# mistake, but only while grad mode is on: under :class:`torch.no_grad` the array
# shares the memory of ``w``.

try:
    w.numpy()
except RuntimeError as error:
    message = str(error)
print("RuntimeError:", message)
assert message == (
    "Can't call numpy() on Tensor that requires grad."
    " Use tensor.detach().numpy() instead."
)
with torch.no_grad():
    w.numpy()[0] = 99.0
print(f"{w = }")
assert w.tolist() == [99, 3, 3]

# %%
# Refused: a tensor that is not on the CPU
# ----------------------------------------
# ``g`` is on CUDA. Without a GPU it is on the ``meta`` device, which has shapes but no
# data, and the same check refuses it. ``g`` requires grad as well. Both errors apply,
# and the one about the device comes first.

elsewhere = "cuda" if device == "cuda" else "meta"
g = torch.ones(3, device=elsewhere).requires_grad_()
try:
    g.numpy()
except TypeError as error:
    message = str(error)
print("TypeError:", message)
assert message == (
    f"can't convert {g.device} device type tensor to"
    " numpy. Use Tensor.cpu() to copy the tensor to"
    " host memory first."
)

# %%
# ``force=True``: a copy or an alias
# ----------------------------------
# ``numpy(force=True)`` detaches and moves the tensor as needed. From CUDA the array is
# a copy. On a CPU nothing has to move: the array shares the memory of ``p``, so it is
# an *alias* of it. Here 7 is written to the array.

p = torch.tensor([2.0], device=device)
p.requires_grad_()
p.numpy(force=True)[0] = 7.0
print(f"{p = }")
assert p.item() == (7 if device == "cpu" else 2)

# %%
# The way back
# ------------
# :func:`torch.from_numpy` shares too, :func:`torch.tensor` copies. Both keep NumPy's
# dtype, which is float64 here.

array = np.zeros(2)
shared = torch.from_numpy(array)
copied = torch.tensor(array)
shared[0] = 5.0
print(f"{array = }")
print(f"{shared = }")
print(f"{copied = }")
assert array.tolist() == shared.tolist() == [5, 0]
assert copied.tolist() == [0, 0]
assert shared.dtype == copied.dtype == torch.float64
# sphinx_gallery_tensor_map = "array, shared, copied"

# %%
# Remember
# --------
# - ``numpy`` and ``from_numpy`` share memory. To write, copy first.
# - A write through NumPy can make a gradient wrong without an error.
# - ``force=True`` copies from CUDA, and gives you an alias on a CPU.
