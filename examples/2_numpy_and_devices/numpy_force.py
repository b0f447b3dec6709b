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
# ``wave`` only needs ``detach``, so on the CPU the array shares its memory.
# ``wave.conj()`` only sets a conjugate bit, which NumPy doesn't support. So
# ``force=True`` computes the conjugate in new memory.

wave = torch.tensor([1 + 2j], requires_grad=True)
alias = wave.numpy(force=True)
copied = wave.conj().numpy(force=True)
alias[0] = 5
print(f"{wave.tolist() = }, {copied.tolist() = }")
assert wave[0].item() == 5
assert copied[0] == 1 - 2j
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "wave, alias, copied, wave copied to copied"

# %%
# Which tensors does ``force=True`` convert?
# ------------------------------------------
# We add 7 to each array. If its tensor also changes, the two share memory (*alias*).
# The sparse tensor is on the CPU, the last one on ``meta``, the others on ``device``.


def share_or_copy(tensor, force):
    try:
        array = tensor.numpy(force=force)
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
forced = {}
print("tensor | numpy() | force=True")
for kind, tensor in kinds.items():
    plain = share_or_copy(tensor, force=False)
    forced[kind] = share_or_copy(tensor, force=True)
    print(f"{kind} | {plain} | {forced[kind]}")
here = "alias" if device == "cpu" else "copy"
assert forced["float32"] == here
assert forced["requires grad"] == here
assert forced["every second element"] == here
assert forced["conjugate"] == "copy"
assert forced["imag of a conjugate"] == "copy"
assert forced["bfloat16"] == "TypeError"
assert "Error" in forced["on meta"]
# np.exp returns a tensor, as the text below says:
with warnings.catch_warnings(action="ignore"):
    assert torch.is_tensor(np.exp(torch.zeros(2)))
# sphinx_gallery_folded = "The code that tests them"

# %%
# The ``imag`` of a conjugate only sets a *negative bit*, so ``resolve_neg`` computes
# the negative values. NumPy has no bfloat16, float8 or sparse arrays. A tensor on
# ``meta`` has no data. See :doc:`what each message means <../../errors/to_numpy>`.
# Convert the dtype and the layout first:

low = torch.ones(2, dtype=torch.bfloat16, device=device)
array = low.float().numpy(force=True)
sparse = torch.eye(2).to_sparse()
dense = sparse.to_dense().numpy(force=True)
print(f"{array.dtype = }, {dense.shape = }")
assert dense.tolist() == [[1, 0], [0, 1]]

# %%
# NumPy's functions call ``numpy()`` without ``force``
# ----------------------------------------------------
# ``np.asarray(t)`` calls ``t.numpy()`` without ``force``. Many of NumPy's functions do
# the same. From a list, they convert each tensor and copy all of them into a new array.

t = torch.zeros(2)
one = np.asarray(t)
many = np.stack([t, t])
t[0] = 7.0
print(f"{one = }, {many.tolist() = }")
assert one[0] == 7
assert many[0, 0] == 0

# %%
# .. predict:: What do ``one`` and ``many`` hold?
#
#     - ``one = array([7., 0.], dtype=float32), many.tolist() = [[0.0, 0.0], [0.0,
#       0.0]]``
#     - ``one = array([0., 0.], dtype=float32), many.tolist() = [[0.0, 0.0], [0.0,
#       0.0]]`` with ``one = t.numpy().copy()``
#     - ``one = array([7., 0.], dtype=float32), many.tolist() = [[7.0, 0.0], [7.0,
#       0.0]]`` with ``many = np.broadcast_to(t, (2, 2))``
#
# ``one`` shares the memory of ``t``.

# %%
# Many of NumPy's functions raise where ``numpy()`` raises. So convert first, as below.
# ``np.mean``, ``np.sum`` and ``np.max`` of one tensor always raise :ref:`another error
# <numpy-axis>`. ``np.exp`` returns a *tensor*. NumPy 2 warns about that.

w = torch.ones(2, requires_grad=True)
elsewhere = "cuda" if device == "cuda" else "meta"
for bad in [w, torch.ones(2, device=elsewhere)]:
    try:
        np.stack([bad, bad])
    except (RuntimeError, TypeError) as error:
        print(f"{type(error).__name__}: {error}")
array = w.numpy(force=True)
stacked = np.stack([array, array])
print(f"{stacked.shape = }")

# %%
# Inside ``no_grad``, ``numpy()`` doesn't need ``detach``
# -------------------------------------------------------
# ``numpy()`` raises if the tensor requires grad and grad mode is on at the time of the
# call. Inside ``no_grad`` you get an array that shares the memory. Autograd doesn't
# notice a write to it, so here ``w.grad[0]`` is 0 instead of 1 (:doc:`numpy_bridge`).
# ``inside`` doesn't require grad, so its ``numpy()`` also works after the block.

before = w.relu()  # saves the result for backward
with torch.no_grad():
    array = before.numpy()
    inside = w * 3
array[0] = 0.0
before.sum().backward()
print(f"{w.grad = }")
print(f"{inside.numpy() = }")
try:
    before.numpy()
except RuntimeError as error:
    print("RuntimeError:", error)
assert w.grad.tolist() == [0, 1]

# %%
# Remember
# --------
# - On a CPU, ``force=True`` only copies to compute conjugate or negative values.
# - It doesn't convert dtypes or layouts. First call ``float()`` or ``to_dense()``.
# - NumPy's functions don't use ``force``, so convert before you call them.
