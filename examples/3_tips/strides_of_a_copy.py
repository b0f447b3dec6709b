# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Does a copy keep the strides?
=============================

``clone`` keeps the strides of a tensor without gaps or repeated elements, and removes
the gaps of any other. ``deepcopy`` of a plain tensor copies its whole storage and keeps
the strides.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "Strides of a copy"
# sphinx_gallery_try = "x.t().clone()"
import copy
import io

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# ``clone`` drops the gaps
# ------------------------
# Strides say how far apart neighbours are in memory. In the column ``v``, neighbours
# are 2 elements apart. In the clone they are side by side. The deep copy contains all
# of ``table`` and has the strides of ``v``.

table = torch.arange(4.0, device=device).view(2, 2)
v = table[:, 0]
clone, deep = v.clone(), copy.deepcopy(v)
print(f"{v.stride() = }, {clone.stride() = }")
print(f"{deep.untyped_storage().nbytes() = }")
assert clone.stride() == (1,)
assert deep.stride() == v.stride() == (2,)
assert clone.untyped_storage().nbytes() == 8
assert deep.untyped_storage().nbytes() == 16
# sphinx_gallery_tensor_map_lead = "v, clone, deep, v copied to clone, v copied to deep"

# %%
# Which of seven layouts does a copy keep?
# ----------------------------------------
# Without gaps or repeats, the clone keeps the strides, whatever their order. For a
# tensor with gaps, the clone only keeps the order of the strides, so the longest stride
# stays the longest. The clone stores every repeat of an expanded tensor separately. The
# result of :meth:`torch.Tensor.contiguous` is in the order of rows.

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
rows = []
for layout, t in layouts.items():
    row = {"tensor": layout, "strides": t.stride()}
    for way, call in ways.items():
        y = call(t)
        size = y.untyped_storage().nbytes()
        row[way] = f"{y.stride()}, {size} bytes"
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")


def kept(way):
    return [str(r["strides"]) in r[way] for r in rows]


assert kept("clone()") == [1, 1, 1, 0, 0, 1, 0]
assert kept("deepcopy") == [1] * 7
assert rows[4]["clone()"].startswith("(1, 2)")
assert rows[6]["clone()"] == "(1,), 32 bytes"
# sphinx_gallery_folded = "The code that tests them"
# sphinx_gallery_table = "rows"

# %%
# ``contiguous()`` doesn't copy a contiguous tensor, so for *one row* the storage still
# has the 32 bytes of the table.
#
# ``deepcopy`` of a ``Parameter`` drops the gaps, ``torch.save`` doesn't
# ----------------------------------------------------------------------
# ``deepcopy`` clones a ``Parameter``, so it drops the gaps. :func:`torch.save` keeps
# the strides and the whole storage of any tensor, :doc:`so the file can be large
# <../../silent_mistakes>`.

parameter = torch.nn.Parameter(v)
cloned = copy.deepcopy(parameter)
file = io.BytesIO()
torch.save(v, file)
file.seek(0)
loaded = torch.load(file)
print(f"{cloned.stride() = }, {loaded.stride() = }")
assert parameter.stride() == loaded.stride() == (2,)
assert cloned.stride() == (1,)
assert cloned.untyped_storage().nbytes() == 8
assert loaded.untyped_storage().nbytes() == 16

# %%
# ``view`` needs the order of rows
# --------------------------------
# ``view(8)`` needs the elements in the order of rows. The clone of a transposed tensor
# has the same transposed strides, so ask for the order of rows.

turned = table.t()
try:
    turned.clone().view(8)
except RuntimeError as error:
    message = str(error).split(" (")[0]
rows_first = torch.contiguous_format
flat = turned.clone(memory_format=rows_first).view(8)
print("RuntimeError:", message)
print(f"{flat.stride() = }")
assert "view size is not compatible" in message
assert flat.is_contiguous()

# %%
# Remember
# --------
# - ``clone`` drops gaps, stores repeats separately, and keeps the order of the strides.
# - For the order of rows, use ``x.clone(memory_format=torch.contiguous_format)``.
# - A deep copy of a small slice can be large. Clone the slice instead.
