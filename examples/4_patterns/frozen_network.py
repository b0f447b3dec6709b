# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train A, let B use its weights: the frozen network
==================================================

You will see network B use a weight of network A through ``detach``: A is
trained, B follows, and B's loss never changes A. Then you will see it break.
"""

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def storage(t):
    return t.untyped_storage().data_ptr()


# %%
# The idea in four numbers
# ------------------------
# A is ``x * w + b``, B is ``z * t + c``, and ``z`` is ``w`` without its graph.
# Backward passes change no weight: they fill ``grad``.

x = torch.tensor([[2.0]], device=device)
w = torch.tensor([4.0], device=device, requires_grad=True)
b = torch.tensor([3.0], device=device, requires_grad=True)
t = torch.tensor([7.0], device=device, requires_grad=True)
c = torch.tensor([9.0], device=device, requires_grad=True)
z = w.detach()
y, u = x * w + b, z * t + c
y.backward()
u.backward()
print("w.grad", w.grad.item(), "t.grad", t.grad.item())
print("before A's step: w", w.item(), "z", z.item())
assert w.item() == z.item() == 4 and z.grad is None
assert w.grad.item() == 2 and t.grad.item() == 4
# sphinx_gallery_tensor_map = "w, b, t, c, z, y, u"

# %%
# The graph of B ends at ``z``. Now A takes a step: :class:`torch.optim.SGD`
# changes ``w`` *in place*, by 0.5 * 2.

torch.optim.SGD([w, b], lr=0.5).step()
print("after A's step:  w", w.item(), "z", z.item())
assert w.item() == z.item() == 3
# sphinx_gallery_predict = "What does ``z`` hold now?"

# %%
# One storage, two tensors: the step of A is a write that B sees.
#
# Two modules, three steps
# ------------------------
# The same with :class:`torch.nn.Linear`. In each iteration A takes its step,
# then B takes A's weight anew. B's backward pass leaves no gradient in A.

net_a = torch.nn.Linear(1, 1, bias=False, device=device)
net_b = torch.nn.Linear(1, 1, bias=False, device=device)
torch.nn.init.constant_(net_a.weight, 4.0)
torch.nn.init.constant_(net_b.weight, 7.0)
opt_a = torch.optim.SGD(net_a.parameters(), lr=1 / 16)
opt_b = torch.optim.SGD(net_b.parameters(), lr=1 / 16)
for expected in 16, 4, 1:
    loss_a = (net_a(x) - 4).square()
    loss_a.backward()
    opt_a.step()
    opt_a.zero_grad()
    z = net_a.weight.detach()  # anew, after A's step
    (net_b(z) - 5).square().backward()
    opt_b.step()
    opt_b.zero_grad()
    print("loss of A", loss_a.item(), "B sees", z.item())
    assert storage(z) == storage(net_a.weight)
    assert net_a.weight.grad is None
    assert loss_a.item() == expected

# %%
# Two ways to break it
# --------------------
# B saves ``z``. If A's step writes to that memory before B's backward pass,
# the backward pass fails. With a clone, a snapshot, it does not. And a cast
# gives A new memory, even there and back: then the alias you hold is stale.

weight = net_a.weight.detach()
for z in weight.clone(), weight:
    u = net_b(z)
    net_a(x).backward()
    opt_a.step()
    try:
        u.backward()
        message = "no error"
    except RuntimeError as error:
        message = str(error).split(":")[0]
    print("alias" if z is weight else "clone", "-", message)
    assert ("inplace operation" in message) == (z is weight)

net_a.double().float()
opt_a.step()
print("up to date?", torch.equal(weight, net_a.weight))
assert not torch.equal(weight, net_a.weight)

# %%
# Cut a path, or freeze weights
# -----------------------------
# ``detach`` keeps the gradient from A and from all before A. Frozen with
# :meth:`torch.nn.Module.requires_grad_`, A gets none but hands it on to ``p``.

p = x.clone().requires_grad_()
opt_a.zero_grad()
net_b(net_a(p).detach()).backward()
print("cut:   ", p.grad, net_a.weight.grad)
assert p.grad is None and net_a.weight.grad is None
net_a.requires_grad_(False)
net_b(net_a(p)).backward()
print("frozen:", p.grad, net_a.weight.grad)
assert p.grad is not None and net_a.weight.grad is None

# %%
# Remember
# --------
# - Take ``w.detach()`` anew in each iteration, after A's step.
# - If A steps before B's backward pass, add ``.clone()``.
# - ``detach`` cuts a path; ``requires_grad_(False)`` freezes weights.
#
# Next: :doc:`/self_check`
