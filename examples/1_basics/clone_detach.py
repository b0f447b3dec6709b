# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
``clone().detach()`` or ``detach().clone()``?
=============================================

Both orders give the same independent copy, but ``detach().clone()`` doesn't record an
unused node in the autograd graph.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.clone().detach()"
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# With ``clone`` first, autograd records an unused node
# -----------------------------------------------------
# ``z`` is ``w.clone().detach()``, in two steps. ``w`` requires grad, so autograd
# records a node for its clone ``v``, ``CloneBackward0``. ``z`` doesn't use that node.
# ``s`` is made in the other order. There, ``clone`` gets a tensor that doesn't require
# grad, so autograd doesn't record it.

w = torch.tensor([4.0], device=device)
w.requires_grad_()

v = w.clone()
z = v.detach()
s = w.detach().clone()
print("v.grad_fn is", v.grad_fn.name())
print(f"{z = }, {s = }")
assert v.grad_fn.name() == "CloneBackward0"
assert w.detach().grad_fn is None
assert z.tolist() == [4.0]
assert s.tolist() == [4.0]
assert z.is_leaf
assert s.is_leaf
assert not z.requires_grad
assert not s.requires_grad
assert not shares_memory(z, w)
assert not shares_memory(s, w)
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, v, z, s, w copied to s"

# %%
# Under ``no_grad``, ``clone`` doesn't record a node.

with torch.no_grad():
    quiet = w.clone()
print(f"{quiet.grad_fn = }")
assert quiet.grad_fn is None

# %%
# Which backward pass reaches ``w``?
# ----------------------------------
# Compute ``y`` from the clone ``v``, and ``u`` from the detached ``z``. The values of
# both depend on ``w``.

x = torch.tensor([2.0], device=device)
b = torch.tensor([3.0], device=device)
t = torch.tensor([7.0], device=device)
c = torch.tensor([9.0], device=device)
b.requires_grad_()
t.requires_grad_()
c.requires_grad_()

y = x * v + b
u = z * t + c
y.backward()
u.backward()
print(f"{y = }")
print(f"{u = }")
print(f"{w.grad = }")
print(f"{b.grad = }")
print(f"{t.grad = }, {c.grad = }")
assert y.item() == 2 * 4 + 3
assert u.item() == 4 * 7 + 9
assert w.grad.item() == 2
assert b.grad.item() == 1
assert t.grad.item() == 4
assert c.grad.item() == 1
assert x.grad is None
assert z.grad is None
# sphinx_gallery_tensor_map = "w, v, z, t, y, u"
# sphinx_gallery_tensor_map_graph = True

# %%
# .. predict:: What is ``w.grad``?
#
#     - ``w.grad = tensor([2.])``
#     - ``w.grad = tensor([9.])`` with ``u = v * t + c``
#     - ``w.grad = None`` with ``y = x * z + b``
#
# Only the first pass reaches ``w``, and ``w.grad`` is 2, the value of ``x``. The second
# pass stops at ``z`` and reaches only ``t`` and ``c``.
#
# ``z`` shares memory with ``v`` but not with ``w``. A write to ``z`` doesn't change
# ``w``.

z[0] = 0.0
print(f"{v = }, {w = }")
assert shares_memory(z, v)
assert v.tolist() == [0.0]
assert w.tolist() == [4.0]

# %%
# PyTorch's docs recommend ``detach().clone()`` since 2.7
# -------------------------------------------------------
# :meth:`torch.Tensor.new_tensor` also copies, but its documentation recommends another
# call. Since PyTorch 2.7 that call is ``detach().clone()``. Before 2.7 it was
# ``clone().detach()``.

text = torch.Tensor.new_tensor.__doc__
new = "``x.detach().clone()``" in text
old = "``x.clone().detach()``" in text
print("detach().clone() in the text:", new)
print("clone().detach() in the text:", old)
assert new == (torch.__version__ >= (2, 7))
assert old == (torch.__version__ < (2, 7))
# sphinx_gallery_folded = "The code that looks it up"

# %%
# Remember
# --------
# - Both orders give the same values in new memory, without a graph.
# - ``clone().detach()`` records an unused node, if ``w`` requires grad and grad mode
#   is on.
# - Write ``detach().clone()``.
