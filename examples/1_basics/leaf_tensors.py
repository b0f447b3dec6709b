# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Which tensors get a gradient? Leaf tensors
==========================================

``backward()`` stores gradients in *leaf tensors* that require grad. These are the ones
you created, not results computed from them.
"""

# sphinx_gallery_setup = True
import warnings

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def kind(node):
    """Return the name of a node of the graph."""
    return type(node).__name__.removesuffix("Type")


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
print(f"{w.grad = }, {b.grad = }, {x.grad = }")
assert y.item() == 5
assert w.grad.item() == 2 and b.grad.item() == 1
assert x.grad is None
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, w, b, y"

# %%
# ``y`` isn't a leaf. Its gradient flows on to ``w`` and ``b`` and isn't kept. If you
# read ``y.grad``, you get None and a warning. To keep it, see :doc:`retain_grad`.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    gradients = [t.grad for t in (x, w, b, y)]
said = str(caught[0].message).split(". ")[0]
print("y.grad =", gradients[-1])
print(f"{caught[0].category.__name__}: {said}")
assert gradients[-1] is None
assert len(caught) == 1  # for y only; x is a leaf
assert "is not a leaf Tensor" in said

# %%
# The next backward pass adds to the gradients of the leaves that it reaches. This one
# doesn't reach ``b``, so ``b.grad`` stays 1. See also :doc:`where_a_graph_ends`.

(x * w).backward()
print(f"{w.grad = }, {b.grad = }")
assert w.grad.item() == 2 + 2
assert b.grad.item() == 1

# %%
# What makes a tensor a leaf?
# ---------------------------
# :attr:`torch.Tensor.is_leaf` is True if a tensor has no ``grad_fn``, that is, no
# recorded operation computed it. ``w`` and ``b`` don't have a ``grad_fn``, because you
# created them. ``y`` has one. Now compute a tensor from ``x`` only, which doesn't
# require grad.

q = x * x + 1
print(f"{q.is_leaf = }, {q.requires_grad = }")
assert q.is_leaf and not q.requires_grad
assert w.is_leaf and b.is_leaf and not y.is_leaf
assert x.is_leaf and x.grad_fn is None

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
# ``grad_fn`` is the node of the operation that computed a tensor. Its
# :attr:`~torch.autograd.graph.Node.next_functions` are the nodes that get the
# gradients next, one for each input.

todo = [(y.grad_fn, "")]
while todo:
    node, indent = todo.pop()
    print(indent + kind(node))
    if node is not None:
        for to, _ in reversed(node.next_functions):
            todo.append((to, indent + "    "))
# sphinx_gallery_tensor_map = "x, w, b, y"
# sphinx_gallery_tensor_map_graph = True

# %%
# ``y`` is the sum of a product and ``b``. The inputs of the product are ``x`` and
# ``w``. The output has None for ``x``, because ``x`` doesn't need a gradient.
# ``AccumulateGrad`` is the node of a leaf, and adds to the leaf's ``grad``.

mul, to_b = (to for to, _ in y.grad_fn.next_functions)
to_x, to_w = (to for to, _ in mul.next_functions)
print(f"{kind(to_w) = }, {to_x = }")
print(f"{to_w.variable is w = }")
print(f"{to_b.variable is b = }")
assert to_x is None
assert to_w.variable is w and to_b.variable is b

# %%
# Remember
# --------
# - ``backward()`` adds to ``grad`` of the leaves it reaches that require grad.
# - A leaf has no ``grad_fn``. You created it, or it doesn't require grad.
# - A tensor that doesn't require grad is also a leaf, but its ``grad`` stays None.
