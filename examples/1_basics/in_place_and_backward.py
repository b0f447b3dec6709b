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

root = w.sqrt()
double = w * 2
root += 1
double += 1
double.backward()
print(f"double.backward() runs: {w.grad = }")
try:
    root.backward()
except RuntimeError as error:
    message = str(error).split(":")[0]
    print("root.backward() raises:", message)
assert "modified by an inplace operation" in message
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "double, w, root raises RuntimeError"

# %%
# Which operations need their input or output?
# --------------------------------------------
# Each operation runs on a new ``x`` with a graph. We modify its input or its output in
# place and call ``backward()``. If it raises, the operation needs that tensor.


def raises(operation, changed, recorded):
    w = torch.ones(3, device=device, requires_grad=True)
    x = w * 2
    y = operation(x)
    with torch.set_grad_enabled(recorded):
        if changed == "input":
            x.add_(1)
        else:
            y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError:
        return True
    return False


operations = {
    "x * 2": lambda x: x * 2,
    "x * x": lambda x: x * x,
    "x.exp()": lambda x: x.exp(),
    "x.log()": lambda x: x.log(),
    "x.sqrt()": lambda x: x.sqrt(),
    "x.relu()": lambda x: x.relu(),
    "x.softmax(0)": lambda x: x.softmax(0),
    "F.layer_norm": lambda x: F.layer_norm(x, x.shape),
    "x.sum()": lambda x: x.sum(),
    "x.std()": lambda x: x.std(),
    "x[:2]": lambda x: x[:2],
    "x.clone()": lambda x: x.clone(),
}
print("operation | needs")
found = {}
for name, operation in operations.items():
    needed = []
    for which in "input", "output":
        raised = raises(operation, which, recorded=True)
        quiet = raises(operation, which, recorded=False)
        assert raised == quiet
        if raised:
            needed.append(which)
    found[name] = " and ".join(needed)
    if not needed:
        found[name] = "neither"
    print(f"{name} | {found[name]}")
for name in "x.exp()", "x.sqrt()", "x.relu()":
    assert found[name] == "output"
assert found["x.softmax(0)"] == "output"
for name in "x * x", "x.log()":
    assert found[name] == "input"
for name in "x * 2", "x.sum()", "x[:2]", "x.clone()":
    assert found[name] == "neither"
# sphinx_gallery_folded = "The code that tried them"

# %%
# With ``no_grad`` around the write, the table is the same. The write isn't recorded
# then, but it overwrites the saved tensor. Autograd doesn't notice a write through
# ``.data``, and the gradient is wrong (:ref:`silent-data`). If ``backward()`` needs
# only the input, you may modify the output, and vice versa, unless another operation
# needs that memory. For example, a write to a slice also modifies the whole tensor. In
# grad mode, you can't modify a leaf that requires grad (:ref:`leaf-in-place`).
#
# Does it help to restore the values?
# -----------------------------------
# ``backward()`` needs the root, 2. ``kept`` has that value, and ``y`` has it again
# after adding 1 and subtracting 1.

w.grad = None
y = w.sqrt()
kept = y.clone()
y += 1
y -= 1
try:
    y.backward()
    print(f"{w.grad = }")
except RuntimeError as error:
    message = str(error).split("is at ")[1]
    print("RuntimeError:", message.split(".")[0])
assert y.item() == 2

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
# compares *version counters* (:doc:`detach`), not values. It doesn't use ``kept``. A
# write through ``y.data`` doesn't increment the version counter.
#
# Clone first, then modify the clone
# ----------------------------------
# Modify a copy, or make a new tensor. The derivative of the root at 4 is 1/4. The loss
# uses the root twice, so the gradient is 1/4 + 1/4.

root = w.sqrt()
y = root.clone()
y += 1
new = root + 1  # a new tensor, without a clone
loss = y + new
loss.backward()
print(f"{root.item() = }, {w.grad = }")
print(f"{y.item() = }, {new.item() = }")
assert root.item() == 2
assert w.grad.item() == 0.25 + 0.25
assert y.item() == 3
assert new.item() == 3

# %%
# Remember
# --------
# - ``backward()`` raises if a tensor it needs was modified, also under ``no_grad``.
#   After a write through ``.data``, it computes a wrong gradient instead.
# - ``exp``, ``sqrt``, ``relu`` and ``softmax`` need their output, ``x * x`` and ``log``
#   need their input. ``sum`` needs neither.
# - Modify a ``clone``, or make a new tensor. A clone kept aside doesn't help.
