# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
``clone().detach()`` or ``detach().clone()``?
=============================================

You will see that both orders give the same independent copy, and that
``clone().detach()`` records a node of the autograd graph for nothing. Since
version 2.7 PyTorch's own documentation names ``detach().clone()``.
"""

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


def leaf(value):
    t = torch.tensor([value], device=device)
    return t.requires_grad_()


# %%
# One graph with the clone, one with the detached clone
# -----------------------------------------------------
# ``y`` is computed from ``v``, a clone of ``w``. ``u`` is computed from ``z``,
# which is ``v`` after :meth:`torch.Tensor.detach`.

x = torch.tensor([2.0], device=device)
w, b, t, c = leaf(4.0), leaf(3.0), leaf(7.0), leaf(9.0)

v = w.clone()
z = v.detach()
y = x * v + b
u = z * t + c
print("v", v)
print("z", z)
print("y", y)
print("u", u)
assert y.item() == 2 * 4 + 3 == 11
assert u.item() == 4 * 7 + 9 == 37
# sphinx_gallery_tensor_map = "w, b, t, c, v, z, y, u"

# %%
# Two backward passes
# -------------------
# ``y`` and ``u`` were both computed from ``w``: ``y`` by way of ``v``, and ``u``
# by way of ``v`` and ``z``.

y.backward()
u.backward()
print("w.grad", w.grad, " b.grad", b.grad)
print("t.grad", t.grad, " c.grad", c.grad)
print("x.grad", x.grad, " z.grad", z.grad)
assert w.grad.item() == 2 and b.grad.item() == 1
assert t.grad.item() == 4 and c.grad.item() == 1
assert x.grad is None and z.grad is None
# sphinx_gallery_predict = "What is ``w.grad``?"

# %%
# Only the first pass reaches ``w``: ``w.grad`` is 2, the value of ``x``. The
# second stops at ``z``. ``t.grad`` is 4, the value of ``z``.

# %%
# Nothing is shared with ``w`` either.

z[0] = 0.0
print("same storage", shares_memory(z, w))
print("w", w)
assert not shares_memory(z, w) and w.tolist() == [4.0]

# %%
# The extra node
# --------------
# Look between the two calls. :meth:`torch.Tensor.clone` of a tensor that
# requires grad records ``CloneBackward0``, and ``detach`` drops it again.
# In the other order ``clone`` sees a constant and records nothing.

step_1 = w.clone()
copy_1 = step_1.detach()
step_2 = w.detach()
copy_2 = step_2.clone()
print("clone, then detach")
print("  between:", type(step_1.grad_fn).__name__)
print("  result: ", copy_1)
print("detach, then clone")
print("  between:", step_2.grad_fn)
print("  result: ", copy_2)
assert type(step_1.grad_fn).__name__ == "CloneBackward0"
assert step_2.grad_fn is None
for copy in copy_1, copy_2:
    assert torch.equal(copy, w) and copy.is_leaf
    assert copy.grad_fn is None and not copy.requires_grad
    assert not shares_memory(copy, w)

# %%
# What the documentation names
# ----------------------------
# The text of :meth:`torch.Tensor.new_tensor` recommends an equivalent. Since
# PyTorch 2.7 that is ``detach().clone()``. Before, it was the other order.

doc = torch.Tensor.new_tensor.__doc__
for order in "x.detach().clone()", "x.clone().detach()":
    print(order, "in the text:", f"``{order}``" in doc)
since_2_7 = torch.__version__ >= "2.7"
assert ("``x.detach().clone()``" in doc) == since_2_7
assert ("``x.clone().detach()``" in doc) == (not since_2_7)

# %%
# Remember
# --------
# - Both orders give the same values, new memory and no graph.
# - ``clone().detach()`` records a node first, if ``w`` requires grad.
# - Write ``detach().clone()``.
#
# Next: :doc:`../2_numpy_and_devices/cpu_and_to`
