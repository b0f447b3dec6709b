# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Take a tensor out of the graph: ``detach``
==========================================

:meth:`torch.Tensor.detach` doesn't copy. It returns a new tensor that shares
the memory, and no gradient flows back through it.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach()"
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# What ``detach`` returns
# -----------------------
# ``w`` requires grad. ``z`` has the same values on the same device, but no ``grad_fn``
# and ``requires_grad=False``. So ``z`` is a *leaf tensor*, which means that no recorded
# operation computed it (:doc:`leaf_tensors`).

w = torch.tensor([1.0], device=device)
w.requires_grad_()

z = w.detach()
print(f"{z = }, {z.is_leaf = }")
print(f"{z.requires_grad = }, {z.grad_fn = }")
assert z.tolist() == [1.0]
assert z.device == w.device
assert z.is_leaf
assert not z.requires_grad
assert z.grad_fn is None
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, z"

# %%
# A new object, not new memory
# ----------------------------
# ``z is w`` is False, because ``detach`` makes a new Python object. That says nothing
# about memory. ``shares_memory`` compares the storages.

print(f"{z is w = }, {shares_memory(z, w) = }")
assert z is not w
assert shares_memory(z, w)

# %%
# The gradient stops at the detached tensor
# -----------------------------------------
# ``y`` uses ``w`` twice, directly and through ``z``. Autograd only follows the direct
# use. So the gradient of ``w`` is 2, the value of ``x``.

x = torch.tensor([2.0], device=device)
y = x * w + z
y.backward()
print(f"{y = }")
print(f"{w.grad = }, {z.grad = }")
assert y.item() == 2 * 1 + 1
assert w.grad.item() == 2
assert z.grad is None
# sphinx_gallery_tensor_map = "x, w, z, y"
# sphinx_gallery_tensor_map_graph = True

# %%
# Does a write to one tensor change the other?
# --------------------------------------------
# Detach ``w`` again, as ``d``. Autograd tracks ``w`` but not ``d``. You modify only
# ``d``, in place.

d = w.detach()
d[0] = 2.0
print(f"{w = }")
assert w.tolist() == [2.0]
# sphinx_gallery_tensor_map = "w, d"

# %%
# .. predict:: What is ``w`` now?
#
#     - ``w = tensor([2.], requires_grad=True)``
#     - ``RuntimeError: a view of a leaf Variable that requires grad is being used in an
#       in-place operation.`` with ``d = w``
#     - ``w = tensor([1.], requires_grad=True)`` with ``d = w.detach().clone()``
#
# ``w`` is also 2, because both tensors share the memory that you wrote to.
#
# Autograd notices the write
# --------------------------
# Both tensors share one *version counter*, which you can read as ``_version``. (It's
# private. Look at it, but don't rely on it.) An in-place write such as
# ``d[0] = 2.0`` increments it.
#
# An operation that saves a tensor for the backward pass also saves its version. If
# the version counter has changed when ``backward()`` needs the tensor, PyTorch raises
# instead of computing a wrong gradient. For a table of what each operation needs, see
# :doc:`in_place_and_backward`.

loss = (w * w).sum()  # saves w for backward
saved_at = w._version
d[0] = 7.0
print(f"{saved_at = }, now {w._version = }")
try:
    loss.backward()
except RuntimeError as error:
    message = str(error).split(":")[0]
    print("RuntimeError:", message)
assert saved_at == 1
assert w._version == 2
assert d._version == 2
assert "modified by an inplace" in message

# %%
# A write that autograd does not notice
# -------------------------------------
# Some writes don't increment the version counter. Examples are writes through
# :doc:`NumPy <../2_numpy_and_devices/numpy_bridge>` or ``.data``, and the step of an
# optimizer with ``fused=True`` (:ref:`silent-fused`). If such a write changes a saved
# tensor, ``backward()`` doesn't raise, and the gradient is wrong. Here it should be 14,
# because ``w`` is 7 in ``loss``. The optimizer subtracts ``lr`` times the gradient.

before = w._version
optimizer = torch.optim.SGD([w], lr=0.25, fused=True)
optimizer.zero_grad()
loss = (w * w).sum()  # saves w, which is 7
w.data[0] = 9.0
loss.backward()
print(f"{w.grad = }")  # 2 * 9, not 2 * 7
optimizer.step()
print(f"{w = }")  # 9 - 0.25 * 18
print(f"{before = }, {w._version = }")
assert w.grad.item() == 18
assert w.item() == 4.5
assert d.item() == 4.5
assert w._version == before

# %%
# Add ``.clone()`` to modify the result
# -------------------------------------
# ``s`` has its own memory, so ``w`` keeps its value. See :doc:`detach_clone`.

s = w.detach().clone()
s[0] = 5.0
print(f"{w = }, {s = }")
assert w.item() == 4.5
assert s.item() == 5
assert not shares_memory(s, w)

# %%
# Remember
# --------
# - ``detach`` makes a new tensor object that shares the storage. It doesn't copy.
# - The result doesn't require grad. An in-place write to it or to the original changes
#   both.
# - Add ``.clone()`` to modify the result without changing the original.
