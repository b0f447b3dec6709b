# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why is this gradient None? Find where the graph ends
====================================================

Walk from the loss along ``grad_fn`` and ``next_functions``: each branch ends in a
leaf, which gets a gradient, or in None, which stands for a constant or a cut.

You will see a walk of a few lines find the weights that a loss reaches, where six
ways to use a weight end, and a hook that finds the layer that cuts.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A loss that trains half of its weights
# --------------------------------------
# ``first`` and ``second`` are to be trained. Somebody has put a ``detach`` between
# them. Nothing complains: the backward pass runs, and one gradient is None.

x = torch.tensor([2.0], device=device)
first = torch.tensor([3.0], device=device)
second = torch.tensor([5.0], device=device)
first.requires_grad_()
second.requires_grad_()
h = (x * first).detach()
loss = h * second
loss.backward()
print(f"{first.grad = }, {second.grad = }")
assert first.grad is None and second.grad == 6
# sphinx_gallery_tensor_map_lead = "first, second, h, loss"

# %%
# Walk the graph
# --------------
# A node hands gradients to its :attr:`~torch.autograd.graph.Node.next_functions`
# (:doc:`leaf_tensors` draws them as a tree). A node called ``AccumulateGrad`` stands
# for a leaf, its ``variable``. None stands for an input that needs no gradient: here
# that is ``h``. If the loss has no ``grad_fn``: :ref:`no-grad-fn`.


def ends(tensor):
    """Return the leaves that backward reaches."""
    todo, seen, leaves = [tensor.grad_fn], set(), []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad":
            leaves.append(node.variable)
        todo += [to for to, _ in node.next_functions]
    return leaves


(leaf,) = ends(loss)
to_h, to_second = loss.grad_fn.next_functions
print(f"{leaf is second = }, {to_h = }")
assert leaf is second and to_h[0] is None

# %%
# Six ways to use a weight
# ------------------------
# Each is multiplied by ``second``, so that the backward pass runs. ``double`` is a
# node on the way. A new parameter *is* a leaf, but not the one that you train.
# ``round`` stays in the graph: its gradient is 0, not None.

ways = {
    "w * 2": lambda w: w * 2,
    "w.double()": lambda w: w.double(),
    "w.detach()": lambda w: w.detach(),
    "w.item()": lambda w: w.item(),
    "nn.Parameter(w)": nn.Parameter,
    "w.round()": lambda w: w.round(),
}
rows = []
for name, way in ways.items():
    w = torch.ones(1, device=device, requires_grad=True)
    loss = way(w) * second
    end = "None"
    for leaf in ends(loss):
        if leaf is not second:
            end = "w" if leaf is w else "another leaf"
    loss.backward()
    grad = None if w.grad is None else w.grad.item()
    row = {"way": name, "branch ends in": end}
    rows.append(row | {"w.grad": grad})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen[:2] == [("w", 10), ("w", 5)]
assert seen[2:4] == [("None", None)] * 2
assert seen[4:] == [("another leaf", None), ("w", 0)]
# sphinx_gallery_folded = "The code of the six ways"
# sphinx_gallery_table = "rows"

# %%
# Which layer cuts?
# -----------------
# A :meth:`forward hook <torch.nn.Module.register_forward_hook>` sees each output of a
# model go by. The layer in the middle doubles its input, by way of a Python number.


class Twice(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 2 * x.item())


layers = nn.Linear(1, 1), Twice(), nn.Linear(1, 1)
model = nn.Sequential(*layers).to(device)
recorded = []


def note(layer, inputs, output):
    recorded.append(output.requires_grad)
    print(layer, "requires grad:", recorded[-1])


for layer in model:
    layer.register_forward_hook(note)
model(x).backward()
named = model.named_parameters()
missing = [name for name, p in named if p.grad is None]
print(f"{missing = }")
assert recorded == [True, False, True]
assert missing == ["0.weight", "0.bias"]
# sphinx_gallery_predict = "Which parameters have no gradient?"
# sphinx_gallery_predict_instead = "torch.full_like(x, 2 * x.item()) -> 2 * x"
# sphinx_gallery_predict_instead_2 = "model(x).backward() -> model(x)"

# %%
# ``Twice`` cuts. That the loss requires grad proves nothing: the last layer does that.
#
# Remember
# --------
# - ``ends(loss)`` finds all leaves that get a gradient. Yours should be among them.
# - None at the end of a branch is a constant, or a cut: ``detach``, ``item``, NumPy.
# - A hook on each layer finds the first output that does not require grad.
