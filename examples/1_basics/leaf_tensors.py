# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
See which tensors get a gradient: leaf tensors
==============================================

A backward pass leaves gradients in *leaf tensors* that require grad: those
that you made, not those that were computed from them.

You will see which tensors of a small graph are leaves, and which get a
gradient. The graph itself tells: you will walk it node by node, from the
result back to the leaves.
"""

# sphinx_gallery_setup = True
import warnings

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def kind(node):
    return type(node).__name__.removesuffix("Type")


# %%
# One constant, two parameters, one result
# ----------------------------------------
# ``x`` is data. ``w`` and ``b`` are to be trained, so they are told to require
# grad. Because of them, autograd records how ``y`` is made: the picture at the
# top shows what it keeps.

x = torch.tensor([2.0], device=device)
w = torch.tensor([1.0], device=device)
b = torch.tensor([3.0], device=device)
w.requires_grad_()
b.requires_grad_()

y = x * w + b
print(f"{y = }")
assert y.item() == 5
# sphinx_gallery_tensor_map = "x, w, b, y"
# sphinx_gallery_tensor_map_graph = True
# sphinx_gallery_lead = True

# %%
# Which of them are leaf tensors?
# -------------------------------
# ``w`` and ``b`` are made by you and require grad, ``y`` is computed. ``x`` is
# a constant: it requires no grad.

print(f"{w.is_leaf = }, {w.grad_fn = }")
print(f"{b.is_leaf = }, {b.grad_fn = }")
print(f"{y.is_leaf = }, {kind(y.grad_fn) = }")
print(f"{x.is_leaf = }, {x.grad_fn = }")
assert w.is_leaf and b.is_leaf and not y.is_leaf
assert x.is_leaf and not x.requires_grad
# sphinx_gallery_predict = "Is the constant ``x`` a leaf?"
# sphinx_gallery_predict_instead = "y = x * w + b -> x = w + w; y = x * w + b"
# sphinx_gallery_predict_instead_2 = "x * w + b -> (x * w + b).detach()"

# %%
# What makes a leaf
# -----------------
# :attr:`torch.Tensor.is_leaf` is True when there is no ``grad_fn``, that is,
# no recorded operation behind the tensor. ``w`` and ``b`` have none because
# you made them. A constant has none because it does not require grad: even what
# is computed from constants alone is a leaf.

q = x * x + 1
print(f"{q.is_leaf = }")
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
print(f"{to_x = }")
print(f"{kind(to_w)}: {to_w.variable is w = }")
print(f"{kind(to_b)}: {to_b.variable is b = }")
assert to_x is None
assert to_w.variable is w and to_b.variable is b

# %%
# Where the gradients land
# ------------------------
# :meth:`torch.Tensor.backward` follows these edges. Then read
# :attr:`torch.Tensor.grad` of all four tensors, and catch what warns.

y.backward()
named = {"x": x, "w": w, "b": b, "y": y}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for name, t in named.items():
        print(f"{name}.grad =", t.grad)
print(caught[0].category.__name__)
print(str(caught[0].message).split(". ")[0])
assert w.grad.item() == 2 and b.grad.item() == 1
assert x.grad is None
assert len(caught) == 1  # for y; x is a leaf
# sphinx_gallery_predict = "What are the four gradients?"
# sphinx_gallery_predict_instead = "[2.0], -> [2.0], requires_grad=True,"
# sphinx_gallery_predict_instead_2 = "y.backward() -> (x * w + b.detach()).backward()"

# %%
# ``y`` is on the way, but it is not a leaf: its gradient is passed on and not
# kept. Reading it gives None and a warning. To keep it: :doc:`retain_grad`.

# %%
# The next backward pass adds to what is there, in the leaves that it reaches.
# This one has no way to ``b``. To find out why a gradient stays None:
# :doc:`where_a_graph_ends`.

(x * w).backward()
print(f"{w.grad = }")
print(f"{b.grad = }")
assert w.grad.item() == 2 + 2
assert b.grad.item() == 1

# %%
# Remember
# --------
# - A leaf has no ``grad_fn``: you made it, or it does not require grad.
# - ``backward`` adds to ``grad`` of the leaves it reaches that require grad.
# - Data is a leaf as well, and its ``grad`` stays None.
