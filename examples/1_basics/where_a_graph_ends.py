# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why is a gradient ``None``?
===========================

The gradient of a leaf stays None if no path leads from the loss to it. Follow
``grad_fn`` and ``next_functions``: each branch ends at a leaf, which can get a
gradient, or at None, where an input was detached or doesn't need a gradient.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A detached weight gets no gradient
# ----------------------------------
# We want to train ``first`` and ``second``, but the code detaches ``first``. The
# backward pass still runs, and one gradient is None.

first = torch.tensor([3.0], device=device)
second = torch.tensor([5.0], device=device)
first.requires_grad_()
second.requires_grad_()

cut = first.detach()
loss = cut * second
loss.backward()
print(f"{first.grad = }, {second.grad = }")
assert first.grad is None
assert second.grad.item() == 3
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "first, cut, second, loss"

# %%
# Follow ``next_functions`` to the end of each branch
# ---------------------------------------------------
# The ``next_functions`` of a node get the gradients next (see the picture in
# :doc:`leaf_tensors`). A node called ``AccumulateGrad`` has a leaf as its ``variable``.
# None is an input that needs no gradient, here ``cut``. If the loss has
# no ``grad_fn``, see :ref:`no-grad-fn`. For a non-leaf tensor, see :doc:`retain_grad`.


def find_leaves(tensor):
    """Return the leaves that backward can reach."""
    todo = [tensor.grad_fn]
    seen = set()
    leaves = []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad":
            leaves.append(node.variable)
        for next_node, _ in node.next_functions:
            todo.append(next_node)
    return leaves


leaf = find_leaves(loss)[0]
to_cut = loss.grad_fn.next_functions[0][0]
print(f"{leaf is second = }, {to_cut = }")
assert leaf is second
assert to_cut is None

# %%
# Which ways to use a weight cut the graph?
# -----------------------------------------
# We multiply each result by ``second``, so that the backward pass runs. A new parameter
# *is* a leaf, but not the one that you train. The gradient through ``round()`` is 0.

ways = {
    "w * 2": lambda w: w * 2,
    "w.double()": lambda w: w.double(),
    "w.detach()": lambda w: w.detach(),
    "w.item()": lambda w: w.item(),
    "nn.Parameter(w)": lambda w: nn.Parameter(w),
    "w.round()": lambda w: w.round(),
}
print("way | ends at | w.grad")
found = {}
for way, use in ways.items():
    w = torch.ones(1, device=device, requires_grad=True)
    loss = use(w) * second
    end = "None"
    for leaf in find_leaves(loss):
        if leaf is w:
            end = "w"
        elif leaf is not second:
            end = "a new leaf"
    loss.backward()
    grad = None if w.grad is None else w.grad.item()
    print(f"{way} | {end} | {grad}")
    found[way] = end, grad
assert found["w.detach()"] == ("None", None)
assert found["w.item()"] == ("None", None)
assert found["nn.Parameter(w)"] == ("a new leaf", None)
assert found["w.round()"] == ("w", 0)
listed = torch.tensor(w.tolist())
array = torch.from_numpy(w.numpy(force=True))
for result in listed, array, w.data, w > 0, w.argmax():
    assert not result.requires_grad
filled = torch.empty(1).copy_(w)
for result in w.clone(), filled, w.to("meta"), w[:1]:
    assert find_leaves(result)[0] is w
# sphinx_gallery_folded = "The code of the six ways"

# %%
# These also cut the graph: ``tolist``, NumPy, ``.data``, and integer or bool results
# such as ``w > 0`` and ``argmax``. These don't: ``clone``, ``copy_``, moves to a device
# and slices.
#
# Which layer cuts the graph?
# ---------------------------
# A :meth:`forward hook <torch.nn.Module.register_forward_hook>` gets the inputs and the
# output of a layer, here one of each. The middle layer doubles a number, ``x.item()``.


class Twice(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 2 * x.item())


cuts = []


def find_cut(layer, inputs, output):
    (x,) = inputs
    if x.requires_grad and not output.requires_grad:
        cuts.append(layer)


layers = [nn.Linear(1, 1), Twice(), nn.Linear(1, 1)]
model = nn.Sequential(*layers).to(device)
for layer in model:
    layer.register_forward_hook(find_cut)
x = torch.ones(1, device=device)
loss = model(x)
loss.backward()
named = model.named_parameters()
missing = [name for name, p in named if p.grad is None]
print(f"{cuts = }, {missing = }")
assert cuts == [model[1]]
assert missing == ["0.weight", "0.bias"]

# %%
# .. predict:: Which parameters have no gradient?
#
#     - ``cuts = [Twice()], missing = ['0.weight', '0.bias']``
#     - ``cuts = [Twice()], missing = ['0.weight', '0.bias', '2.weight', '2.bias']``
#       without ``loss.backward()``
#     - ``cuts = [], missing = []`` with ``return 2 * x`` in the place of ``return
#       torch.full_like(x, 2 * x.item())``
#
# ``Twice`` cuts the graph. The hook can't report the first layer, whose input doesn't
# require grad, or a layer whose own weights make its output require grad.
#
# Remember
# --------
# - A leaf's gradient stays None if no path leads from the loss to the leaf.
# - A branch ends at None after ``detach`` or ``item``, or at an input that doesn't
#   require grad.
# - A hook finds a layer without weights that cuts: only its input requires grad.
