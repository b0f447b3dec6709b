# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What requires grad inside ``no_grad``?
======================================

Under :class:`torch.no_grad`, a result such as ``product = w * 2`` doesn't require grad.
The leaf ``w``, its view ``w[:1]`` and a new parameter ``p`` do, in the block and after.
"""

# sphinx_gallery_setup = True
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# A result doesn't require grad, a new parameter does
# ---------------------------------------------------
# ``product`` is a result, and ``p`` is a new parameter. After the block, one loss uses
# both and the leaf ``w``. Gradients flow to ``w`` and ``p``, but not to ``product``.

w = torch.tensor([3.0], device=device)
w.requires_grad_()
with torch.no_grad():
    product = w * 2
    p = nn.Parameter(torch.ones(1, device=device))
loss = w * product * p
loss.backward()
print(f"{product.requires_grad = }")
print(f"{p.requires_grad = }")
print(f"{p.grad = }, {w.grad = }")
assert not product.requires_grad
assert p.grad.item() == 3 * 6
assert w.grad.item() == 6
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, product, p, loss"

# %%
# What requires grad in which mode?
# ---------------------------------
# *graph* means that autograd recorded an operation. In the other cells, the table shows
# ``requires_grad``, which is the same in the block and after it.


def make_all():
    made = {"w": w, "w * 2": w * 2}
    made["w[:1]"] = w[:1]
    made["w.detach()"] = w.detach()
    ones = torch.ones(2, requires_grad=True)
    made["torch.ones(2, requires_grad=True)"] = ones
    parameter = nn.Parameter(torch.ones(2))
    made["nn.Parameter(torch.ones(2))"] = parameter
    layer = nn.Linear(1, 1)
    made["nn.Linear(1, 1).weight"] = layer.weight
    return made


def flags(mode):
    words = {}
    with mode:
        made = make_all()
        for call, tensor in made.items():
            words[call] = str(tensor.requires_grad)
    for call, tensor in made.items():
        assert words[call] == str(tensor.requires_grad)
        if tensor.grad_fn is not None:
            words[call] = "graph"
    return words


grad = flags(torch.enable_grad())
quiet = flags(torch.no_grad())
inference = flags(torch.inference_mode())
print("code | enable_grad | no_grad | inference_mode")
for call in grad:
    words = f"{grad[call]} | {quiet[call]}"
    print(f"{call} | {words} | {inference[call]}")
assert grad["w[:1]"] == "graph"
assert quiet["w * 2"] == "False"
assert quiet["w[:1]"] == "True"
assert quiet["nn.Parameter(torch.ones(2))"] == "True"
assert inference == quiet
# sphinx_gallery_folded = "The code that made them"

# %%
# A tensor from ``inference_mode`` has more limits (:doc:`inference_tensors`).
#
# A view requires grad but has no graph
# -------------------------------------
# ``view`` requires grad because its base ``w`` does. But it has no ``grad_fn``, so no
# gradient flows back to ``w`` (:ref:`silent-no-grad-view`). You can modify ``view`` in
# place only while grad mode is off (:ref:`view-made-without-grad`). After such a
# write, even ``view * 2`` raises in grad mode.

w.grad = None
with torch.no_grad():
    view = w[:1]
loss = view * 2
loss.backward()
with torch.no_grad():
    view += 1
try:
    loss = view * 2
except RuntimeError as error:
    message = str(error)
    print("view * 2 raises RuntimeError")
print(f"{view.requires_grad = }, {w.grad = }")
assert w.grad is None
assert "created in no_grad" in message

# %%
# Does a graph from before the block still work?
# ----------------------------------------------
# ``y`` is computed before the block, from the parameter ``p``, which is 1. The call of
# ``backward()`` is inside the block.

p.grad = None
y = p * p
with torch.no_grad():
    y.backward()
print(f"{p.grad = }")
assert y.requires_grad
assert p.grad.item() == 2

# %%
# .. predict:: Does ``backward()`` run in the block?
#
#     - ``p.grad = tensor([2.])``
#     - ``RuntimeError: element 0 of tensors does not require grad and does not have a
#       grad_fn`` with ``(p * p).backward()`` in the place of ``y.backward()``
#     - ``p.grad = tensor([1.])`` with ``y = p.detach() * p``
#
# It runs, because ``no_grad`` only stops *new* recording. The graph of ``y`` was
# recorded before the block, and ``y`` still requires grad.
#
# ``no_grad`` is per thread
# -------------------------
# The mode belongs to the thread that entered it. A thread that starts inside the block
# still records, unless it enters ``no_grad`` itself.


def enter_no_grad():
    with torch.no_grad():
        return torch.is_grad_enabled()


with torch.no_grad(), ThreadPoolExecutor() as pool:
    here = torch.is_grad_enabled()
    other = pool.submit(torch.is_grad_enabled).result()
    entered = pool.submit(enter_no_grad).result()
print("recording in this thread:", here)
print("recording in another thread:", other)
print("after it enters no_grad:", entered)
assert not here
assert other
assert not entered

# %%
# Remember
# --------
# - In ``no_grad``, ``w * 2`` doesn't require grad. New parameters and ``w[:1]`` do.
# - ``no_grad`` only stops new recording. Graphs and ``requires_grad`` from before stay.
# - Gradients flow through a result or a view only if it has a ``grad_fn``.
