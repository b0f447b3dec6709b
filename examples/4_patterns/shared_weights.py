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


def shares_memory(a, b):
    """Compare the storages of two live tensors."""
    a, b = a.untyped_storage(), b.untyped_storage()
    return a.data_ptr() == b.data_ptr()


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
assert shares_memory(z, w) and not z.requires_grad
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
grads = [row["gradient in A"] for row in rows]
assert grads == [None, 21, None]
assert [row["B"] for row in rows] == [12, 15, 15]
# sphinx_gallery_table = "rows"

# %%
# Lent, the weight follows A, and B's loss does not reach A.
#
# What keeps the sharing, and what breaks it
# ------------------------------------------
# Each call meets a new A that holds 4, and ``z``, taken before. ``other`` holds 5.
# ``held`` says whether an optimizer made before still steps A's weight.

other = {"weight": torch.full_like(z, 5.0)}
load = nn.Module.load_state_dict


def step(net):
    net(-torch.ones_like(z)).backward()
    torch.optim.SGD(net.parameters(), lr=1.0).step()


@torch.no_grad()
def copy_(net):
    net.weight.copy_(other["weight"])


def rebind(net):
    net.weight = nn.Parameter(torch.full_like(z, 5))


calls = {
    "optimizer.step()": step,
    "weight.copy_(other)": copy_,
    "load_state_dict(other)": lambda n: load(n, other),
    "load_state_dict(other, assign=True)": (  # new one
        lambda n: load(n, other, assign=True)
    ),
    "net.weight = nn.Parameter(other)": rebind,
    "net.double()": lambda n: n.double(),
    'net.to("cpu")': lambda n: n.to("cpu"),
}
rows = []
for call, change in calls.items():
    net = nn.Linear(1, 1, bias=False, device=device)
    w = nn.init.constant_(net.weight, 4.0)
    z = w.detach()
    change(net)
    row = {"call": call}
    row |= {"A": net.weight.item(), "z": z.item()}
    row["shared"] = shares_memory(z, net.weight)
    row["held"] = net.weight is w
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
shared = [row["shared"] for row in rows]
assert shared[:6] == [True] * 3 + [False] * 3
assert shared[6] == (device == "cpu")
assert not any(row["held"] for row in rows[3:5])
# sphinx_gallery_folded = "The code that makes the table"
# sphinx_gallery_table = "rows"

# %%
# A write keeps the sharing; a new tensor or new memory breaks it
# (:ref:`silent-assign`). So take ``state_dict()`` anew in each iteration.
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
print(f"{norm_a.running_mean.item() = }")
print(f"{norm_b.running_mean.item() = }")
assert norm_a.running_mean.item() == 1
assert norm_b.running_mean.item() == 0
# sphinx_gallery_predict = "Whose running mean has moved?"
# sphinx_gallery_predict_instead = "= norm_a.state_dict() -> = {}"
# sphinx_gallery_predict_instead_2 = "functional_call(norm_b -> norm_b.eval(); (norm_b"

# %%
# B has written into A's buffer. Call ``norm_b.eval()``, or lend parameters only.
#
# Remember
# --------
# - ``functional_call(net_b, net_a.state_dict(), (x,))``: no copy, no gradient to A.
# - Writes keep the sharing; ``assign=True``, rebinding and casts break it.
# - Buffers are shared as well: B in training mode writes A's.
