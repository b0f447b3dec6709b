# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does a copy keep the strides?
=============================

``clone`` keeps the strides of a tensor without gaps, and packs any other one,
while a deep copy or a saved file keeps all strides and the whole storage.

You will see the strides and the bytes of copies of seven layouts, and where the
order of the elements matters.
"""

# sphinx_gallery_setup = True
import copy

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Gaps are left out
# -----------------
# Strides say how far apart two neighbours lie in memory. In ``column`` it is 2. The
# clone has its elements side by side; the deep copy is a copy of all of ``table``.

table = torch.arange(4.0, device=device).view(2, 2)
column = table[:, 0]
cloned = column.clone()
deep = copy.deepcopy(column)
for t in column, cloned, deep:
    print(t.stride(), t.untyped_storage().nbytes())
assert cloned.stride() == (1,)
assert deep.stride() == column.stride() == (2,)
assert cloned.untyped_storage().nbytes() == 8
assert deep.untyped_storage().nbytes() == 16
# sphinx_gallery_tensor_map_lead = "table, column, cloned, deep"

# %%
# The rule, in seven layouts
# --------------------------
# Without gaps, in whatever order, ``clone`` keeps the strides. With gaps it keeps
# their order only: what was the longest stride still is. What ``expand`` repeats is
# written out. :meth:`torch.Tensor.contiguous` makes rows.

table = torch.zeros(2, 4, device=device)
image = torch.zeros(1, 2, 2, 2, device=device)
one = torch.zeros(1, device=device)
last = torch.channels_last
layouts = {
    "rows": table,
    "transposed": table.t(),
    "channels_last": image.to(memory_format=last),
    "every second column": table[:, ::2],
    "the same, transposed": table[:, ::2].t(),
    "one row": table[0],
    "1 element, expanded to 8": one.expand(8),
}
ways = {
    "clone()": torch.clone,
    "contiguous()": torch.Tensor.contiguous,
    "deepcopy": copy.deepcopy,
}
kept = []
rows = []
for layout, t in layouts.items():
    row = {"tensor": layout, "strides": t.stride()}
    for way, call in ways.items():
        y = call(t)
        size = y.untyped_storage().nbytes()
        row[way] = f"{y.stride()}, {size} bytes"
    kept.append(t.clone().stride() == t.stride())
    assert copy.deepcopy(t).stride() == t.stride()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
assert kept == [True] * 3 + [False] * 2 + [True, False]
assert rows[4]["clone()"].startswith("(1, 2)")
assert rows[6]["clone()"] == "(1,), 32 bytes"
# sphinx_gallery_folded = "The code that probes"
# sphinx_gallery_table = "rows"

# %%
# ``contiguous()`` of rows copies nothing: one row keeps the 32 bytes of its table,
# and :doc:`so does a file <../../silent_mistakes>`.
#
# Where it matters
# ----------------
# ``view(8)`` needs the elements in the order of rows. The clone of a transposed tensor
# is transposed too: ask for rows.

turned = table.t()
try:
    turned.clone().view(8)
except RuntimeError as error:
    message = str(error).split(" (")[0]
print("RuntimeError:", message)
assert "view size is not compatible" in message
rows_first = torch.contiguous_format
flat = turned.clone(memory_format=rows_first).view(8)
print(f"{flat.stride() = }")
assert flat.is_contiguous()

# %%
# Remember
# --------
# - ``clone`` drops gaps and repeats, and keeps the order of the elements.
# - For rows: ``x.clone(memory_format=torch.contiguous_format)``.
# - A deep copy of a small view can be large: clone it.
