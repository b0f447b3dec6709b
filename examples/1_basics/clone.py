# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Copy the values and stay in the graph: ``clone``
================================================

:meth:`torch.Tensor.clone` allocates new memory, and the copy still sends its
gradient to the original.

You will see both, and when the second does not hold: a clone sends a gradient
only if autograd records it, with grad mode on and an original that requires
grad.
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
# A copy with a history
# ---------------------
# ``v`` requires grad because ``w`` does. It has a ``grad_fn``, so it is
# not a leaf.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device)
b = torch.tensor([3.0], device=device)
w.requires_grad_()
b.requires_grad_()

v = w.clone()
print(f"{v = }")
print(f"{v.requires_grad = }")
print(f"{v.is_leaf = }")
assert v.grad_fn.name() == "CloneBackward0"
assert v.requires_grad and not v.is_leaf
# sphinx_gallery_tensor_map_lead = "w, v"

# %%
# The gradient goes back to the original
# --------------------------------------
# ``y`` is computed from ``v``, not from ``w``. The gradient passes through one
# node, ``CloneBackward0``, which hands it on unchanged.

y = x * v + b
y.backward()
print(f"{y = }")
print(f"{w.grad = }")
print(f"{b.grad = }")
assert y.item() == 5
assert w.grad.item() == 2 and b.grad.item() == 1

source, _ = v.grad_fn.next_functions[0]
print(f"{source.variable is w = }")
assert source.variable is w
# sphinx_gallery_tensor_map = "x, w, b, v, y"
# sphinx_gallery_tensor_map_graph = True

# %%
# New memory: a write to the clone stays in the clone
# ---------------------------------------------------
# The storages differ, and each tensor counts its own writes.

print(f"{shares_memory(v, w) = }")
v[0] = 7.0
print(f"{v = }")
print(f"{w = }")
print(f"{v._version = }, {w._version = }")
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
print(f"{type(q.grad_fn).__name__ = }")
print(f"{p.grad = }")
assert type(q.grad_fn).__name__ == "CopySlices"
assert p.grad.tolist() == [0.0, 10.0, 10.0]
# sphinx_gallery_predict = "What is ``p.grad``?"
# sphinx_gallery_predict_instead = "(q * 10) -> (p * 10)"
# sphinx_gallery_predict_instead_2 = "p.clone() -> p raises"

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
print(f"{of_constant.requires_grad = }")
print(f"{unrecorded.requires_grad = }")
print(f"{shares_memory(of_constant, x) = }")
print(f"{shares_memory(unrecorded, w) = }")
for copy in of_constant, unrecorded:
    assert not copy.requires_grad and copy.is_leaf
    assert copy.grad_fn is None
assert not shares_memory(of_constant, x)
assert not shares_memory(unrecorded, w)

# %%
# Remember
# --------
# - ``clone`` allocates memory: no write goes from the copy to the original.
# - Gradients flow back through it if autograd records it.
# - An element that you overwrite in the clone sends no gradient back.
