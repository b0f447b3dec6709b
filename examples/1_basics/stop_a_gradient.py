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
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def layers():
    """Return two layers, with the weights 3 and 5."""
    a = nn.Linear(1, 1, bias=False, device=device)
    b = nn.Linear(1, 1, bias=False, device=device)
    for layer, value in (a, 3.0), (b, 5.0):
        weight = torch.full_like(layer.weight, value)
        layer.weight = nn.Parameter(weight)
    return a, b


# %%
# ``detach`` keeps the value and stops the gradient
# -------------------------------------------------
# A layer A has the weight 3, and its input ``x`` is 2. Gradients flow back from ``h``
# to the weight. They stop at ``cut``, which has the same value.

a, b = layers()
x = torch.tensor([[2.0]], device=device)
x.requires_grad_()
weight, h = a.weight, a(x)
cut = h.detach()
print(f"{h.item() = }, {cut.item() = }")
print(f"{h.requires_grad = }, {cut.requires_grad = }")
assert h == cut == 6 and h.requires_grad
assert not cut.requires_grad
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "weight, h, cut"

# %%
# What stops in each of nine ways?
# --------------------------------
# Each row applies one way to A, which returns ``h``. Layer B with the weight 5 takes
# ``h``. Then come the backward pass and a step of SGD with ``lr=0.5``. If nothing stops
# the gradients, they are ``3 * 5`` for ``x``, ``2 * 5`` for A and 6 for B. *saved*
# counts the tensors that A saves. *h recorded* says if ``h`` has a ``grad_fn``.


def under(mode):
    def forward(a, x):
        with mode():
            return a(x)

    return forward


def freeze_late(a, x):
    h = a(x)
    a.requires_grad_(False)
    return h


ways = {
    "nothing": lambda a, x: a(x),
    "h.detach()": lambda a, x: a(x).detach(),
    "h.data": lambda a, x: a(x).data,
    "torch.no_grad()": under(torch.no_grad),
    "torch.inference_mode()": under(
        torch.inference_mode,
    ),
    "a.requires_grad_(False)": (  # stays off
        lambda a, x: a.requires_grad_(False)(x)
    ),
    "the same, after h = a(x)": freeze_late,
    "a.eval()": lambda a, x: a.eval()(x),
    "SGD without A": lambda a, x: a(x),
}


def note(t):
    saved.append(t.shape)
    return t


rows, of_b = [], []
for way, forward in ways.items():
    a, b = layers()
    x.grad, saved = None, []
    with saved_tensors_hooks(note, lambda t: t):
        h = forward(a, x)
    row = {"way": way, "saved": len(saved)}
    row["h recorded"] = "yes" if h.grad_fn else "no"
    trained = [b.weight]
    if way != "SGD without A":
        trained.append(a.weight)
    row["B trains"] = "yes"
    try:
        b(h).backward()
    except RuntimeError:
        row["B trains"] = "no: it raises"
    torch.optim.SGD(trained, lr=0.5).step()
    of_b.append(b.weight.item())
    row["gradient of x"] = x.grad and x.grad.item()
    found = a.weight.grad
    row["gradient of A"] = found and found.item()
    row["A afterwards"] = a.weight.item()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen[0] == (2, "yes", "yes", 15, 10, -2)
stopped = (2, "no", "yes", None, None, 3)
assert seen[1] == seen[2] == stopped
assert seen[3] == (0, "no", "yes", None, None, 3)
assert seen[4][:3] == (0, "no", "no: it raises")
assert seen[4][3:] == (None, None, 3)
assert seen[5] == (1, "yes", "yes", 15, None, 3)
assert seen[6] == (2, "yes", "yes", 15, None, 3)
assert seen[7] == seen[0]  # eval stops nothing
assert seen[8] == (2, "yes", "yes", 15, 10, 3)
assert of_b == [2, 2, 2, 2, 5, 2, 2, 2, 2]
# sphinx_gallery_folded = "The code that ran them"

# %%
# - ``detach`` and ``.data`` run after A has saved its tensors. These tensors are freed
#   with the graph. Avoid ``.data`` (:ref:`silent-data`).
# - Under :class:`torch.no_grad` and ``inference_mode``, A doesn't save any tensor. With
#   ``inference_mode``, B raises, because it would have to save A's result
#   (:doc:`inference_tensors`).
# - ``requires_grad_(False)`` freezes only A. The gradient flows through A to ``x``. An
#   old gradient can still change A (:ref:`silent-momentum`).
# - ``eval()`` changes layers like dropout and :ref:`batch norm <silent-batch-norm>`. On
#   CUDA, ``backward()`` through an LSTM in ``eval()`` raises (`From pytorch issue 5878
#   <https://github.com/pytorch/pytorch/issues/5878>`__).
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
    b(a(x)).backward()
    optimizer.step()
print(f"{a.weight.grad = }")
assert a.weight == 3
assert a.weight.grad == 2 * 5 + 2 * 2

# %%
# .. predict:: What is the gradient of A?
#
#     - ``a.weight.grad = tensor([[14.]])``
#     - ``a.weight.grad = tensor([[4.]])`` with ``a.zero_grad()`` in the place of
#       ``optimizer.zero_grad()``
#     - ``a.weight.grad = tensor([[20.]])`` without ``optimizer.step()``
#
# A's gradient is the sum of both iterations. It stays None if you freeze A first.
#
# Remember
# --------
# - To stop a gradient, use ``detach``. To evaluate, use ``eval()``, and ``no_grad`` or
#   ``inference_mode``.
# - To freeze weights, use ``requires_grad_(False)``, best before the forward pass.
# - ``eval()`` doesn't stop a gradient. A weight outside the optimizer still gets one.
