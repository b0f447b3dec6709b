# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Turn a tensor into an ndarray
=============================

``t.detach().to("cpu", copy=True).numpy()`` gives you an array with its own memory.
It works on CPU and GPU, with or without a graph, for a dense tensor of a dtype that
NumPy has.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach().numpy()"
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Share the memory, or copy it
# ----------------------------
# ``t`` is on the CPU. So the array of ``t.detach().numpy()`` shares the memory of
# ``t``, and a write to the array also changes ``t``. The copy has its own memory.

t = torch.zeros(3, requires_grad=True)
alias = t.detach().numpy()
copied = t.detach().to("cpu", copy=True).numpy()
alias[0] = 7.0
print(f"{t.tolist() = }, {copied.tolist() = }")
assert t[0].item() == 7
assert copied[0] == 0
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "t, alias, copied, t copied to copied"

# %%
# Which of nine routes share, copy or raise?
# ------------------------------------------
# The folded code writes a 7 to each array. If the tensor then has the 7, array and
# tensor share memory. The tensor requires grad, so on the CPU the first two routes
# raise ``RuntimeError``. On CUDA, the first six raise ``TypeError``, and the last three
# copy. Without a GPU, the second column shows the ``meta`` device, which raises the
# same errors as CUDA but has no data to copy.

names = [
    "t.numpy()",
    "t.clone().numpy()",
    "t.detach().numpy()",
    "t.detach().numpy().copy()",
    "t.detach().clone().numpy()",
    "t.clone().detach().numpy()",
    "t.detach().cpu().numpy()",
    "t.numpy(force=True)",
    't.detach().to("cpu", copy=True).numpy()',
]
routes = [
    lambda t: t.numpy(),
    lambda t: t.clone().numpy(),
    lambda t: t.detach().numpy(),
    lambda t: t.detach().numpy().copy(),
    lambda t: t.detach().clone().numpy(),
    lambda t: t.clone().detach().numpy(),
    lambda t: t.detach().cpu().numpy(),
    lambda t: t.numpy(force=True),
    lambda t: t.detach().to("cpu", copy=True).numpy(),
]


def share_or_copy(route, where, dtype=None):
    t = torch.zeros(3, device=where, dtype=dtype)
    t.requires_grad_()
    try:
        array = route(t)
    except NotImplementedError:
        return "no data"
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    array[0] = 7.0
    if t[0].item() == 7:
        return "shares memory"
    return "a copy"


other = "cuda" if device == "cuda" else "meta"
on_cpu, on_other = [], []
print(f"route | on cpu | on {other}")
for name, route in zip(names, routes, strict=True):
    on_cpu.append(share_or_copy(route, "cpu"))
    on_other.append(share_or_copy(route, other))
    print(f"{name} | {on_cpu[-1]} | {on_other[-1]}")
assert on_cpu[:2] == ["RuntimeError"] * 2
assert on_cpu[2] == "shares memory"
assert on_cpu[3:6] == ["a copy"] * 3
assert on_cpu[6:8] == ["shares memory"] * 2
assert on_cpu[8] == "a copy"
assert on_other[:6] == ["TypeError"] * 6
if device == "cuda":
    assert on_other[6:] == ["a copy"] * 3
for route in routes:  # NumPy has no bfloat16
    result = share_or_copy(route, "cpu", torch.bfloat16)
    assert result in ("TypeError", "RuntimeError")
# sphinx_gallery_folded = "The nine routes, and the code that tries them"

# %%
# Only the last route copies both on the CPU and on CUDA. If you only read the array,
# and before ``t`` changes, ``t.numpy(force=True)`` is enough. The times of three copies
# are in :doc:`cost_of_an_ndarray`. NumPy has no bfloat16, so all nine raise for it
# (:doc:`../2_numpy_and_devices/numpy_force`).

# %%
# The order of the elements can differ
# ------------------------------------
# ``t`` is transposed. An array in C order has its elements in memory row by row.

t = torch.arange(6.0).view(2, 3).t()
by_numpy = t.numpy().copy()
by_clone = t.clone().numpy()
by_to = t.to("cpu", copy=True).numpy()
print(f"{by_numpy.flags.c_contiguous = }")
print(f"{by_clone.flags.c_contiguous = }")
assert by_numpy.flags.c_contiguous
assert not by_clone.flags.c_contiguous
assert by_to.strides == by_clone.strides

# %%
# .. predict:: Which copy is in C order?
#
#     - ``by_numpy.flags.c_contiguous = True`` ``by_clone.flags.c_contiguous = False``
#     - ``by_numpy.flags.c_contiguous = True`` ``by_clone.flags.c_contiguous = True``
#       with ``by_clone = t.contiguous().numpy()``
#     - ``by_numpy.flags.c_contiguous = False`` ``by_clone.flags.c_contiguous = False``
#       with ``by_numpy = t.numpy()``
#
# :meth:`numpy.ndarray.copy` uses C order unless you ask for another. ``clone`` and
# ``to`` keep the order that the elements have in memory.
#
# Remember
# --------
# - For an array with its own memory, use ``t.detach().to("cpu", copy=True).numpy()``.
# - ``t.numpy(force=True)`` usually shares memory on a CPU and copies from CUDA.
# - ``t.detach().numpy().copy()`` is in C order, and only works for a CPU tensor.
