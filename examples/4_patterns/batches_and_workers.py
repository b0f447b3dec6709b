# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Load batches: views, copies, workers
====================================

A ``TensorDataset`` sample is a view of the data, and a batch is a copy. A worker
process sees later writes only if the data is in shared memory, and the start methods
``spawn`` and ``forkserver`` move CPU tensors there, but ``fork`` doesn't.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x[0]"
import io
import sys
import warnings

import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ != "__main__":  # in a worker
    sys.stdout = io.StringIO()  # print once
device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# Does an in-place transform change the dataset?
# ----------------------------------------------
# ``dataset[0]`` is a view of the data. Without workers, a transform that adds in
# place changes the dataset again in each epoch. Write ``sample = sample + 10``.

data = torch.tensor([[1.0], [2.0]])
dataset = TensorDataset(data)
(sample,) = dataset[0]
((batch,),) = DataLoader(dataset, batch_size=2)
# sphinx_gallery_lead = True
sample += 10
print(f"{data.tolist() = }, {batch.tolist() = }")
assert data[0].item() == 11
assert batch[0].item() == 1
# sphinx_gallery_tensor_map = "data, sample, batch, data copied to batch"

# %%
# .. predict:: What do ``data`` and ``batch`` hold?
#
#     - ``data.tolist() = [[11.0], [2.0]], batch.tolist() = [[1.0], [2.0]]``
#     - ``data.tolist() = [[1.0], [2.0]], batch.tolist() = [[1.0], [2.0]]`` with
#       ``sample = sample + 10``
#     - ``data.tolist() = [[11.0], [2.0]], batch.tolist() = [[11.0], [2.0]]`` with
#       ``((batch,),) = [dataset[:]]``
#
# What shares memory with the data?
# ---------------------------------
# A :class:`torch.utils.data.DataLoader` stacks samples into a batch, which copies them.
# With ``batch_size=None`` and no workers, it returns each sample without a copy. With
# a CUDA GPU, ``pin_memory=True`` copies again, into page-locked memory that the GPU can
# read directly (:ref:`silent-pinned-refill`).

gpu = device == "cuda"
ways = {
    "dataset[0]": dataset,
    "batch_size=None": DataLoader(dataset, batch_size=None),
    "batch_size=2": DataLoader(dataset, batch_size=2),
    "pinned": DataLoader(dataset, batch_size=2, pin_memory=gpu),
}
rows = []
for way, loader in ways.items():
    (batch,) = next(iter(loader))
    row = {"loaded with": way}
    row["memory of data"] = shares_memory(batch, data)
    row["pinned"] = batch.is_pinned()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
shared = [row["memory of data"] for row in rows]
assert shared == [True, True, False, False]
assert row["pinned"] == gpu
# sphinx_gallery_folded = "The code that looks"

# %%
# Do workers and the main process see each other's writes?
# --------------------------------------------------------
# A forked worker has the data as it was when the worker started. (Linux forks by
# default before Python 3.14.) ``spawn`` is the default on macOS and Windows,
# ``forkserver`` on Linux since Python 3.14. Both pickle the dataset. That moves its CPU
# tensors into shared memory, also in the main process. Don't rely on the default. Call
# :meth:`torch.Tensor.share_memory_` if both sides should see each other's writes. Here
# a worker's ReLU writes to the data, and between two epochs the main process adds 10.


def two_epochs(data, method):
    loader = DataLoader(
        data,  # a tensor is a data set too
        batch_size=None,
        collate_fn=torch.nn.ReLU(inplace=True),
        num_workers=1,
        persistent_workers=True,
        multiprocessing_context=method,
    )
    list(loader)
    written = data.min().item() == 0
    data += 10
    return written, max(loader).item() == 12


# %%
# ``spawn`` and ``forkserver`` also import your script again in each worker. So start
# workers under ``if __name__ == "__main__":``.

data = torch.tensor([[-1.0], [2.0]])
shared = data.clone().share_memory_()
methods = torch.multiprocessing.get_all_start_methods()
if sys.platform == "darwin":
    methods.remove("fork")  # not safe on macOS
tries = [(m, data.clone()) for m in sorted(methods)]
tries.append((tries[0][0], shared))
rows = []
if __name__ == "__main__":
    for method, own in tries:
        row = {"start method": method}
        row["share_memory_()"] = own is shared
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fork
            seen = two_epochs(own, method)
        row["worker's write is seen"] = seen[0]
        row["worker sees a later write"] = seen[1]
        row["data.is_shared()"] = own.is_shared()
        rows.append(row)
    print(*rows[0], sep=" | ")
    for row in rows:
        print(*row.values(), sep=" | ")
for method, asked, *seen in map(dict.values, rows):
    assert seen == [asked or method != "fork"] * 3
model = torch.nn.Linear(1, 1).share_memory()
assert model.weight.is_shared()
# sphinx_gallery_folded = "The code that tries each start method"

# %%
# Batches come back through shared memory. With ``model.share_memory()`` all processes
# can train the same weights. A graph can't be shared (:ref:`send-to-process`).
#
# When a tensor moves to shared memory, its views move too, but NumPy arrays don't.
# After the move, an array from ``numpy()`` points to freed memory, so make it again. If
# the tensor came from ``from_numpy``, it no longer shares memory with that array
# (:ref:`q-persistent-workers`).
#
# Remember
# --------
# - A sample is a view, so don't write to it in place. A batch is a copy of the samples.
# - A worker has its own copy of NumPy arrays and lists. With ``fork``, it also has its
#   own copy of tensors that aren't in shared memory.
# - Call ``share_memory_()`` before the workers start. Then all start methods share
#   writes. Make arrays of the data after that call.
