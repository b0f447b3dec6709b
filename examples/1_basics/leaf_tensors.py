# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
See which tensors get a gradient: leaf tensors
==============================================

You will see which tensors of a small graph end up with a gradient and which
with None. The graph itself tells: you will walk it node by node, from the
result back to the *leaf tensors*.
"""

import warnings

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def kind(node):
    return "None" if node is None else type(node).__name__


# %%
# One constant, two parameters, one result
# ----------------------------------------
# ``x`` is data. ``w`` and ``b`` are to be trained, so they are made with
# ``requires_grad=True``. Because of them, autograd records how ``y`` is made.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device, requires_grad=True)
b = torch.tensor([3.0], device=device, requires_grad=True)

y = x * w + b
print("y", y)
assert y.item() == 5
# sphinx_gallery_tensor_map = "x, w, b, y"

# %%
# Which of them are leaf tensors?
# -------------------------------
# Before you read the output: is the constant ``x`` a leaf?

named = {"x": x, "w": w, "b": b, "y": y}
for name, t in named.items():
    print(name, "requires_grad", t.requires_grad)
    print("  is_leaf", t.is_leaf)
    print("  grad_fn", kind(t.grad_fn))
    assert t.requires_grad == (name != "x")
    assert t.is_leaf == (name != "y")
    assert t.is_leaf == (t.grad_fn is None)

# %%
# Why ``x`` is a leaf
# -------------------
# :attr:`torch.Tensor.is_leaf` is True when there is no ``grad_fn``, that is,
# no recorded operation behind the tensor. ``w`` and ``b`` have none because
# you made them. ``x`` has none because it does not require grad: even
# what is computed from constants alone is a leaf.

q = x * x + 1
print("q.is_leaf", q.is_leaf)
assert q.is_leaf and not q.requires_grad

# %%
# Walk the graph
# --------------
# ``grad_fn`` is the node of the operation that made a tensor. Its
# :attr:`~torch.autograd.graph.Node.next_functions` are the nodes to which it
# hands gradients, one for each input.

todo = [(y.grad_fn, "")]
while todo:
    node, indent = todo.pop()
    print(indent + kind(node))
    if node is not None:
        for to, _ in reversed(node.next_functions):
            todo.append((to, indent + "    "))

# %%
# From the top: a sum of a product and ``b``. The product's inputs are ``x``,
# with None because it needs no gradient, and ``w``. ``AccumulateGrad`` knows
# its leaf and adds to the leaf's ``grad``.

mul, to_b = (to for to, _ in y.grad_fn.next_functions)
to_x, to_w = (to for to, _ in mul.next_functions)
print("towards x:", to_x)
print("towards w:", kind(to_w), to_w.variable)
print("towards b:", kind(to_b), to_b.variable)
assert to_x is None
assert to_w.variable is w and to_b.variable is b

# %%
# Where the gradients land
# ------------------------
# :meth:`torch.Tensor.backward` follows these edges. Then read
# :attr:`torch.Tensor.grad` of all four tensors, and catch what warns.

y.backward()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    grads = {name: t.grad for name, t in named.items()}
for name, grad in grads.items():
    print(name + ".grad", grad)
print(caught[0].category.__name__ + ":")
print(str(caught[0].message).split(". ")[0])
assert grads == {"x": None, "w": 2, "b": 1, "y": None}
assert len(caught) == 1  # for y; x is a leaf
# sphinx_gallery_predict = "What are the four gradients?"

# %%
# ``y`` is on the way, but it is not a leaf: its gradient is passed on and not
# kept. Reading it gives None and a warning. To keep it, call
# ``y.retain_grad()`` before the backward pass: see :doc:`retain_grad`.

# %%
# The next backward pass adds to what is there, in the leaves that it reaches.
# This one has no way to ``b``.

(x * w).backward()
print("w.grad", w.grad, "| b.grad", b.grad)
assert w.grad.item() == 2 + 2 and b.grad.item() == 1

# %%
# Remember
# --------
# - A leaf has no ``grad_fn``: you made it, or it does not require grad.
# - ``backward`` adds to ``grad`` of the leaves it reaches that require grad.
# - Data is a leaf as well, and its ``grad`` stays None.
#
# Next: :doc:`detach`
