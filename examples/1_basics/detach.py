# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Take a tensor out of the graph: ``detach``
==========================================

You will see that :meth:`torch.Tensor.detach` copies nothing. It returns a
second tensor object on the same memory, and autograd does not follow it. A
write through one of the two is a write to both.
"""

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# A small graph to cut
# --------------------
# The numbers are small enough to follow in your head: ``y = 2 * 1 + 3``. After
# the backward pass the gradient of ``w`` is 2, the value of ``x``.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device, requires_grad=True)
b = torch.tensor([3.0], device=device, requires_grad=True)

y = x * w + b
y.backward()
print("y     ", y)
print("w.grad", w.grad)
assert y.item() == 5 and w.grad.item() == 2

# %%
# What ``detach`` returns
# -----------------------
# The result has the values and the device of ``w``, but no ``grad_fn`` and
# ``requires_grad=False``. That makes it a *leaf*, a constant for autograd.

z = w.detach()
print("z              ", z)
print("z.requires_grad", z.requires_grad)
print("z.grad_fn      ", z.grad_fn)
print("z.is_leaf      ", z.is_leaf)
print("z.grad         ", z.grad)
assert z.tolist() == [1.0] and z.device == w.device
assert not z.requires_grad and z.grad_fn is None
assert z.is_leaf and z.grad is None
# sphinx_gallery_tensor_map = "x, w, b, y, z"

# %%
# A new object, not new memory
# ----------------------------
# ``z is w`` is False, because ``detach`` makes a new Python object. It says
# nothing about memory. To ask about memory, compare the storages.

print("z is w            ", z is w)
print("same storage      ", shares_memory(z, w))
assert z is not w
assert shares_memory(z, w)

# %%
# Write to one of the two
# -----------------------
# ``z`` is a constant, ``w`` a parameter. The write goes to ``z`` alone.

z[0] = 2.0
print("z", z)
print("w", w)
assert w.tolist() == [2.0]
# sphinx_gallery_predict = "What does ``w`` hold now?"
# sphinx_gallery_tensor_map_change = "w, z"

# %%
# Autograd notices the write
# --------------------------
# Both tensors share one *version counter*. A write such as ``z[0] = 2.0`` adds
# one to it. When a later backward pass needs a value that was saved before the
# write, the counters differ and PyTorch stops instead of computing a wrong
# gradient.

print("versions", z._version, w._version)
assert z._version == w._version == 1

loss = (w * w).sum()  # saves w for its backward pass
z[0] = 7.0
try:
    loss.backward()
except RuntimeError as error:
    message = str(error).split(":")[0]
    print("RuntimeError:", message)
assert "modified by an inplace operation" in message

# %%
# A write that autograd does not notice
# -------------------------------------
# The counter misses some writes: through NumPy (:doc:`numpy_bridge
# <../2_numpy_and_devices/numpy_bridge>`), through ``.data``, and the step of an
# optimizer with ``fused=True``. Here ``w`` changes, and both counters stay.

before = w._version
w.data[0] = 8.0
torch.optim.SGD([w], lr=0.5, fused=True).step()  # -0.5 * 2
print("w", w, "z", z)
print("versions", before, "before,", w._version, "after")
assert w.item() == z.item() == 7 and w._version == before

# %%
# Remember
# --------
# - ``detach`` allocates nothing: a new object on the same storage.
# - The result is a constant for autograd, but its value follows the original.
# - If you are going to write to it, add ``.clone()``.
#
# Next: :doc:`clone`
