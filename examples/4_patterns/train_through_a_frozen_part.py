# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train A through a frozen B
==========================

Freeze the parameters of B with ``requires_grad_(False)`` before the forward pass:
the gradient still passes through B to A, and B saves less for it.

You will see what six ways to "freeze" B do to the gradients of both networks and to
memory, two of which cut A off, and which forward pass the flag counts for.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The gradient passes through constants
# -------------------------------------
# A multiplies by 2, B by 5 and by 1. A loss behind B is to train A alone. The gradient
# of ``a`` is x * 5 = 15: it needs B's weights, and no gradient *of* B's weights.


def layer(factor):
    made = nn.Linear(1, 1, bias=False, device=device)
    nn.init.constant_(made.weight, factor)
    return made


net_a = layer(2.0)
net_b = nn.Sequential(layer(5.0), layer(1.0))
net_b.requires_grad_(False)
a, b = net_a.weight, net_b[0].weight
x = torch.tensor([[3.0]], device=device)
h = net_a(x)
y = net_b(h)
y.backward()
print(f"{a.grad = }, {b.grad = }")
assert a.grad.item() == 15 and b.grad is None
# sphinx_gallery_tensor_map_lead = "a, b, h, y"

# %%
# In the picture ``b`` is a constant, and the graph goes on to ``a``.
#
# Six ways, measured
# ------------------
# The batch is 1 MiB. :class:`torch.autograd.graph.saved_tensors_hooks` sees what the
# forward pass saves for the backward pass; each memory counts once.

MIB = 2**20
big = torch.full((MIB // 4, 1), 3.0, device=device)
plain = nn.Sequential(net_a, net_b)
quiet_b = torch.no_grad()(net_b.forward)


def frozen_late(x):
    y = plain(x)
    net_b.requires_grad_(False)
    return y


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


net_b.requires_grad_(True)
found = {
    "B left out of the optimizer": measure(plain),
    "backward(inputs=[a])": measure(plain, [a]),
    "net_a(x).detach()": measure(
        lambda x: net_b(net_a(x).detach()),
    ),
    "no_grad around B": measure(
        lambda x: quiet_b(net_a(x)),
    ),
    "requires_grad_(False), late": measure(frozen_late),
    "requires_grad_(False), before": measure(plain),
}
kinds = "gradient of A", "gradient of B", "MiB saved"
rows = []
for way, seen in found.items():
    rows.append({"way": way} | dict(zip(kinds, seen)))
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
left, inputs, cut, quiet, late, before = found.values()
assert left == (15, 6, 3) and cut == (None, 6, 3)
assert inputs == late == (15, None, 3)
assert quiet == (None, None, 1)
assert before == (15, None, 1)
# sphinx_gallery_folded = "The code that measures"
# sphinx_gallery_table = "rows"

# %%
# - *Left out of the optimizer*, B still gets gradients. They pile up, for an
#   optimizer clears only its own: call ``net_b.zero_grad()``, or freeze.
# - ``backward(inputs=...)`` leaves B alone, but the forward pass has saved for both.
# - ``detach`` does the opposite of what you want: B gets a gradient, A none.
# - Under ``no_grad`` neither does, and ``backward`` raises (:ref:`no-grad-fn`).
# - *Late* is after the forward pass: it has saved all. Frozen *before*, B's linear
#   layers do not save their inputs, 2 MiB here. ReLU saves what A's gradient needs.
#
# When to set the flag
# --------------------
# The forward pass looks at the flag. Here B is frozen while ``y`` is made, and
# free again before the backward pass.

a.grad = None
net_b.requires_grad_(False)
y = net_b(net_a(x))
net_b.requires_grad_(True)
y.backward()
print(f"{a.grad = }, {b.grad = }")
assert a.grad.item() == 15 and b.grad is None
# sphinx_gallery_predict = "Which gradients arrive?"
# sphinx_gallery_predict_instead = "requires_grad_(False) -> requires_grad_(True)"
# sphinx_gallery_predict_instead_2 = "net_a(x)) -> net_a(x).detach()) raises"

# %%
# So B can be used twice in one loss, and trained through one of the two uses.
# What a frozen part still does, :doc:`is the next lesson <freeze_and_unfreeze>`.
#
# Remember
# --------
# - Freeze B with ``requires_grad_(False)``, before the forward pass.
# - ``detach`` and ``no_grad`` between A and the loss cut A off.
# - Out of the optimizer is not frozen: gradients are computed and pile up.
