# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Turn a list into one tensor
===========================

Call ``torch.from_numpy(np.stack([a, b]))`` for arrays and ``torch.stack(tensors)`` for
tensors. For long lists, ``torch.tensor`` takes much longer.
"""

# sphinx_gallery_setup = True
import warnings

import numpy as np
import torch
from torch.utils.benchmark import Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A list of arrays: one copy
# --------------------------
# The arrays are in different places in memory, so one tensor for all of them needs new
# memory. :func:`numpy.stack` copies them into it, and ``from_numpy`` shares that
# memory. So each number is copied once.

a, b = np.zeros(2), np.ones(2)
batch = torch.from_numpy(np.stack([a, b]))
a[0] = 7.0  # the batch doesn't change
print(f"{batch = }")
assert batch.tolist() == [[0, 0], [1, 1]]
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "a, b, batch, a copied to batch, b copied to batch"

# %%
# A list of tensors: stay in PyTorch
# ----------------------------------
# :func:`torch.stack` adds a dimension, :func:`torch.cat` extends one. Both work on the
# tensors' device and stay in the graph. Python numbers aren't in a graph, so
# ``numbers`` doesn't require grad.

v = torch.ones(2, device=device, requires_grad=True)
w = torch.zeros(2, device=device)
stack = torch.stack([v, w])
flat = torch.cat([v, w])
numbers = torch.tensor([v.tolist(), w.tolist()])
print(f"{stack.shape = }, {flat.shape = }")
print(f"{stack.requires_grad = }")
print(f"{numbers.requires_grad = }")
assert stack.shape == (2, 2)
assert flat.shape == (4,)
assert stack.requires_grad
assert flat.requires_grad
assert stack.device == v.device
assert flat.device == v.device
assert not numbers.requires_grad

# %%
# A list of numbers: mind the dtype
# ---------------------------------
# PyTorch turns Python's floats into its default dtype, float32. NumPy turns them into
# float64.

tensor = torch.tensor([0.5])
array = np.array([0.5])
print(f"{tensor.dtype = }, {array.dtype = }")
assert tensor.dtype == torch.float32
assert array.dtype == np.float64

# %%
# pandas, PIL and other objects
# -----------------------------
# A data frame or an image converts *itself* to an array when NumPy asks, as this class
# does. ``torch.tensor`` doesn't ask for it (:ref:`tensor-of-series`,
# :ref:`tensor-of-image`). :func:`numpy.asarray` returns that array without another
# copy, :func:`numpy.array` makes a copy.


class Frame:
    def __init__(self):
        self.cells = np.zeros(2)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.cells, dtype, copy=copy)


frame = Frame()
shared = torch.from_numpy(np.asarray(frame))
copied = torch.from_numpy(np.array(frame))
shared += 5
print(f"{frame.cells = }, {copied = }")
assert frame.cells.tolist() == [5, 5]
assert copied.tolist() == [0, 0]

# %%
# .. predict:: What do the frame and ``copied`` hold?
#
#     - ``frame.cells = array([5., 5.]), copied = tensor([0., 0.],
#       dtype=torch.float64)``
#     - ``frame.cells = array([0., 0.]), copied = tensor([0., 0.],
#       dtype=torch.float64)`` with ``shared = torch.from_numpy(np.array(frame))`` in
#       the place of ``shared = torch.from_numpy(np.asarray(frame))``
#     - ``frame.cells = array([5., 5.]), copied = tensor([5., 5.],
#       dtype=torch.float64)`` with ``copied = torch.from_numpy(np.asarray(frame))``
#
# A write to ``shared`` also changes the frame.

# %%
# Many arrays of pandas 3 `are read-only
# <https://pandas.pydata.org/docs/user_guide/copy_on_write.html>`_. ``from_numpy`` warns
# about them (:doc:`array_to_tensor`). So call ``np.array``, as for ``copied`` above.
# Columns of numbers *and* text become an array of objects, for which ``from_numpy``
# raises (:ref:`from-numpy-object`).

# %%
# Which call is fastest for each list?
# ------------------------------------
# Each list has 16 rows of 256 numbers, on the CPU. Each time is a median, divided by
# the median of the first call for that list.

arrays = list(np.ones((16, 256), dtype=np.float32))
tensors = [torch.from_numpy(a) for a in arrays]
lists = [a.tolist() for a in arrays]

# %%
of_arrays = [
    "torch.from_numpy(np.stack(arrays))",
    "torch.stack(list(map(torch.from_numpy, arrays)))",
    "torch.tensor(arrays)",
]
of_tensors = [
    "torch.stack(tensors)",
    "torch.from_numpy(np.stack(tensors))",
    "torch.tensor([t.tolist() for t in tensors])",
]
of_lists = [
    "torch.from_numpy(np.array(lists, 'float32'))",
    "torch.tensor(lists)",
]
scope = {"torch": torch, "np": np}
scope["arrays"] = arrays
scope["tensors"] = tensors
scope["lists"] = lists
warnings.filterwarnings("ignore", "Creating a tensor")
print("call | time")
for calls in of_arrays, of_tensors, of_lists:
    timers = [Timer(c, globals=scope) for c in calls]
    rounds = []
    for _ in range(15):
        means = [t.timeit(9).mean for t in timers]
        rounds.append(means)
    medians = np.median(rounds, axis=0)
    ratios = medians / medians[0]
    for call, ratio in zip(calls, ratios):
        digits = 0 if ratio > 9.95 else 1
        print(f"{call} | {ratio:.{digits}f}×")
# sphinx_gallery_folded = "The code that times"

# %%
# ``torch.tensor`` takes the longest for each list. For a list of arrays it warns that
# this is slow. (The folded code silences the warning.)
#
# Remember
# --------
# - Arrays: ``torch.from_numpy(np.stack(arrays))``. Tensors: ``torch.stack(tensors)``.
# - For long lists, ``torch.tensor`` takes much longer.
# - Call ``np.array`` on a frame or an image, to get a copy.
