# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Make an independent copy: ``detach().clone()``
==============================================

``w.detach().clone()`` shares nothing with ``w``: no memory, no version
counter, no graph.

You will see that it makes exactly one copy, what stays when ``w`` changes, and
the one more call that turns the copy into one that you can train.
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
# Two steps, one copy
# -------------------
# :meth:`torch.Tensor.detach` leaves the graph and shares the memory of ``w``.
# :meth:`torch.Tensor.clone` then copies. What it copies is a constant for
# autograd, so the copy is one too.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device)
w.requires_grad_()

z = w.detach()
s = z.clone()
print(f"{z = }")
print(f"{s = }")
assert z.tolist() == s.tolist() == [1.0]
assert z.is_leaf and s.is_leaf
assert not z.requires_grad and not s.requires_grad
# sphinx_gallery_tensor_map = "w, z, s"
# sphinx_gallery_lead = True

# %%
# One copy, not two
# -----------------
# Three tensors are alive: ``w``, the step in between and the result. Only the
# result has new memory, as many bytes as the tensor has. (CUDA's allocator takes
# more from the GPU: it rounds up to 512 bytes.)

print(f"{shares_memory(z, w) = }")
print(f"{shares_memory(s, w) = }")
print(f"{s.untyped_storage().nbytes() = }")
assert shares_memory(z, w)
assert not shares_memory(s, w)
assert s.untyped_storage().nbytes() == 4
if device == "cuda":
    start = torch.cuda.memory_allocated()
    one_more = z.clone()
    taken = torch.cuda.memory_allocated() - start
    assert taken == 512

# %%
# When ``w`` changes
# ------------------
# An optimizer changes parameters in place, as here.

with torch.no_grad():
    w.fill_(7.0)
print(f"{w = }")
print(f"{z = }")
print(f"{s = }")
assert z.tolist() == [7.0] and s.tolist() == [1.0]
assert w._version == z._version == 1
assert s._version == 0
# sphinx_gallery_predict = "What do ``z`` and ``s`` hold?"
# sphinx_gallery_predict_instead = "s = z.clone() -> s = w.detach()"
# sphinx_gallery_predict_instead_2 = "w.detach() -> w.detach().clone()"
# sphinx_gallery_tensor_map_change = "w, z, s"

# %%
# ``z`` is constant for autograd only: its value follows ``w``. ``s`` keeps its
# value and has a version counter of its own.

# %%
# A write to ``s`` is not seen in ``w`` either.

s[0] = 5.0
print(f"{w = }")
assert w.tolist() == [7.0] and w._version == 1

# %%
# No gradient goes through the copy
# ---------------------------------
# In :doc:`retain_grad` the sum ``x * w + w.clone()`` gave ``w`` a gradient of
# 2 + 1 = 3. With the independent copy only the 2 is left.

y = x * w + s
y.backward()
print(f"{w.grad = }")
print(f"{s.grad = }")
assert w.grad.item() == 2 and s.grad is None

# %%
# A copy that you can train
# -------------------------
# :meth:`torch.Tensor.requires_grad_` makes the copy a leaf that requires
# grad. ``w.clone()`` would require grad too, but it is not a leaf, and its
# gradient would go to ``w``.

c = w.detach().clone().requires_grad_()
(x * c).backward()
print(f"{c.is_leaf = }, {w.clone().is_leaf = }")
print(f"{c.grad = }")
print(f"{w.grad = }")  # as before
assert c.is_leaf and not w.clone().is_leaf
assert c.grad.item() == 2 and w.grad.item() == 2

# %%
# A module counts it among its parameters only as a
# :class:`~torch.nn.parameter.Parameter`. ``c`` is none: no optimizer made from
# ``parameters()`` would train it.

module = torch.nn.Module()
module.c = c
module.p = torch.nn.Parameter(w.detach().clone())
print(list(module.state_dict()))
assert list(module.state_dict()) == ["p"]
assert not shares_memory(module.p, w)

# %%
# Remember
# --------
# - ``w.detach().clone()`` is independent: own memory, own version counter.
# - ``w.detach()`` alone follows ``w``, as long as ``w`` is written in place.
# - To train it: ``.requires_grad_()``, or ``nn.Parameter(...)`` in a module.
