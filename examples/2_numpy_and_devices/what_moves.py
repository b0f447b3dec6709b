# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does ``model.to(device)`` move?
====================================

It moves what the module has registered: its parameters with their gradients, its
buffers, and those of the modules inside it.

You will see every kind of tensor that a model can hold before and after the move,
what an optimizer made earlier still holds, and how to compare two devices.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn, optim

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A model with one of each
# ------------------------
# One step of training on the CPU gives it a gradient and a momentum.


class Net(nn.Linear):
    def __init__(self):
        super().__init__(2, 1, bias=False)
        nn.init.ones_(self.weight)
        self.known = nn.ModuleList([nn.Linear(2, 1)])
        self.register_buffer("scale", torch.ones(1))
        self.register_buffer("count", torch.tensor(0))
        self.shift = torch.ones(1)
        self.hidden = [nn.Linear(2, 1)]


def trained_once():
    net = Net()
    sgd = optim.SGD([net.weight], lr=0.5, momentum=0.5)
    net(torch.ones(1, 2)).backward()
    sgd.step()
    return net, sgd


print(trained_once()[0].weight.grad)

# %%
# What moves, what is cast
# ------------------------
# The model goes to the GPU, or without one to ``meta``, whose tensors have a shape, a
# dtype and no data. ``to`` with a device moves, ``to`` with a dtype casts. What the
# module has not registered follows neither. A buffer of integers is moved, not cast.

there = "cuda" if device == "cuda" else "meta"
moved, sgd = trained_once()
(state,) = sgd.state.values()
moved.to(there, torch.float64)
kinds = {
    "parameter": moved.weight,
    "its .grad": moved.weight.grad,
    "in nn.ModuleList": moved.known[0].weight,
    "buffer": moved.scale,
    "buffer of integers": moved.count,
    "tensor as an attribute": moved.shift,
    "module in a list": moved.hidden[0].weight,
    "the momentum": state["momentum_buffer"],
}
rows = []
for kind, t in kinds.items():
    row = {"kind": kind, "moved to": t.device.type}
    rows.append(row | {"cast to": t.dtype})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
places = [row["moved to"] for row in rows]
assert places == [there] * 5 + ["cpu"] * 3
assert moved.count.dtype == torch.int64
# sphinx_gallery_table = "rows"

# %%
# Make it a buffer
# ----------------
# A plain tensor stays behind, and what meets it raises (:ref:`devices-differ`). Make it
# a buffer, or make it where the input is.

h = moved(torch.ones(1, 2).to(moved.scale))
try:
    h + moved.shift
except RuntimeError as error:
    message = str(error)
print("RuntimeError:", message)
moved.register_buffer("offset", moved.shift)
moved.to(there)
y = h + moved.offset + torch.ones_like(h)
assert y.device == moved.offset.device == h.device

# %%
# Which names follow
# ------------------
# Three names from before a cast, and the model after it.

cast, cast_sgd = trained_once()
weight, scale = cast.weight, cast.scale
alias = weight.detach()
(held,) = cast_sgd.param_groups[0]["params"]
cast.to(torch.bfloat16)
print(f"{cast.scale is scale = }")
print(f"{weight.dtype = }, {alias.dtype = }")
assert held is cast.weight and cast.scale is not scale
assert alias.dtype == torch.float32 != weight.dtype
# sphinx_gallery_predict = "Which of the three follow the cast?"
# sphinx_gallery_predict_instead = "weight.detach() -> weight"
# sphinx_gallery_predict_instead_2 = "cast.to( -> cast.weight.data = weight.to("

# %%
# A parameter stays the same object on new memory, a buffer becomes a new object, an
# alias keeps the old memory. Load the optimizer's state once more, and it follows.
# Between CPU and CUDA parameters stay too, on ``meta`` they are new and not in ``sgd``.

cast_sgd.load_state_dict(cast_sgd.state_dict())
momentum = cast_sgd.state[weight]["momentum_buffer"]
print(f"{momentum.dtype = }")
assert momentum.dtype == torch.bfloat16
(left,) = sgd.param_groups[0]["params"]
print(f"{left is moved.weight = }")
assert (left is moved.weight) == (there == "cuda")
# sphinx_gallery_tensor_map_lead = "weight, held, alias, momentum"

# %%
# Compare devices
# ---------------
# A device is no string, and ``cuda`` is not ``cuda:0`` (:ref:`silent-device-names`).
# Compare two tensors' devices, or the ``type`` of one with a name.

print(f"{y.device == there = }")
assert y.device != there and y.device.type == there

# %%
# Remember
# --------
# - Parameters and buffers move, in every module that the model has registered.
# - Assign ``x = x.to(device)``; ``model.to(device)`` changes the model itself.
# - Move the model first, then make its optimizer.
