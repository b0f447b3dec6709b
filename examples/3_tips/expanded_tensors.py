# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Shared elements: ``expand`` and lists of tensors
================================================

``expand`` repeats without copying, so all repeats share memory and a write to one of
them changes all of them. The same happens in a list that holds one tensor several
times.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Three rows, one in memory
# -------------------------
# ``expand`` gives the rows the stride 0, so every row starts at the same place in
# memory. We write to one row.

row = torch.zeros(1, 2, device=device)
rows = row.expand(3, 2)
# sphinx_gallery_lead = True
rows[0, 0] = 7.0
print(f"{rows.tolist() = }")
print(f"{rows.stride() = }")
assert rows.tolist() == [[7, 0]] * 3
assert row.tolist() == [[7, 0]]
# sphinx_gallery_tensor_map = "row, rows"

# %%
# .. predict:: What do the three rows hold?
#
#     - ``rows.tolist() = [[7.0, 0.0], [7.0, 0.0], [7.0, 0.0]]`` ``rows.stride() = (0,
#       1)``
#     - ``rows.tolist() = [[7.0, 0.0], [0.0, 0.0], [0.0, 0.0]]`` ``rows.stride() = (2,
#       1)`` with ``rows = row.expand(3, 2).clone()``
#     - ``RuntimeError: unsupported operation: more than one element of the written-to
#       tensor refers to a single memory location…`` with ``rows.add_(7.0)`` in the
#       place of ``rows[0, 0] = 7.0``
#
# Which writes raise
# ------------------
# Many calls raise if they would write to the same element of an expanded tensor more
# than once. ``fill_`` doesn't. ``rows[:] = 7`` raises in torch 2.6 to 2.14, but not in
# 2.15. Before each write, all elements are 0.

sevens = torch.full((3, 2), 7.0, device=device)


def write(statement, rows):
    if statement == "rows[0, 0] += 7":
        rows[0, 0] += 7
    if statement == "rows[0] += 7":
        rows[0] += 7
    if statement == "rows.fill_(7)":
        rows.fill_(7)
    if statement == "rows += 7":
        rows += 7
    if statement == "rows.copy_(sevens)":
        rows.copy_(sevens)
    if statement == "rows[:2] += 7":
        rows[:2] += 7
    if statement == "torch.add(sevens, 0, out=rows)":
        torch.add(sevens, 0, out=rows)
    if statement == "rows[:] = 7":
        rows[:] = 7


allowed = ["rows[0, 0] += 7", "rows[0] += 7"]
allowed.append("rows.fill_(7)")
raising = ["rows += 7", "rows.copy_(sevens)"]
raising.append("rows[:2] += 7")
raising.append("torch.add(sevens, 0, out=rows)")
print("write | first column")
found = {}
for statement in allowed + raising + ["rows[:] = 7"]:
    rows = torch.zeros(1, 2, device=device).expand(3, 2)
    try:
        write(statement, rows)
        column = rows[:, 0].tolist()
    except RuntimeError as error:
        assert "single memory location" in str(error)
        column = "RuntimeError"
    print(f"{statement} | {column}")
    found[statement] = column
assert all(found[a] == [7, 7, 7] for a in allowed)
assert all(found[r] == "RuntimeError" for r in raising)
new = torch.__version__ >= "2.15"  # compares versions
expected = [7, 7, 7] if new else "RuntimeError"
assert found["rows[:] = 7"] == expected
# sphinx_gallery_folded = "The code that tests them"

# %%
# Clone before you write
# ----------------------
# The clone has three rows in memory. So it needs three times the bytes, and no stride
# is 0. ``rows.contiguous()`` and :meth:`torch.Tensor.repeat` also make such a copy.

rows = row.expand(3, 2)
written = rows.clone()
written += 1
repeated = row.repeat(3, 1)
print(f"{rows.stride() = }, {written.stride() = }")
print(f"{repeated.stride() = }")
assert rows.untyped_storage().nbytes() == 8
assert written.untyped_storage().nbytes() == 24
assert written.stride() == (2, 1)
assert repeated.stride() == (2, 1)
assert rows.contiguous().stride() == (2, 1)
assert row.tolist() == [[7, 0]]

# %%
# The gradients of all rows are added
# -----------------------------------
# ``backward()`` adds the gradients of the three rows, because all come from ``w``.

w = torch.ones(1, 2, device=device, requires_grad=True)
factors = torch.tensor([[1.0], [2.0], [3.0]])
loss = (w.expand(3, 2) * factors.to(device)).sum()
loss.backward()
print(f"{w.grad = }")
assert w.grad.tolist() == [[6, 6]]  # 1 + 2 + 3

# %%
# A list holds the tensor itself, not a copy
# ------------------------------------------
# ``append`` stores the tensor itself. If a loop keeps modifying it, the list holds the
# same tensor three times, with its last value. So append a detached clone.

state = torch.zeros(1, device=device)
same, kept = [], []
for step in 1, 2, 3:
    state += step
    same.append(state)
    kept.append(state.detach().clone())
print(f"{torch.cat(same) = }")
print(f"{torch.cat(kept) = }")
assert torch.cat(same).tolist() == [6, 6, 6]
assert torch.cat(kept).tolist() == [1, 3, 6]

# %%
# Changing one tensor's shape keeps the other's
# ---------------------------------------------
# A shape belongs to a tensor, not to its memory. If you change the shape of ``turned``
# in place, ``x`` keeps its shape. PyTorch 1.12 and older raised for a detached tensor
# (:doc:`../../changes`). ``resize_(4)`` makes the shared memory longer. The new
# elements have no defined value until you write to them.

x = torch.zeros(1, 2, device=device, requires_grad=True)
turned = x.detach().t_()
flat = x.detach().squeeze_()
longer = x.detach().resize_(4)
longer.zero_()
turned[1, 0] = 5.0
print(f"{x.tolist() = }")
print(f"{turned.shape = }, {flat.shape = }")
assert x.tolist() == [[0, 5]]
assert x.untyped_storage().nbytes() == 16

# %%
# Remember
# --------
# - ``expand`` shares memory, so clone before you write. ``repeat`` copies.
# - The gradient of a tensor that you expanded is the sum over its repeats.
# - To keep a tensor's values in a list, append ``t.detach().clone()``.
