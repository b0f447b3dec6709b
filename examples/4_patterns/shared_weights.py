# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Run B on the weights of A: ``functional_call``
==============================================

:func:`torch.func.functional_call` runs B with A's detached weights: nothing is
copied, A gets no gradient, and B sees each of A's steps.

You will see three ways to give A's weights to B side by side, and which later calls
keep the sharing and which break it.
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
# B runs on what you lend it
# --------------------------
# ``state_dict`` returns the weights of A detached, on A's memory. With them
# ``net_b`` computes 3 * 4, and ``t``, a parameter of B's own, makes it 12 * 7.

net_a = nn.Linear(1, 1, bias=False, device=device)
net_b = nn.Linear(1, 1, bias=False, device=device)
t = nn.Parameter(torch.tensor([[7.0]], device=device))
x = torch.tensor([[3.0]], device=device)
w = nn.init.constant_(net_a.weight, 4.0)

lent = net_a.state_dict()
z = lent["weight"]
u = functional_call(net_b, lent, (x,)) * t
u.backward()
print(f"{u.item() = }, {t.grad = }, {w.grad = }")
assert u.item() == 84 and t.grad.item() == 12
assert w.grad is None and net_b.weight.grad is None
assert z.data_ptr() == w.data_ptr()
# sphinx_gallery_tensor_map_lead = "w, z, t, u"

# %%
# Three ways to give A's weights to B
# -----------------------------------
# A holds 4. B gets A's weight and runs, a backward pass follows, A's weight becomes
# 5, and B runs once more. The last way is the one from above.

rows = []
for way in "a copy", "the same Parameter", "lent":
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
    row = {"weight in B": way, "B": run(x).item()}
    grad = net.weight.grad
    row["gradient in A"] = grad and grad.item()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen == [(12, None), (15, 21), (15, None)]
# sphinx_gallery_table = "rows"

# %%
# Lent, the weight follows A, and B's loss does not reach A.
#
# What keeps the sharing, and what breaks it
# ------------------------------------------
# Each call meets a new A that holds 4, and ``z``, taken before. ``other`` holds 5.

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
# sphinx_gallery_table = "rows"

# %%
# A write keeps the sharing. A new parameter (:ref:`silent-assign`), a cast and a move
# to another device break it. So take ``state_dict()`` anew in each iteration.
#
# Buffers come along
# ------------------
# ``state_dict`` lends buffers too. A is not called here, and B, in training mode,
# makes one forward pass on 1 and 3 (on the CPU).

norm_a = nn.BatchNorm1d(1, momentum=0.5)
norm_b = nn.BatchNorm1d(1, momentum=0.5)
batch = torch.tensor([[1.0], [3.0]])
lent = norm_a.state_dict()
functional_call(norm_b, lent, (batch,))
print(norm_a.running_mean, norm_b.running_mean)
assert norm_a.running_mean.item() == 1
assert norm_b.running_mean.item() == 0
# sphinx_gallery_predict = "Whose running mean has moved?"
# sphinx_gallery_predict_instead = "= norm_a.state_dict() -> = {}"
# sphinx_gallery_predict_instead_2 = "(norm_b, lent -> (norm_b.eval(), lent"

# %%
# B has written into A's buffer. Call ``norm_b.eval()``, or lend parameters only.
#
# Remember
# --------
# - ``functional_call(net_b, net_a.state_dict(), (x,))``: no copy, no gradient to A.
# - Writes keep the sharing; ``assign=True`` and casts break it.
# - Buffers are shared as well: B in training mode writes A's.
