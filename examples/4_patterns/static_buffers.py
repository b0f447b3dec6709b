# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Replay on static buffers: CUDA graphs and ``copy_``
===================================================

A replayed CUDA graph reads one memory and writes one memory each time: fill its
input with ``copy_``, and clone a result that is to outlive the next replay.

You will see an input that no replay reads, results that are all the last one, and
the two cures, on every machine.
"""

# sphinx_gallery_setup = True
from functools import partial

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

capture = device == "cuda"
capture = capture and hasattr(torch.cuda, "CUDAGraph")

# %%
# Capture once, replay often
# --------------------------
# A :class:`torch.cuda.CUDAGraph` records work with its addresses and repeats it
# without Python. So input and result are *static*: they stay where they are. Where
# there is no CUDA, ``replay`` is a call that holds the same tensors: it reads and
# writes the same memory.

static_in = torch.zeros(2, device=device)
static_out = torch.zeros(2, device=device)


def record(a, b):
    work = partial(torch.mul, a, b, out=static_out)
    work()  # once, before it is recorded
    if not capture:
        return work
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


two = torch.full((2,), 2.0, device=device)
replay = record(static_in, two)
print("Recorded as a graph:", capture)

# %%
# A result that you keep
# ----------------------
# The input is 1, 2 in the first replay and 5, 6 in the second. In between, the
# result is kept in two ways.

inputs = torch.tensor([[1.0, 2.0], [5.0, 6.0]])
inputs = inputs.to(device)
static_in.copy_(inputs[0])
replay()
kept = static_out.detach()
copied = static_out.clone()
static_in.copy_(inputs[1])
replay()
print(f"{kept.tolist() = }")
print(f"{copied.tolist() = }")
assert kept.tolist() == [10, 12]
assert copied.tolist() == [2, 4]
# sphinx_gallery_tensor_map_lead = "static_in, static_out, kept, copied"
# sphinx_gallery_predict = "What do ``kept`` and ``copied`` hold?"
# sphinx_gallery_predict_instead = "static_out.clone() -> static_out"
# sphinx_gallery_predict_instead_2 = ".detach() -> .detach().clone()"

# %%
# ``kept`` is the static result itself. In a list of such results all are the last.
#
# An input that no replay reads
# -----------------------------
# ``x = new`` gives a name to another tensor. The replay goes on with the memory that
# it has recorded. ``copy_`` writes there.

x = static_in
x = torch.tensor([7.0, 8.0], device=device)
replay()
unread = static_out.tolist()
static_in.copy_(x)
replay()
print(f"{unread = }, {static_out.tolist() = }")
assert unread == [10, 12]
assert static_out.tolist() == [14, 16]

# %%
# Weights are static too
# ----------------------
# An optimizer writes in place, and so does ``load_state_dict``: the next replay has
# the new values. A cast, a move or ``weight.data = new`` gives the Parameter new
# memory, and the replay stays with the old. (It must stay alive: ``old`` holds it.)

weight = torch.nn.Parameter(two.clone())
old = weight.detach()
replay = record(static_in, old)
with torch.no_grad():
    weight += 1
replay()
in_place = static_out.tolist()
weight.data = torch.zeros_like(two)
replay()
replaced = static_out.tolist()
print(f"{in_place = }, {replaced = }")
assert in_place == replaced == [21, 24]
assert old.tolist() == [3, 3]
assert weight.tolist() == [0, 0]

# %%
# :func:`torch.compile` with ``mode="reduce-overhead"`` replays CUDA graphs for you.
# It copies the inputs by itself. A result that you read after the next call raises
# ("has been overwritten by a subsequent run"): clone it there too, as `its
# documentation says
# <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>`_.
#
# Remember
# --------
# - Fill the input: ``static_in.copy_(x)``. ``static_in = x`` changes nothing.
# - ``static_out.clone()`` before the next replay; ``detach`` is no copy.
# - After a cast or a move of the weights, record again.
