# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Copy the values and stay in the graph: ``clone``
================================================

You will see that :meth:`torch.Tensor.clone` allocates new memory, and that the
copy still sends its gradient to the original. It does so only when autograd
records it: grad mode is on and the original requires grad.
"""

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# A copy with a history
# ---------------------
# ``v`` requires grad because ``w`` does. It has a ``grad_fn``, so it is
# not a leaf.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device, requires_grad=True)
b = torch.tensor([3.0], device=device, requires_grad=True)

v = w.clone()
print("v              ", v)
print("v.grad_fn      ", type(v.grad_fn).__name__)
print("v.requires_grad", v.requires_grad)
print("v.is_leaf      ", v.is_leaf)
assert type(v.grad_fn).__name__ == "CloneBackward0"
assert v.requires_grad and not v.is_leaf

# %%
# The gradient goes back to the original
# --------------------------------------
# ``y`` is computed from ``v``, not from ``w``. The gradient passes through one
# node, ``CloneBackward0``, which hands it on unchanged.

y = x * v + b
y.backward()
print("y     ", y)
print("w.grad", w.grad)
print("b.grad", b.grad)
assert y.item() == 5
assert w.grad.item() == 2 and b.grad.item() == 1

source, _ = v.grad_fn.next_functions[0]
print("CloneBackward0 leads to w:", source.variable is w)
assert source.variable is w
# sphinx_gallery_tensor_map = "x, w, b, v, y"

# %%
# New memory: a write to the clone stays in the clone
# ---------------------------------------------------
# The storages differ, and each tensor has its own version counter.

print("same storage", shares_memory(v, w))
v[0] = 7.0
print("v", v)
print("w", w)
print("versions", v._version, w._version)
assert not shares_memory(v, w)
assert v.tolist() == [7.0] and w.tolist() == [1.0]
assert v._version == 1 and w._version == 0

# %%
# The write is part of the graph
# ------------------------------
# ``v`` now prints ``CopySlices``: autograd recorded that part of the clone was
# replaced. Now take three elements, replace one, and multiply all of ``q`` by
# 10.

p = torch.ones(3, device=device, requires_grad=True)
q = p.clone()
q[0] = 7.0
(q * 10).sum().backward()
print("q.grad_fn", type(q.grad_fn).__name__)
print("p.grad   ", p.grad)
assert type(q.grad_fn).__name__ == "CopySlices"
assert p.grad.tolist() == [0.0, 10.0, 10.0]
# sphinx_gallery_predict = "What is ``p.grad``?"

# %%
# The 7 does not come from ``p``. So no gradient goes from it to ``p[0]``.
#
# When the clone has no graph
# ---------------------------
# The clone of a constant is a constant, and under :class:`torch.no_grad` every
# clone is one. Both are leaves. The memory is new all the same.

of_constant = x.clone()
with torch.no_grad():
    unrecorded = w.clone()
for source, copy in (x, of_constant), (w, unrecorded):
    print("requires_grad", copy.requires_grad)
    print("  grad_fn    ", copy.grad_fn)
    print("  is_leaf    ", copy.is_leaf)
    print("  same memory", shares_memory(copy, source))
    assert not copy.requires_grad and copy.is_leaf
    assert copy.grad_fn is None
    assert not shares_memory(copy, source)

# %%
# Remember
# --------
# - ``clone`` allocates memory: no write goes from the copy to the original.
# - Gradients flow back through it if autograd records it.
# - An element that you overwrite in the clone sends no gradient back.
#
# Next: :doc:`retain_grad`
