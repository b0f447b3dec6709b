# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train A, let B use its weights: the frozen network
==================================================

Network B takes a weight of network A through ``detach``: A is trained, B
follows, and B's loss never changes A.

You will see it in four numbers and in two modules, and how it breaks when A
takes a step at the wrong moment.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The idea in four numbers
# ------------------------
# A is ``y = x * w + b``, B is ``u = z * t + c``, and ``z`` is ``w`` detached. So B's
# input is A's weight. Backward passes change no weight: they fill ``grad``.

x = torch.tensor([[2.0]], device=device)
w = torch.tensor([4.0], device=device)
b = torch.tensor([3.0], device=device)
t = torch.tensor([7.0], device=device)
c = torch.tensor([9.0], device=device)
for parameter in w, b, t, c:
    parameter.requires_grad_()
z = w.detach()
y, u = x * w + b, z * t + c
y.backward()
u.backward()
print(f"{w.grad = }, {t.grad = }")
assert w.item() == 4 and w.grad.item() == 2
assert t.item() == 7 and t.grad.item() == 4
# sphinx_gallery_tensor_map_lead = "w, y, z, t, u"

# %%
# The graph of B ends at ``z``, as the picture at the top shows. Now A takes a
# step: :class:`torch.optim.SGD` changes ``w`` *in place*, by 0.5 * 2.

torch.optim.SGD([w, b], lr=0.5).step()
print(f"{w.item() = }, {z.item() = }")
assert w.item() == z.item() == 3
# sphinx_gallery_predict = "What does ``z`` hold now?"
# sphinx_gallery_predict_instead = "w.detach() -> w.detach().clone()"
# sphinx_gallery_predict_instead_2 = "w.detach() -> w"

# %%
# One storage, two tensors: the step of A is a write that B sees.
#
# Two modules, three steps
# ------------------------
# The same with :class:`torch.nn.Linear`. A takes its step, from 4 to 3, 2.5 and 2.25,
# and B then takes A's weight anew. B's backward pass leaves no gradient in A.

net_a = torch.nn.Linear(1, 1, bias=False, device=device)
net_b = torch.nn.Linear(1, 1, bias=False, device=device)
torch.nn.init.constant_(net_a.weight, 4.0)
torch.nn.init.constant_(net_b.weight, 7.0)
opt_a = torch.optim.SGD([net_a.weight], lr=1 / 16)
opt_b = torch.optim.SGD([net_b.weight], lr=1 / 16)
for expected in 16, 4, 1:
    loss_a = (net_a(x) - 4).square()
    loss_a.backward()
    opt_a.step()
    opt_a.zero_grad()
    z = net_a.weight.detach()  # anew
    (net_b(z) - 5).square().backward()
    opt_b.step()
    opt_b.zero_grad()
    print(f"{loss_a.item() = }, {z.item() = }")
    assert loss_a.item() == expected
    assert net_a.weight.grad is None

# %%
# A step between B's forward and its backward pass
# ------------------------------------------------
# Here ``a`` is A's weight, 4. B's forward pass saves it, so the gradient of ``t``
# is to be 4. Then A's step writes 3. With a clone B does not see it. And with an
# alias? (With ``fused=True`` :doc:`autograd does not see it <../1_basics/detach>`.)


def gradient(take, fused):
    a = torch.tensor([4.0], device=device)
    a.grad = torch.full_like(a, 2.0)
    u = take(a) * t  # B's forward pass
    torch.optim.SGD([a], lr=0.5, fused=fused).step()
    try:
        return torch.autograd.grad(u, t)[0].item()
    except RuntimeError as error:
        return str(error).split(":")[0]


for fused in False, True:
    print(f"{fused = }")
    print("  clone:", gradient(torch.clone, fused))
    print("  alias:", gradient(torch.detach, fused))
assert gradient(torch.clone, False) == 4
assert gradient(torch.clone, True) == 4
assert "inplace" in gradient(torch.detach, False)
assert gradient(torch.detach, True) == 3
# sphinx_gallery_predict = "What is the gradient of ``t`` through an alias?"
# sphinx_gallery_predict_instead = "fused=fused -> fused=False"
# sphinx_gallery_predict_instead_2 = "take(a) * t -> take(a).clone() * t"

# %%
# After the plain step autograd refuses. After the fused one the gradient is 3: wrong.
#
# New memory for A
# ----------------
# A cast of a module, even there and back, gives A new memory. The alias that you hold
# keeps the old one: it no longer sees what happens to A.

held = net_a.weight.detach()
net_a.double().float()
torch.nn.init.constant_(net_a.weight, 5.0)
print(f"{held.item() = }, {net_a.weight.item() = }")
assert held.item() != net_a.weight.item() == 5

# %%
# Cut a path, or freeze weights
# -----------------------------
# ``p`` is an input of A that requires grad. ``detach`` behind A keeps the gradient from
# A and from ``p``. Frozen with :meth:`torch.nn.Module.requires_grad_`, A gets none but
# hands it on to ``p``. All ways: :doc:`../1_basics/stop_a_gradient`.

p = x.clone().requires_grad_()
net_b(net_a(p).detach()).backward()
print("cut:", p.grad, net_a.weight.grad)
assert p.grad is None and net_a.weight.grad is None
net_a.requires_grad_(False)
net_b(net_a(p)).backward()
print("frozen:", p.grad, net_a.weight.grad)
assert p.grad is not None and net_a.weight.grad is None

# %%
# Remember
# --------
# - Take ``w.detach()`` anew in each iteration, after A's step.
# - If A steps between B's forward and its backward pass, add ``.clone()``.
# - ``detach`` cuts a path; ``requires_grad_(False)`` freezes weights.
