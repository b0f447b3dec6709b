# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Share memory with NumPy: ``numpy`` and ``from_numpy``
=====================================================

Without ``force=True``, :meth:`~torch.Tensor.numpy` shares the tensor's memory and
doesn't copy. Autograd doesn't notice what NumPy writes, so a gradient can be wrong.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach().numpy()"
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The array and the tensor share memory
# -------------------------------------
# NumPy works in CPU memory, so ``x`` is on the CPU here. We write to the array ``z``,
# and ``x`` changes with it.

x = torch.tensor([2.0])
z = x.numpy()
z[0] = 7.0
print(f"{x = }, {z = }")
assert x.item() == 7
assert z.item() == 7
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, z"

# %%
# To get an array with its own memory, copy it with NumPy's ``copy()``.

own = x.numpy().copy()
own[0] = 5.0
print(f"{x = }, {own = }")
assert x.item() == 7
assert own.item() == 5

# %%
# Autograd doesn't notice a write by NumPy
# ----------------------------------------
# The gradient of ``(w * w).sum()`` is ``2 * w``, which is 2 for ones. NumPy writes a 3
# into ``w`` before the backward pass. If PyTorch writes the 3, with
# ``w.detach().fill_(3.0)``, the *version counter* ``w._version`` becomes 1, and
# ``backward()`` raises (:doc:`../1_basics/detach`).

w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()  # saves w for backward
array = w.detach().numpy()
array[:] = 3.0
loss.backward()
print(f"{w._version = }, {w.grad = }")
assert w._version == 0
assert w.grad.tolist() == [6, 6, 6]

# %%
# .. predict:: What is ``w.grad``?
#
#     - ``w._version = 0, w.grad = tensor([6., 6., 6.])``
#     - ``RuntimeError: one of the variables needed for gradient computation has been
#       modified by an inplace operation…`` with ``w.detach().fill_(3.0)`` in the place
#       of ``array[:] = 3.0``
#     - ``w._version = 0, w.grad = tensor([2., 2., 2.])`` with ``array =
#       w.detach().numpy().copy()``
#
# The version counter stays at 0, so autograd uses 3 as the saved value. The gradient is
# 2 * 3. The correct gradient is 2, but PyTorch doesn't raise.
#
# In grad mode ``numpy()`` raises if the tensor requires grad
# -----------------------------------------------------------
# ``w.numpy()`` without ``detach`` raises. That protects you from the wrong gradient
# above, but only while grad mode is on. Under :class:`torch.no_grad` you get an array
# that shares the memory of ``w``.

try:
    w.numpy()
except RuntimeError as error:
    message = str(error)
    print("RuntimeError:", message)
with torch.no_grad():
    array = w.numpy()
array[0] = 99.0
print(f"{w = }")
assert "numpy() on Tensor that requires grad" in message
assert w.tolist() == [99, 3, 3]

# %%
# ``numpy()`` raises if the tensor isn't on the CPU
# -------------------------------------------------
# ``g`` is on CUDA. Without a GPU it's on the ``meta`` device, which has shapes but no
# data, and the same check raises. ``g`` also requires grad. The error about the device
# comes first. :doc:`numpy_force` has other tensors that raise.

elsewhere = "cuda" if device == "cuda" else "meta"
g = torch.ones(3, device=elsewhere)
g.requires_grad_()
try:
    g.numpy()
except TypeError as error:
    message = str(error)
    print("TypeError:", message)
assert f"convert {g.device} device type" in message

# %%
# ``force=True``: a copy or an alias
# ----------------------------------
# ``numpy(force=True)`` detaches the tensor and moves it to the CPU if it isn't there.
# From CUDA, the array is a copy. On a CPU nothing has to move, so the array shares the
# memory of ``p`` (it's an *alias*). :doc:`numpy_force` lists the exceptions. Here we
# write 7 to the array.

p = torch.tensor([2.0], device=device)
p.requires_grad_()
array = p.numpy(force=True)
array[0] = 7.0
print(f"{p = }")
assert p.item() == (7 if device == "cpu" else 2)

# %%
# ``from_numpy`` shares the array's memory, ``torch.tensor`` copies
# -----------------------------------------------------------------
# :func:`torch.from_numpy` also shares the memory. :func:`torch.tensor` copies. Both
# keep NumPy's dtype, which is float64 here.

array = np.zeros(2)
shared = torch.from_numpy(array)
copied = torch.tensor(array)
shared[0] = 5.0
print(f"{array = }, {copied = }")
assert array.tolist() == [5, 0]
assert shared.tolist() == [5, 0]
assert copied.tolist() == [0, 0]
assert shared.dtype == torch.float64
assert copied.dtype == torch.float64
# sphinx_gallery_tensor_map = "array, shared, copied"

# %%
# ``array += 1`` writes to the shared memory, so ``shared`` changes.
# ``array = array + 1`` makes a new array and gives it the old name, so ``shared`` keeps
# its values.

array += 1
array = array + 1
print(f"{array = }, {shared = }")
assert shared.tolist() == [6, 1]
assert array.tolist() == [7, 2]

# %%
# Remember
# --------
# - ``numpy`` and ``from_numpy`` share memory, so a write changes both. To prevent that,
#   copy first.
# - A write by NumPy can make a gradient wrong without an error.
# - ``force=True`` copies from CUDA. On a CPU the array usually shares the memory.
