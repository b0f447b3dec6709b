# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Update a weight by hand
=======================

Write to the leaf itself, in place and under ``no_grad``, between a backward pass
and the next forward pass: the ways that look alike raise an error, or go on with
another tensor.

You will see six updates of one weight, what each leaves behind for the second turn,
and what a gradient does that nobody clears.
"""

# sphinx_gallery_setup = True
import warnings

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# One step, three results
# -----------------------
# The weight is 4, its loss ``w * w``, the gradient 8. A step of 0.25 * 8 leads to 2.
# ``w - step`` makes another tensor: recorded, it is the result of an operation, and
# under ``no_grad`` a constant. ``w -= step`` under ``no_grad`` keeps the leaf.

w = held = torch.tensor([4.0], device=device)
w.requires_grad_()
(w * w).backward()
step = 0.25 * w.grad
recorded = w - step
with torch.no_grad():
    constant = w - step
    w -= step
print(f"{recorded.item() = }, {recorded.is_leaf = }")
print(f"{constant.item() = }")
print(f"{constant.requires_grad = }")
print(f"{w.item() = }, {w.is_leaf = }, {w is held = }")
assert recorded == constant == w == 2
assert w is held and w.is_leaf and w.requires_grad
assert not recorded.is_leaf
assert not constant.requires_grad
# sphinx_gallery_tensor_map_lead = "w, held, recorded, constant"

# %%
# Six updates, two turns
# ----------------------
# Two right turns lead from 4 to 2 and to 1. The last column is what an optimizer or a
# model sees that holds the first ``w``.


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
    for turn in "first turn", "second turn":
        try:
            (w * w).backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gradient = w.grad
            w = update(w, 0.25 * gradient)
            row[turn] = w.item()
            w.grad = None
        except (RuntimeError, TypeError) as error:
            row[turn] = type(error).__name__
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
# sphinx_gallery_table = "rows"

# %%
# - ``w -= step`` is refused while it is recorded: :ref:`leaf-in-place`.
# - After ``w = w - step`` the new ``w`` is no leaf, its ``grad`` stays None
#   (:ref:`grad-is-none`), and 0.25 times None is the ``TypeError``.
# - The same under ``no_grad`` is a constant: the next backward pass has no graph
#   (:ref:`no-grad-fn`).
# - ``.data`` gives the same numbers, and hides the write from a backward pass that
#   still needs the old weight: :ref:`silent-data`, :doc:`two_losses`.
# - A new leaf trains, but who holds the first one is left behind.
#
# Clear the gradient
# ------------------
# A backward pass adds to ``grad``. Here nobody clears it between the two turns.

w = torch.tensor([4.0], device=device)
w.requires_grad_()
for _ in range(2):
    (w * w).backward()
    with torch.no_grad():
        w -= w.grad / 4
print(f"{w = }")
print(f"{w.grad = }")
assert w.item() == -1 and w.grad.item() == 8 + 4
# sphinx_gallery_predict = "What are ``w`` and its gradient?"
# sphinx_gallery_predict_instead = "w.grad / 4 -> w.grad / 4; w.grad = None"
# sphinx_gallery_predict_instead_2 = "range(2) -> range(1)"

# %%
# The second step is 0.25 * (8 + 4) = 3. Set ``w.grad = None`` after each step, as the
# ``zero_grad`` of an optimizer does.
#
# Remember
# --------
# - ``with torch.no_grad(): w -= lr * w.grad``, then ``w.grad = None``.
# - ``w = w - ...`` makes another tensor, with ``no_grad`` and without.
# - Write to no weight between a forward pass and its backward pass.
