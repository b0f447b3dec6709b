# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Hand weights to other libraries: NumPy and DLPack
=================================================

What NumPy gets from the CPU, and DLPack from any device, is the memory of the
weights itself: it changes with each step, and a write there changes the model.

You will see a training step that seems to move nothing, a write that makes a
gradient wrong, and a model whose weights an array sets.
"""

# sphinx_gallery_setup = True
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# Weights in NumPy, before and after a step
# -----------------------------------------
# How far does a training step move the weights? Two arrays are taken before it and
# one after it. The gradient is 1, so the weights go from 1 to 0.5. This model is on
# the CPU.

model = torch.nn.Linear(2, 1, bias=False)
torch.nn.init.ones_(model.weight)
weight = model.weight.detach()
before = weight.cpu().numpy()
kept = weight.to("cpu", copy=True).numpy()
sgd = torch.optim.SGD(model.parameters(), lr=0.5)
model(torch.ones(1, 2)).backward()
sgd.step()
after = weight.cpu().numpy()
print("moved, by before:", (after - before).tolist())
print("moved, by kept:", (after - kept).tolist())
assert (after == before).all()
assert (after - kept).tolist() == [[-0.5, -0.5]]
# sphinx_gallery_tensor_map_lead = "weight, before, after, kept"
# sphinx_gallery_predict = "How far did the step move the weights?"
# sphinx_gallery_predict_instead = "before = weight -> before = weight.clone()"
# sphinx_gallery_predict_instead_2 = 'weight.to("cpu", copy=True) -> weight'

# %%
# ``before`` is the weight's own memory: it has moved too. On CUDA ``cpu`` copies, and
# the first line is right: the mistake shows on the laptop only
# (:doc:`../2_numpy_and_devices/cpu_and_to`, :ref:`silent-cpu-shares`).
#
# DLPack shares on every device
# -----------------------------
# :func:`torch.from_dlpack` takes a tensor or an array of any library that knows the
# protocol, and copies nothing. What it returns counts its own versions, so autograd
# sees no write (:ref:`silent-numpy-write`). The gradient below is to be 2.

w = torch.ones(2, device=device).requires_grad_()
alias = torch.from_dlpack(w.detach())
loss = (w * w).sum()  # saves w for backward
alias += 2
loss.backward()
print(f"{w.grad.tolist() = }")
print(f"{w._version = }, {alias._version = }")
assert shares_memory(w, alias)
assert w.grad.tolist() == [6, 6] and w._version == 0

# %%
# A model on the memory of an array
# ---------------------------------
# The same on purpose: the weights come from an array, without a copy. From then on
# a write of NumPy sets the weights, and a training step changes the array. Write
# between a step and the next forward pass.

array = np.ones((1, 2), dtype=np.float32)
shared = torch.from_dlpack(array)
model.weight = torch.nn.Parameter(shared)
array[:] = [[3.0, 4.0]]
y = model(torch.ones(1, 2))
print(f"{y.item() = }")
assert y.item() == 7

sgd = torch.optim.SGD([model.weight], lr=0.5)
y.backward()
sgd.step()
print(f"{array.tolist() = }")
assert array.tolist() == [[2.5, 3.5]]

# %%
# Remember
# --------
# - To keep weights in NumPy: ``to("cpu", copy=True)``, not ``cpu()``.
# - DLPack shares on every device, and autograd sees none of its writes.
# - Detach what you hand out; clone it, if the other library may write.
