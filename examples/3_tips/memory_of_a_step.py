# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
How much memory does one training step need?
============================================

With Adam in float32, the weights, their gradients and two averages take four times the
weights. The activations come on top, from the forward pass until ``backward()``.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "Memory of a training step"
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

MIB = 2**20
first = nn.Linear(512, 512, bias=False)
last = nn.Linear(512, 512, bias=False)
model = nn.Sequential(first, nn.ReLU(), last).to(device)
weights = [first.weight, last.weight]

# %%
# Activations: what autograd saves
# --------------------------------
# Each weight has 1 MiB, the batch and the result of each layer 4 MiB. A hook gets each
# tensor that autograd saves. A weak reference tells later if its storage still exists.


def forward():
    own = {w.data_ptr() for w in weights}
    saved = {}

    def note(t):
        storage = t.untyped_storage()
        if storage.data_ptr() not in own:
            saved[StorageWeakRef(storage)] = storage.nbytes()
        return t

    with saved_tensors_hooks(note, lambda t: t):
        x = torch.ones(2048, 512).to(weights[0])
        return model(x).square().mean(), saved


loss, saved = forward()
loss.backward()
print([n / MIB for n in saved.values()])
assert [*saved.values()] == [4 * MIB] * 3
assert all(ref.expired() for ref in saved)

# %%
# These are the batch, the result of ``relu`` and the output. ``relu`` and the next
# layer save one storage, and a saved weight adds nothing. ``backward()`` freed them.
#
# Count after each phase
# ----------------------
# On CUDA, ``torch.cuda.memory_allocated()`` says what the folded code counts, but for
# rounding to 512 bytes and a work space that the products above made. `From PyTorch's
# notes <https://docs.pytorch.org/docs/stable/notes/cuda.html#cublas-workspaces>`__

del loss
model.zero_grad()
before = torch.cuda.memory_allocated() - 2 * MIB
adam, rows = torch.optim.Adam(weights), []
steps = "forward", "backward", "step", "zero_grad"
for phase in (*steps, steps[0]):
    if phase == "forward":
        loss, saved = forward()
    elif phase == "backward":
        loss.backward()
    else:
        getattr(adam, phase)()
    grads = [w.grad for w in weights if w.grad is not None]
    states = [t for s in adam.state.values() for t in s.values()]
    parts = weights, grads, states
    row = [sum(t.nbytes for t in part) for part in parts]
    row.append(sum(saved[r] for r in saved if not r.expired()))
    rows.append([*row, sum(row)])
    used = torch.cuda.memory_allocated() - before
    assert device == "cpu" or abs(used - sum(row)) <= 4096

lines = [[round(n / MIB) for n in x] for x in zip(*rows)]
parts = "weights", "gradients", "averages", "activations"
for line, name in zip(lines, (*parts, "total")):
    plt.plot(line, "o-", label=name)
plt.xticks(range(5), (*steps, steps[0]))
plt.title("The second forward pass needs most")
plt.ylabel("MiB in use after each phase")
plt.show()
assert lines[:2] == [[2, 2, 2, 2, 2], [0, 2, 2, 0, 0]]
assert lines[2:4] == [[0, 0, 4, 4, 4], [12, 0, 0, 0, 12]]
assert lines[4] == [14, 4, 8, 6, 18]
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that counts and draws"

# %%
# The first ``step()`` makes the averages, and they stay. So the second forward pass
# needs more. ``backward()`` needs more for a moment: activations get gradients too.
#
# Other optimizers
# ----------------
# For each weight, SGD keeps nothing, with momentum one tensor, and Adam and AdamW two.

loss.backward()
SGD, AdamW = torch.optim.SGD, torch.optim.AdamW
three = SGD(weights), SGD(weights, momentum=0.9), AdamW(weights)
for optimizer in three:
    optimizer.step()
states = [one.state[weights[0]] for one in three]
kept = [{k: s[k].nbytes for k in s} for s in states]
print(*kept, sep="\n")
sizes = [sum(one.values()) for one in kept]
assert sizes == [0, MIB, 2 * MIB + 4]

# %%
# Autocast to bfloat16
# --------------------
# ``autocast`` leaves weights, gradients and averages in float32. It casts what a layer
# gets and its weight, so the result has half the bytes. This part runs on the CPU.

model.cpu()
with torch.autocast("cpu", torch.bfloat16):
    saved = forward()[1].values()
print(sum(saved) / MIB, "MiB")
assert weights[0].dtype == torch.float32
assert [n / MIB for n in saved] == [2, 2, 0.5, 2]
# sphinx_gallery_predict = "Float32 saves 12 MiB. How much does ``autocast`` save?"
# sphinx_gallery_predict_instead = "torch.bfloat16 -> enabled=False"
# sphinx_gallery_predict_instead_2 = "model.cpu() -> model.cpu().bfloat16()"

# %%
# Half of 12 MiB, and a cast copy of the last weight. The first weight's copy isn't
# saved, because the batch doesn't require grad. All copies live until the block ends.
# With large weights and a small batch, autocast can need more (:ref:`q-half-memory`).
#
# Remember
# --------
# - In float32, weights + gradients + state. Adam's state is 2x, momentum 1x.
# - Activations come on top. They grow with the batch, and ``backward()`` frees them.
# - Autocast halves the activations that it casts, not weights, gradients and state.
