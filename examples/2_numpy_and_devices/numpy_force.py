# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does ``numpy(force=True)`` do?
===================================

It is short for ``t.detach().cpu().resolve_conj().resolve_neg().numpy()``: it copies
if one of these steps does, and cures no dtype and no layout.

You will see which tensors it turns into an alias, a copy or an error, which
NumPy functions call ``numpy`` for you, and what ``no_grad`` has to do with it.
"""

# sphinx_gallery_setup = True
import warnings

import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Four steps, each only if needed
# -------------------------------
# ``signal`` needs no step but ``detach``, and on the CPU the array is an alias.
# ``signal.conj()`` has computed nothing: it is ``signal`` with a mark, which NumPy does
# not know. ``force=True`` computes the conjugate, and that is a copy.

signal = torch.tensor([1 + 2j], requires_grad=True)
alias = signal.numpy(force=True)
copied = signal.conj().numpy(force=True)
alias[0] = 5
print(f"{signal.tolist() = }, {copied.tolist() = }")
assert signal[0] == 5 and copied[0] == 1 - 2j
# sphinx_gallery_tensor_map_lead = "signal, alias, copied"

# %%
# Which tensors it takes
# ----------------------
# Each array grows by 7; if its tensor does too, it is an alias. The tensors are on
# this lesson's device, except the last two; one on meta has no data.


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
marked = ones.to(torch.complex64).conj()
kinds = {
    "constant": ones,
    "requires grad": w,
    "every second element": ones[::2],
    "conjugate": marked,
    "imag of a conjugate": marked.imag,
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
# sphinx_gallery_folded = "The code that probes"
# sphinx_gallery_table = "rows"

# %%
# ``imag`` of a conjugate has a mark of its own, which ``resolve_neg`` computes. NumPy
# has no bfloat16, no float8 and no sparse array. On meta there is nothing to copy
# (:doc:`the messages <../../errors>`).
#
# Functions that call ``numpy`` for you
# -------------------------------------
# ``np.asarray(t)`` calls ``t.numpy()``, without ``force``. So do NumPy's functions:
# a list of tensors is converted one by one, and copied into a new array.

t = torch.zeros(2)
one, many = np.asarray(t), np.stack([t, t])
t[0] = 7.0
print(one.tolist(), many.tolist())
assert one[0] == 7 and many[0, 0] == 0
# sphinx_gallery_predict = "What do ``one`` and ``many`` hold?"
# sphinx_gallery_predict_instead = "np.stack([t, t]) -> np.broadcast_to(t, (2, 2))"
# sphinx_gallery_predict_instead_2 = "np.asarray(t) -> t.numpy().copy()"

# %%
# They refuse what ``numpy`` refuses: a tensor that requires grad, one on CUDA. Convert
# once, before: ``torch.stack(ts).numpy(force=True)``. Of one tensor ``np.mean`` raises
# :ref:`a message of its own <numpy-axis>`; ``np.exp`` gives a *tensor*, and warns.

w = torch.ones(2, requires_grad=True)
elsewhere = "cuda" if device == "cuda" else "meta"
for refused in w, torch.ones(2, device=elsewhere):
    try:
        np.stack([refused, refused])
        raise AssertionError("no error")
    except (RuntimeError, TypeError) as error:
        print(f"{type(error).__name__}: {error}")
with warnings.catch_warnings(action="ignore"):
    result = np.exp(torch.zeros(2))
print(f"{result = }")
assert isinstance(result, torch.Tensor)

# %%
# Before, inside and after ``no_grad``
# ------------------------------------
# When you call it, ``numpy()`` looks at two things: does the tensor require grad, and
# is grad mode on? It refuses if both are true. (A view of ``w`` requires grad, wherever
# it is made: :doc:`../1_basics/flags_inside_no_grad`.) ``no_grad`` around it silences
# the error, and hands you an alias: :doc:`nothing records a write <numpy_bridge>`.

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
# - ``force=True`` gives an alias on a CPU, unless it had to compute a mark.
# - It casts nothing: first ``float()`` for bfloat16, float8; ``to_dense()`` for sparse.
# - NumPy functions convert without ``force``: convert before you call them.
