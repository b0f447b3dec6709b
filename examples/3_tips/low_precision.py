# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What do float16 and bfloat16 lose?
==================================

bfloat16 loses digits (257 becomes 256) and small updates, and float16 also loses small
gradients. Keep weights, sums and averages in float32, and cast copies for the layers.
"""

# sphinx_gallery_setup = True
import torch
from torch.nn.functional import mse_loss

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A cast is a copy
# ----------------
# A bfloat16 number has 8 significant bits. Between 256 and 512 they are enough only for
# even numbers, so 257 becomes 256. The copy takes half the memory and stays in the
# graph. Gradients flow back through the cast and arrive in float32.

w = torch.tensor([256.0, 257.0], device=device)
w.requires_grad_()
low = w.bfloat16()
loss = low.sum()
loss.backward()
print(f"{low.tolist() = }, {w.grad = }")
assert low.tolist() == [256, 256]
assert w.grad.tolist() == [1, 1]
assert 2 * low.nbytes == w.nbytes
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, low, w copied to low"

# %%
# A running sum stops growing
# ---------------------------
# We add 4000 ones, one after the other. The sum is a bfloat16 tensor, like the ones.

ones = torch.ones(4000, device=device)
values = ones.bfloat16()
total = values.new_zeros(())
for value in values:
    total += value
print(f"{total.item() = }")
assert total.item() == 256
assert (total + 1).item() == 256
assert (torch.tensor(2048.0).half() + 1).item() == 2048
assert (torch.tensor(2.0**24) + 1).item() == 2**24
assert values.sum().item() == 4000
assert values.mean().item() == 1

# %%
# .. predict:: What is ``total`` after adding 4000 ones?
#
#     - ``total.item() = 256.0``
#     - ``total.item() = 4000.0`` with ``values = ones``
#     - ``total.item() = 2048.0`` with ``values = ones.half()``
#
# 256 + 1 rounds to 256, so the sum stays at 256. With the 11 bits of float16 it would
# stop at 2048. ``values.sum()`` and ``values.mean()`` add these values in float32 and
# round the results, to 4000 and 1. In a loop, start with a float32 zero. Then the limit
# is 16,777,216.

total = torch.zeros((), device=device)
for value in values:
    total += value
print(f"in float32: {total.item()}")
assert total.item() == 4000

# %%
# A small update is lost
# ----------------------
# The largest bfloat16 number below 1 is 1 - 1/256, so 1 - 0.001 rounds to 1. A bfloat16
# weight of 1 stays 1, however often an optimizer subtracts 0.001. So does an average
# that ``lerp`` moves toward 2, as in a :doc:`target network
# <../4_patterns/target_network>`. Keep both in float32, and cast a copy of such a
# *master weight* for each forward pass.


def train(weight):
    weight.requires_grad_()
    optimizer = torch.optim.SGD([weight], lr=0.001)
    for _ in range(10):
        low_weight = weight.bfloat16()  # casts float32
        loss = low_weight.sum()
        loss.backward()  # the gradient is 1
        optimizer.step()
        optimizer.zero_grad()
    return round(weight.item(), 3)


one = torch.ones(1, device=device)
low_one = one.bfloat16()
low_result = train(low_one.clone())
result = train(one.clone())
print(f"bfloat16: {low_result}, float32: {result}")
print(low_one.lerp(2 * low_one, 0.001))
print(one.lerp(2 * one, 0.001))
assert (low_result, result) == (1, 0.99)
assert low_one.lerp(2 * low_one, 0.001).item() == 1
assert one.lerp(2 * one, 0.001).item() > 1

# %%
# What autocast casts
# -------------------
# Under ``autocast`` to bfloat16, matrix products, linear and convolution layers get
# bfloat16 copies of their inputs and weights, and most losses get float32 copies. ``*``
# doesn't cast. Weights and their gradients stay float32. (This cell runs on the CPU. On
# CUDA the default is float16.)

layer = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.constant_(layer.weight, 257.0)
x = torch.ones(1, 1)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(x)
    product = layer.weight * x
    loss = mse_loss(y, torch.full_like(y, 255))
loss.backward()
print(f"{y.item() = }, {y.dtype = }")
print(f"{product.item() = }, {product.dtype = }")
print(f"{loss.item() = }, {loss.dtype = }")
assert y.dtype == torch.bfloat16
assert layer.weight.dtype == torch.float32
assert layer.weight.grad.item() == 2 * (256 - 255)
assert layer.weight.grad.dtype == torch.float32

# %%
# For other operations, see :ref:`PyTorch's lists <q-autocast-dtypes>`.
#
# float16 also loses small gradients
# ----------------------------------
# The smallest positive float16 number is about 6e-8. The gradient below should be 2e-8,
# and it becomes 0. If you multiply the loss by a *scale*, all gradients grow with it.
# Divide ``w.grad``, which is float32, by the scale afterwards.


def gradient(scale):
    w = torch.ones(1, device=device, requires_grad=True)
    x = torch.full((1,), 1e-4, device=device).half()
    loss = (w.half() * x).float().square()
    scaled_loss = scale * loss
    scaled_loss.backward()
    return w.grad.item() / scale


print(f"{gradient(scale=1) = }")
print(f"{gradient(scale=1024) = :.1e}")
assert gradient(scale=1) == 0
assert abs(gradient(scale=1024) - 2e-8) < 1e-10
assert torch.tensor(6e-8).half().item() > 0
assert torch.finfo(torch.bfloat16).max > 3e38

# %%
# ``torch.amp.GradScaler`` does this and chooses the scale. Clip gradients after it has
# divided them (:ref:`example <q-clip-before-or-after-unscale>`). bfloat16 usually needs
# no scale, because its range is about that of float32.
#
# Remember
# --------
# - A cast to bfloat16 is a copy with fewer digits. Gradients flow back through it.
# - Keep weights, sums and averages in float32. ``autocast`` casts copies of weights.
# - In float16, scale the loss, and divide the gradients by the scale afterwards.
