# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Share weights with NumPy and DLPack
===================================

An array from ``numpy()`` shares memory with a CPU weight, and a tensor from DLPack
shares memory with a weight on the CPU or a GPU. Every optimizer step also changes the
array or tensor, and a write to it changes the model.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach().cpu().numpy()"
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# Does an array of the weights change with a step?
# ------------------------------------------------
# How far does a training step move the weights? We take two arrays before the step and
# one after it. The gradient is 1, so the weights go from 1 to 0.5. This model is on
# the CPU.

net = torch.nn.Linear(2, 1, bias=False)
torch.nn.init.ones_(net.weight)
before = net.weight.detach().cpu().numpy()
kept = net.weight.detach().to("cpu", copy=True).numpy()
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
# sphinx_gallery_lead = True
loss = net(torch.ones(2)).sum()
loss.backward()
optimizer.step()
# sphinx_gallery_tensor_map = "net.weight, before, kept, net.weight copied to kept"

# %%
# We take the third array after the step.

after = net.weight.detach().cpu().numpy()
print("after - before:", (after - before).tolist())
print("after - kept:", (after - kept).tolist())
assert (after == before).all()
assert (after - kept).tolist() == [[-0.5, -0.5]]
assert np.shares_memory(before, after)
assert not np.shares_memory(before, kept)

# %%
# .. predict:: How far did the step move the weights?
#
#     - ``after - before: [[0.0, 0.0]]`` ``after - kept: [[-0.5, -0.5]]``
#     - ``after - before: [[0.0, 0.0]]`` ``after - kept: [[0.0, 0.0]]`` with ``kept =
#       net.weight.detach().to("cpu", copy=False).numpy()``
#     - ``after - before: [[-0.5, -0.5]]`` ``after - kept: [[-0.5, -0.5]]`` with
#       ``before = net.weight.clone().detach().cpu().numpy()``
#
# ``before`` shares memory with the weight, so the step also changed ``before``. For a
# weight on a GPU ``cpu()`` copies, and ``after - before`` is correct. So the mistake
# only shows up with a model on the CPU (:doc:`../2_numpy_and_devices/cpu_and_to`,
# :ref:`silent-cpu-shares`).
#
# DLPack shares on every device
# -----------------------------
# :func:`torch.from_dlpack` takes a tensor or array of any library that supports DLPack,
# and shares its memory. PyTorch counts the writes to a tensor in ``_version``, but the
# result has its own count. So autograd doesn't notice that the write to ``alias``
# changes ``w``, and ``w.grad`` is 6 instead of 2 (:ref:`silent-numpy-write`).

w = torch.ones(2, device=device)
w.requires_grad_()
alias = torch.from_dlpack(w.detach())
copied = torch.from_dlpack(w.detach().clone())
loss = (w * w).sum()  # saves w for backward
alias += 2
loss.backward()
print(f"{w.grad.tolist() = }")
print(f"{copied.tolist() = }")
print(f"{w._version = }, {alias._version = }")
assert shares_memory(w, alias)
assert copied.tolist() == [1, 1]
assert w.grad.tolist() == [6, 6]
assert w._version == 0
assert alias._version > 0

# %%
# (Since PyTorch 2.9 ``torch.from_dlpack(w.detach(), copy=True)`` copies. For a device
# that DLPack doesn't support, ``from_dlpack`` raises. In PyTorch 2.6 and 2.7 that
# includes Apple's MPS.)
#
# A model that shares an array's memory
# -------------------------------------
# You can also share on purpose. This layer's weight uses the memory of an array. NumPy
# can then set the weight, and a training step changes the array. Don't write to the
# array between a forward pass and its ``backward()``, or gradients can be wrong.

array = np.ones((1, 2), dtype=np.float32)
shared = torch.from_dlpack(array)
net.weight = torch.nn.Parameter(shared)
array[:] = [[3.0, 4.0]]
optimizer = torch.optim.SGD([net.weight], lr=0.5)
y = net(torch.ones(1, 2))
y.backward()
optimizer.step()
print(f"{y.item() = }, {array.tolist() = }")
assert y.item() == 3 + 4
assert array.tolist() == [[2.5, 3.5]]

# %%
# Remember
# --------
# - An array that shares memory with a weight changes with every step.
# - To keep the weights in NumPy, use ``to("cpu", copy=True)``, not ``cpu()``.
# - DLPack also shares on a GPU. If the other library may write, pass in
#   ``w.detach().clone()``.
