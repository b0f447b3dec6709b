# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Load a checkpoint on another device: ``map_location``
=====================================================

A file remembers the device of each tensor, and :func:`torch.load` puts it back there
unless ``map_location`` says where else.

You will see where a checkpoint from a GPU lands with each kind of ``map_location``,
why ``"cpu"`` is enough for a model anywhere, and what one file keeps together.
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
# A checkpoint from a GPU
# -----------------------
# It is saved on CUDA where there is a GPU. Elsewhere ``FakeTensorMode`` has CUDA
# tensors without data, and ``skip_data`` writes a file of them: it names the device
# as a real one does, and its numbers are zeros.

here = device == "cuda"
with nullcontext() if here else FakeTensorMode():
    w = torch.zeros(2, device="cuda")
skip_data = torch.serialization.skip_data
no_data = skip_data(materialize_fake_tensors=True)
file = io.BytesIO()
with nullcontext() if here else no_data:
    torch.save({"w": w}, file)
assert b"cuda:0" in file.getvalue()
print("The file names the device cuda:0")
# sphinx_gallery_folded = "The code that writes the file"

# %%
# Where it lands
# --------------
# Without ``map_location`` the file decides. A name or a :class:`torch.device` sends
# all tensors to one place; a dictionary only those that it names; a function gets
# each storage on the CPU and the file's name for the device, and returns a storage,
# or None to let the file decide.


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
    rows.append({"call": call, "lands on": landed})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
landed = [row["lands on"] for row in rows]
named = "cuda" if here else "raises"
assert landed == [named] * 2 + ["cpu"] * 3 + ["meta"]
# sphinx_gallery_table = "rows"

# %%
# Without CUDA two of them raise (:ref:`load-without-device`). Take ``"cpu"``: it is
# right on every machine, and what is loaded takes no GPU memory.
#
# The module decides
# ------------------
# ``load_state_dict`` copies the values into the module's own parameters, on their
# device and in their dtype. An optimizer's moves its tensors to where its
# parameters are. So load to the CPU, and build model and optimizer where you want.


def reload(saved):
    file = io.BytesIO()
    torch.save(saved, file)
    file.seek(0)
    return torch.load(file, map_location="cpu")


model = nn.Linear(2, 1, device=device)
nn.init.ones_(model.weight)
sgd = optim.SGD(model.parameters(), momentum=0.5)
model(torch.ones(1, 2, device=device)).backward()
sgd.step()
states = model.state_dict(), sgd.state_dict()
saved, its_state = reload(states)

again = nn.Linear(2, 1, device=device).double()
sgd = optim.SGD(again.parameters(), momentum=0.5)
again.load_state_dict(saved)
sgd.load_state_dict(its_state)
loaded, weight = saved["weight"], again.weight
momentum = sgd.state[weight]["momentum_buffer"]
for tensor in loaded, weight, momentum:
    print(tensor.device.type, tensor.dtype)
assert torch.equal(weight, loaded.to(weight))
assert momentum.device == weight.device
assert momentum.dtype == weight.dtype == torch.float64
# sphinx_gallery_tensor_map_lead = "loaded, weight, momentum"

# %%
# Since torch 2.6 ``load`` takes tensors and plain containers only, which is why the
# state dicts are saved and not the model (:ref:`weights-only`). With ``assign=True``
# nothing is copied: the loaded tensors become the parameters, and stay where
# ``map_location`` put them (:ref:`state-dict-meta`).
#
# One file keeps what is shared
# -----------------------------
# Two tensors on one storage are saved in one call, then one of them alone.

x = torch.arange(4.0, device=device)
whole, part = reload([x, x[1:]])
apart = reload(x[1:])
whole[1] = 7.0
print(f"{part = }")
print(f"{apart = }")
assert part[0] == 7 and apart[0] == 1
# sphinx_gallery_predict = "What do ``part`` and ``apart`` hold?"
# sphinx_gallery_predict_instead = "[x, x[1:]] -> [x, x[1:].clone()]"
# sphinx_gallery_predict_instead_2 = "apart = reload(x[1:]) -> apart = part"

# %%
# Saved in one call they share a storage again. Saved apart, each brings the whole
# storage (:doc:`../3_tips/what_stays_alive`).
#
# Remember
# --------
# - Load with ``map_location="cpu"``; ``load_state_dict`` copies to the model.
# - Save state dicts, of the model and of the optimizer, in one file.
# - What shares memory in one file shares it after loading.
