# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Load batches: views, copies and worker processes
================================================

A sample of a ``TensorDataset`` is a view of its data, a batch is a copy, and a
worker process sees a later write only if the data are in shared memory.

You will see a transform that changes the data set, what each way to load shares,
and a worker with and without shared memory.
"""

# sphinx_gallery_setup = True
import sys
import warnings

import torch
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# A transform in place
# --------------------
# The data are on the CPU, as they are in most programs. ``dataset[0]`` is an index
# into them, and an index gives a view. A transform that adds in place adds to the
# data set, once more in each epoch. Write ``sample = sample + 10``.

data = torch.tensor([[1.0], [2.0]])
dataset = TensorDataset(data)
(sample,) = dataset[0]
((batch,),) = DataLoader(dataset, batch_size=2)
sample += 10
print(f"{data.tolist() = }")
print(f"{batch.tolist() = }")
assert data.tolist() == [[11], [2]]
assert batch.tolist() == [[1], [2]]
# sphinx_gallery_tensor_map_lead = "data, sample, batch"
# sphinx_gallery_predict = "What do ``data`` and ``batch`` hold?"
# sphinx_gallery_predict_instead = "sample += 10 -> sample = sample + 10"
# sphinx_gallery_predict_instead_2 = "DataLoader(dataset, batch_size=2) -> [dataset[:]]"

# %%
# What shares memory with the data
# --------------------------------
# A :class:`torch.utils.data.DataLoader` stacks samples to a batch, and so copies
# them. With ``batch_size=None`` it hands each sample on. ``pin_memory`` copies once
# more, to memory from which a GPU reads while Python goes on; each batch is pinned
# anew (:ref:`silent-pinned-refill`).

gpu = device == "cuda"
ways = {
    "dataset[0]": dataset,
    "batch_size=None": DataLoader(dataset, None),
    "batch_size=2": DataLoader(dataset, 2),
    "pin_memory=gpu": DataLoader(  # one copy more
        dataset, 2, pin_memory=gpu
    ),
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
# sphinx_gallery_table = "rows"

# %%
# Worker processes
# ----------------
# A worker has the data as they were when it started, and does not see what is
# written here later. :meth:`torch.Tensor.share_memory_` moves a tensor to memory
# that both processes have. This worker stays for two epochs; between them 10 is
# added. (It runs on Linux, where a worker can be a fork of this process.)


def second_epoch(data):
    loader = DataLoader(
        TensorDataset(data),
        batch_size=2,
        num_workers=1,
        persistent_workers=True,
        multiprocessing_context="fork",
    )
    ((first,),) = loader
    data += 10
    ((second,),) = loader
    assert first.is_shared()
    return second.flatten().tolist()


data = torch.tensor([[1.0], [2.0]])
if sys.platform == "linux":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fork
        own = second_epoch(data.clone())
        shared = data.clone().share_memory_()
        shared = second_epoch(shared)
    print(f"{own = }, {shared = }")
    assert own == [1, 2] and shared == [11, 12]
model = torch.nn.Linear(1, 1).share_memory()
assert model.weight.is_shared()

# %%
# The batches come back through shared memory, without a copy by you. A model goes to
# processes in the same way, with ``model.share_memory()``: one set of weights that
# all of them train. A graph cannot be shared (:ref:`send-to-process`).
#
# Remember
# --------
# - Never write into a sample: it is a view of the data set.
# - A batch is a copy, but for ``batch_size=None``.
# - ``share_memory_`` before the workers start: then they see later writes.
