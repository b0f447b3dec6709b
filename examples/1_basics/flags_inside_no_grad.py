# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Read ``requires_grad`` inside ``no_grad``
=========================================

Under ``no_grad`` nothing is recorded, but that is not the same as
``requires_grad=False``: results do not require grad, while views of a leaf, new
parameters and the leaf itself still do, and they keep it after the block.

You will see eleven tensors made in each of three modes, a parameter from the block
that trains, a graph from before it that backward still walks, and a thread that the
block does not reach.
"""

# sphinx_gallery_setup = True
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Four tensors from one block
# ---------------------------
# ``w`` requires grad. The product is a result, the view a window onto ``w``. Only the
# result is a constant. The picture at the top has no graph: none was recorded.

w = torch.tensor([3.0, 4.0], device=device)
w.requires_grad_()
with torch.no_grad():
    product = w * 2
    view = w[:1]
    p = nn.Parameter(torch.ones(2, device=device))
print(f"{product.requires_grad = }")
print(f"{view.requires_grad = }, {view.grad_fn = }")
print(f"{p.requires_grad = }, {w.requires_grad = }")
assert not product.requires_grad
assert w.requires_grad and view.requires_grad
assert p.requires_grad
assert view.grad_fn is None
# sphinx_gallery_tensor_map_lead = "w, product, view, p"

# %%
# Made in three modes
# -------------------
# *Graph*: an operation was recorded behind it. *Requires grad*: the flag alone. The
# flags are read in the block and after it; they are the same.

makers = {
    "w": lambda: w,
    "w * 2": lambda: w * 2,
    "w.clone()": lambda: w.clone(),
    "w[:1]": lambda: w[:1],
    "w.reshape(2, 1)": lambda: w.reshape(2, 1),
    "w.to(w.dtype)": lambda: w.to(w.dtype),
    "w.detach()": lambda: w.detach(),
    "torch.ones_like(w)": lambda: torch.ones_like(w),
    "torch.ones(2, requires_grad=True)": (  # asked for
        lambda: torch.ones(2, requires_grad=True)
    ),
    "nn.Parameter(torch.ones(2))": (  # asks for it
        lambda: nn.Parameter(torch.ones(2))
    ),
    "nn.Linear(1, 1).weight": (  # a parameter
        lambda: nn.Linear(1, 1).weight
    ),
}
modes = {
    "recording": torch.enable_grad,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
}
rows = []
for name, make in makers.items():
    row = {"made by": name}
    for mode, block in modes.items():
        with block():
            t = make()
            flag = t.requires_grad
        assert t.requires_grad == flag
        word = "requires grad" if flag else "constant"
        row[mode] = "graph" if t.grad_fn else word
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
yes, no = "requires grad", "constant"
assert seen[1] == seen[2] == ("graph", no, no)
assert seen[3] == seen[4] == ("graph", yes, yes)
assert seen[6] == seen[7] == (no, no, no)
for place in 0, 5, 8, 9, 10:
    assert seen[place] == (yes, yes, yes)
# sphinx_gallery_folded = "The code that made them"
# sphinx_gallery_table = "rows"

# %%
# A view that requires grad without a graph hands no gradient on to ``w``
# (:ref:`silent-no-grad-view`), and cannot be written to after the block
# (:ref:`view-made-without-grad`). What ``inference_mode`` makes has more limits:
# :doc:`inference_tensors`.
#
# What was recorded before
# ------------------------
# The mode is about what is recorded *now*. A graph from before the block stays, and
# so does a flag. The parameter from the block trains like any other.

y = (p * p).sum()
with torch.no_grad():
    print(f"{torch.is_grad_enabled() = }")
    print(f"{y.requires_grad = }")
    y.backward()
print(f"{p.grad = }")
assert p.grad.tolist() == [2, 2]
# sphinx_gallery_predict = "Does backward run in the block?"
# sphinx_gallery_predict_instead = "y = (p * p).sum() -> y = (p.detach() * p).sum()"
# sphinx_gallery_predict_instead_2 = "y.backward() -> (p * p).sum().backward() raises"

# %%
# A block is of one thread
# ------------------------
# The mode belongs to the thread that entered it. A thread that starts in the block
# records as ever, unless it enters ``no_grad`` itself.


def work():
    return (w * 2).requires_grad


with torch.no_grad(), ThreadPoolExecutor() as pool:
    here = work()
    there = pool.submit(work).result()
    told = pool.submit(torch.no_grad()(work)).result()
print(f"{here = }, {there = }, {told = }")
assert not here and there and not told

# %%
# Remember
# --------
# - ``no_grad`` changes what is recorded now. Graphs and flags from before stay.
# - Results are constants; views, parameters and leaves keep ``requires_grad``.
# - A result or a view hands gradients on only if it has a ``grad_fn``.
