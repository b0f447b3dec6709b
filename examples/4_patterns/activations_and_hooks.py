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


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


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
alias = kept["alias"]
copied = kept["copied"]
handle.remove()
# sphinx_gallery_lead = True
y = relu(output)
print(f"{alias.tolist() = }, {copied.tolist() = }")
assert alias.tolist() == [[0, 2]]
assert copied.tolist() == [[-1, 2]]
assert y is output and output.requires_grad
assert shares_memory(alias, y)
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
# A full backward hook on the layer wraps the output, if it requires grad, after the
# forward hooks have run. The next layer then gets a view of the tensor that the forward
# hook stored, and PyTorch raises in grad mode if that layer works in place
# (:ref:`hook-view-in-place`). A forward hook that returns a tensor also replaces the
# output.

stored = []
layer.register_full_backward_hook(lambda *_: None)
layer.register_forward_hook(lambda *a: stored.append(a))
passed_on = layer(x)
try:
    relu(passed_on)
except RuntimeError as error:
    message = str(error).partition(".")[0]
output = stored[0][2]
layer.requires_grad_(False)
frozen = layer(x)
print(f"{message = }")
assert output is not passed_on
assert shares_memory(output, passed_on)
assert "is a view and is being modified" in message
assert frozen is stored[1][2]

# %%
# If a layer reuses its buffer, store a copy
# ------------------------------------------
# Caches, exported models and replayed CUDA graphs (:doc:`static_buffers`) may write
# every result into the same memory. All results that you store without a copy then have
# the last values. ``detach()`` doesn't help. (For NumPy see :ref:`silent-from-numpy`.)

buffer = torch.zeros(2, device=device)
batches = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
batches = batches.to(device)
aliases, copies = [], []
for x in batches:
    torch.mul(x, 2, out=buffer)
    aliases.append(buffer.detach())
    copies.append(buffer.clone())
print(f"{[a.tolist() for a in aliases] = }")
print(f"{[c.tolist() for c in copies] = }")
assert [a.tolist() for a in aliases] == [[6, 8]] * 2
assert [c.tolist() for c in copies] == [[2, 4], [6, 8]]

# %%
# A stored output keeps its graph and its batch
# ---------------------------------------------
# We extract features from four batches of 64 KiB. If you store the outputs themselves,
# each output keeps its graph. The graph keeps the batch, because the gradient of the
# layer's weight needs it. Here no backward pass follows, so nothing frees the batches.
# We count those that stay alive.

layer = nn.Linear(256, 4, device=device)


def batches_kept(way):
    features, batches = [], []
    for _ in range(4):
        x = torch.ones(64, 256, device=device)
        batches.append(ref(x))
        features.append(way(layer(x)))
    del x
    return sum(batch() is not None for batch in batches)


leak = batches_kept(lambda output: output)
detached = batches_kept(torch.detach)
with torch.no_grad():
    no_grad = batches_kept(lambda output: output)
print(f"{leak = }, {detached = }, {no_grad = }")
assert (leak, detached, no_grad) == (4, 0, 0)

# %%
# Remember
# --------
# - Store ``output.detach().clone()``, because the next layer may write in place.
# - With ``detach()`` you don't keep the graph, with ``clone()`` you keep the values.
# - Extract features under :class:`torch.no_grad`, and remove the hook.
