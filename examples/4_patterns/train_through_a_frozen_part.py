# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train A through a frozen B
==========================

Freeze the parameters of B with ``requires_grad_(False)`` before the forward pass:
the gradient still passes through B to A, and B saves less for it.

You will see what five ways to "freeze" B do to the gradients of both networks and
to memory, two of which cut A off, and what the flag does when you set it late.
"""

# sphinx_gallery_setup = True
import torch
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The gradient passes through constants
# -------------------------------------
# A multiplies by 2, B by 5. A loss behind B is to train A alone. The gradient of
# ``a`` is x * 5 = 15: it needs B's weight, and no gradient *of* B's weight.

net_a = torch.nn.Linear(1, 1, bias=False, device=device)
net_b = torch.nn.Linear(1, 1, bias=False, device=device)
a, b = net_a.weight, net_b.weight
torch.nn.init.constant_(a, 2.0)
torch.nn.init.constant_(b, 5.0)
net_b.requires_grad_(False)

x = torch.tensor([[3.0]], device=device)
h = net_a(x)
y = net_b(h)
y.backward()
print(f"{a.grad = }")
print(f"{b.grad = }")
assert a.grad.item() == 15 and b.grad is None
# sphinx_gallery_tensor_map_lead = "a, b, h, y"

# %%
# In the picture ``b`` is a constant, and the graph goes on to ``a``.
#
# Five ways, measured
# -------------------
# B has two layers now, times 5 and times 1, and the batch is 1 MiB. The hooks of
# :class:`torch.autograd.graph.saved_tensors_hooks` see each tensor that the forward
# pass saves for the backward pass; each memory counts once.

MIB = 2**20
big = torch.full((MIB // 4, 1), 3.0, device=device)
net_b = torch.nn.Sequential(
    torch.nn.Linear(1, 1, bias=False),
    torch.nn.Linear(1, 1, bias=False),
).to(device)
torch.nn.init.constant_(net_b[0].weight, 5.0)
torch.nn.init.constant_(net_b[1].weight, 1.0)
a, b = net_a.weight, net_b[0].weight


def plain(x):
    return net_b(net_a(x))


def detached(x):
    return net_b(net_a(x).detach())


def without_grad(x):
    h = net_a(x)
    with torch.no_grad():
        return net_b(h)


def measure(forward, inputs=None):
    a.grad = b.grad = None
    saved = {}

    def note(t):
        saved[t.data_ptr()] = t.nbytes
        return t

    with saved_tensors_hooks(note, lambda t: t):
        loss = forward(big).mean()
    if loss.requires_grad:
        loss.backward(inputs=inputs)
    mib = sum(saved.values()) // MIB
    grads = [p.grad and p.grad.item() for p in (a, b)]
    return *grads, mib


found = {
    "nothing": measure(plain),
    "B left out of the optimizer": measure(plain),
    "backward(inputs=[a])": measure(plain, [a]),
    "net_a(x).detach()": measure(detached),
    "no_grad around B": measure(without_grad),
}
net_b.requires_grad_(False)
found["net_b.requires_grad_(False)"] = measure(plain)
rows = []
for way, (to_a, to_b, mib) in found.items():
    row = {"what is done": way, "gradient of A": to_a}
    row |= {"gradient of B": to_b, "MiB saved": mib}
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
assert list(found.values()) == [
    (15, 6, 3),
    (15, 6, 3),
    (15, None, 3),
    (None, 6, 3),
    (None, None, 1),
    (15, None, 1),
]
# sphinx_gallery_folded = "The code that measures"
# sphinx_gallery_table = "rows"

# %%
# - *Left out of the optimizer*, B still gets gradients. They pile up, for an
#   optimizer clears only its own: call ``net_b.zero_grad()``, or freeze.
# - ``backward(inputs=...)`` leaves B alone, but the forward pass has saved for both.
# - ``detach`` does the opposite of what you want: B gets a gradient, A none.
# - Under ``no_grad`` neither does, and ``backward`` raises (:ref:`no-grad-fn`).
# - Frozen, B's linear layers do not save their inputs, 2 MiB here. Layers such as
#   ReLU go on saving what A's gradient needs.
#
# When to set the flag
# --------------------
# The forward pass looks at the flag. Here B is frozen while ``y`` is made, and
# free again before the backward pass.

a.grad = b.grad = None
net_b.requires_grad_(False)
y = net_b(net_a(x))
net_b.requires_grad_(True)
y.backward()
print(f"{a.grad = }")
print(f"{b.grad = }")
assert a.grad.item() == 15 and b.grad is None
# sphinx_gallery_predict = "Which gradients arrive?"
# sphinx_gallery_predict_instead = "requires_grad_(False) -> requires_grad_(True)"
# sphinx_gallery_predict_instead_2 = "net_b(net_a(x)) -> net_b(net_a(x).detach())"

# %%
# So B can be used twice in one loss, and trained through one of the two uses. Set
# after the forward pass, the flag keeps the gradient away, and the memory is spent.


def frozen_too_late(x):
    y = plain(x)
    net_b.requires_grad_(False)
    return y


found = measure(frozen_too_late)
print(found)
assert found == (15, None, 3)

# %%
# What a frozen part still does, :doc:`is the next lesson <freeze_and_unfreeze>`.
#
# Remember
# --------
# - Freeze B with ``requires_grad_(False)``, before the forward pass.
# - ``detach`` and ``no_grad`` between A and the loss cut A off.
# - Out of the optimizer is not frozen: gradients are computed and pile up.
