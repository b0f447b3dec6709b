# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Go on with a tensor from ``inference_mode``
===========================================

What :class:`~torch.autograd.grad_mode.inference_mode` makes can be read anywhere,
but outside of the block it can neither be written to nor saved for a backward
pass; clone it there, and you have a normal tensor.

You will see which operations take such a tensor, which copies of it are normal,
and a gradient that cannot be added to.
"""

# sphinx_gallery_setup = True
import copy

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# What is an inference tensor
# ---------------------------
# All that is allocated in the block: ``t``, and its clone ``inside``. A view of a
# normal tensor is normal, wherever it is made.

w = torch.tensor([3.0, 4.0], device=device)
w.requires_grad_()
with torch.inference_mode():
    t = w * 2
    inside = t.clone()
    view = w[:1]
after = t.clone()
print(f"{t.is_inference() = }")
print(f"{inside.is_inference() = }")
print(f"{view.is_inference() = }")
print(f"{after.is_inference() = }")
assert t.is_inference() and inside.is_inference()
assert not (view.is_inference() or after.is_inference())
# sphinx_gallery_tensor_map_lead = "w, view, t, inside, after"

# %%
# So clone after the block, not in it. Whatever allocates after the block is normal.
# What shares the memory of ``t``, or is ``t`` itself, is an inference tensor.

new = t + 0, copy.deepcopy(t)
same = t.detach(), t[:1], t.to(t.dtype)
print([one.is_inference() for one in new])
print([one.is_inference() for one in same])
assert not any(one.is_inference() for one in new)
assert all(one.is_inference() for one in same)

# %%
# The mode does without version counters, which :class:`torch.no_grad` keeps. Without
# one autograd could not notice a write to a tensor that it has saved, and so it saves
# no inference tensor.
#
# What takes it, and what refuses
# -------------------------------
# An operation refuses if it has to write to ``t`` or to save it. A sum does neither
# (:doc:`in_place_and_backward` tells which operation saves what), and without
# gradients nothing is saved. Nor can ``t`` begin to require grad. A clone takes all.

layer = nn.Linear(2, 1, device=device)
quiet = torch.no_grad()
tries = {
    "w + t": lambda t: w + t,
    "w * t": lambda t: w * t,
    "layer(t)": layer,
    "layer(t) in no_grad": quiet(layer.forward),
    "w.copy_(t) in no_grad": quiet(w.copy_),
    "t.cpu().numpy()": lambda t: t.cpu().numpy(),
    "t.add_(1) in no_grad": quiet(lambda t: t.add_(1)),
    "t.requires_grad_()": lambda t: t.requires_grad_(),
    "nn.Parameter(t)": nn.Parameter,
    "t._version": lambda t: t._version,
}
rows = []
for name, attempt in tries.items():
    attempt(t.clone())
    row = {"after the block": name, "it": "runs"}
    try:
        attempt(t)
    except RuntimeError:
        row["it"] = "is refused"
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
runs = [row["it"] == "runs" for row in rows]
assert runs[0] and all(runs[3:6]) and sum(runs) == 4
# sphinx_gallery_folded = "The code that tried them"
# sphinx_gallery_table = "rows"

# %%
# The messages and their cures: :ref:`inference-saved`, :ref:`inference-in-place`.
#
# Normal tensors in the block
# ---------------------------
# You may write to them there. But ``view``, which was made in the block, cannot be
# written to afterwards: its base requires grad.

with torch.inference_mode():
    w.fill_(1.0)
assert w.tolist() == [1, 1]
try:
    view += 1
except RuntimeError as error:
    message = str(error).split(" and is")[0]
    print("RuntimeError:", message)
assert message.startswith("A view was created")

# %%
# A gradient that cannot be added to
# ----------------------------------
# The graph of ``loss`` was recorded before the block. Backward runs in the block as
# well, and leaves a gradient in ``w``. Now a second one, outside.

loss = w.sum()
with torch.inference_mode():
    loss.backward()
try:
    w.sum().backward()
    print(f"{w.grad = }")
except RuntimeError as error:
    message = str(error).split(".")[0]
    print("RuntimeError:", message)
assert "Inplace update" in message
assert w.grad.is_inference()
# sphinx_gallery_predict = "What does the second backward pass do?"
# sphinx_gallery_predict_instead = "torch.inference_mode() -> torch.no_grad()"
# sphinx_gallery_predict_instead_2 = "loss.backward() -> loss.backward(); w.grad = None"

# %%
# The gradient is an inference tensor. Set ``w.grad = None``, or keep backward out of
# such blocks.
#
# Remember
# --------
# - Evaluate in ``inference_mode`` what no training will use; else in ``no_grad``.
# - To go on with its result, call ``clone`` after the block, not in it.
# - The mode does not call ``eval``.
