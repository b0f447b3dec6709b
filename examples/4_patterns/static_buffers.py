# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Replay a CUDA graph: ``copy_`` in, ``clone`` out
================================================

A CUDA graph reads and writes the same tensors on each replay. Fill its input with
``copy_``, and clone the results that you need later.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

capture = device == "cuda"
if not hasattr(torch.cuda, "CUDAGraph"):
    capture = False  # on a simulated device

# %%
# Each replay reads and writes the same tensors
# ---------------------------------------------
# A :class:`torch.cuda.CUDAGraph` records GPU work and repeats it without Python. Each
# replay runs the same kernels with the same arguments, so it uses the same memory
# addresses (from the `PyTorch documentation
# <https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs>`__). So you need
# one tensor for the input and one for the result, the *static buffers*, and you have
# to keep both.
#
# ``record`` (below) runs the work once before the capture. For a model, run it a few
# times on a side stream, as PyTorch's documentation shows. Without CUDA, ``capture``
# is False and there is no graph. Then ``record`` returns ``work``, which reads and
# writes the same tensors, so all examples print the same values.

static_in = torch.zeros(2, device=device)
static_out = torch.zeros(2, device=device)


def record(a, b):
    def work():
        torch.mul(a, b, out=static_out)

    work()  # warm up before the capture
    if not capture:
        return work
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


two = torch.full((2,), 2.0, device=device)
replay = record(static_in, two)

# %%
# How do you keep a result?
# -------------------------
# The graph doubles its input, which is 1, 2 in the first replay and 5, 6 in the second.
# Between the two we store the first result in two ways.

x = torch.tensor([1.0, 2.0], device=device)
static_in.copy_(x)
replay()
alias = static_out.detach()
copied = static_out.clone()
# sphinx_gallery_lead = True
x = torch.tensor([5.0, 6.0], device=device)
static_in.copy_(x)
replay()
print(f"{alias.tolist() = }, {copied.tolist() = }")
assert alias.tolist() == [10, 12]
assert copied.tolist() == [2, 4]
# sphinx_gallery_tensor_map = "static_out, alias, copied, static_out copied to copied"

# %%
# .. predict:: What do ``alias`` and ``copied`` hold?
#
#     - ``alias.tolist() = [10.0, 12.0], copied.tolist() = [2.0, 4.0]``
#     - ``alias.tolist() = [10.0, 12.0], copied.tolist() = [10.0, 12.0]``
#       with ``copied = static_out``
#     - ``alias.tolist() = [2.0, 4.0], copied.tolist() = [2.0, 4.0]`` with ``alias =
#       static_out.detach().clone()``
#
# ``alias`` shares memory with ``static_out``. If you collect one alias per replay in a
# list, they all show the last values.
#
# Fill the input with ``copy_``, not ``=``
# ----------------------------------------
# ``static_in = x`` would only give the name to another tensor. The replay would still
# read the recorded memory, as it does here before ``copy_`` writes to that memory.

x = torch.tensor([7.0, 8.0], device=device)
replay()
without_copy = static_out.tolist()
static_in.copy_(x)
replay()
print(f"{without_copy = }")
print(f"{static_out.tolist() = }")
assert without_copy == [10, 12]
assert static_out.tolist() == [14, 16]

# %%
# After a cast, a replay reads the old weights
# --------------------------------------------
# An optimizer and ``load_state_dict`` (without ``assign=True``) write in place, so the
# next replay uses the new values. A cast to another dtype, a move to another device or
# ``weight.data = new`` gives the Parameter new memory. The replay still reads the old
# memory. If nothing keeps it alive, the results may be wrong. Here ``old`` keeps it.
# The input is 7, 8. The old memory has the weight 3, the new one has the weight 2.

weight = torch.nn.Parameter(two.clone())
old = weight.detach()
replay = record(static_in, old)
with torch.no_grad():
    weight += 1
replay()
in_place = static_out.tolist()
weight.data = two.double()  # as a cast does
replay()
after_cast = static_out.tolist()
replay = record(static_in, weight.detach())
replay()
print(f"{in_place = }, {after_cast = }")
print(f"recorded again: {static_out.tolist()}")
assert in_place == [21, 24]
assert after_cast == [21, 24]
assert static_out.tolist() == [14, 16]

# %%
# On a CUDA GPU, :func:`torch.compile` with ``mode="reduce-overhead"`` replays CUDA
# graphs for you, and copies the inputs itself. If you read a result after the next
# call, PyTorch raises ("has been overwritten by a subsequent run"), unless a
# ``backward()`` is still to come. So clone the results that you need later (from the
# `PyTorch documentation
# <https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_cudagraph_trees.html>`__).
#
# Remember
# --------
# - Call ``static_in.copy_(x)`` before a replay and ``static_out.clone()`` after it.
# - A replay doesn't read a new tensor, and ``detach()`` doesn't copy the result.
# - If the weights get new memory, as in a cast, record the graph again.
