# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
One memory, many places: ``expand`` and lists
=============================================

``expand`` repeats a tensor without a copy: a write through one index shows in all,
as it does in a list that holds one tensor many times.

You will see which writes are refused, what a clone of an expanded tensor takes, how
its gradient is added up, and what else can change behind a second name.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Three rows on one
# -----------------
# The stride 0 says that the next row begins where this one does. You write to one
# row, and read it in all.

row = torch.zeros(1, 2, device=device)
rows = row.expand(3, 2)
rows[0, 0] = 7.0
print(f"{rows = }")
print(f"{rows.stride() = }")
assert rows.tolist() == [[7, 0]] * 3
assert row.tolist() == [[7, 0]]
assert rows.stride() == (0, 1)
# sphinx_gallery_tensor_map_lead = "row, rows"
# sphinx_gallery_predict = "What do the three rows hold?"
# sphinx_gallery_predict_instead = "row.expand(3, 2) -> row.expand(3, 2).clone()"
# sphinx_gallery_predict_instead_2 = "rows[0, 0] = 7.0 -> rows.add_(7.0) raises"

# %%
# Which writes are refused
# ------------------------
# PyTorch refuses what would write to one number more than once, but not every call
# checks: ``fill_`` does not, and ``rows[:] = 7`` depends on the version (torch 2.6 and
# 2.13 refuse it, 2.15 does not). Each row of the table starts with zeros.

sevens = torch.full((3, 2), 7.0, device=device)


def out(t):
    torch.add(sevens, 0, out=t)


def assign(t):
    t[:] = 7


writes = {
    "rows[0, 0] += 7": lambda t: t[0, 0].add_(7),
    "rows[0] += 7": lambda t: t[0].add_(7),
    "rows.fill_(7)": lambda t: t.fill_(7),
    "rows += 7": lambda t: t.add_(7),
    "rows.copy_(sevens)": lambda t: t.copy_(sevens),
    "rows[:2] += 7": lambda t: t[:2].add_(7),
    "torch.add(sevens, 0, out=rows)": out,
    "rows[:] = 7": assign,
}
table = []
for write, call in writes.items():
    t = torch.zeros(1, 2, device=device).expand(3, 2)
    try:
        call(t)
        found = t[:, 0].tolist()
    except RuntimeError as error:
        message = str(error)
        found = "RuntimeError"
    line = {"write": write, "first column": found}
    table.append(line)
print(*table[0], sep=" | ")
for line in table:
    print(*line.values(), sep=" | ")
results = [line["first column"] for line in table]
assert results[:3] == [[7, 7, 7]] * 3
assert results[3:7] == ["RuntimeError"] * 4
assert "refers to a single memory location" in message
# sphinx_gallery_folded = "The code that probes"
# sphinx_gallery_table = "table"

# %%
# Clone before you write
# ----------------------
# The clone is written out in rows: three times the bytes, and no stride 0. So is what
# ``contiguous`` returns, and :meth:`torch.Tensor.repeat`, which never shares.

written = rows.clone()
written += 1
for t in rows, written, row.repeat(3, 1):
    print(t.stride(), t.untyped_storage().nbytes())
assert rows.untyped_storage().nbytes() == 8
assert written.untyped_storage().nbytes() == 24
assert written.stride() == rows.contiguous().stride()

# %%
# The gradient is added up
# ------------------------
# Each of the three rows sends its gradient to the one that they are.

w = torch.ones(1, 2, device=device, requires_grad=True)
weights = torch.tensor([[1.0], [2.0], [3.0]]).to(device)
(w.expand(3, 2) * weights).sum().backward()
print(f"{w.grad = }")
assert w.grad.tolist() == [[1 + 2 + 3] * 2]

# %%
# A tensor in a list, written again
# ---------------------------------
# ``append`` stores the tensor itself. One that a loop goes on writing to is in the list
# three times, with its last value. Append a clone, or make a new one in each step.

state = torch.zeros(1, device=device)
same, kept = [], []
for step in 1, 2, 3:
    state += step
    same.append(state)
    kept.append(state.clone())
print(f"{torch.cat(same) = }")
print(f"{torch.cat(kept) = }")
assert torch.cat(same).tolist() == [6, 6, 6]
assert torch.cat(kept).tolist() == [1, 3, 6]

# %%
# Another shape for one of two tensors
# ------------------------------------
# The shape belongs to the tensor, not to the memory. Change that of an alias in place,
# and ``x`` keeps its own. PyTorch 1.12 and older refused it on a detached tensor
# (:doc:`../../changes`). ``resize_`` makes the memory longer, for all of them; what is
# at its end is anything, until you write to it.

x = torch.zeros(1, 2, device=device, requires_grad=True)
turned = x.detach().t_()
flat = x.detach().squeeze_()
longer = x.detach().resize_(4).zero_()
turned[1, 0] = 5.0
print(f"{x.tolist() = }")
for t in x, turned, flat, longer:
    print(tuple(t.shape), t.untyped_storage().nbytes())
assert x.tolist() == [[0, 5]]
assert turned.shape == (2, 1) and flat.shape == (2,)
assert x.untyped_storage().nbytes() == 16

# %%
# Remember
# --------
# - ``expand`` shares: clone before you write. ``repeat`` copies.
# - The gradient of an expanded tensor is the sum over the repeats.
# - To keep a tensor's values in a list, append ``t.detach().clone()``.
