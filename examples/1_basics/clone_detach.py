# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
``clone().detach()`` or ``detach().clone()``?
=============================================

Both orders give the same independent copy; ``detach().clone()`` does it
without recording a node of the autograd graph for nothing.

You will see the node that the other order records, and which of the two
PyTorch's own documentation names.
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
# One graph with the clone, one with the detached clone
# -----------------------------------------------------
# ``y`` is computed from ``v``, a clone of ``w``. ``u`` is computed from ``z``, which
# is ``v`` after :meth:`torch.Tensor.detach`: ``w.clone().detach()`` in two steps.

x = torch.tensor([2.0], device=device)
w = torch.tensor([4.0], device=device)
b = torch.tensor([3.0], device=device)
t = torch.tensor([7.0], device=device)
c = torch.tensor([9.0], device=device)
for parameter in w, b, t, c:
    parameter.requires_grad_()

v = w.clone()
z = v.detach()
y = x * v + b
u = z * t + c
print(f"{v = }")
print(f"{z = }")
print(f"{y = }")
print(f"{u = }")
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
print(f"{w.grad = }")
print(f"{t.grad = }")
assert w.grad.item() == 2 and b.grad.item() == 1
assert t.grad.item() == 4 and c.grad.item() == 1
assert x.grad is None and z.grad is None
# sphinx_gallery_predict = "What is ``w.grad``?"
# sphinx_gallery_predict_instead = "z = v.detach() -> z = v"
# sphinx_gallery_predict_instead_2 = "w.clone() -> w.detach()"

# %%
# Only the first pass reaches ``w``: ``w.grad`` is 2, the value of ``x``. The
# second stops at ``z``. ``t.grad`` is 4, the value of ``z``.
#
# ``z`` shares memory with ``v``, and none with ``w``. A write to it leaves ``w`` alone.

z[0] = 0.0
print(f"{shares_memory(z, w) = }")
print(f"{w = }")
assert not shares_memory(z, w)
assert w.tolist() == [4.0]

# %%
# The extra node
# --------------
# Look between the two calls. :meth:`torch.Tensor.clone` of a tensor that requires
# grad records a node, ``CloneBackward0``, and the result of ``detach`` is without it.
# In the other order ``clone`` sees a constant and records nothing.

step_1 = w.clone()
copy_1 = step_1.detach()
step_2 = w.detach()
copy_2 = step_2.clone()
print(f"{step_1.grad_fn.name() = }")
print(f"{step_2.grad_fn = }")
print(f"{copy_1 = }")
print(f"{copy_2 = }")
assert step_1.grad_fn.name() == "CloneBackward0"
assert step_2.grad_fn is None
for copy in copy_1, copy_2:
    assert torch.equal(copy, w) and copy.is_leaf
    assert copy.grad_fn is None
    assert not copy.requires_grad
    assert not shares_memory(copy, w)
# sphinx_gallery_tensor_map_lead = "w, step_1, copy_1, step_2, copy_2"

# %%
# What the documentation names
# ----------------------------
# The text of :meth:`torch.Tensor.new_tensor`, which copies as well, says which calls
# do the same and recommends them. Since PyTorch 2.7 it names ``detach().clone()``,
# before it named the other order.

text = torch.Tensor.new_tensor.__doc__
new = "``x.detach().clone()``" in text
old = "``x.clone().detach()``" in text
print("detach().clone() in the text:", new)
print("clone().detach() in the text:", old)
# Not compared as text: 2.13 is after 2.7.
since_2_7 = torch.__version__ >= "2.7"
assert new == since_2_7
assert old == (not since_2_7)

# %%
# Remember
# --------
# - Both orders give the same values, new memory and no graph.
# - ``clone().detach()`` records a node first, if ``w`` requires grad (and grad mode
#   is on).
# - Write ``detach().clone()``.
