# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Load onto another device: ``map_location``
==========================================

A checkpoint stores each tensor's device, and :func:`torch.load` restores the tensor on
that device unless you pass ``map_location``. Load to ``"cpu"``, because
``load_state_dict`` then copies the values to the model's device.
"""

# sphinx_gallery_setup = True
import io
from contextlib import nullcontext

import torch
from torch import nn, optim
from torch._subclasses.fake_tensor import FakeTensorMode

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A checkpoint names the device of each tensor
# --------------------------------------------
# With a GPU, we save a CUDA tensor. Without one, ``FakeTensorMode`` makes a CUDA tensor
# without data, and ``skip_data`` writes a file with it. The file names the device like
# a real checkpoint, but its numbers are zeros.

here = device == "cuda"
with nullcontext() if here else FakeTensorMode():
    w = torch.zeros(2, device="cuda")
skip_data = torch.serialization.skip_data
no_data = skip_data(materialize_fake_tensors=True)
file = io.BytesIO()
with nullcontext() if here else no_data:
    torch.save({"w": w}, file)
print("The file names the device cuda:0")
assert b"cuda:0" in file.getvalue()
# sphinx_gallery_folded = "The code that writes the file"

# %%
# Where does each ``map_location`` load to?
# -----------------------------------------
# Without ``map_location``, the file decides. A device or its name puts all tensors on
# that device. A dictionary only moves the tensors of the devices that it names. A
# function gets each storage (on the CPU) and the name of its device. It returns a
# storage, or None to let the file decide.


def to_cpu(storage, name):
    return storage if name == "cuda:0" else None


places = [None, {"cuda:1": "cpu"}, {"cuda:0": "cpu"}]
places += ["cpu", to_cpu, "meta"]
rows = []
for place in places:
    file.seek(0)
    try:
        states = torch.load(file, map_location=place)
        landed = states["w"].device.type
    except RuntimeError:
        landed = "raises"
    name = getattr(place, "__name__", repr(place))
    call = f"load(file, map_location={name})"
    rows.append({"call": call, "loads to": landed})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
file.seek(0)
loaded = torch.load(file, map_location="cpu")["w"]
landed = [row["loads to"] for row in rows]
named = "cuda" if here else "raises"
assert landed == [named] * 2 + ["cpu"] * 3 + ["meta"]
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, loaded, w copied to loaded"

# %%
# Without CUDA two of the calls raise (:ref:`load-without-device`). ``"cpu"`` works on
# every machine, and the loaded tensors take no GPU memory.
#
# By default ``load_state_dict`` keeps the model's device and dtype
# -----------------------------------------------------------------
# ``load_state_dict`` copies the values into the module's own parameters, on their
# device and in their dtype. So create the model where you want it, then load.


def reload(saved):
    file = io.BytesIO()
    torch.save(saved, file)
    file.seek(0)
    return torch.load(file, map_location="cpu")


def sgd_of(model):
    weights = model.parameters()
    return optim.SGD(weights, 0.5, momentum=0.5)


model = nn.Linear(2, 1, False, device)
nn.init.ones_(model.weight)
sgd = sgd_of(model)
model(torch.ones(1, 2, device=device)).backward()
sgd.step()
states = model.state_dict(), sgd.state_dict()
saved, its_state = reload(states)
again = nn.Linear(2, 1, False, device).double()
loaded, weight = saved["weight"], again.weight
again.load_state_dict(saved)
print(f"{loaded.dtype = }, {weight.dtype = }")
assert torch.equal(weight, loaded.to(weight))
assert weight.dtype == torch.float64
# sphinx_gallery_tensor_map = "loaded, weight"

# %%
# An optimizer's ``load_state_dict`` converts each tensor to the device and dtype of its
# parameter, except the count of steps (Adam has one). It doesn't copy a tensor that
# already has both. Then the optimizer keeps the loaded tensor itself, and its steps
# change it.

found = []
for module in again, nn.Linear(2, 1, False):
    sgd = sgd_of(module)
    sgd.load_state_dict(its_state)
    found.append(sgd.state[module.weight])
converted, taken = (f["momentum_buffer"] for f in found)
momentum = its_state["state"][0]["momentum_buffer"]
print(f"{converted.dtype = }, {taken is momentum = }")
assert converted.dtype == weight.dtype
assert taken is momentum

# %%
# Since torch 2.6 ``load`` by default only accepts tensors and plain containers, so save
# state dicts (:ref:`weights-only`). With ``assign=True``, ``load_state_dict`` uses the
# loaded tensors as parameters, on their device (:ref:`state-dict-meta`).
#
# Do loaded tensors still share memory?
# -------------------------------------
# ``x`` and ``x[1:]`` share a storage. We save them together, then ``x[1:]`` alone.

x = torch.arange(4.0, device=device)
whole, part = reload([x, x[1:]])
apart = reload(x[1:])
whole[1] = 7.0
print(f"{part = }, {apart = }")
assert part[0] == 7 and apart[0] == 1

# %%
# .. predict:: What do ``part`` and ``apart`` hold?
#
#     - ``part = tensor([7., 2., 3.]), apart = tensor([1., 2., 3.])``
#     - ``part = tensor([1., 2., 3.]), apart = tensor([1., 2., 3.])`` with ``whole, part
#       = reload([x, x[1:].clone()])``
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
# - If tensors share memory and you save them in one file, they also share memory after
#   loading.
