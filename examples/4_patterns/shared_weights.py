# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Run B with A's weights: ``functional_call``
===========================================

:func:`torch.func.functional_call` runs model B with the detached weights of model A,
which share A's memory. B computes with A's current values, and B's loss gives A no
gradient.
"""

# sphinx_gallery_setup = True
import copy
from functools import partial

import torch
from torch import nn
from torch.func import functional_call

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

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
w = nn.init.constant_(net_a.weight, 4.0)

state = net_a.state_dict()
z = state["weight"]
u = functional_call(net_b, state, (x,)) * t
u.backward()
print(f"{u.item() = }, {t.grad = }, {w.grad = }")
assert u.item() == 84 and t.grad.item() == 12
assert w.grad is None and net_b.weight.grad is None
assert z.data_ptr() == w.data_ptr()
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, z, t, u"

# %%
# Which way uses A's current weight without training A?
# -----------------------------------------------------
# A's weight is 4. B gets it, runs, and a backward pass follows. Then A's weight changes
# to 5, and B runs again. The table shows whether B then uses 4 or 5, and whether A gets
# a gradient. In the code ``net`` is A, and ``run`` is B.

rows = []
ways = "a copy", "the same Parameter", "functional_call"
for way in ways:
    net, run = copy.deepcopy((net_a, net_b))
    if way == "a copy":
        run.load_state_dict(net.state_dict())
    elif way == "the same Parameter":
        run.weight = net.weight
    else:
        state = net.state_dict()
        run = partial(functional_call, run, state)
    (run(x) * t).backward()
    nn.init.constant_(net.weight, 5.0)
    grad = net.weight.grad
    row = {"B gets": way, "B returns": run(x).item()}
    row["gradient in A"] = grad and grad.item()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen == [(12, None), (15, 21), (15, None)]

# %%
# With a copy, B doesn't get the change to 5. With the same Parameter, B's loss also
# gives A a gradient. With ``functional_call``, B uses A's current weight and A gets no
# gradient. For a name that A doesn't have, B uses its own weight, unless you pass
# ``strict=True``, which raises.
#
# What keeps the sharing, and what breaks it
# ------------------------------------------
# Each call gets a new A whose weight is 4. ``z`` is A's detached weight, and ``other``
# is a state dict with the weight 5.

other = {"weight": torch.full_like(z, 5.0)}
load = partial(
    nn.Module.load_state_dict,
    state_dict=other,
)


def step(net):
    net(-torch.ones_like(z)).backward()
    torch.optim.SGD(net.parameters(), lr=1.0).step()


calls = {
    "optimizer.step()": step,
    "load_state_dict(other)": load,
    "the same, assign=True": partial(load, assign=True),
    "net.double()": nn.Module.double,
}
rows = []
for call, change in calls.items():
    net = copy.deepcopy(net_a)
    z = net.weight.detach()
    change(net)
    a = net.weight
    row = {"call": call, "A": a.item(), "z": z.item()}
    row["shared"] = a.data_ptr() == z.data_ptr()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
shared = [row["shared"] for row in rows]
assert shared == [True, True, False, False]
# sphinx_gallery_folded = "The code that makes the table"

# %%
# In-place writes keep the sharing. A new parameter (:ref:`silent-assign`), a cast to
# another dtype or a move to another device breaks it. So call ``state_dict()`` again in
# each iteration.
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
a, b = norm_a.running_mean, norm_b.running_mean
print(f"A: {a.item()}, B: {b.item()}")
assert a.item() == 1 and b.item() == 0

# %%
# .. predict:: Whose running mean has changed?
#
#     - ``A: 1.0, B: 0.0``
#     - ``A: 0.0, B: 1.0`` with ``state = {}``
#     - ``A: 0.0, B: 0.0`` with ``functional_call(norm_b.eval(), state, (batch,))`` in
#       the place of ``functional_call(norm_b, state, (batch,))``
#
# B has written into A's buffer. Call ``norm_b.eval()``, or leave the buffers out of
# ``state``, so that B uses its own.
#
# Remember
# --------
# - ``functional_call(net_b, net_a.state_dict(), (x,))`` lets B use A's weights without
#   a copy and without a gradient for A.
# - In-place writes keep the sharing. ``assign=True`` and casts break it.
# - Buffers are shared as well. In training mode, B changes A's buffers.
