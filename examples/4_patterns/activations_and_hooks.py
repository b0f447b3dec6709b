# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Keep an activation: ``detach().clone()`` in a hook
==================================================

A forward hook gets the very tensor that the next layer gets, so what is to stay as
it is needs ``output.detach().clone()``.

You will see the next layer change what a hook has kept, a buffer change all
features at once, and features that keep a graph alive.
"""

# sphinx_gallery_setup = True
from weakref import WeakSet

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# The next layer writes in place
# ------------------------------
# The linear layer returns its input, -1 and 2. The hook keeps this output in three
# ways. Then ``ReLU(inplace=True)`` writes its result over it.

model = nn.Sequential(
    nn.Linear(2, 2, bias=False),
    nn.ReLU(inplace=True),
).to(device)
nn.init.eye_(model[0].weight)
kept = {}


def keep(module, inputs, output):
    kept["output"] = output
    kept["alias"] = output.detach()
    kept["copied"] = output.detach().clone()


handle = model[0].register_forward_hook(keep)
x = torch.tensor([[-1.0, 2.0]], device=device)
y = model(x)
handle.remove()
output, alias, copied = kept.values()
print(f"{alias.tolist() = }")
print(f"{copied.tolist() = }")
assert alias.tolist() == [[0, 2]]
assert copied.tolist() == [[-1, 2]]
# sphinx_gallery_tensor_map_lead = "y, alias, copied"
# sphinx_gallery_predict = "What do ``alias`` and ``copied`` hold?"
# sphinx_gallery_predict_instead = "nn.ReLU(inplace=True) -> nn.ReLU()"
# sphinx_gallery_predict_instead_2 = "output.detach().clone() -> output.detach()"

# %%
# ``detach`` shares memory, so it shows what the ReLU left there. A hook that keeps
# ``output`` itself keeps the very result of the model, and its graph.

print(f"{output is y = }, {output.requires_grad = }")
assert output is y and shares_memory(alias, y)
assert not shares_memory(copied, y)

# %%
# A layer that reuses its buffer
# ------------------------------
# Some layers write each result into the same memory: caches, exported models,
# replayed CUDA graphs (:doc:`static_buffers`). What you keep of them is the last
# result, as often as you have kept it. ``detach`` makes no difference, ``clone``
# does. (With NumPy: :ref:`silent-from-numpy`.)

buffer = torch.zeros(2, device=device)


def double(x):
    return torch.mul(x, 2, out=buffer)


batches = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
batches = batches.to(device)
aliases = [double(x).detach() for x in batches]
copies = [double(x).clone() for x in batches]
print([a.tolist() for a in aliases])
print([c.tolist() for c in copies])
assert [a.tolist() for a in aliases] == [[6, 8]] * 2
assert [c.tolist() for c in copies] == [[2, 4], [6, 8]]

# %%
# Features that keep a graph
# --------------------------
# Features are extracted from four batches. Kept as they are, each holds its graph,
# and the graph holds what was saved for a backward pass that never comes. A hook of
# autograd wraps what is saved; the wrappers that live at the end are added up.


class Saved:
    def __init__(self, tensor):
        self.tensor = tensor
        alive.add(self)

    def get(self):
        return self.tensor


alive = WeakSet()
layer = nn.Linear(256, 4, device=device)


def still_saved(way):
    features = []
    with saved_tensors_hooks(Saved, Saved.get):
        for _ in range(4):
            x = torch.ones(64, 256, device=device)
            features.append(way(layer(x)))
    kept = sum(s.tensor.nbytes for s in alive)
    return kept // 1024


leak = still_saved(lambda output: output)
detached = still_saved(torch.detach)
with torch.no_grad():
    no_grad = still_saved(lambda output: output)
print(f"KiB: {leak = }, {detached = }, {no_grad = }")
assert leak == 4 * 64
assert detached == no_grad == 0
# sphinx_gallery_folded = "The code that measures"

# %%
# Each batch of 64 KiB stays, for the layer's weight needs it in the backward pass.
#
# Remember
# --------
# - Keep ``output.detach().clone()``: the next layer may write in place.
# - ``detach`` frees the graph, ``clone`` keeps the values. You need both.
# - Extract features under :class:`torch.no_grad`, and remove the hook.
