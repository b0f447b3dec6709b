# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Load onto another device: ``map_location``
==========================================

A checkpoint stores each tensor's device, and :func:`torch.load` restores the tensor on
that device unless you pass ``map_location``. Load to ``"cpu"``, which works everywhere,
and let ``load_state_dict`` copy the values to the model's device.
"""

# sphinx_gallery_setup = True
import tempfile

import torch
from torch import nn, optim
from torch._subclasses.fake_tensor import FakeTensorMode

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)
folder = tempfile.TemporaryDirectory()
path = folder.name + "/checkpoint.pt"

# %%
# Save the model and the optimizer in one file
# --------------------------------------------
# One training step gives the optimizer a state. We save both state dicts in one
# dictionary. (``path`` is a file in ``folder``, which is temporary.)

model = nn.Linear(2, 1, bias=False, device=device)
nn.init.ones_(model.weight)
optimizer = optim.Adam(model.parameters(), lr=0.1)
loss = model(torch.ones(2, device=device)).sum()
loss.backward()
optimizer.step()
checkpoint = {
    "model": model.state_dict(),
    "optimizer": optimizer.state_dict(),
}
torch.save(checkpoint, path)
print(model.weight)

# %%
# To resume, also on a machine with another device, create the model and the optimizer
# as before. Then load the file on the CPU, and call ``load_state_dict`` twice.

model = nn.Linear(2, 1, bias=False, device=device)
optimizer = optim.Adam(model.parameters(), lr=0.1)
checkpoint = torch.load(path, map_location="cpu")
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
state = optimizer.state[model.weight]
print(model.weight)
print(f"{state['step'] = }")
assert state["exp_avg"].device == model.weight.device
assert checkpoint["model"]["weight"].is_cpu

# %%
# Where does each ``map_location`` load to?
# -----------------------------------------
# A checkpoint names the device of each tensor. On any machine, ``FakeTensorMode`` and
# ``skip_data`` can write a file that names ``cuda:0``. Its numbers are zeros.
#
# Without ``map_location``, the file decides. The name of a device puts all tensors
# there. A dictionary only moves tensors of the devices it names. A function gets each
# storage (on the CPU) and its device in the file. ``to_cpu`` returns that storage.

with FakeTensorMode():
    w = torch.zeros(2, device="cuda")
skip_data = torch.serialization.skip_data
with skip_data(materialize_fake_tensors=True):
    torch.save({"w": w}, path)


def to_cpu(storage, name):
    return storage


places = {
    "None": None,
    "{'cuda:1': 'cpu'}": {"cuda:1": "cpu"},
    "{'cuda:0': 'cpu'}": {"cuda:0": "cpu"},
    "'cpu'": "cpu",
    "to_cpu": to_cpu,
}
found = {}
print("call | loads to")
for name, place in places.items():
    try:
        states = torch.load(path, map_location=place)
        landed = states["w"].device.type
    except RuntimeError:
        landed = "raises"
    print(f"load(path, map_location={name}) | {landed}")
    found[name] = landed
loaded = torch.load(path, map_location="cpu")["w"]
assert (found["None"] == "cuda") == (device == "cuda")
assert found["{'cuda:1': 'cpu'}"] == found["None"]
assert found["{'cuda:0': 'cpu'}"] == "cpu"
assert found["'cpu'"] == "cpu"
assert found["to_cpu"] == "cpu"
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, loaded, w copied to loaded"
# sphinx_gallery_folded = "The code that saves and loads it"

# %%
# Without CUDA two of the calls raise (:ref:`load-without-device`). ``"cpu"`` works on
# every machine, and the loaded tensors take no GPU memory.
#
# By default ``load_state_dict`` keeps the model's device and dtype
# -----------------------------------------------------------------
# ``load_state_dict`` copies the values into the module's own parameters, on their
# device and in their dtype. So create the model where you want it, then load.
# An optimizer's ``load_state_dict`` converts Adam's averages to the device and dtype of
# their parameter. If an average already has both, as in the first load on a CPU, the
# optimizer takes the loaded tensor itself, and the next step changes ``checkpoint``.

model.double()
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
loaded = checkpoint["model"]["weight"]
weight = model.weight
average = optimizer.state[weight]["exp_avg"]
saved = checkpoint["optimizer"]["state"][0]["exp_avg"]
print(f"{loaded.dtype = }, {weight.dtype = }")
print(f"{saved.dtype = }, {average.dtype = }")
assert weight.dtype == torch.float64
assert average.dtype == torch.float64
assert (state["exp_avg"] is saved) == (device == "cpu")
# sphinx_gallery_tensor_map = "loaded, weight"

# %%
# Since torch 2.6 ``load`` by default only accepts tensors and plain Python values, so
# save state dicts (:ref:`weights-only`). With ``assign=True``, ``load_state_dict``
# doesn't copy (:ref:`state-dict-meta`).
#
# Do loaded tensors still share memory?
# -------------------------------------
# ``x`` and ``x[1:]`` share a storage. We save them together, then ``x[1:]`` alone.

x = torch.arange(4.0, device=device)
torch.save([x, x[1:]], path)
whole, part = torch.load(path, map_location="cpu")
torch.save(x[1:], path)
apart = torch.load(path, map_location="cpu")
folder.cleanup()
whole[1] = 7.0
print(f"{part = }, {apart = }")
assert part[0].item() == 7
assert apart[0].item() == 1
assert apart.untyped_storage().nbytes() == 16

# %%
# .. predict:: What do ``part`` and ``apart`` hold?
#
#     - ``part = tensor([7., 2., 3.]), apart = tensor([1., 2., 3.])``
#     - ``part = tensor([1., 2., 3.]), apart = tensor([1., 2., 3.])`` with
#       ``torch.save([x, x[1:].clone()], path)`` in the place of ``torch.save([x,
#       x[1:]], path)``
#     - ``part = tensor([7., 2., 3.]), apart = tensor([7., 2., 3.])`` with ``apart =
#       part``
#
# If you save them in one call, they share a storage again. If you save one alone, the
# file has the whole storage (:doc:`../3_tips/what_stays_alive`).
#
# Remember
# --------
# - Load with ``map_location="cpu"``. ``load_state_dict`` copies to the model's device.
# - Save the state dicts of the model and of the optimizer in one file.
# - Tensors that share memory share it after loading too, if you save them in one call.
