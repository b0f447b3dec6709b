# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Load batches: views, copies, workers
====================================

A ``TensorDataset`` sample is a view of the data, and a batch is a copy. A worker
process sees writes made after its start only if the data is in shared memory (``spawn``
and ``forkserver`` move CPU tensors there, ``fork`` doesn't).
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
warnings.simplefilter("ignore")  # fork may warn
device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# Does an in-place transform change the dataset?
# ----------------------------------------------
# ``dataset[0]`` is a view of the data. So a transform that adds in place can change the
# dataset again in each epoch, also in a worker. Write ``sample = sample + 10``.

data = torch.tensor([[1.0], [2.0]])
dataset = TensorDataset(data)
loader = DataLoader(dataset, batch_size=2)
(sample,) = dataset[0]  # a tuple of one tensor
(batch,) = next(iter(loader))
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
#       ``(batch,) = dataset[:]``
#
# What shares memory with the data?
# ---------------------------------
# A :class:`torch.utils.data.DataLoader` stacks samples into a batch, which copies them.
# With ``batch_size=None`` and no workers, it returns each sample without a copy. With
# CUDA, ``pin_memory=True`` copies even then, into page-locked memory that the GPU can
# read directly (:ref:`silent-pinned-refill`).

gpu = device == "cuda"
loaded = {"dataset[0]": dataset[0]}
loader = DataLoader(dataset, batch_size=2)
loaded["batch_size=2"] = next(iter(loader))
loader = DataLoader(dataset, batch_size=None)
loaded["batch_size=None"] = next(iter(loader))
loader = DataLoader(
    dataset,
    batch_size=None,
    pin_memory=gpu,
)
loaded["the same, pin_memory=gpu"] = next(iter(loader))
print("loaded with | memory of data | pinned")
shared = []
for way, found in loaded.items():
    tensor = found[0]
    is_shared = shares_memory(tensor, data)
    is_pinned = tensor.is_pinned()
    print(f"{way} | {is_shared} | {is_pinned}")
    shared.append(is_shared)
assert shared[:3] == [True, False, True]
assert is_pinned != is_shared
# sphinx_gallery_folded = "The code that compares the memory"

# %%
# Do workers and the main process see each other's writes?
# --------------------------------------------------------
# Without shared memory, a forked worker has the data as it was when the worker started.
# (Linux forks by default before Python 3.14.) ``spawn`` is the default on macOS and
# Windows, ``forkserver`` on Linux since Python 3.14. Both pickle the dataset. That
# moves its CPU tensors into shared memory, also in the main process. Don't rely on the
# default. Call :meth:`torch.Tensor.share_memory_` if both sides should see each other's
# writes. Only to show this, the worker here modifies samples with ``torch.relu_``.

data = torch.tensor([[-1.0], [2.0]]).share_memory_()
array = data.numpy()  # after the move
loader = DataLoader(
    data,  # a tensor works as a dataset
    batch_size=None,
    collate_fn=torch.relu_,
    num_workers=1,
)
if __name__ == "__main__":
    list(loader)  # one epoch
    print(f"{data.tolist() = }, {array.tolist() = }")
    assert array.tolist() == [[0], [2]]

# %%
# ``spawn`` and ``forkserver`` import your script again, ``spawn`` in each worker. Start
# workers under ``if __name__ == "__main__":``. In the table, the main process adds 10
# between two epochs, and ``persistent_workers=True`` keeps the same worker for both.

methods = torch.multiprocessing.get_all_start_methods()
methods.sort()
if sys.platform == "darwin":
    methods.remove("fork")  # not safe on macOS
cases = [(method, False) for method in methods]
cases.append((methods[0], True))
if __name__ == "__main__":
    head = "start method | share_memory_()"
    head += " | worker's write is seen"
    head += " | worker sees a later write"
    print(f"{head} | data.is_shared()")
    for method, share in cases:
        data = torch.tensor([[-1.0], [2.0]])
        if share:
            data.share_memory_()
        loader = DataLoader(
            data,
            batch_size=None,
            collate_fn=torch.relu_,
            num_workers=1,
            persistent_workers=True,
            multiprocessing_context=method,
        )
        list(loader)
        main_sees = data[0].item() == 0
        data += 10
        samples = list(loader)
        worker_sees = samples[1].item() == 12
        is_shared = data.is_shared()
        row = f"{method} | {share} | {main_sees}"
        print(f"{row} | {worker_sees} | {is_shared}")
        expected = share or method != "fork"
        assert main_sees == expected
        assert worker_sees == expected
        assert is_shared == expected
    del loader  # ends the last worker
# sphinx_gallery_folded = "The code that tries each start method"

# %%
# When a tensor moves to shared memory, its NumPy arrays don't. An older array
# from ``numpy()`` may then point to freed memory (:ref:`q-persistent-workers`). A graph
# can't be shared (:ref:`send-to-process`).
#
# Remember
# --------
# - A ``TensorDataset`` sample is a view. Don't write to it in place. A batch is a copy.
# - With ``fork``, a worker has its own copy of tensors that aren't in shared memory.
# - Call ``share_memory_()`` before the workers start. Then all start methods share
#   writes. Make arrays of the data after that call.
