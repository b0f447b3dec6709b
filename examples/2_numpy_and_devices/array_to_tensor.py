# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Turn an array into a tensor: which call copies?
===============================================

``torch.tensor`` always copies; ``from_numpy`` shares the array's memory, and so do
``as_tensor`` and ``asarray``, unless the dtype or the device has to change.

You will see eight calls in six cases, and what a tensor does to a read-only array.
"""

# sphinx_gallery_setup = True
import warnings
from functools import partial

import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The same call shares or copies
# ------------------------------
# ``array`` is float32. :func:`torch.as_tensor` shares its memory, unless you ask
# for another dtype: then the numbers have to be written anew.

array = np.ones(2, dtype=np.float32)
shared = torch.as_tensor(array)
cast = torch.as_tensor(array, dtype=torch.float64)
array[0] = 7.0
print(f"{shared = }, {cast = }")
assert shared.tolist() == [7, 1]
assert cast.tolist() == [1, 1]
# sphinx_gallery_tensor_map_lead = "array, shared, cast"

# %%
# Eight calls, six cases
# ----------------------
# Each tensor is filled with 7. If the array changes, the tensor is an alias. The
# columns: a float32 array; the same with ``device=device``; a float64 array with
# ``dtype=torch.float32``; every second element; backwards; read-only.

copying = partial(torch.asarray, copy=True)
sharing = partial(torch.asarray, copy=False)
single = {"dtype": torch.float32}
buffer = partial(torch.frombuffer, **single)
calls = {
    "torch.tensor(a)": torch.tensor,
    "torch.as_tensor(a)": torch.as_tensor,
    "torch.asarray(a)": torch.asarray,
    "torch.asarray(a, copy=True)": copying,
    "torch.asarray(a, copy=False)": sharing,
    "torch.from_numpy(a)": torch.from_numpy,
    "torch.Tensor(a)": torch.Tensor,
    "torch.frombuffer(a, dtype=...)": buffer,
}


def kinds():
    a = np.arange(6, dtype=np.float32)
    locked = a.copy()
    locked.flags.writeable = False
    return {
        "float32": (a.copy(), {}),
        "device": (a.copy(), {"device": device}),
        "from float64": (a.astype(float), single),
        "a[::2]": (a.copy()[::2], {}),
        "a[::-1]": (a.copy()[::-1], {}),
        "read-only": (locked, {}),
    }


def follow(call, array, to):
    old = array.tolist()
    try:
        tensor = call(array, **to)
    except (RuntimeError, TypeError, ValueError) as e:
        return type(e).__name__
    if tensor.tolist() != old:
        return "other numbers"
    tensor.fill_(7.0)
    return "copy" if array.tolist() == old else "alias"


warnings.filterwarnings("ignore", "The given ")
rows = []
for name, call in calls.items():
    row = {"call": name}
    for kind, given in kinds().items():
        row[kind] = follow(call, *given)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
for row in rows:
    copies = row in (rows[0], rows[3])
    found = {row["float32"], row["read-only"]}
    assert found == {"copy" if copies else "alias"}
    assert "Error" in row["a[::-1]"]
    assert row is rows[7] or row["a[::2]"] in found
    if row in (rows[4], rows[6]) and device == "cuda":
        assert "Error" in row["device"]
for row in rows[:4]:
    assert row["from float64"] == "copy"
    same = device == "cpu" and row["float32"]
    assert row["device"] == (same or "copy")
assert rows[4]["from float64"] == "ValueError"
assert rows[7]["from float64"] == "other numbers"
# sphinx_gallery_folded = "The code that probes"
# sphinx_gallery_table = "rows"

# %%
# With ``device=device`` on CUDA the first four copy, ``copy=False`` raises, and so
# does ``torch.Tensor``. ``torch.from_numpy(a).to(device)`` is one copy there, and
# none on a CPU. A ``TypeError`` means that the call does not know the argument.
# Backwards is refused by all, even by those that copy: a tensor has no negative
# strides. ``torch.from_numpy(a[::-1].copy())`` works.
#
# Read-only: written all the same
# -------------------------------
# PyTorch has no read-only tensors. It warns once (silenced above), and shares.

locked = np.zeros(2)
locked.flags.writeable = False
tensor = torch.from_numpy(locked)
tensor += 5
print(f"{locked = }")
assert locked.tolist() == [5, 5]
# sphinx_gallery_predict = "What does the read-only array hold?"
# sphinx_gallery_predict_instead = "torch.from_numpy -> torch.tensor"
# sphinx_gallery_predict_instead_2 = "tensor += 5 -> locked += 5"

# %%
# Whoever locked the array relied on its values. Only copy it: ``torch.tensor(locked)``
# does, and warns of nothing. pandas 3 locks its arrays: :ref:`from-pandas-and-pillow`.
#
# ``frombuffer`` reads bytes
# --------------------------
# :func:`torch.frombuffer` converts nothing. It shares any contiguous buffer, say a
# mapped file, and takes its bytes for numbers of your dtype. With another dtype than
# the array's they are other numbers.

array = np.ones(1)  # float64: 8 bytes
right = torch.frombuffer(array, dtype=torch.float64)
wrong = torch.frombuffer(array, dtype=torch.float32)
print(f"{right = }, {wrong = }")
assert right.tolist() == [1]
assert wrong.tolist() == [0, 1.875]

# %%
# ``torch.Tensor`` is not ``torch.tensor``
# ----------------------------------------
# The class makes the default dtype, float32, of whatever it gets: of a float32 array
# an alias, of a float64 array a copy. And it takes an integer for a size.

for array in np.ones(2, np.float32), np.ones(2):
    torch.Tensor(array).zero_()
    print(f"{array.dtype = }, {array = }")
    assert array.any() == (array.dtype == float)
print(torch.Tensor(3).shape)
assert torch.Tensor(3).shape == (3,)

# %%
# Remember
# --------
# - Your own memory: ``torch.tensor(a)``. The array's: ``torch.from_numpy(a)``.
# - ``as_tensor`` and ``asarray`` share if they can: do not write to what they return.
# - ``asarray`` with ``copy=True`` or ``copy=False`` does what you said, or raises.
