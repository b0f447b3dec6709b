# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Modify a tensor in place and still call ``backward``
====================================================

``backward()`` raises an error if a tensor it needs was modified in place. For example,
``sqrt`` needs its output, and ``w * 2`` needs neither its input nor its output.
"""

# sphinx_gallery_setup = True
import torch
import torch.nn.functional as F
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# ``backward()`` needs the output of ``sqrt``, not of ``w * 2``
# -------------------------------------------------------------
# The derivative of a square root is 1 divided by twice the root, so ``backward()``
# needs the *output* of ``sqrt``. The derivative of ``w * 2`` is 2, so it needs neither
# the input nor the output of that multiplication. Now add 1 to both results in place.

w = torch.tensor([4.0], device=device)
w.requires_grad_()

root, double = w.sqrt(), w * 2
root += 1
double += 1
double.backward()
try:
    root.backward()
except RuntimeError as error:
    message = str(error).split(":")[0]
print(f"double.backward() runs: {w.grad = }")
print("root.backward() raises:", message)
assert w.grad.item() == 2
assert "modified by an inplace operation" in message
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "double, w, root raises RuntimeError"

# %%
# Which operations need their input or output?
# --------------------------------------------
# Each operation runs on a new ``x`` with a graph. We modify its input or its output in
# place and call ``backward()``. If it raises, the operation needs that tensor. *Saved*
# counts saved tensors (``x`` twice for ``x * x``; ``layer_norm`` adds mean and 1/std).

operations = {
    "x + 1": lambda x: x + 1,
    "x * 2": lambda x: x * 2,
    "x * x": lambda x: x * x,
    "x.exp()": torch.exp,
    "x.log()": torch.log,
    "x.sqrt()": torch.sqrt,
    "x.relu()": torch.relu,
    "F.gelu(x)": F.gelu,
    "x.softmax(0)": lambda x: x.softmax(0),
    "F.layer_norm(x, x.shape)": (  # also mean and scale
        lambda x: F.layer_norm(x, x.shape)
    ),
    "x.sum()": torch.sum,
    "x.std()": torch.std,
    "x[:2]": lambda x: x[:2],
    "x.t()": torch.t,
    "x.clone()": torch.clone,
}


def needs(op, mode=torch.enable_grad):
    """Modify its input, its output: which raises?"""
    found = []
    for which in "input", "output":
        w = torch.tensor([1.0, 2.0, 3.0], device=device)
        x = w.requires_grad_() * 1
        y = op(x)
        with mode():
            (x if which == "input" else y).add_(1)
        try:
            y.sum().backward()
        except RuntimeError:
            found.append(which)
    return " and ".join(found) or "neither"


def note(t):
    saved.append(t.shape)
    return t


rows, under_no_grad = [], []
for name, op in operations.items():
    w = torch.ones(3, device=device, requires_grad=True)
    x, saved = w * 1, []
    with saved_tensors_hooks(note, lambda t: t):
        op(x)
    row = {"operation": name, "needs": needs(op)}
    rows.append(row | {"saved": len(saved)})
    under_no_grad.append(needs(op, torch.no_grad))
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
found = {row["operation"]: row["needs"] for row in rows}
assert list(found.values()) == under_no_grad
words = list(found.values())
assert words[:2] == ["neither"] * 2
assert words[2] == found["x.log()"] == "input"
assert words[3] == words[5] == words[6] == "output"
assert words[7] == words[9] == "input"
assert found["x.softmax(0)"] == "output"
assert found["x.std()"] == "input and output"
assert found["x.sum()"] == "neither"
assert words[-3:] == ["neither"] * 3  # views, clone
# sphinx_gallery_folded = "The code that tried them"

# %%
# With ``no_grad`` around the write, the table is the same. The write isn't recorded
# then, but it overwrites the saved tensor. Autograd doesn't notice a write through
# ``.data`` (:ref:`silent-data`). If ``backward()`` needs only the input, you may modify
# the output, and vice versa, unless another operation needs that tensor. In grad mode,
# you can't modify a leaf that requires grad (:ref:`leaf-in-place`).
#
# Does it help to restore the values?
# -----------------------------------
# ``backward()`` needs the root, 2. ``kept`` has that value, and ``y`` has it again
# after adding 1 and subtracting 1.

w = torch.tensor([4.0], device=device)
w.requires_grad_()
y = w.sqrt()
kept = y.clone()
y += 1
y -= 1
try:
    y.backward()
    said = f"{w.grad = }"
except RuntimeError as error:
    said = str(error).partition("is at ")[2]
    said = "RuntimeError: " + said.partition(".")[0]
print(said)
assert y.item() == kept.item() == 2
assert w.grad is None

# %%
# .. predict:: Does ``backward()`` run?
#
#     - ``RuntimeError: version 2; expected version 0 instead``
#     - ``w.grad = tensor([0.2500])`` with ``kept, y = y, y.clone()`` in the place of
#       ``kept = y.clone()``
#     - ``RuntimeError: version 1; expected version 0 instead`` with ``y.data -= 1`` in
#       the place of ``y -= 1``
#
# Restoring the value doesn't help. ``y`` was saved at version 0, and ``backward()``
# compares *version counters* (:doc:`detach`), not values. It doesn't use ``kept``.
#
# Clone first, then modify the clone
# ----------------------------------
# Copy the tensor first, and modify the copy. The derivative of the root at 4 is 1/4. It
# is shorter to make a new tensor, ``y = root + 1``, with the same result.

root = w.sqrt()
y = root.clone()
y += 1
y.backward()
print(f"{root.item() = }, {y.item() = }, {w.grad = }")
assert root == 2 and y == 3 and w.grad == 0.25

# %%
# Remember
# --------
# - ``backward()`` raises if a tensor it needs was modified, also under ``no_grad``. It
#   doesn't notice writes through ``.data`` or NumPy.
# - ``exp``, ``sqrt``, ``relu`` and ``softmax`` need their output, ``x * x`` and ``log``
#   need their input. Sums and views need neither.
# - Modify a ``clone``, or make a new tensor. A clone kept aside doesn't help.
