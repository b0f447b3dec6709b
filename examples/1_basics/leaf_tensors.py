# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Which tensors get a gradient? Leaf tensors
==========================================

``backward()`` stores gradients in *leaf tensors* that require grad. A leaf is a
tensor that no recorded operation computed, such as a weight that you create.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# ``backward()`` stores gradients in leaves that require grad
# -----------------------------------------------------------
# ``x`` is data. We train ``w`` and ``b``, so they require grad. That's why autograd
# records how ``y`` is computed. :meth:`torch.Tensor.backward` then stores the
# gradients of ``w`` and ``b``. ``x`` doesn't require grad, so its gradient stays None.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device)
b = torch.tensor([3.0], device=device)
w.requires_grad_()
b.requires_grad_()

y = x * w + b
y.backward()
print(f"{y = }")
print(f"{w.grad = }, {b.grad = }, {x.grad = }")
assert y.item() == 5
assert w.grad.item() == 2
assert b.grad.item() == 1
assert x.grad is None
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, w, b, y"

# %%
# ``y`` isn't a leaf. Its gradient flows on to ``w`` and ``b`` and isn't kept. To keep
# it, see :doc:`retain_grad`.

print(f"{y.retains_grad = }")
assert not y.retains_grad

# %%
# The next backward pass adds to the gradients of the leaves that it reaches. This one
# doesn't reach ``b``, so ``b.grad`` stays 1. See also :doc:`where_a_graph_ends`.

loss = x * w
loss.backward()
print(f"{w.grad = }, {b.grad = }")
assert w.grad.item() == 2 + 2
assert b.grad.item() == 1

# %%
# What makes a tensor a leaf?
# ---------------------------
# :attr:`torch.Tensor.is_leaf` is True if a tensor has no ``grad_fn``, that is, no
# recorded operation computed it. You created ``x``, ``w`` and ``b``, so they don't have
# a ``grad_fn``. ``y`` has one.

print(f"{x.is_leaf = }, {x.grad_fn = }")
print(f"{w.is_leaf = }, {w.grad_fn = }")
print(f"{b.is_leaf = }, {b.grad_fn = }")
print(f"{y.is_leaf = }, {y.grad_fn.name() = }")
assert x.is_leaf
assert w.is_leaf
assert b.is_leaf
assert not y.is_leaf

# %%
# Now compute a tensor from ``x`` only, which doesn't require grad.

q = x * x + 1
print(f"{q.is_leaf = }, {q.requires_grad = }")
assert q.is_leaf
assert not q.requires_grad

# %%
# .. predict:: Is ``q`` a leaf, and does it require grad?
#
#     - ``q.is_leaf = True, q.requires_grad = False``
#     - ``q.is_leaf = False, q.requires_grad = True`` with ``q = x * w + 1``
#     - ``q.is_leaf = True, q.requires_grad = True`` with ``q = (x * x +
#       1).requires_grad_()``
#
# The result is a leaf, like ``x``. Autograd only records an operation if one of its
# inputs requires grad.
#
# Follow the graph back to its leaves
# -----------------------------------
# ``grad_fn`` is the node of the operation that computed a tensor. ``print`` shows the
# node's name. ``y`` is the sum of a product and ``b``, so assign the product to a
# variable to see both nodes.

product = x * w
y = product + b
print(f"{product = }")
print(f"{y = }")
assert product.grad_fn.name() == "MulBackward0"
assert y.grad_fn.name() == "AddBackward0"
# sphinx_gallery_tensor_map = "x, w, b, product, y"
# sphinx_gallery_tensor_map_graph = True

# %%
# A backward pass goes from ``y`` to ``product`` and ``b``, and from ``product`` to
# ``w``. It doesn't go to ``x``, because ``x`` doesn't need a gradient. To follow a
# graph in code, use :attr:`~torch.autograd.graph.Node.next_functions`
# (:doc:`where_a_graph_ends`).
#
# Remember
# --------
# - ``backward()`` adds to the ``grad`` of leaves that require grad, if it reaches them.
# - A leaf has no ``grad_fn``, because no recorded operation computed it.
# - A tensor that doesn't require grad is also a leaf, but its ``grad`` stays None.
