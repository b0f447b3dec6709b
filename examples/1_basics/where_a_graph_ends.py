# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why is this gradient None? Find where the graph ends
====================================================

Walk from the loss along ``grad_fn`` and ``next_functions``: what gets a gradient is
at the end of a branch, and where a branch ends in None, something has cut it or
there was nothing to train.

You will see a walk of a few lines name the weights that a loss reaches, where six
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
print(f"{first.grad = }")
print(f"{second.grad = }")
assert first.grad is None
assert second.grad.item() == 6
# sphinx_gallery_tensor_map_lead = "first, second, h, loss"

# %%
# Walk the graph
# --------------
# A node hands gradients to its :attr:`~torch.autograd.graph.Node.next_functions`. A
# node called ``AccumulateGrad`` stands for a leaf, its ``variable``. None stands for
# an input that needs no gradient: here that is ``h``. (:doc:`leaf_tensors` draws the
# same walk as a tree. Of a loss without ``grad_fn``: :ref:`no-grad-fn`.)


def ends(tensor):
    """Return the leaves that backward reaches."""
    todo, seen = [tensor.grad_fn], set()
    leaves = []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad":
            leaves.append(node.variable)
        todo += [to for to, _ in node.next_functions]
    return leaves


named = {"first": first, "second": second}
reached = ends(loss)
for name, weight in named.items():
    found = any(leaf is weight for leaf in reached)
    print(name, "is reached:", found)
    assert found == (name == "second")
nodes = [to for to, _ in loss.grad_fn.next_functions]
print([type(node).__name__ for node in nodes])
assert nodes[0] is None
assert nodes[1].variable is second

# %%
# Six ways to use a weight
# ------------------------
# Each is multiplied by ``second``, so that the backward pass runs. ``double`` is a
# node on the way and harmless. A new parameter *is* a leaf, but not the one that you
# train. ``round`` stays in the graph: its gradient is 0, not None.

ways = {
    "w * 2": lambda w: w * 2,
    "w.double()": lambda w: w.double(),
    "w.detach()": lambda w: w.detach(),
    "torch.tensor(w.item())": (  # a number
        lambda w: torch.tensor(w.item(), device=device)
    ),
    "nn.Parameter(w)": nn.Parameter,
    "w.round()": lambda w: w.round(),
}
rows = []
for name, way in ways.items():
    w = torch.tensor([3.0], device=device)
    w.requires_grad_()
    loss = way(w) * second
    others = [t for t in ends(loss) if t is not second]
    end = "None"
    for leaf in others:
        end = "w" if leaf is w else "another leaf"
    loss.backward()
    gradient = w.grad
    if gradient is not None:
        gradient = gradient.item()
    row = {"way": name, "branch ends in": end}
    rows.append(row | {"w.grad": gradient})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen[:2] == [("w", 10), ("w", 5)]
assert seen[2:4] == [("None", None)] * 2
assert seen[4] == ("another leaf", None)
assert seen[5] == ("w", 0)
# sphinx_gallery_folded = "The code of the six ways"
# sphinx_gallery_table = "rows"

# %%
# Which layer cuts?
# -----------------
# In a model, ask each layer for its output. A
# :meth:`forward hook <torch.nn.Module.register_forward_hook>` sees it go by. The
# layer in the middle doubles its input, by way of a Python number.


class Twice(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 2 * x.item())


model = nn.Sequential()
model.add_module("inner", nn.Linear(1, 1))
model.add_module("twice", Twice())
model.add_module("outer", nn.Linear(1, 1))
model.to(device)
outputs = {}


def note(layer, inputs, output):
    outputs[names[layer]] = output


names = {}
for name, layer in model.named_children():
    names[layer] = name
    layer.register_forward_hook(note)
model(x).backward()
for name, output in outputs.items():
    print(f"{name}: {output.requires_grad = }")
found = model.named_parameters()
missing = [name for name, p in found if p.grad is None]
print(f"{missing = }")
assert not outputs["twice"].requires_grad
assert missing == ["inner.weight", "inner.bias"]
# sphinx_gallery_predict = "Which parameters have no gradient?"
# sphinx_gallery_predict_instead = "torch.full_like(x, 2 * x.item()) -> 2 * x"

# %%
# The first output that does not require grad is the cut. That the loss requires grad
# proves nothing: the last layer alone does that.
#
# Remember
# --------
# - ``ends(loss)`` names all leaves that get a gradient. Yours should be among them.
# - None at the end of a branch is a constant, or a cut: ``detach``, ``item``, NumPy.
# - A hook on each layer finds the first output that does not require grad.
