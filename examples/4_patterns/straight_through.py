# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train through a rounding: the straight-through estimator
========================================================

``x + (x.round() - x).detach()`` has the value of the rounded ``x`` and the gradient
of ``x``, for ``detach`` takes the rounding out of the graph.

You will see what rounding alone does to training, three places for ``detach``, and
a form whose value is exact for large numbers too.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The value of one, the gradient of the other
# -------------------------------------------
# As a function, rounding is a staircase: its slope is 0. In the picture at the top
# ``rounded`` hangs on ``x`` through the rounding. ``y`` hangs on ``x`` by one
# addition, whose other input is a constant.

x = torch.tensor([0.25, 1.75], device=device)
x.requires_grad_()
rounded = x.round()
y = x + (x.round() - x).detach()
y.sum().backward()
print(f"{y.tolist() = }")
print(f"{x.grad.tolist() = }")
assert torch.equal(y, rounded)
assert x.grad.tolist() == [1, 1]
# sphinx_gallery_tensor_map_lead = "x, rounded, y"
# sphinx_gallery_predict = "What are ``y`` and ``x.grad``?"
# sphinx_gallery_predict_instead = "x + (x.round() - x).detach() -> x.round()"
# sphinx_gallery_predict_instead_2 = "x + (x.round() - x).detach() -> x * x.round()"

# %%
# Train a weight that is used rounded
# -----------------------------------
# ``2 * rounded`` is to be 6, so the rounded weight has to become 3. With rounding
# alone the gradient is there, and it is 0: no error, and no training.


def train(quantize):
    w = torch.tensor(0.25, device=device)
    w.requires_grad_()
    sgd = torch.optim.SGD([w], lr=1 / 32)
    for _ in range(8):
        sgd.zero_grad()
        loss = (2 * quantize(w) - 6).square()
        loss.backward()
        sgd.step()
    return w.item(), loss.item()


forms = {
    "x.round()": lambda x: x.round(),
    "x + x.round().detach() - x": (  # too short
        lambda x: x + x.round().detach() - x
    ),
    "x + (x.round() - x).detach()": (  # all of it
        lambda x: x + (x.round() - x).detach()
    ),
}
rows = []
for form, quantize in forms.items():
    row = {"rounded as": form}
    row["weight"], row["loss"] = train(quantize)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
weights = [row["weight"] for row in rows]
assert weights == [0.25, 0.25, 2.75]
assert [row["loss"] for row in rows] == [36, 36, 0]
# sphinx_gallery_table = "rows"

# %%
# The second row has the right value, but both ``x`` are in the graph: ``+ x`` and
# ``- x`` give 1 - 1. All that is to cancel must be within ``detach``. And
# ``x.round().detach()`` alone has no graph: backward raises
# (:ref:`no-grad-fn`).
#
# The sum is rounded too
# ----------------------
# ``q - x`` is a number of 24 binary digits in float32. For ``x.round()`` that is
# enough. For a value far from ``x`` it is not: the sign of 2\ :sup:`25` is 1, but
# 1 - 2\ :sup:`25` has no room for the 1. ``q + (x - x.detach())`` adds what is exactly
# 0 for every finite ``x``.

x = torch.tensor(2.0**25, device=device)
x.requires_grad_()
q = x.sign().detach()
wrong = x + (q - x).detach()
right = q + (x - x.detach())
print(f"{wrong.item() = }, {right.item() = }")
right.backward()
assert wrong.item() == 0 and right.item() == 1
assert x.grad.item() == 1

# %%
# Among small numbers the error is one unit in the last place. A code of 0.1 in the
# place of a thousand numbers:

x = torch.arange(1, 1001, device=device) / 1000
q = torch.full_like(x, 0.1)
missed = (x + (q - x) != q).sum().item()
print(missed, "of 1000 sums are not the code")
assert missed > 0
assert torch.equal(q + (x - x), q)

# %%
# As a function of your own
# -------------------------
# :class:`torch.autograd.Function` says the same in words: this value, that
# gradient. There you may also make the gradient 0 where ``x`` is out of range.


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


x = torch.tensor([2.0**25], device=device)
x.requires_grad_()
Sign.apply(x).backward()
print(f"{Sign.apply(x) = }, {x.grad = }")
assert Sign.apply(x).item() == x.grad.item() == 1

# %%
# Remember
# --------
# - Rounding alone gives a gradient of 0: no error, no training.
# - ``detach`` holds the whole difference, not the rounded part alone.
# - ``q + (x - x.detach())`` has the value of ``q`` exactly.
