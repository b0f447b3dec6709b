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
# makes it 2, and the next step makes it 1.

lr = 0.25
w = torch.tensor([4.0], device=device)
w.requires_grad_()
for _ in range(2):
    loss = w * w
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
    w.grad = None
print(f"{w = }")
assert w.item() == 1

# %%
# ``w - step`` is a new tensor, the result of an operation. ``w -= step`` under
# ``no_grad`` changes the leaf itself, so ``w`` and ``held`` stay the same tensor.

held = w
step = 0.5
other = w - step
with torch.no_grad():
    w -= step
print(f"{w = }, {w is held = }")
print(f"{other = }, {other is held = }")
assert w.item() == 0.5
assert w is held
assert w.is_leaf
assert other.item() == 0.5
assert not other.is_leaf
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, held, other"

# %%
# Which of six updates train the weight?
# --------------------------------------
# Two correct iterations change the weight from 4 to 2 and then to 1. The last column
# shows the first ``w``, which an optimizer or a model may still hold.


def updated(w, update):
    """Return w after one of the updates."""
    step = lr * w.grad
    if update == "w -= step":
        w -= step
    elif update == "w = w - step":
        w = w - step
    elif update == "no_grad: w = w - step":
        with torch.no_grad():
            w = w - step
    elif update == "no_grad: w -= step":
        with torch.no_grad():
            w -= step
    elif update == "w.data -= step":
        w.data -= step
    else:
        w = (w - step).detach()
        w.requires_grad_()
    return w


updates = [
    "w -= step",
    "w = w - step",
    "no_grad: w = w - step",
    "no_grad: w -= step",
    "w.data -= step",
    "w = (w - step).detach(), a new leaf",
]
# Reading the grad of a non-leaf tensor warns.
warnings.filterwarnings("ignore", "The .grad attr")
found = {}
print("update | iteration 1 | iteration 2 | first w")
for update in updates:
    w = torch.tensor([4.0], device=device)
    w.requires_grad_()
    held = w
    seen = []
    for _ in range(2):
        try:
            loss = w * w
            loss.backward()
            w = updated(w, update)
        except (RuntimeError, TypeError) as error:
            seen.append(type(error).__name__)
        else:
            seen.append(w.item())
            w.grad = None
    first, second = seen
    kept = held.item()
    print(f"{update} | {first} | {second} | {kept}")
    found[update] = first, second, kept
assert found["w -= step"][0] == "RuntimeError"
assert found["w = w - step"] == (2, "TypeError", 4)
in_no_grad = found["no_grad: w = w - step"]
assert in_no_grad == (2, "RuntimeError", 4)
assert found["no_grad: w -= step"] == (2, 1, 1)
assert found["w.data -= step"] == (2, 1, 1)
new_leaf = found["w = (w - step).detach(), a new leaf"]
assert new_leaf == (2, 1, 4)
# sphinx_gallery_folded = "The code of the six updates"

# %%
# - ``w -= step`` raises in grad mode (:ref:`leaf-in-place`).
# - After ``w = w - step`` in grad mode, ``w`` isn't a leaf. Its ``grad`` stays None
#   (:ref:`grad-is-none`), and ``0.25 * None`` raises the ``TypeError``.
# - Under ``no_grad``, the new ``w`` doesn't require grad. The next loss has no other
#   weight, so ``backward()`` raises (:ref:`no-grad-fn`).
# - ``.data`` gives the same numbers here. But if a later backward pass still needs the
#   old weight, it doesn't raise, and its gradient is wrong (:ref:`silent-data`).
# - A new leaf can be trained, but an optimizer or a model that holds the first one
#   doesn't get the update.
#
# What if you don't clear the gradient?
# -------------------------------------
# A backward pass adds to ``grad``. Here, nothing clears it between the two iterations.

w = torch.tensor([4.0], device=device)
w.requires_grad_()
for _ in range(2):
    loss = w * w
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
print(f"{w = }")
print(f"{w.grad = }")
assert w.item() == -1
assert w.grad.item() == 8 + 4

# %%
# .. predict:: What are ``w`` and its gradient after the last loop?
#
#     - ``w = tensor([-1.], requires_grad=True)`` ``w.grad = tensor([12.])``
#     - ``w = tensor([2.], requires_grad=True)`` ``w.grad = tensor([8.])`` with ``for _
#       in range(1):`` in the place of ``for _ in range(2):``
#     - ``w = tensor([1.], requires_grad=True)`` ``w.grad = None`` with ``w -= lr *
#       w.grad; w.grad = None`` in the place of ``w -= lr * w.grad``
#
# The second step is 0.25 * (8 + 4) = 3. Set ``w.grad = None`` after each step, as an
# optimizer's ``zero_grad()`` does.
#
# Remember
# --------
# - Write ``with torch.no_grad(): w -= lr * w.grad``, then ``w.grad = None``.
# - ``w = w - ...`` makes another tensor, with or without ``no_grad``.
# - Update the weight after ``backward()`` and before the next forward pass.
