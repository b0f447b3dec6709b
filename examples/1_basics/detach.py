# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Take a tensor out of the graph: ``detach``
==========================================

:meth:`torch.Tensor.detach` copies nothing: it returns a second tensor on the
same memory, and autograd does not follow it.

You will see the graph end there, a write through one of the two tensors arrive
in the other, and which writes autograd notices.
"""

# sphinx_gallery_setup = True
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
w = torch.tensor([1.0], device=device)
b = torch.tensor([3.0], device=device)
w.requires_grad_()
b.requires_grad_()

y = x * w + b
y.backward()
print(f"{y = }")
print(f"{w.grad = }")
assert y.item() == 5 and w.grad.item() == 2

# %%
# What ``detach`` returns
# -----------------------
# The result has the values and the device of ``w``, but no ``grad_fn`` and
# ``requires_grad=False``. So it is a *leaf*: no recorded operation made it
# (:doc:`leaf_tensors`). As it does not require grad, it is a constant for autograd.

z = w.detach()
print(f"{z = }")
print(f"{z.requires_grad = }")
print(f"{z.grad_fn = }")
print(f"{z.is_leaf = }")
print(f"{z.grad = }")
assert z.tolist() == [1.0]
assert z.device == w.device
assert not z.requires_grad and z.grad_fn is None
assert z.is_leaf and z.grad is None
# sphinx_gallery_tensor_map_lead = "w, z"
# sphinx_gallery_tensor_map = "x, w, b, y, z"

# %%
# A new object, not new memory
# ----------------------------
# ``z is w`` is False, because ``detach`` makes a new Python object. That says nothing
# about memory. To ask about memory, compare the storages.

print(f"{z is w = }")
print(f"{shares_memory(z, w) = }")
assert z is not w
assert shares_memory(z, w)

# %%
# Write to one of the two
# -----------------------
# To autograd ``z`` is a constant, and ``w`` is not. The write names ``z`` alone.

z[0] = 2.0
print(f"{z = }")
print(f"{w = }")
assert w.tolist() == [2.0]
# sphinx_gallery_predict = "What does ``w`` hold now?"
# sphinx_gallery_predict_instead = "w.detach() -> w.detach().clone()"
# sphinx_gallery_predict_instead_2 = "w.detach() -> w raises"
# sphinx_gallery_tensor_map_change = "w, z"

# %%
# ``w`` holds 2 as well: the write went to the memory of both.
#
# Autograd notices the write
# --------------------------
# Both tensors share one *version counter*, which you can read as ``_version``
# (it is PyTorch's own: look at it, build nothing on it). A write such as
# ``z[0] = 2.0`` adds one.
#
# An operation that saves a tensor for the backward pass notes the count. If the count
# is another when the backward pass needs the tensor, PyTorch stops instead of
# computing a wrong gradient. Which operation saves what: :doc:`in_place_and_backward`.

print(f"{z._version = }, {w._version = }")
assert z._version == w._version == 1

loss = (w * w).sum()  # saves w for backward
z[0] = 7.0
try:
    loss.backward()
except RuntimeError as error:
    message = str(error).split(":")[0]
    print("RuntimeError:", message)
assert "modified by an inplace" in message

# %%
# A write that autograd does not notice
# -------------------------------------
# The counter misses some writes: through
# :doc:`NumPy <../2_numpy_and_devices/numpy_bridge>`, through ``.data``, and the
# step of an optimizer with ``fused=True`` (:ref:`silent-fused`). Here ``w`` changes
# twice, and the counter stays. The step subtracts ``lr`` times the gradient, which is
# still 2.

before = w._version
w.data[0] = 8.0
torch.optim.SGD([w], lr=0.5, fused=True).step()
print(f"{w = }")  # 8 - 0.5 * 2
print(f"{z = }")
print(f"{before = }, {w._version = }")
assert w.item() == z.item() == 7
assert w._version == before

# %%
# Remember
# --------
# - ``detach`` allocates nothing: a new object on the same storage.
# - The result is a constant for autograd, but its value follows the original.
# - If you are going to write to it, add ``.clone()``.
