# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Use A's weights in B without B training A
=========================================

``z = w.detach()`` shares memory with network A's weight ``w``, so B computes with A's
current values. No gradient flows from B's loss back to A.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach()"
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# B uses A's detached weight
# --------------------------
# A is ``y = x * w + b``. B is ``u = z * t + c``, and its input ``z`` is A's weight
# ``w``, detached. So for B this weight is frozen. ``backward()`` fills ``.grad`` but
# doesn't change weights.

x = torch.tensor([2.0], device=device)
w = torch.tensor([4.0], device=device)
b = torch.tensor([3.0], device=device)
t = torch.tensor([7.0], device=device)
c = torch.tensor([9.0], device=device)
w.requires_grad_()
b.requires_grad_()
t.requires_grad_()
c.requires_grad_()
y = x * w + b
z = w.detach()
u = z * t + c
y.backward()
u.backward()
print(f"{y.item() = }, {u.item() = }")
print(f"{w.grad = }, {t.grad = }")
assert t.grad.item() == 4
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, z, t, u"

# %%
# The gradient of ``w`` comes from ``y`` only. Now A takes a step.
# :class:`torch.optim.SGD` changes ``w`` *in place*, by 0.5 * 2.

optimizer = torch.optim.SGD([w, b], lr=0.5)
optimizer.step()
print(f"{w.item() = }, {z.item() = }")
assert z.item() == 3
assert w.grad.item() == 2

# %%
# .. predict:: What does ``z`` hold now?
#
#     - ``w.item() = 3.0, z.item() = 3.0``
#     - ``w.item() = -0.5, z.item() = -0.5`` with ``z = w``
#     - ``w.item() = 3.0, z.item() = 4.0`` with ``z = w.detach().clone()``
#
# ``z`` shares the memory of ``w``, so A's step changes both.
#
# Detach A's weight again after each step
# ---------------------------------------
# We do the same with :class:`torch.nn.Linear`. In three steps A's weight goes from 4 to
# 2.25. (An earlier ``z`` would also follow A's steps, but not a cast, see below.)

net_a = torch.nn.Linear(1, 1, bias=False, device=device)
net_b = torch.nn.Linear(1, 1, bias=False, device=device)
torch.nn.init.constant_(net_a.weight, 4.0)
torch.nn.init.constant_(net_b.weight, 7.0)
opt_a = torch.optim.SGD([net_a.weight], lr=1 / 16)
opt_b = torch.optim.SGD([net_b.weight], lr=1 / 16)
for _ in range(3):
    loss_a = (net_a(x) - 4).square().mean()
    loss_a.backward()
    opt_a.step()
    opt_a.zero_grad()
    z = net_a.weight.detach()  # after A's step
    loss_b = (net_b(z) - 5).square().mean()
    loss_b.backward()
    opt_b.step()
    opt_b.zero_grad()
print(f"{z.item() = }, {net_a.weight.grad = }")
assert z.item() == 2.25
assert net_a.weight.grad is None

# %%
# If A steps before B's backward pass, clone
# ------------------------------------------
# B's forward pass saves A's weight, 4, for the gradient of ``t``. Then A steps too
# early and changes ``w`` to 3 in place. The clone is still 4. Without ``.clone()``, B's
# backward pass raises (:ref:`saved-value-changed`). Clone outside of compiled and
# checkpointed functions, whose backward pass may clone again (:ref:`silent-fused`).

torch.nn.init.constant_(w, 4.0)
t.grad = None
optimizer.zero_grad()
y = x * w + b
y.backward()
u = w.detach().clone() * t  # B's forward pass
optimizer.step()  # too early
u.backward()
print(f"{w.item() = }, {t.grad.item() = }")
assert t.grad.item() == 4

# %%
# ``w._version`` counts the writes to ``w``, so autograd notices a step. But a step with
# ``fused=True`` doesn't increment ``w._version`` (:doc:`../1_basics/detach`).

torch.nn.init.constant_(w, 4.0)
t.grad = None
fused = torch.optim.SGD([w, b], lr=0.5, fused=True)
fused.zero_grad()
y = x * w + b
y.backward()
u = w.detach() * t  # B's forward pass
fused.step()  # too early
u.backward()
print(f"gradient of t: {t.grad.item()}")
assert t.grad.item() == 3

# %%
# .. predict:: What is the gradient of ``t`` after a fused step?
#
#     - ``gradient of t: 3.0``
#     - ``RuntimeError: one of the variables needed for gradient computation has been
#       modified by an inplace operation…`` with ``optimizer.step()`` in the place of
#       ``fused.step()``
#     - ``gradient of t: 4.0`` with ``u = w.detach().clone() * t``
#
# The gradient should be 4, but the fused step makes it 3, and PyTorch doesn't raise.
#
# After a cast, a detached weight no longer changes with A
# --------------------------------------------------------
# A cast or a move to another device gives A's weights new memory, even if you cast or
# move back later. ``held`` keeps the old memory. So detach again in each iteration.

held = net_a.weight.detach()
net_a.double()
net_a.float()
torch.nn.init.constant_(net_a.weight, 5.0)
print(f"{held.item() = }, {net_a.weight.item() = }")
assert held.item() == 2.25

# %%
# ``detach`` cuts a path, freezing keeps it open
# ----------------------------------------------
# ``p`` is an input of A. With ``detach()`` after A, neither A nor ``p`` gets a
# gradient. If you freeze A with :meth:`torch.nn.Module.requires_grad_`, ``p`` gets
# A's 5 times B's 7, and A gets none (:doc:`../1_basics/stop_a_gradient`).

torch.nn.init.constant_(net_b.weight, 7.0)
p = torch.ones(1, device=device, requires_grad=True)
loss = net_b(net_a(p).detach())
loss.backward()
print(f"detached: {p.grad}, {net_a.weight.grad}")
net_a.requires_grad_(False)
loss = net_b(net_a(p))
loss.backward()
print(f"frozen: {p.grad}, {net_a.weight.grad}")
assert p.grad.item() == 7 * 5
assert net_a.weight.grad is None

# %%
# Remember
# --------
# - ``w.detach()`` changes with A's steps, until a cast or a move gives ``w`` new
#   memory. So call it again in each iteration, after A's step.
# - If A steps between B's forward and backward pass, add ``.clone()``.
# - ``detach`` cuts a path. Freezing keeps it open, but the weights get no gradient.
