# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Update a weight by hand
=======================

Update the leaf in place under ``no_grad``, after ``backward()`` and before the next
forward pass. ``w = w - step`` leaves you with another tensor instead.
"""

# sphinx_gallery_setup = True
import warnings

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# ``w -= step`` changes the leaf, ``w - step`` makes a new tensor
# ---------------------------------------------------------------
# The weight is 4, its loss is ``w * w``, and its gradient is 8. A step of 0.25 * 8
# makes it 2. ``w - step`` is a new tensor, the result of an operation. ``w -= step``
# under ``no_grad`` changes the leaf itself, so ``w`` and ``held`` stay the same tensor.

w = held = torch.tensor([4.0], device=device)
w.requires_grad_()
(w * w).backward()
step = 0.25 * w.grad
other = w - step
with torch.no_grad():
    w -= step
print(f"{w = }, {w is held = }")
print(f"{other = }")
assert other == w == 2
assert w is held and w.is_leaf and w.requires_grad
assert not other.is_leaf
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, held, other"

# %%
# Which of six updates train the weight?
# --------------------------------------
# Two correct iterations change the weight from 4 to 2 and then to 1. The last column
# shows the first ``w``, which an optimizer or a model may still hold.


def in_place(w, step):
    w -= step
    return w


def in_place_data(w, step):
    w.data -= step
    return w


def new_leaf(w, step):
    return (w - step).detach().requires_grad_()


quiet = torch.no_grad()
updates = {
    "w -= step": in_place,
    "w = w - step": torch.sub,
    "no_grad: w = w - step": quiet(torch.sub),
    "no_grad: w -= step": quiet(in_place),
    "w.data -= step": in_place_data,
    "w = (w - step).detach(), a new leaf": new_leaf,
}
rows = []
for name, update in updates.items():
    w = held = torch.tensor([4.0], device=device)
    w.requires_grad_()
    row = {"update": name}
    for iteration in "iteration 1", "iteration 2":
        try:
            (w * w).backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gradient = w.grad
            w = update(w, 0.25 * gradient)
            row[iteration] = w.item()
            w.grad = None
        except (RuntimeError, TypeError) as error:
            row[iteration] = type(error).__name__
    row["the first w"] = held.item()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen[0][0] == "RuntimeError"
assert seen[1] == (2, "TypeError", 4)
assert seen[2] == (2, "RuntimeError", 4)
assert seen[3] == seen[4] == (2, 1, 1)
assert seen[5] == (2, 1, 4)
# sphinx_gallery_folded = "The code of the six updates"

# %%
# - ``w -= step`` raises in grad mode (:ref:`leaf-in-place`).
# - After ``w = w - step`` in grad mode, ``w`` isn't a leaf. Its ``grad`` stays None
#   (:ref:`grad-is-none`), and ``0.25 * None`` raises the ``TypeError``.
# - Under ``no_grad``, the new ``w`` doesn't require grad. The next loss has no other
#   weight, so ``backward()`` raises (:ref:`no-grad-fn`).
# - ``.data`` gives the same numbers. But it hides the write from a backward pass that
#   still needs the old weight (:ref:`silent-data`, :doc:`two_losses`).
# - A new leaf can be trained, but an optimizer or a model that holds the first one
#   doesn't get the update.
#
# What if you don't clear the gradient?
# -------------------------------------
# A backward pass adds to ``grad``. Here, nothing clears it between the two iterations.

w = torch.tensor([4.0], device=device)
w.requires_grad_()
for _ in range(2):
    (w * w).backward()
    with torch.no_grad():
        w -= w.grad / 4
print(f"{w = }")
print(f"{w.grad = }")
assert w.item() == -1 and w.grad.item() == 8 + 4

# %%
# .. predict:: What are ``w`` and its gradient?
#
#     - ``w = tensor([-1.], requires_grad=True)`` ``w.grad = tensor([12.])``
#     - ``w = tensor([2.], requires_grad=True)`` ``w.grad = tensor([8.])`` with ``for _
#       in range(1):`` in the place of ``for _ in range(2):``
#     - ``w = tensor([1.], requires_grad=True)`` ``w.grad = None`` with ``w -= w.grad /
#       4; w.grad = None`` in the place of ``w -= w.grad / 4``
#
# The second step is 0.25 * (8 + 4) = 3. Set ``w.grad = None`` after each step, as
# ``zero_grad()`` of an optimizer does.
#
# Remember
# --------
# - Write ``with torch.no_grad(): w -= lr * w.grad``, then ``w.grad = None``.
# - ``w = w - ...`` makes another tensor, with or without ``no_grad``.
# - Don't modify a weight between a forward pass and its backward pass.
