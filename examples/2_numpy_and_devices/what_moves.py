# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does ``model.to(device)`` move?
====================================

``model.to(device)`` moves everything that is registered: parameters with their
gradients, buffers, and the parameters and buffers of submodules. A tensor that is a
plain attribute doesn't move.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn, optim

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A model with parameters, buffers and plain tensors
# --------------------------------------------------
# One training step on the CPU gives the model a gradient and the optimizer a momentum.


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 1))
        self.layers = nn.ModuleList([nn.Linear(2, 1)])
        self.register_buffer("scale", torch.ones(1))
        self.register_buffer("count", torch.tensor(0))
        self.shift = torch.ones(1)
        self.unregistered = [nn.Linear(2, 1)]

    def forward(self, x):
        return x @ self.weight


def trained_once():
    net = Net()
    weights = net.parameters()
    optimizer = optim.SGD(weights, lr=0.5, momentum=0.5)
    loss = net(torch.ones(1, 2))
    loss.backward()
    optimizer.step()
    return net, optimizer


net, optimizer = trained_once()
state = optimizer.state[net.weight]

# %%
# What moves, what is converted
# -----------------------------
# The model moves to the GPU. Without a GPU it moves to ``meta``, where tensors have a
# shape and a dtype but no data. The same call converts it to float64. Tensors that the
# module hasn't registered don't change. A buffer of integers moves but keeps its dtype.

there = "cuda" if device == "cuda" else "meta"
net.to(device=there, dtype=torch.float64)
print(f"{net.scale.device.type = }")
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "net.weight, net.scale, net.shift"

# %%
# The optimizer's momentum doesn't move either.

kinds = {
    "parameter": net.weight,
    "its .grad": net.weight.grad,
    "in nn.ModuleList": net.layers[0].weight,
    "buffer": net.scale,
    "buffer of integers": net.count,
    "tensor as an attribute": net.shift,
    "module in a list": net.unregistered[0].weight,
    "the momentum": state["momentum_buffer"],
}
places = []
print("tensor | is on | dtype")
for kind, tensor in kinds.items():
    place = tensor.device.type
    print(f"{kind} | {place} | {tensor.dtype}")
    places.append(place)
assert places[:5] == [there] * 5
assert places[5:] == ["cpu"] * 3
assert net.count.dtype == torch.int64
# On meta the optimizer has the old parameter:
held = optimizer.param_groups[0]["params"][0]
assert (held is net.weight) == (device == "cuda")
# sphinx_gallery_folded = "The code that lists them"

# %%
# A plain tensor doesn't move, a buffer does
# ------------------------------------------
# ``net.shift`` is still on the CPU, so adding it to ``h`` raises
# (:ref:`devices-differ`). Register the tensor as a buffer like ``net.scale``, or create
# it on the device of ``h``.

x = torch.ones(1, 2, dtype=torch.float64)
x = x.to(there)
h = net(x)
try:
    h + net.shift
except RuntimeError as error:
    print("RuntimeError:", error)
y = h + net.scale
z = h + torch.ones(1, device=h.device)
print(f"{y.device.type = }, {z.device.type = }")
assert z.device == y.device

# %%
# Which references follow a conversion?
# -------------------------------------
# Before ``to(torch.bfloat16)`` we keep three references, ``weight``, ``scale`` and
# ``alias``.

cast, optimizer = trained_once()
weight, scale = cast.weight, cast.scale
alias = weight.detach()
cast.to(torch.bfloat16)
print(f"{cast.scale is scale = }")
print(f"{weight.dtype = }, {alias.dtype = }")
assert cast.weight is weight
assert cast.scale is not scale
assert alias.dtype == torch.float32

# %%
# .. predict:: Which of the three follow the conversion?
#
#     - ``cast.scale is scale = False`` ``weight.dtype = torch.bfloat16, alias.dtype =
#       torch.float32``
#     - ``cast.scale is scale = True`` ``weight.dtype = torch.float32, alias.dtype =
#       torch.float32`` with ``cast.to(torch.float32)`` in the place of
#       ``cast.to(torch.bfloat16)``
#     - ``cast.scale is scale = False`` ``weight.dtype = torch.bfloat16, alias.dtype =
#       torch.bfloat16`` with ``alias = weight``
#
# The parameter is the same object with new memory. The buffer is a new tensor.
# ``alias`` still uses the old memory.

# %%
# The momentum is still float32. Load the optimizer's state again to convert or move it.
# Between CPU and CUDA, parameters also stay the same objects. On ``meta`` they are new,
# and an optimizer created before still has the old ones. So move the model first.

old = optimizer.state[weight]["momentum_buffer"]
optimizer.load_state_dict(optimizer.state_dict())
new = optimizer.state[weight]["momentum_buffer"]
print(f"{old.dtype = }, {new.dtype = }")
model = Net().to(device)
optimizer = optim.SGD(model.parameters(), lr=0.5)
print(f"{model.weight.device.type = }")
assert new.dtype == torch.bfloat16

# %%
# To compare with a string, use ``device.type``
# ---------------------------------------------
# A device isn't a string (:ref:`silent-device-names`). Its ``type`` is one.

print(f"{y.device == there = }")
print(f"{y.device.type == there = }")
assert y.device != there
assert y.device.type == there

# %%
# Remember
# --------
# - ``model.to`` moves the parameters and buffers of all registered modules.
# - Assign ``x = x.to(device)``. ``model.to(device)`` changes the model itself.
# - Move the model first, then create its optimizer.
