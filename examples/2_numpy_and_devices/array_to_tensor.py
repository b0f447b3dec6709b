# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Turn an array into a tensor: which call copies?
===============================================

``torch.tensor`` copies the array. ``from_numpy`` shares its memory, and ``as_tensor``
and ``asarray`` also share it unless the dtype or the device has to change.
"""

# sphinx_gallery_setup = True
import warnings

import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)
warnings.filterwarnings("ignore", "The given ")

# %%
# The same call shares or copies
# ------------------------------
# ``array`` is float32. :func:`torch.as_tensor` shares its memory, but copies if you ask
# for float64. ``moved`` shares the memory on a CPU. On a GPU it's a copy.

array = np.ones(2, dtype=np.float32)
copied = torch.tensor(array)
shared = torch.as_tensor(array)
cast = torch.as_tensor(array, dtype=torch.float64)
moved = torch.as_tensor(array, device=device)
array[0] = 7.0
print(f"{copied = }, {shared = }")
print(f"{cast = }, {moved = }")
assert shared.tolist() == [7, 1]
assert cast.tolist() == [1, 1]
assert moved[0].item() == (7 if device == "cpu" else 1)
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "array, shared, copied, array copied to copied"

# %%
# Which of eight calls share the array's memory?
# ----------------------------------------------
# We fill each tensor. If the array then changes, the two share memory (*alias*). For
# *float64 to float32*, the call gets a float64 array and ``dtype=torch.float32``.

calls = {
    "torch.tensor(a)": torch.tensor,
    "torch.as_tensor(a)": torch.as_tensor,
    "torch.asarray(a)": torch.asarray,
    "torch.asarray(a, copy=True)": torch.asarray,
    "torch.asarray(a, copy=False)": torch.asarray,
    "torch.from_numpy(a)": torch.from_numpy,
    "torch.Tensor(a)": torch.Tensor,
    "torch.frombuffer(a, dtype=...)": torch.frombuffer,
}
float32 = {"dtype": torch.float32}
options = {
    "torch.asarray(a, copy=True)": {"copy": True},
    "torch.asarray(a, copy=False)": {"copy": False},
    "torch.frombuffer(a, dtype=...)": float32,
}


def make_arrays():
    read_only = np.zeros(6, dtype=np.float32)
    read_only.flags.writeable = False
    return {
        "float32": np.zeros(6, dtype=np.float32),
        "float64 to float32": np.zeros(6),
        "a[::2]": np.zeros(6, dtype=np.float32)[::2],
        "a[::-1]": np.zeros(6, dtype=np.float32)[::-1],
        "read-only": read_only,
    }


def copies_or_shares(call, kind, array):
    given = options.get(call, {})
    if kind == "float64 to float32":
        given = given | float32
    try:
        tensor = calls[call](array, **given)
    except (RuntimeError, TypeError, ValueError) as e:
        return type(e).__name__
    tensor.fill_(7.0)
    return "alias" if array[0] != 0 else "copy"


found = {}
print("call | " + " | ".join(make_arrays()))
for call in calls:
    row = []
    for kind, array in make_arrays().items():
        row.append(copies_or_shares(call, kind, array))
    print(f"{call} | " + " | ".join(row))
    found[call] = " ".join(row)
copies = "copy copy copy ValueError copy"
assert found["torch.tensor(a)"] == copies
assert found["torch.asarray(a, copy=True)"] == copies
shares = "alias copy alias ValueError alias"
assert found["torch.as_tensor(a)"] == shares
assert found["torch.asarray(a)"] == shares
raises = "alias ValueError alias ValueError alias"
assert found["torch.asarray(a, copy=False)"] == raises
# sphinx_gallery_folded = "The code that tests them"

# %%
# ``TypeError`` means that a call has no ``dtype``. With ``copy=False``, ``asarray``
# shares or raises. Tensors can't have negative strides, so pass in ``a[::-1].copy()``.
# ``frombuffer`` only takes C-contiguous arrays, and it doesn't convert (see below).
#
# ``from_numpy`` lets you write to a read-only array
# --------------------------------------------------
# PyTorch has no read-only tensors. ``from_numpy`` shares the memory and warns, but only
# once per process. (The setup at the top silences that warning.)

locked = np.zeros(2)
locked.flags.writeable = False
tensor = torch.from_numpy(locked)
tensor += 5
print(f"{locked = }")
assert locked.tolist() == [5, 5]

# %%
# .. predict:: What does the read-only array hold?
#
#     - ``locked = array([5., 5.])``
#     - ``ValueError: output array is read-only`` with ``locked += 5`` in the place of
#       ``tensor += 5``
#     - ``locked = array([0., 0.])`` with ``tensor = torch.tensor(locked)`` in the place
#       of ``tensor = torch.from_numpy(locked)``
#
# So copy with ``torch.tensor(locked)``. Many arrays of pandas 3 are also read-only
# (:ref:`from-pandas-and-pillow`). If a file is mapped read-only, the write crashes
# (:ref:`q-memory-map-write`).
#
# ``frombuffer`` reads bytes
# --------------------------
# :func:`torch.frombuffer` shares a C-contiguous buffer, such as a mapped file. It
# takes the bytes as they are. Here the float64 number 1 becomes two float32 numbers.

array = np.ones(1)
wrong = torch.frombuffer(array, dtype=torch.float32)
print(f"{wrong = }")
assert wrong.tolist() == [0, 1.875]

# %%
# ``torch.Tensor`` is not ``torch.tensor``
# ----------------------------------------
# From an array, ``torch.Tensor`` makes a tensor of the default dtype, float32. So it
# shares the memory of a float32 array and copies a float64 array. From a *tensor*, it
# keeps the dtype and shares memory. ``torch.Tensor(3)`` has 3 elements of any value.

double = torch.ones(2, dtype=torch.float64)
alias = torch.Tensor(double)
copied = torch.Tensor(double.numpy())
double[0] = 7.0
print(f"{alias = }, {copied = }")
assert alias.equal(double)  # the same dtype, too
assert copied.equal(torch.ones(2))  # float32
assert len(torch.Tensor(3)) == 3

# %%
# Remember
# --------
# - For new memory use ``torch.tensor(a)``, to share memory ``torch.from_numpy(a)``.
# - ``as_tensor`` and ``asarray`` share if they can, so don't modify their results.
# - ``asarray`` copies with ``copy=True``, and shares or raises with ``copy=False``.
