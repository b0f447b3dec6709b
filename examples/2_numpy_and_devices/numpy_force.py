# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does ``numpy(force=True)`` do?
===================================

It's short for ``t.detach().cpu().resolve_conj().resolve_neg().numpy()``. It copies only
if one of these steps does, and it doesn't convert dtypes or layouts.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.numpy(force=True)"
import warnings

import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Four steps, each only if needed
# -------------------------------
# ``signal`` only needs ``detach``, so on the CPU the array shares its memory.
# ``signal.conj()`` only sets a conjugate bit, which NumPy doesn't support. So
# ``force=True`` computes the conjugate in new memory.

signal = torch.tensor([1 + 2j], requires_grad=True)
alias = signal.numpy(force=True)
copied = signal.conj().numpy(force=True)
alias[0] = 5
print(f"{signal.tolist() = }, {copied.tolist() = }")
assert signal[0] == 5 and copied[0] == 1 - 2j
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "signal, alias, copied, signal copied to copied"

# %%
# Which tensors does ``force=True`` convert?
# ------------------------------------------
# We add 7 to each array. If its tensor also changes, the two share memory (*alias*).
# The tensors are on this lesson's device, except the last two.


def through(tensor, **options):
    try:
        array = tensor.numpy(**options)
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    old = tensor.tolist()
    array += 7
    return "copy" if tensor.tolist() == old else "alias"


ones = torch.ones(2, device=device)
w = torch.ones(2, device=device, requires_grad=True)
lazy = ones.to(torch.complex64).conj()
kinds = {
    "float32": ones,
    "requires grad": w,
    "every second element": ones[::2],
    "conjugate": lazy,
    "imag of a conjugate": lazy.imag,
    "bfloat16": ones.bfloat16(),
    "float8": ones.to(torch.float8_e5m2),
    "sparse": torch.eye(2).to_sparse(),
    "on meta": torch.ones(2, device="meta"),
}
rows = []
for kind, tensor in kinds.items():
    row = {"tensor": kind, "numpy()": through(tensor)}
    row["force=True"] = through(tensor, force=True)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
forced = [row["force=True"] for row in rows]
here = "alias" if device == "cpu" else "copy"
assert forced[:3] == [here] * 3
assert forced[3:5] == ["copy"] * 2
assert all("Error" in found for found in forced[5:])
# sphinx_gallery_folded = "The code that tests them"

# %%
# The ``imag`` of a conjugate only sets a *negative bit*, so ``resolve_neg`` computes
# the negative values. NumPy has no bfloat16, float8 or sparse arrays. A tensor on
# ``meta`` has no data. See :doc:`what each message means <../../errors/to_numpy>`.
#
# NumPy's functions call ``numpy()`` without ``force``
# ----------------------------------------------------
# ``np.asarray(t)`` calls ``t.numpy()`` without ``force``. Most of NumPy's functions do
# the same. From a list, they convert each tensor and copy all of them into a new array.

t = torch.zeros(2)
one, many = np.asarray(t), np.stack([t, t])
t[0] = 7.0
print(f"{one = }, {many.tolist() = }")
assert one[0] == 7 and many[0, 0] == 0

# %%
# .. predict:: What do ``one`` and ``many`` hold?
#
#     - ``one = array([7., 0.], dtype=float32), many.tolist() = [[0.0, 0.0], [0.0,
#       0.0]]``
#     - ``one = array([0., 0.], dtype=float32), many.tolist() = [[0.0, 0.0], [0.0,
#       0.0]]`` with ``one, many = t.numpy().copy(), np.stack([t, t])``
#     - ``one = array([7., 0.], dtype=float32), many.tolist() = [[7.0, 0.0], [7.0,
#       0.0]]`` with ``one, many = np.asarray(t), np.broadcast_to(t, (2, 2))``
#
# ``one`` shares the memory of ``t``.

# %%
# NumPy's functions raise where ``numpy()`` raises. So convert before you call them:
# ``torch.stack(ts).numpy(force=True)``. ``np.mean``, ``np.sum`` and ``np.max`` of one
# tensor always raise :ref:`another error <numpy-axis>`. ``np.exp`` returns a *tensor*.
# NumPy 2 warns about that.

w = torch.ones(2, requires_grad=True)
elsewhere = "cuda" if device == "cuda" else "meta"
errors = []
for t in w, torch.ones(2, device=elsewhere):
    try:
        np.stack([t, t])
    except (RuntimeError, TypeError) as error:
        errors.append(f"{error}")
with warnings.catch_warnings(action="ignore"):
    result = np.exp(torch.zeros(2))
print(*errors, sep="\n")
assert len(errors) == 2 and torch.is_tensor(result)

# %%
# Inside ``no_grad``, ``numpy()`` doesn't need ``detach``
# -------------------------------------------------------
# ``numpy()`` raises if the tensor requires grad and grad mode is on at the time of the
# call. (A view of ``w`` also requires grad if you make it under ``no_grad``, see
# :doc:`../1_basics/flags_inside_no_grad`.) Inside ``no_grad`` you get an array that
# shares the memory, and :doc:`autograd doesn't notice a write <numpy_bridge>`.

before = w * 2
with torch.no_grad():
    inside, view = w * 3, w[:1]
    under = [through(before), through(view)]
after = [through(t) for t in (before, view, inside)]
print(f"{under = }")
print(f"{after = }")
assert under == ["alias"] * 2
assert after == ["RuntimeError"] * 2 + ["alias"]

# %%
# Remember
# --------
# - On a CPU, ``force=True`` only copies to compute conjugate or negative values.
# - It doesn't convert dtypes or layouts. First call ``float()`` or ``to_dense()``.
# - NumPy's functions convert without ``force``, so convert before you call them.
