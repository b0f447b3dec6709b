# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Make an independent copy: ``detach().clone()``
==============================================

You will see that ``w.detach().clone()`` shares nothing with ``w``: no memory,
no version counter, no graph. It makes exactly one copy. One more call turns
it into a copy that you can train.
"""

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def storage(t):
    return t.untyped_storage().data_ptr()


# %%
# Two steps, one copy
# -------------------
# :meth:`torch.Tensor.detach` leaves the graph and shares the memory of ``w``.
# :meth:`torch.Tensor.clone` then copies. What it copies is a constant for
# autograd, so the copy is one too.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device, requires_grad=True)

z = w.detach()
s = z.clone()
for name, t in ("z", z), ("s", s):
    print(name, t)
    print("  grad         ", t.grad)
    print("  requires_grad", t.requires_grad)
    print("  is_leaf      ", t.is_leaf)
    assert t.tolist() == [1.0] and t.grad is None
    assert not t.requires_grad and t.is_leaf
    assert t.grad_fn is None

# %%
# Count the storages
# ------------------
# Three tensors, all alive: ``w``, the step in between and the result. They
# stand on two storages, so one was allocated. It is as large as the tensor. (On
# CUDA the allocator takes more from its memory: it rounds up to 512 bytes.)

storages = {storage(t) for t in (w, z, s)}
print("storages:  ", len(storages))
print("bytes of w:", w.nbytes)
print("bytes of s:", s.untyped_storage().nbytes())
assert storage(z) == storage(w) and len(storages) == 2
assert s.untyped_storage().nbytes() == w.nbytes == 4
if device == "cuda":
    start = torch.cuda.memory_allocated()
    one_more = z.clone()
    taken = torch.cuda.memory_allocated() - start
    print(f"{device} takes:", taken)
    assert taken == 512
# sphinx_gallery_tensor_map = "w, z, s"

# %%
# When ``w`` changes
# ------------------
# An optimizer changes parameters in place, as here.

with torch.no_grad():
    w.fill_(7.0)
print("w", w)
print("z", z)
print("s", s)
print("versions", w._version, z._version, s._version)
assert z.tolist() == [7.0] and s.tolist() == [1.0]
assert w._version == z._version == 1
assert s._version == 0
# sphinx_gallery_predict = "What do ``z`` and ``s`` hold?"
# sphinx_gallery_tensor_map_change = "w, z, s"

# %%
# ``z`` is constant for autograd only: its value follows ``w``. ``s`` keeps its
# value and has a version counter of its own.

# %%
# It works in the other direction as well: a write to ``s`` is not seen in
# ``w``.

s[0] = 5.0
print("w", w, "| s", s)
assert w.tolist() == [7.0] and w._version == 1

# %%
# No gradient goes through the copy
# ---------------------------------
# In :doc:`retain_grad` the sum ``x * w + w.clone()`` gave ``w`` a gradient of
# 2 + 1 = 3. With the independent copy only the 2 is left.

y = x * w + s
y.backward()
print("w.grad", w.grad, "| s.grad", s.grad)
assert w.grad.item() == 2 and s.grad is None

# %%
# A copy that you can train
# -------------------------
# :meth:`torch.Tensor.requires_grad_` makes the copy a leaf that requires
# grad. ``w.clone()`` would require grad too, but it is not a leaf, and its
# gradient would go to ``w``.

c = w.detach().clone().requires_grad_()
(x * c).backward()
print("c.is_leaf", c.is_leaf, "| clone:", w.clone().is_leaf)
print("c.grad   ", c.grad)
print("w.grad   ", w.grad, "as before")
assert c.is_leaf and not w.clone().is_leaf
assert c.grad.item() == 2 and w.grad.item() == 2

# %%
# A module counts it among its parameters only as a
# :class:`~torch.nn.parameter.Parameter`: ``c`` is none, and no optimizer made
# from ``parameters()`` would train it.

module = torch.nn.Module()
module.c = c
module.p = torch.nn.Parameter(w.detach().clone())
names = [name for name, _ in module.named_parameters()]
print("parameters:", names)
assert names == ["p"] and storage(module.p) != storage(w)

# %%
# Remember
# --------
# - ``w.detach().clone()`` is independent: own memory, own version counter.
# - ``w.detach()`` alone follows ``w``, as long as ``w`` is written in place.
# - To train it: ``.requires_grad_()``, or ``nn.Parameter(...)`` in a module.
#
# Next: :doc:`clone_detach`
