# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Run B with A's weights: ``functional_call``
===========================================

:func:`torch.func.functional_call` runs model B with the detached weights of model A,
which share A's memory. B computes with A's current values, and B's loss gives A no
gradient through these weights.
"""

# sphinx_gallery_setup = True
import copy

import torch
from torch import nn
from torch.func import functional_call

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


# %%
# Pass A's weights to B
# ---------------------
# ``state_dict()`` returns detached tensors that share memory with A's weights. With
# them ``net_b`` computes 3 * 4 = 12. Then we multiply by ``t``, a parameter that A
# doesn't have, which gives 12 * 7.

net_a = nn.Linear(1, 1, bias=False, device=device)
net_b = nn.Linear(1, 1, bias=False, device=device)
t = nn.Parameter(torch.tensor([[7.0]], device=device))
x = torch.tensor([[3.0]], device=device)
w = net_a.weight
nn.init.constant_(w, 4.0)

state = net_a.state_dict()
z = state["weight"]
u = functional_call(net_b, state, (x,)) * t
u.backward()
print(f"{u.item() = }, {t.grad.item() = }")
print(f"{w.grad = }")
assert u.item() == 84
assert t.grad.item() == 12
assert w.grad is None
assert net_b.weight.grad is None
assert shares_memory(z, w)
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, z, t, u"

# %%
# Which way uses A's current weight without training A?
# -----------------------------------------------------
# A's weight is 4. B gets it, runs, and a backward pass follows. Then A's weight changes
# to 5, and B runs again. The table shows whether B then uses 4 and returns 3 * 4, or
# uses 5 and returns 3 * 5. It also shows A's gradient.


def run_b(way, b, state):
    if way == "functional_call":
        return functional_call(b, state, (x,))
    return b(x)


print("B gets | B returns | gradient in A")
found = {}
ways = ["copy", "the same Parameter", "functional_call"]
for way in ways:
    a = copy.deepcopy(net_a)
    b = copy.deepcopy(net_b)
    state = a.state_dict()
    if way == "copy":
        b.load_state_dict(state)
    if way == "the same Parameter":
        b.weight = a.weight
    loss = run_b(way, b, state) * t
    loss.backward()
    nn.init.constant_(a.weight, 5.0)
    result = run_b(way, b, state).item()
    grad = a.weight.grad
    of_a = None if grad is None else grad.item()
    print(f"{way} | {result} | {of_a}")
    found[way] = result, of_a
assert found["copy"] == (12, None)
assert found["the same Parameter"] == (15, 21)
assert found["functional_call"] == (15, None)
# sphinx_gallery_folded = "The code that tries the three ways"

# %%
# With a copy, B doesn't get the change to 5. With the same Parameter, B's loss also
# gives A a gradient, 3 * 7. With ``functional_call``, B uses A's current weight and A
# gets no gradient, unless ``x`` is an output of A. B uses its own tensor for a name
# that ``state`` doesn't have.
#
# What keeps the sharing, and what breaks it
# ------------------------------------------
# Each call gets a new A whose weight is 4. ``z`` is A's detached weight. The
# optimizer's step subtracts 1. ``other`` is a state dict with the weight 5.

other = {"weight": torch.full_like(z, 5.0)}

keeping = ["optimizer.step()", "load_state_dict(other)"]
breaking = ["the same, assign=True", "net.double()"]
print("call | A | z | shared")
for call in keeping + breaking:
    net = copy.deepcopy(net_a)
    z = net.weight.detach()
    if call == "optimizer.step()":
        weights = net.parameters()
        optimizer = torch.optim.SGD(weights, lr=1.0)
        loss = net(torch.ones_like(z))
        loss.backward()
        optimizer.step()
    elif call == "load_state_dict(other)":
        net.load_state_dict(other)
    elif call == "the same, assign=True":
        net.load_state_dict(other, assign=True)
    elif call == "net.double()":
        net.double()
    a = net.weight
    shared = shares_memory(a, z)
    row = f"{call} | {a.item()} | {z.item()}"
    print(f"{row} | {shared}")
    assert shared == (call in keeping)
# sphinx_gallery_folded = "The code that makes the table"

# %%
# In-place writes keep the sharing. A new parameter (:ref:`silent-assign`), a cast to
# another dtype or a move to another device breaks it. So pass ``net_a.state_dict()`` in
# each call, not a state dict from before.
#
# Does B change A's buffers?
# --------------------------
# ``state_dict()`` also shares buffers, such as BatchNorm's running mean. Here we never
# call A. B is in training mode and makes one forward pass with the batch 1, 3.

norm_a = nn.BatchNorm1d(1, momentum=0.5, affine=False)
norm_b = copy.deepcopy(norm_a)
batch = torch.tensor([[1.0], [3.0]])
state = norm_a.state_dict()
functional_call(norm_b, state, (batch,))
mean_a = norm_a.running_mean
mean_b = norm_b.running_mean
print(f"A: {mean_a.item()}, B: {mean_b.item()}")
assert mean_a.item() == 1

# %%
# .. predict:: Whose running mean has changed?
#
#     - ``A: 1.0, B: 0.0``
#     - ``A: 0.0, B: 1.0`` with ``state = {}``
#     - ``A: 0.0, B: 0.0`` with ``functional_call(norm_b.eval(), state, (batch,))`` in
#       the place of ``functional_call(norm_b, state, (batch,))``
#
# In training mode, B writes into A's buffer. In eval mode it doesn't.
#
# Remember
# --------
# - ``functional_call(net_b, net_a.state_dict(), (x,))`` lets B use A's weights without
#   a copy and without a gradient for them.
# - In-place writes keep the sharing. ``assign=True`` and a new dtype break it.
# - Buffers are shared as well. In training mode, B's BatchNorm changes A's buffers.
