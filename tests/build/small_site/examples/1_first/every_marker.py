# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Every marker of a lesson: ``detach``
====================================

:meth:`torch.Tensor.detach` shares the memory. No gradient flows back through it.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach()"
import torch
from matplotlib import pyplot as plt

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# What it returns
# ---------------
# A *leaf tensor*, which shares the memory of ``w`` (:doc:`what_waits`).
# A GPU waits. `From the CUDA documentation <https://docs.nvidia.com/cuda/>`__

w = torch.ones(2, requires_grad=True)
z = w.detach()
print(z)
# The memory is one.
assert z.data_ptr() == w.data_ptr()
assert not z.requires_grad
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, z"

# %%
# What a write does
# -----------------

z[0] = 5
y = w * w
print(f"{w = }")
print("on", torch.ones(1, device=device).device)
# sphinx_gallery_tensor_map = "w, z, y raises RuntimeError"
# sphinx_gallery_tensor_map_graph = True

# %%
# .. predict:: What is ``w`` now?
#
#     - ``w = tensor([5., 1.], requires_grad=True)``
#     - ``w = tensor([1., 1.], requires_grad=True)`` with ``z = w.clone()``
#     - ``<b>bold</b>`` without ``z[0] = 5``
#
# It is 5, as ``z`` is.
#
# What a call costs
# -----------------

print("before")
print("call | time")
print("w.clone() | 3 ms")
print("<b>bold</b> | 12")
plt.plot([1, 2, 4], [2, 4, 8], label="<b>")
plt.plot([1, 2, 4], [1, 2, 3], label="x.clone()")
plt.title("x.clone() takes 1 ms")
plt.xlabel("MiB")
plt.ylabel("ms")
plt.legend()
plt.figure()
plt.errorbar([2, 1], [0, 1], xerr=[[1, 1], [1, 1]], fmt="o", label="4 B")
plt.yticks([0, 1], ["x.clone()", "x.cpu()"])
plt.title("Both take long")
plt.xlabel("ms")
plt.show()
# sphinx_gallery_folded = "The code that draws"

# %%
# Two losses
# ----------

total = 0.0
for step in range(4):
    loss = (w * step).sum()
    loss.backward()
    total += loss.item()
try:
    w[0] = 1.0
except RuntimeError:
    print("w stays as it is")
print(total)
assert total == 36
# sphinx_gallery_not_simulated = True

# %%
# Remember
# --------
# - ``detach`` shares the memory.
# - Add ``.clone()`` for a copy.
