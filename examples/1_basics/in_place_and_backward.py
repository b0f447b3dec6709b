# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Write in place, and still run backward
======================================

Backward refuses to run if a tensor that it needs was written to, and each operation
needs its input, its output, both or neither.

You will see which operations need what, why ``no_grad`` around the write does not
help, and when a ``clone`` does.
"""

# sphinx_gallery_setup = True
import torch
import torch.nn.functional as F
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Two operations, one write
# -------------------------
# The derivative of a square root is 1 divided by two roots: backward needs the
# *output*. Doubling has the derivative 2: backward needs neither tensor. Add 1 to
# both results in place, and see.

w = torch.tensor([4.0], device=device)
w.requires_grad_()
root, double = w.sqrt(), w * 2
for name, y in ("root", root), ("double", double):
    y += 1
    try:
        y.backward()
        print(name, y.item(), "and", w.grad)
    except RuntimeError as error:
        message = str(error).split(":")[0]
        print(name, y.item(), "and", message)
assert "modified by an inplace operation" in message
assert w.grad.item() == 2
# sphinx_gallery_tensor_map_lead = "w, root, double"

# %%
# Which operation needs what
# --------------------------
# Each operation runs on a new ``x`` with a graph. Then 1 is added in place, to its
# input or to its output, before the backward pass. What makes backward refuse is
# what it needs. *Saved* counts the tensors that the operation keeps.

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


def refused(op, write_to, mode):
    w = torch.tensor([1.0, 2.0, 3.0], device=device)
    x = w.requires_grad_() * 1
    y = op(x)
    with mode():
        (x if write_to == "input" else y).add_(1)
    try:
        y.sum().backward()
    except RuntimeError:
        return True
    return False


def note(t):
    saved.append(t.shape)
    return t


rows = []
for name, op in operations.items():
    w = torch.ones(3, device=device, requires_grad=True)
    x, saved = w * 1, []
    with saved_tensors_hooks(note, lambda t: t):
        op(x)
    needs = []
    for which in "input", "output":
        recorded = refused(op, which, torch.enable_grad)
        unrecorded = refused(op, which, torch.no_grad)
        assert recorded == unrecorded
        needs += [which] * recorded
    row = {"operation": name}
    row["needs"] = " and ".join(needs) or "neither"
    row["saved"] = len(saved)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
found = {row["operation"]: row["needs"] for row in rows}
assert found["x * x"] == found["x.log()"] == "input"
assert found["x.exp()"] == found["x.relu()"] == "output"
assert found["x.std()"] == "input and output"
assert found["x + 1"] == found["x.sum()"] == "neither"
# sphinx_gallery_folded = "The code that tried them"
# sphinx_gallery_table = "rows"

# %%
# ``no_grad`` around the write changes nothing in this table: it keeps the write out
# of the graph, and the saved tensor is overwritten all the same. A write through
# ``.data`` is not even noticed: :ref:`silent-data`. Where backward needs the input
# alone, you may write to the output, and the other way round.
#
# A copy that comes too late
# --------------------------
# Backward needs the root, 2. ``kept`` has it, and ``y`` has it again, after a write
# back and forth.

w = torch.tensor([4.0], device=device)
w.requires_grad_()
y = w.sqrt()
kept = y.clone()
y += 1
y -= 1
print(f"{y.item() = }, {kept.item() = }")
assert y.item() == kept.item() == 2
try:
    y.backward()
    print(f"{w.grad = }")
except RuntimeError as error:
    said = str(error).partition("is at ")[2]
    print("RuntimeError:", said.partition(".")[0])
assert w.grad is None
# sphinx_gallery_predict = "Does backward run?"
# sphinx_gallery_predict_instead = "kept = y.clone() -> kept, y = y, y.clone()"
# sphinx_gallery_predict_instead_2 = "y -= 1 -> y.data -= 1"

# %%
# The node knows nothing of ``kept``. It saved ``y`` at version 0, and backward
# compares version counters, not values.
#
# A copy in time
# --------------
# Copy what is to be written to, and write to the copy. The gradient of the root of
# 4 is 1/4. A new tensor, ``y = y + 1``, does the same and is shorter.

root = w.sqrt()
y = root.clone()
y += 1
y.backward()
print(f"{root.item() = }, {y.item() = }")
print(f"{w.grad = }")
assert root == 2 and y == 3 and w.grad == 0.25

# %%
# Remember
# --------
# - A write counts if backward needs the tensor. ``no_grad`` does not change that.
# - ``exp``, ``sqrt``, ``relu`` and ``softmax`` need their output, ``x * x`` and
#   ``log`` their input, sums and views neither.
# - Write to a ``clone``, or make a new tensor. A copy kept aside is no cure.
