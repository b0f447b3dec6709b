# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What stops a gradient, and what doesn't
=======================================

A gradient stops at ``detach()``, and at results of ``no_grad`` or ``inference_mode``.
It still flows through a layer that is frozen with ``requires_grad_(False)``, set to
``eval()`` or left out of the optimizer.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def layers():  # with the weights 3 and 5
    a = nn.Linear(1, 1, bias=False, device=device)
    b = nn.Linear(1, 1, bias=False, device=device)
    nn.init.constant_(a.weight, 3.0)
    nn.init.constant_(b.weight, 5.0)
    return a, b


# %%
# ``detach`` keeps the value and stops the gradient
# -------------------------------------------------
# ``layers()`` makes two layers, A with the weight 3 and B with 5. A's input ``x`` is 2.
# Gradients flow back from ``h`` to A's weight. They stop at ``cut``, which is also 6.

a, b = layers()
x = torch.tensor([[2.0]], device=device)
x.requires_grad_()
weight = a.weight
h = a(x)
cut = h.detach()
print(f"{h.item() = }, {cut.item() = }")
print(f"{h.requires_grad = }, {cut.requires_grad = }")
assert cut.item() == h.item()
assert h.requires_grad
assert not cut.requires_grad
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "weight, h, cut"

# %%
# ``requires_grad_(False)`` freezes A's weight, so it gets no gradient. But gradients
# still flow through A to ``x``. Here B comes after A.

a.requires_grad_(False)
y = b(a(x))
y.backward()
print(f"{weight.grad = }, {x.grad = }")
assert weight.grad is None
assert x.grad.item() == 3 * 5

# %%
# What stops in each of nine ways?
# --------------------------------
# Each row applies one way to A. B takes the result ``h``. Then come the backward pass
# and a step of SGD with ``lr=0.5``. If nothing stops the gradients, they are ``3 * 5``
# for ``x`` and ``2 * 5`` for A. *h recorded* says whether ``h`` has a ``grad_fn``.

freeze = "a.requires_grad_(False)"
late = "the same, after h = a(x)"
ways = ["nothing", "h.detach()", "h.data"]
ways += ["torch.no_grad()", "torch.inference_mode()"]
ways += [freeze, late, "a.eval()", "SGD without A"]
head = "way | h recorded | B trains | "
head += "gradient of x | gradient of A | A afterwards"
print(head)
found = {}
for way in ways:
    a, b = layers()
    mode = torch.enable_grad()
    if way == "torch.no_grad()":
        mode = torch.no_grad()
    if way == "torch.inference_mode()":
        mode = torch.inference_mode()
    if way == freeze:
        a.requires_grad_(False)
    if way == "a.eval()":
        a.eval()
    with mode:
        h = a(x)
    if way == "h.detach()":
        h = h.detach()
    if way == "h.data":
        h = h.data
    if way == late:
        a.requires_grad_(False)
    recorded = "no" if h.grad_fn is None else "yes"
    x.grad = None
    try:
        loss = b(h)
        loss.backward()
        assert b.weight.grad.item() == 6
        trains = "yes"
    except RuntimeError:
        trains = "no: it raises"
    weights = [b.weight]
    if way != "SGD without A":
        weights.append(a.weight)
    optimizer = torch.optim.SGD(weights, lr=0.5)
    optimizer.step()
    of_x = None if x.grad is None else x.grad.item()
    grad = a.weight.grad
    of_a = None if grad is None else grad.item()
    after = a.weight.item()
    found[way] = recorded, trains, of_x, of_a, after
    row = f"{way} | {recorded} | {trains}"
    print(f"{row} | {of_x} | {of_a} | {after}")
assert found["nothing"] == ("yes", "yes", 15, 10, -2)
assert found["a.eval()"] == found["nothing"]
for way in "h.detach()", "h.data", "torch.no_grad()":
    assert found[way] == ("no", "yes", None, None, 3)
stopped = ("no", "no: it raises", None, None, 3)
assert found["torch.inference_mode()"] == stopped
assert found[freeze] == ("yes", "yes", 15, None, 3)
assert found[late] == found[freeze]
assert found["SGD without A"][2:] == (15, 10, 3)
# sphinx_gallery_folded = "The code that ran them"

# %%
# - Avoid ``.data``. A write through it can make a gradient wrong (:ref:`silent-data`).
# - If A runs under ``no_grad``, B trains. If A runs under ``inference_mode``, B raises,
#   because it can't save ``h`` for its weight's gradient (:doc:`inference_tensors`).
# - ``requires_grad_(False)`` freezes only A. The gradient flows through A to ``x``. An
#   old gradient can still change A (:ref:`silent-momentum`).
# - ``eval()`` changes layers like dropout and :ref:`batch norm <silent-batch-norm>`.
#   With cuDNN, ``backward()`` through an LSTM in ``eval()`` raises (`From pytorch issue
#   5878 <https://github.com/pytorch/pytorch/issues/5878>`__).
#
# What happens to a weight outside the optimizer?
# -----------------------------------------------
# In the last row A doesn't change, but ``backward()`` still computes A's gradient.
# The optimizer's ``zero_grad()`` only clears the gradients of its own parameters. B's
# weight is 5 in the first iteration and 2 in the second.

a, b = layers()
optimizer = torch.optim.SGD(b.parameters(), lr=0.5)
for _ in range(2):
    optimizer.zero_grad()
    loss = b(a(x))
    loss.backward()
    optimizer.step()
print(f"{a.weight.grad = }")
assert a.weight.item() == 3
assert a.weight.grad.item() == 2 * 5 + 2 * 2

# %%
# .. predict:: What is the gradient of A?
#
#     - ``a.weight.grad = tensor([[14.]])``
#     - ``a.weight.grad = tensor([[4.]])`` with ``optimizer =
#       torch.optim.SGD([a.weight, b.weight], lr=0.5)``
#     - ``a.weight.grad = tensor([[20.]])`` without ``optimizer.step()``
#
# Both iterations add up: 2 * 5 + 2 * 2. A's gradient stays None if you freeze A first.
#
# Remember
# --------
# - ``detach()``, ``no_grad`` and ``inference_mode`` stop a gradient.
# - With ``requires_grad_(False)``, gradients flow through a layer, not to its weights.
# - ``eval()`` doesn't stop a gradient. A weight outside the optimizer still gets one.
