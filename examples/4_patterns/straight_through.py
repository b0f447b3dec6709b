# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train through rounding: the straight-through estimator
======================================================

``x + (x.round() - x).detach()`` has the rounded value but the gradient of ``x``,
because ``detach`` hides the rounding from autograd.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Rounded value, gradient of ``x``
# --------------------------------
# The slope of ``round`` is 0 almost everywhere, so its gradient is 0. The graph of
# ``y`` below has only an addition, ``x`` plus a tensor that doesn't require grad.

x = torch.tensor([0.25, 1.75], device=device)
x.requires_grad_()
detached = (x.round() - x).detach()
# sphinx_gallery_lead = True
y = x + detached
loss = y.sum()
loss.backward()
print(f"{y.tolist() = }, {x.grad.tolist() = }")
assert torch.equal(y, x.round())
assert x.grad.tolist() == [1, 1]
# sphinx_gallery_tensor_map = "x, detached"

# %%
# .. predict:: What are ``y`` and ``x.grad``?
#
#     - ``y.tolist() = [0.0, 2.0], x.grad.tolist() = [1.0, 1.0]``
#     - ``y.tolist() = [0.0, 2.0], x.grad.tolist() = [0.0, 0.0]`` with ``detached =
#       x.round() - x``
#     - ``y.tolist() = [0.25, 1.75], x.grad.tolist() = [1.0, 1.0]`` with ``y = x * 1``
#
# Which form of rounding trains the weight?
# -----------------------------------------
# The loss is 0 if the rounded weight is 3. We train the weight with three forms of
# rounding.


def rounded(x):
    return x.round()


def half_detached(x):
    return x + x.round().detach() - x


def straight_through(x):
    return x + (x.round() - x).detach()


def train(quantize):
    w = torch.tensor(0.125, device=device)
    w.requires_grad_()
    optimizer = torch.optim.SGD([w], lr=1 / 32)
    for _ in range(8):
        optimizer.zero_grad()
        loss = (2 * quantize(w) - 6).square()
        loss.backward()
        optimizer.step()
    return w.item(), loss.item()


# %%
forms = {
    "x.round()": rounded,
    "x + x.round().detach() - x": half_detached,
    "x + (x.round() - x).detach()": straight_through,
}
print("rounded as | weight | loss")
found = {}
for form, quantize in forms.items():
    weight, loss = train(quantize)
    print(f"{form} | {weight} | {loss}")
    found[quantize] = weight, loss
assert found[rounded] == (0.125, 36)
assert found[half_detached] == (0.125, 36)
assert found[straight_through] == (2.625, 0)
# sphinx_gallery_folded = "The code that trains with each form"

# %%
# With ``round`` alone the gradient is 0. PyTorch doesn't raise, and the weight isn't
# trained. The second form has the right value here, but both uses of ``x`` are in the
# graph, and the gradients of ``+ x`` and ``- x`` cancel. Put the whole difference into
# ``detach``. With the third form each step adds a quarter of ``3 - w.round()``, until
# 2.625 is rounded to 3. (``x.round().detach()`` has no graph, see :ref:`no-grad-fn`.)
#
# For an exact value, write ``q + (x - x.detach())``
# --------------------------------------------------
# Let ``q`` be the value that replaces ``x``. The float32 difference ``q - x`` has 24
# binary digits. That is enough for ``q = x.round()``, but not for every ``q``. For
# example, the sign of ``2**25`` is 1, but the float32 value of ``1 - 2**25`` has no
# digit left for the 1. Write ``q + (x - x.detach())`` instead. It adds exactly 0 to
# ``q`` for every finite ``x``. Detach ``q``, or gradients also flow back through it.

x = torch.tensor(2.0**25, device=device)
x.requires_grad_()
q = x.sign().detach()
wrong = x + (q - x).detach()
right = q + (x - x.detach())
right.backward()
print(f"{wrong.item() = }, {right.item() = }")
assert wrong.item() == 0
assert right.item() == 1
assert x.grad.item() == 1

# %%
# If ``x`` isn't much larger than ``q``, the error of ``x + (q - x)`` is small. Here
# ``x`` has a thousand values, and ``q`` is always 0.1. ``error`` is in units of the
# last binary digit of 0.1, and ``inexact`` counts the results that aren't 0.1.

x = torch.arange(1, 1001, device=device) / 1000
q = torch.full_like(x, 0.1)
error = (x + (q - x) - q).abs() / 2**-27
inexact = (error > 0).sum().item()
print(f"{inexact = }, {error.max().item() = }")
assert inexact > 0
assert 1 <= error.max().item() <= 4
assert torch.equal(q + (x - x), q)
z = torch.ones(1, device=device, requires_grad=True)
q = 2 * z
(q + (z - z.detach())).backward()
assert z.grad.item() == 3  # 2 through q, 1 through z
# sphinx_gallery_folded = "The code that compares"

# %%
# Write your own ``autograd.Function``
# ------------------------------------
# With :class:`torch.autograd.Function` you write both parts yourself, the value in
# ``forward`` and the gradient in ``backward``. (If ``backward`` needs ``x``, see
# :ref:`q-ctx-or-save-for-backward`.)


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


x = torch.tensor([2.0**25], device=device)
x.requires_grad_()
y = Sign.apply(x)
y.backward()
print(f"{y.item() = }, {x.grad.item() = }")
assert y.item() == 1
assert x.grad.item() == 1

# %%
# Remember
# --------
# - ``x + (x.round() - x).detach()`` has the rounded value and the gradient of ``x``.
# - Detach the whole difference, not only the rounded part.
# - ``q + (x - x.detach())`` has exactly ``q``'s value for finite ``x``. Detach ``q``.
