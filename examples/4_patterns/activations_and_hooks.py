# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Save an activation in a hook: ``detach().clone()``
==================================================

A forward hook usually gets the same tensor as the next layer, and that layer may modify
the tensor in place. Store ``output.detach().clone()``.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach().clone()"
from weakref import ref

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The next layer writes in place
# ------------------------------
# The weight is the identity, so the output is -1 and 2. The hook stores it in two ways.
# Then the next layer, ``ReLU(inplace=True)``, overwrites it with its own result.

layer = nn.Linear(2, 2, bias=False).to(device)
nn.init.eye_(layer.weight)
relu = nn.ReLU(inplace=True)
kept = {}


def keep(module, inputs, output):
    kept["alias"] = output.detach()
    kept["copied"] = output.detach().clone()


handle = layer.register_forward_hook(keep)
x = torch.tensor([[-1.0, 2.0]], device=device)
output = layer(x)
handle.remove()
alias = kept["alias"]
copied = kept["copied"]
# sphinx_gallery_lead = True
y = relu(output)
print(f"{alias.tolist() = }, {copied.tolist() = }")
assert alias.tolist() == [[0, 2]]
assert copied.tolist() == [[-1, 2]]
assert y is output
# sphinx_gallery_tensor_map = "output, alias, copied, output copied to copied"

# %%
# .. predict:: What do ``alias`` and ``copied`` hold?
#
#     - ``alias.tolist() = [[0.0, 2.0]], copied.tolist() = [[-1.0, 2.0]]``
#     - ``alias.tolist() = [[0.0, 2.0]], copied.tolist() = [[0.0, 2.0]]`` with
#       ``kept["copied"] = output.detach()``
#     - ``alias.tolist() = [[-1.0, 2.0]], copied.tolist() = [[-1.0, 2.0]]`` with ``relu
#       = nn.ReLU()``
#
# ``detach()`` shares memory, so ``alias`` holds the ReLU's result. A hook that stores
# ``output`` itself stores ``y``, which is the same tensor, and keeps its graph.
#
# With a full backward hook, an in-place layer raises
# ---------------------------------------------------
# A full backward hook wraps an output that requires grad, after the forward hooks have
# run. So the next layer gets a view of the tensor that the forward hook stored. If that
# layer works in place, PyTorch raises in grad mode (:ref:`hook-view-in-place`).

stored = []


def store(module, inputs, output):
    stored.append(output)


def do_nothing(module, grad_inputs, grad_outputs):
    pass


first = layer.register_forward_hook(store)
second = layer.register_full_backward_hook(do_nothing)
passed_on = layer(x)
try:
    relu(passed_on)
except RuntimeError as error:
    message = str(error).split(".")[0]
    print("RuntimeError:", message)
assert stored[0] is not passed_on
assert "is a view and is being modified" in message

# %%
# An output that doesn't require grad isn't wrapped:

layer.requires_grad_(False)
passed_on = layer(x)
print(f"{stored[1] is passed_on = }")
first.remove()
second.remove()
assert stored[1] is passed_on

# %%
# If a layer reuses its buffer, store a copy
# ------------------------------------------
# Caches, exported models and replayed CUDA graphs (:doc:`static_buffers`) may write
# every result into the same memory. Without a copy, all stored results have the last
# values. ``detach()`` doesn't help. (For NumPy see :ref:`silent-from-numpy`.)

buffer = torch.zeros(2, device=device)
batches = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
batches = batches.to(device)
aliases, copies = [], []
for batch in batches:
    torch.mul(batch, 2, out=buffer)
    aliases.append(buffer.detach())
    copies.append(buffer.clone())
print(f"{[a.tolist() for a in aliases] = }")
print(f"{[c.tolist() for c in copies] = }")
assert aliases[0].tolist() == [6, 8]
assert copies[0].tolist() == [2, 4]

# %%
# A stored output keeps its graph and its batch
# ---------------------------------------------
# We extract features from four batches. Each output that you store keeps its graph, and
# the graph keeps the batch, because the weight's gradient needs it. Here no backward
# pass frees the batches. We count those that stay alive.


def batches_kept(detach):
    features, references = [], []
    for _ in range(4):
        batch = torch.ones(64, 256, device=device)
        references.append(ref(batch))
        output = layer(batch)
        if detach:
            output = output.detach()
        features.append(output)
    del batch
    return sum(r() is not None for r in references)


layer = nn.Linear(256, 4, device=device)
leak = batches_kept(detach=False)
detached = batches_kept(detach=True)
print(f"{leak = }, {detached = }")
assert leak == 4
assert detached == 0
# sphinx_gallery_folded = "The code that counts the batches"

# %%
# So extract features under ``no_grad``, which doesn't record a graph.

layer = nn.Linear(256, 4, device=device)
layer.eval()  # for dropout and BatchNorm
features = []
with torch.no_grad():
    for _ in range(4):
        batch = torch.ones(64, 256, device=device)
        features.append(layer(batch))
print(f"{features[0].grad_fn = }")
assert features[0].grad_fn is None

# %%
# Remember
# --------
# - Store ``output.detach().clone()``, because the next layer may write in place.
# - With ``detach()`` you don't keep the graph, with ``clone()`` you keep the values.
# - Extract features under :class:`torch.no_grad`, and remove the hook.
