# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train A through a frozen B
==========================

Call ``net_b.requires_grad_(False)`` before the forward pass. B's weights get no
gradient, but A's weight does, and B's linear layers save fewer tensors for the backward
pass.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Gradients flow through a frozen layer
# -------------------------------------
# A multiplies by 2, B by 5 and by 1. A loss after B should train A only. The gradient
# of ``a`` is x * 5 * 1 = 15. ``backward()`` needs the *values* of B's weights for it,
# not their gradients.


def linear(factor):
    layer = nn.Linear(1, 1, bias=False, device=device)
    nn.init.constant_(layer.weight, factor)
    return layer


net_a = linear(2.0)
net_b = nn.Sequential(linear(5.0), linear(1.0))
net_b.requires_grad_(False)
a = net_a.weight
b = net_b[0].weight  # the first of two
x = torch.tensor([[3.0]], device=device)
y = net_b(net_a(x))
# sphinx_gallery_lead = True
y.backward()
print(f"{a.grad = }, {b.grad = }")
assert a.grad.item() == 15
assert b.grad is None
# sphinx_gallery_tensor_map = "a, b, y"

# %%
# What does each of six ways train and save?
# ------------------------------------------
# The batch is 1 MiB. :class:`torch.autograd.graph.saved_tensors_hooks` reports the
# tensors that the forward pass saves for ``backward()``. Tensors that share memory
# count once. A's tensors count even if A's graph is freed after ``detach()``.

MIB = 2**20
big = torch.full((MIB // 4, 1), 3.0, device=device)
late = "requires_grad_(False), late"
before = "requires_grad_(False), before"
ways = ["B not frozen", "backward(inputs=[a])"]
ways += ["net_a(x).detach()", "no_grad around B"]
ways += [late, before]


def forward(way):
    """Run A and B on the batch in one of the ways."""
    if way == "no_grad around B":
        h = net_a(big)
        with torch.no_grad():
            return net_b(h)
    if way == "net_a(x).detach()":
        return net_b(net_a(big).detach())
    if way == before:
        net_b.requires_grad_(False)
    y = net_b(net_a(big))
    if way == late:
        net_b.requires_grad_(False)
    return y


def note(t):  # the loop makes a set for each way
    saved.add(t.untyped_storage())
    return t


print("way | gradient of A | gradient of B | MiB saved")
seen = {}
for way in ways:
    net_b.requires_grad_(True)
    a.grad = None
    b.grad = None
    saved = set()
    with saved_tensors_hooks(note, lambda t: t):
        loss = forward(way).mean()
    if way == "backward(inputs=[a])":
        loss.backward(inputs=[a])
    elif loss.requires_grad:
        loss.backward()
    of_a = None if a.grad is None else a.grad.item()
    of_b = None if b.grad is None else b.grad.item()
    mib = sum(one.nbytes() for one in saved) // MIB
    print(f"{way} | {of_a} | {of_b} | {mib}")
    seen[way] = of_a, of_b, mib
assert seen["B not frozen"] == (15, 6, 3)
assert seen["backward(inputs=[a])"] == (15, None, 3)
assert seen["net_a(x).detach()"] == (None, 6, 3)
assert seen["no_grad around B"] == (None, None, 1)
assert seen[late] == (15, None, 3)
assert seen[before] == (15, None, 1)
# One loss can use B twice and train it in one call:
a.grad = None
net_b.requires_grad_(False)
frozen = net_b(net_a(x))
net_b.requires_grad_(True)
loss = frozen + net_b(net_a(x))
loss.backward()
assert a.grad.item() == 15 + 15
assert b.grad.item() == 6
b.grad = None
# sphinx_gallery_folded = "The code that measures"

# %%
# - *Not frozen*, B gets gradients, even if its weights aren't in an optimizer
#   (:doc:`../1_basics/stop_a_gradient`).
# - With ``backward(inputs=...)`` B doesn't get a gradient, but the forward pass saved
#   tensors for both networks.
# - ``detach()`` does the opposite of freezing B. B gets a gradient, A doesn't.
# - With ``no_grad`` around B, neither network gets a gradient. ``backward()`` raises
#   (:ref:`no-grad-fn`).
# - *Late* means after the forward pass. ``backward()`` also checks ``requires_grad``,
#   so B doesn't get a gradient. But the forward pass has already saved all tensors.
# - *Before* means before the forward pass. B's two linear layers then don't save their
#   inputs, here 2 MiB.
#
# What if B is unfrozen before ``backward()``?
# --------------------------------------------
# Here B is frozen only during the forward pass.

a.grad = None
net_b.requires_grad_(False)
y = net_b(net_a(x))
net_b.requires_grad_(True)
y.backward()
print(f"{a.grad = }, {b.grad = }")
assert a.grad.item() == 15
assert b.grad is None

# %%
# .. predict:: Which gradients arrive?
#
#     - ``a.grad = tensor([[15.]]), b.grad = None``
#     - ``a.grad = tensor([[15.]]), b.grad = tensor([[6.]])`` with
#       ``net_b.requires_grad_(True)`` in the place of ``net_b.requires_grad_(False)``
#     - ``RuntimeError: element 0 of tensors does not require grad and does not have a
#       grad_fn`` with ``y = net_b(net_a(x).detach())``
#
# A weight gets a gradient only if it requires grad in the forward pass *and* in
# ``backward()``. So one loss can use B twice and train it through only one of the two
# calls. Freezing B doesn't stop its BatchNorm or dropout (:doc:`freeze_and_unfreeze`).
#
# Remember
# --------
# - Freeze B with ``requires_grad_(False)`` before the forward pass, and A still learns.
# - ``detach`` and ``no_grad`` between A and the loss leave A without a gradient.
# - If you freeze B later, the forward pass has already saved the inputs of B's
#   layers.
