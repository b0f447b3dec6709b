# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Make an independent copy: ``detach().clone()``
==============================================

``w.detach().clone()`` copies ``w`` once, into new memory. The copy is outside the
graph, so no gradient flows back to ``w``.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach().clone()"
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# ``detach`` leaves the graph, ``clone`` copies
# ---------------------------------------------
# :meth:`torch.Tensor.detach` returns a tensor outside the graph that shares memory with
# ``w``. :meth:`torch.Tensor.clone` then copies. It copies a tensor that doesn't require
# grad, so the copy doesn't require grad either.

w = torch.tensor([1.0], device=device)
w.requires_grad_()

s = w.detach().clone()
print(f"{s = }")
print(f"{s.requires_grad = }, {s.is_leaf = }")
assert s.tolist() == [1.0]
assert s.is_leaf
assert not s.requires_grad
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, s, w copied to s"

# %%
# One copy, not two
# -----------------
# Look between the two calls. ``z`` still shares memory with ``w``. Only the result has
# new memory, with as many bytes as the tensor. ``shares_memory`` (defined in Setup)
# compares where two storages begin.

z = w.detach()
s = z.clone()
print(f"{shares_memory(z, w) = }")
print(f"{shares_memory(s, w) = }")
print(f"{s.untyped_storage().nbytes() = }")
assert shares_memory(z, w)
assert not shares_memory(s, w)
assert s.untyped_storage().nbytes() == 4

# %%
# What changes with the original, and what doesn't?
# -------------------------------------------------
# The next cell changes ``w`` in place, like an optimizer.

z = w.detach()
s = w.detach().clone()
with torch.no_grad():
    w.fill_(7.0)
print(f"{z = }, {s = }")
assert z.tolist() == [7.0]
assert s.tolist() == [1.0]
assert w._version == 1
assert z._version == 1
assert s._version == 0
# sphinx_gallery_tensor_map = "w, z, s"

# %%
# .. predict:: What are ``z`` and ``s``?
#
#     - ``z = tensor([7.]), s = tensor([1.])``
#     - ``z = tensor([7.]), s = tensor([7.])`` with ``s = w.detach()``
#     - ``z = tensor([1.]), s = tensor([1.])`` with ``z = w.detach().clone()``
#
# ``z`` doesn't require grad, but its values change with ``w``. ``s`` keeps its values.
# In the other direction, a write to ``s`` doesn't change ``w``.

s[0] = 5.0
print(f"{w = }")
assert w.tolist() == [7.0]
assert w._version == 1

# %%
# No gradient goes through the copy
# ---------------------------------
# In the lesson on :doc:`retain_grad <retain_grad>`, the sum ``x * w + w.clone()`` gives
# ``w`` a gradient of 2 + 1 = 3. With the independent ``s``, the gradient is only 2.

x = torch.tensor([2.0], device=device)
y = x * w + s
y.backward()
print(f"{w.grad = }, {s.grad = }")
assert w.grad.item() == 2
assert s.grad is None

# %%
# To train the copy, call ``requires_grad_()``
# --------------------------------------------
# After :meth:`torch.Tensor.requires_grad_`, the copy requires grad and is still a leaf.
# ``w.clone()`` also requires grad, but it isn't a leaf, and its gradient flows to
# ``w``.

c = w.detach().clone().requires_grad_()
loss = x * c
loss.backward()
print(f"{c.is_leaf = }, {w.clone().is_leaf = }")
print(f"{c.grad = }")
print(f"{w.grad = }")  # as before
assert c.is_leaf
assert not w.clone().is_leaf
assert c.grad.item() == 2
assert w.grad.item() == 2

# %%
# A module's ``parameters()`` only returns tensors of the class
# :class:`~torch.nn.parameter.Parameter`. ``named_parameters()`` tells their names.
# ``c`` isn't a Parameter, so no optimizer made from ``parameters()`` trains it.

module = torch.nn.Module()
module.c = c
module.p = torch.nn.Parameter(w.detach().clone())
names = [name for name, _ in module.named_parameters()]
print(f"{names = }")
assert names == ["p"]
assert not shares_memory(module.p, w)

# %%
# Remember
# --------
# - ``w.detach().clone()`` is independent: it has its own memory and no graph.
# - ``w.detach()`` alone changes with ``w`` whenever ``w`` is modified in place.
# - To train the copy, add ``.requires_grad_()``, or use ``nn.Parameter(...)`` in a
#   module.
