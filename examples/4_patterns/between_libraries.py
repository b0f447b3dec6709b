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
# How far did the step move the weights? ``before`` is the weight itself where the
# model is on the CPU, so the answer there is 0. ``kept`` is a copy on every device.
# This model is on the CPU.

model = torch.nn.Linear(2, 1, bias=False)
torch.nn.init.ones_(model.weight)
weight = model.weight.detach()
before = weight.cpu().numpy()
kept = weight.to("cpu", copy=True).numpy()
sgd = torch.optim.SGD(model.parameters(), lr=0.5)
model(torch.ones(1, 2)).backward()
sgd.step()
after = weight.cpu().numpy()
print("moved, with before:", abs(after - before).max())
print("moved, with kept:", abs(after - kept).max())
assert abs(after - before).max() == 0
assert abs(after - kept).max() == 0.5
# sphinx_gallery_tensor_map_lead = "weight, before, after, kept"
# sphinx_gallery_predict = "How far did the step move the weights?"

# %%
# On CUDA ``cpu`` copies, and the first line is right: the mistake shows on the
# laptop only (:doc:`../2_numpy_and_devices/cpu_and_to`).
#
# DLPack shares on every device
# -----------------------------
# :func:`torch.from_dlpack` takes a tensor or an array of any library that knows the
# protocol, and copies nothing. What it returns counts its own versions, so autograd
# sees no write: the gradient below is to be 2.

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
# A model that an array trains
# ----------------------------
# The same memory used on purpose: an optimizer of another library writes into the
# weights, and the model computes with them. DLPack hands them over without a copy
# on any device; NumPy takes them on the CPU. Write between a step and the next
# forward pass.

weights = np.from_dlpack(weight)
weights[:] = [[3.0, 4.0]]
y = model(torch.ones(1, 2))
print(f"{model.weight.tolist() = }, {y.item() = }")
assert y.item() == 7

# %%
# Remember
# --------
# - To keep weights in NumPy: ``to("cpu", copy=True)``, not ``cpu()``.
# - DLPack shares on every device, and autograd sees none of its writes.
# - Detach what you hand out; clone it, if the other library may write.
