# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Copy a tensor and stay in the graph: ``clone``
==============================================

:meth:`torch.Tensor.clone` copies the values into new memory. If the original requires
grad and grad mode is on, gradients flow through the copy to the original.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.clone()"
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# If ``w`` requires grad, its clone isn't a leaf
# ----------------------------------------------
# In grad mode, ``v`` requires grad because ``w`` does. It has a ``grad_fn``, so it
# isn't a leaf.

w = torch.tensor([1.0], device=device)
w.requires_grad_()

v = w.clone()
print(f"{v = }")
print(f"{v.requires_grad = }, {v.is_leaf = }")
assert v.grad_fn.name() == "CloneBackward0"
assert v.requires_grad
assert not v.is_leaf
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, v"

# %%
# The gradient goes back to the original
# --------------------------------------
# ``y`` is computed from ``v``, not from ``w``. From ``v``, the gradient flows back to
# ``w`` through one node, ``CloneBackward0``, which doesn't change it.

x = torch.tensor([2.0], device=device)
b = torch.tensor([3.0], device=device)
b.requires_grad_()
y = x * v + b
y.backward()
print(f"{y = }")
print(f"{w.grad = }, {b.grad = }")
assert y.item() == 5
assert w.grad.item() == 2
assert b.grad.item() == 1
# sphinx_gallery_tensor_map = "x, w, b, v, y"
# sphinx_gallery_tensor_map_graph = True

# %%
# New memory: a write to the clone stays in the clone
# ---------------------------------------------------
# ``shares_memory`` compares the storages. They differ, and each tensor has its own
# *version counter*, which in-place operations increment.

v[0] = 7.0
print(f"{shares_memory(v, w) = }")
print(f"{v = }, {w = }")
print(f"{v._version = }, {w._version = }")
assert not shares_memory(v, w)
assert v.tolist() == [7.0]
assert w.tolist() == [1.0]
assert v._version == 1
assert w._version == 0

# %%
# Autograd records a write to the clone
# -------------------------------------
# ``v`` now prints ``CopySlices``, because autograd recorded the write to a part of the
# clone. Now clone three elements, replace one, and multiply all of them by 10.

p = torch.ones(3, device=device, requires_grad=True)
q = p.clone()
q[0] = 7.0
loss = (q * 10).sum()
loss.backward()
print(f"{p.grad = }")
assert "CopySlices" in q.grad_fn.name()
assert p.grad.tolist() == [0.0, 10.0, 10.0]

# %%
# .. predict:: What is ``p.grad``?
#
#     - ``p.grad = tensor([ 0., 10., 10.])``
#     - ``p.grad = tensor([10., 10., 10.])`` with ``loss = (p * 10).sum()``
#     - ``RuntimeError: a view of a leaf Variable that requires grad is being used in an
#       in-place operation.`` with ``q = p``
#
# The 7 wasn't computed from ``p``, so the gradient of ``p[0]`` is 0.
#
# When the clone has no graph
# ---------------------------
# If a tensor doesn't require grad, its clone doesn't either. Under
# :class:`torch.no_grad`, no clone requires grad. Both clones here are leaves, and
# they still have their own memory.

of_data = x.clone()
with torch.no_grad():
    unrecorded = w.clone()
print(f"{of_data.requires_grad = }")
print(f"{unrecorded.requires_grad = }")
assert not of_data.requires_grad
assert of_data.is_leaf
assert not shares_memory(of_data, x)
assert not unrecorded.requires_grad
assert unrecorded.is_leaf
assert not shares_memory(unrecorded, w)

# %%
# Remember
# --------
# - ``clone`` copies into new memory, so a write to the clone never changes the
#   original.
# - Gradients flow back through the clone if autograd recorded it.
# - If you overwrite an element of the clone with a number in grad mode, a later loss
#   sends no gradient back through that element.
