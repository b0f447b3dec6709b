# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Turn an array into a tensor: which call copies?
===============================================

``torch.tensor`` always copies; ``from_numpy`` shares the array's memory, and so do
``as_tensor`` and ``asarray``, unless the dtype or the device has to change.

You will see eight calls on five arrays, and what a tensor does to a read-only array.
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
# ``array`` is float32. :func:`torch.as_tensor` shares its memory, unless you ask for
# another dtype. ``moved`` shares it on a CPU; on a GPU it cannot.

array = np.ones(2, dtype=np.float32)
shared = torch.as_tensor(array)
cast = torch.as_tensor(array, dtype=torch.float64)
moved = torch.as_tensor(array, device=device)
array[0] = 7.0
print(f"{shared = }, {cast = }")
assert shared.tolist() == [7, 1]
assert cast.tolist() == [1, 1]
assert moved[0] == (7 if device == "cpu" else 1)
# sphinx_gallery_tensor_map_lead = "array, shared, cast, moved"

# %%
# Eight calls, five arrays
# ------------------------
# Each tensor is filled with 7. If the array changes, the tensor is an alias. *From
# float64* asks for ``dtype=torch.float32``.

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


def arrays():
    a = np.arange(6, dtype=np.float32)
    yield "float32", a.copy(), {}
    yield "from float64", a.astype(float), single
    yield "a[::2]", a.copy()[::2], {}
    yield "a[::-1]", a.copy()[::-1], {}
    a.flags.writeable = False
    yield "read-only", a, {}


warnings.filterwarnings("ignore", "The given ")
refused = RuntimeError, TypeError, ValueError
rows = []
for name, call in calls.items():
    row = {"call": name}
    for kind, array, options in arrays():
        try:
            call(array, **options).fill_(7.0)
            same = array[0] == 0
            row[kind] = "copy" if same else "alias"
        except refused as error:
            row[kind] = type(error).__name__
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
found = [list(row.values())[1:] for row in rows]
copies = ["copy"] * 3 + ["ValueError", "copy"]
assert found[0] == found[3] == copies
alias, error = "alias", "ValueError"
shares = [alias, "copy", alias, error, alias]
assert found[1] == found[2] == shares
assert (found[4][1], found[7][1]) == (error, alias)
# sphinx_gallery_folded = "The code that probes"
# sphinx_gallery_table = "rows"

# %%
# A ``TypeError`` means that the call takes no ``dtype``. ``a[::-1]`` is refused by all:
# a tensor has no negative strides. Take ``a[::-1].copy()``.
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
# sphinx_gallery_predict_instead_2 = "tensor += 5 -> locked += 5 raises"

# %%
# Copy it: ``torch.tensor(locked)``. pandas 3 locks, too: :ref:`from-pandas-and-pillow`.
#
# ``frombuffer`` reads bytes
# --------------------------
# :func:`torch.frombuffer` shares any contiguous buffer, say a mapped file, and converts
# nothing: here it takes the bytes of one float64 for two float32.

array = np.ones(1)
wrong = torch.frombuffer(array, dtype=torch.float32)
print(f"{wrong = }")
assert wrong.tolist() == [0, 1.875]

# %%
# ``torch.Tensor`` is not ``torch.tensor``
# ----------------------------------------
# The class makes the default dtype, float32, of whatever it gets: a float32 array is
# shared, as the table shows, a float64 array copied. And it takes a number for a size.

double = torch.Tensor(np.ones(2))
print(f"{double.dtype = }, {torch.Tensor(3).shape = }")
assert double.dtype == torch.float32
assert torch.Tensor(3).shape == (3,)

# %%
# Remember
# --------
# - Your own memory: ``torch.tensor(a)``. The array's: ``torch.from_numpy(a)``.
# - ``as_tensor`` and ``asarray`` share if they can: do not write to what they return.
# - ``asarray`` with ``copy=True`` or ``copy=False`` does what you said, or raises.
