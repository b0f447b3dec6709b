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
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A model with one of each
# ------------------------
# The lesson moves it from the CPU to the GPU. Without one it moves it to ``meta``, a
# device that every machine has: its tensors have a shape, a dtype and no data.

there = "cuda" if device == "cuda" else "meta"
print(f"{there = }")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1, bias=False)
        nn.init.ones_(self.layer.weight)
        self.known = nn.ModuleList([nn.Linear(2, 1)])
        self.register_buffer("scale", torch.ones(1))
        self.register_buffer("count", torch.tensor(0))
        self.shift = torch.ones(1)
        self.hidden = [nn.Linear(2, 1)]

    def forward(self, x):
        return self.layer(x) * self.scale


# %%
# One step of training on the CPU gives it a gradient and a momentum.


def trained_once():
    net = Net()
    weights = net.layer.parameters()
    sgd = torch.optim.SGD(weights, 0.5, momentum=0.5)
    net(torch.ones(1, 2)).sum().backward()
    sgd.step()
    return net, sgd


def kinds(net, sgd):
    (state,) = sgd.state.values()
    return {
        "parameter": net.layer.weight,
        "its .grad": net.layer.weight.grad,
        "in nn.ModuleList": net.known[0].weight,
        "buffer": net.scale,
        "buffer of integers": net.count,
        "tensor as an attribute": net.shift,
        "module in a list": net.hidden[0].weight,
        "the momentum": state["momentum_buffer"],
    }


print(len(kinds(*trained_once())), "kinds of tensor")
# sphinx_gallery_folded = "One step, and the tensors that the table asks for"

# %%
# What moves, what is cast
# ------------------------
# ``to`` with a device moves, ``to`` with a dtype casts. What the module has not
# registered follows neither. A buffer of integers moves and is not cast.

moved, sgd = trained_once()
cast, cast_sgd = trained_once()
moved.to(there)
cast.to(torch.float64)
after = kinds(cast, cast_sgd)
rows = []
for kind, t in kinds(moved, sgd).items():
    row = {"kind": kind, "moved to": t.device.type}
    rows.append(row | {"cast to": after[kind].dtype})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
places = [row["moved to"] for row in rows]
assert places == [there] * 5 + ["cpu"] * 3
# sphinx_gallery_table = "rows"

# %%
# Make it a buffer
# ----------------
# A plain tensor stays behind, and the first operation that meets it raises
# (:ref:`devices-differ`). What ``forward`` makes anew, it makes where its input is.

h = moved(torch.ones(1, 2, device=there))
try:
    h + moved.shift
except RuntimeError as error:
    print("RuntimeError:", error)
    assert "device" in str(error)
shift = moved.shift
del moved.shift  # the name is taken
moved.register_buffer("shift", shift)
moved.to(there)
y = h + moved.shift + torch.ones(1, device=h.device)
print(f"{y.device.type = }")
assert y.device == moved.shift.device == h.device
assert "shift" in moved.state_dict()

# %%
# Which names follow
# ------------------
# Three names from before the cast, and the model after it.

weight, scale = cast.layer.weight, cast.scale
alias = weight.detach()
(held,) = cast_sgd.param_groups[0]["params"]
cast.to(torch.bfloat16)
print(f"{cast.scale is scale = }")
print(f"{weight.dtype = }, {alias.dtype = }")
assert held is weight is cast.layer.weight
assert cast.scale is not scale
assert alias.dtype == torch.float64 != weight.dtype
# sphinx_gallery_predict = "Which of the three follow the cast?"
# sphinx_gallery_predict_instead = "weight.detach() -> weight"

# %%
# A parameter stays the same object on new memory, a buffer becomes a new object, an
# alias keeps the old memory. Load the optimizer's state once more, and it follows.

cast_sgd.load_state_dict(cast_sgd.state_dict())
momentum = kinds(cast, cast_sgd)["the momentum"]
print(f"{momentum.dtype = }")
assert momentum.dtype == torch.bfloat16
# sphinx_gallery_tensor_map_lead = "weight, held, alias, momentum"

# %%
# A move between the CPU and CUDA keeps the parameters too. A move to ``meta`` makes
# new ones, and the optimizer holds the old. Move first, and it is right everywhere.

(held,) = sgd.param_groups[0]["params"]
print(f"{held is moved.layer.weight = }")
assert (held is moved.layer.weight) == (there == "cuda")

# %%
# Compare devices
# ---------------
# A device is no string, and ``cuda`` is not ``cuda:0`` (:ref:`silent-device-names`).
# Compare two tensors' devices, or the ``type`` of one with a name.

x = torch.ones(2, device=device)
print(f"{x.device == device = }")
assert x.device != device and x.device.type == device

# %%
# Remember
# --------
# - Parameters and buffers move, in every module that the model has registered.
# - Assign ``x = x.to(device)``; ``model.to(device)`` changes the model itself.
# - Move the model first, then make its optimizer.
