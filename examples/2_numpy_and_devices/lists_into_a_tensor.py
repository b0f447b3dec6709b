# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Make one tensor of a list
=========================

Stack first and convert once: ``torch.from_numpy(np.stack(arrays))`` and
``torch.stack(tensors)`` copy blocks, while ``torch.tensor`` reads number by number.

You will see the ways for a list of arrays, of tensors and of numbers, how a pandas
frame or a PIL image gets in, and what the ways for lists cost.
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
# The arrays lie in different places, so one tensor of them needs new memory.
# :func:`numpy.stack` makes it, ``from_numpy`` shares it: one copy in all.

a, b = np.zeros(2), np.ones(2)
batch = torch.from_numpy(np.stack([a, b]))
a[0] = 7.0  # too late for the batch
print(f"{batch = }")
assert batch.tolist() == [[0, 0], [1, 1]]
# sphinx_gallery_tensor_map_lead = "a, b, batch"

# %%
# A list of tensors: stay in PyTorch
# ----------------------------------
# :func:`torch.stack` adds a dimension, :func:`torch.cat` continues one. Both work on
# the tensors' device and stay in the graph. A tensor made of Python numbers is a
# constant. ``torch.tensor([v, w])`` takes only tensors of one element, and cuts too.

v = torch.ones(2, device=device, requires_grad=True)
w = torch.zeros(2, device=device)
stack = torch.stack([v, w])
flat = torch.cat([v, w])
numbers = torch.tensor([v.tolist(), w.tolist()])
print(stack.shape, flat.shape)
print(stack.requires_grad, numbers.requires_grad)
assert stack.shape == (2, 2) and len(flat) == 4
assert stack.requires_grad and not numbers.requires_grad

# %%
# A list of numbers: mind the dtype
# ---------------------------------
# PyTorch takes Python's floats for float32, NumPy for float64.

t, a = torch.tensor([0.5]), np.array([0.5])
print(f"{t.dtype = }, {a.dtype = }")
assert t.nbytes == 4 and a.nbytes == 8

# %%
# pandas, PIL and other objects
# -----------------------------
# A frame and an image turn *themselves* into an array, when NumPy asks, as this class
# does. ``torch.tensor`` does not ask (:ref:`tensor-of-series`, :ref:`tensor-of-image`).
# :func:`numpy.asarray` takes what it is given, :func:`numpy.array` asks for a copy.


class Frame:
    cells = np.zeros(2)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.cells, dtype, copy=copy)


frame = Frame()
shared = torch.from_numpy(np.asarray(frame))
copied = torch.from_numpy(np.array(frame))
shared += 5
print(f"{frame.cells = }, {copied = }")
assert frame.cells[0] == 5 and copied[0] == 0
# sphinx_gallery_predict = "What do the frame and ``copied`` hold?"
# sphinx_gallery_predict_instead = "np.asarray(frame) -> np.array(frame)"
# sphinx_gallery_predict_instead_2 = "np.array(frame) -> np.asarray(frame)"

# %%
# The frame is changed. A frame of pandas 3 too, which `hands out its memory read-only
# <https://pandas.pydata.org/docs/user_guide/copy_on_write.html>`_:
# :doc:`from_numpy only warns <array_to_tensor>`. Write
# ``torch.tensor(frame.to_numpy())`` for pandas, ``torch.from_numpy(np.array(image))``
# for PIL. An image arrives as rows, columns, channels. Numbers *and* text make an
# array of objects, which is refused (:ref:`from-numpy-object`).

# %%
# What they cost
# --------------
# Each list has 16 rows of 256 numbers, on the CPU. A time is relative to that of the
# first call for the list: a median of rounds, as in :doc:`../3_tips/why_a_copy_costs`.

arrays = list(np.ones((16, 256), np.float32))
tensors = [torch.from_numpy(a) for a in arrays]
lists = [a.tolist() for a in arrays]
of_arrays = [
    "torch.from_numpy(np.stack(arrays))",
    "torch.stack([*map(torch.from_numpy, arrays)])",
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
known, rows = globals(), []
warnings.simplefilter("ignore")
for calls in of_arrays, of_tensors, of_lists:
    timers = [Timer(c, globals=known) for c in calls]
    runs = []
    for _ in range(15):
        runs.append([t.timeit(9).mean for t in timers])
    runs = np.array(runs)
    ratios = np.median(runs / runs[:, :1], axis=0)
    for call, ratio in zip(calls, ratios):
        time = f"{ratio:.{0 if ratio > 9.95 else 1}f}×"
        row = {"call": call, "time": time}
        rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that times"
# sphinx_gallery_table = "rows"

# %%
# ``torch.tensor`` asks Python for each number, and warns if the list has arrays.
#
# Remember
# --------
# - Arrays: ``torch.from_numpy(np.stack(arrays))``. Tensors: ``torch.stack``.
# - ``torch.tensor`` reads any list number by number: keep it for short ones.
# - Of a frame or an image take ``np.array``: a copy that you can write to.
