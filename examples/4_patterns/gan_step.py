# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Where does ``fake.detach()`` belong in a GAN step?
==================================================

It belongs in the discriminator's step (weight ``d``), where the fake is just data. In
the generator's step the gradient must flow through the fake.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach()"
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Detach the fake in the discriminator's step
# -------------------------------------------
# The generator G multiplies noise by ``g``, the discriminator D multiplies by ``d``. D
# should score the real 8 high and the fake 2 * 3 low. Its loss is d * (6 - 8), so the
# gradient of ``d`` is -2.

net_g = nn.Linear(1, 1, bias=False, device=device)
net_d = nn.Linear(1, 1, bias=False, device=device)
g, d = net_g.weight, net_d.weight
nn.init.constant_(g, 3.0)
nn.init.constant_(d, 5.0)
z = torch.tensor([[2.0]], device=device)
real = torch.tensor([[8.0]], device=device)
fake = net_g(z)
cut = fake.detach()
loss_d = net_d(cut).mean() - net_d(real).mean()
loss_d.backward()
print(f"{d.grad.item() = }, {g.grad = }")
assert g.grad is None
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "d, loss_d, fake, cut"

# %%
# No gradient flows from ``loss_d`` to G, because ``cut`` is detached. ``fake`` is still
# connected to ``g``, and G's step needs that. ``real`` doesn't need ``detach()``,
# because it doesn't require grad.
#
# The generator's gradient flows through the discriminator
# --------------------------------------------------------
# D takes its step first, with ``lr=1``, to 5 - (-2) = 7. G's loss is -D(fake), so the
# gradient of ``g`` is -7 * 2. The gradient flows *through* D, so ``d`` also gets a
# gradient.

opt_g = torch.optim.SGD(net_g.parameters(), lr=1.0)
opt_d = torch.optim.SGD(net_d.parameters(), lr=1.0)
opt_d.step()
opt_g.zero_grad()  # but not opt_d
loss_g = -net_d(fake).mean()
loss_g.backward()
opt_g.step()
print(f"{d.item() = }, {d.grad.item() = }")
assert g.grad.item() == -14
assert d.grad.item() == -2 - 6

# %%
# .. predict:: What is in ``d.grad``?
#
#     - ``d.item() = 7.0, d.grad.item() = -8.0``
#     - ``d.item() = 7.0, d.grad.item() = -6.0`` with ``opt_d.zero_grad()`` in the place
#       of ``opt_g.zero_grad()``
#     - ``d.item() = 7.0, d.grad.item() = 4.0`` with ``loss_g = net_d(fake).mean()``
#
# The gradient of ``d`` is -2 from D's step plus -6 from G's step. So zero D's gradients
# *before* its backward pass, in each iteration.
#
# The right loop, for two iterations
# ----------------------------------
# Copy the order of its calls. The loss is chosen for exact numbers.

nn.init.constant_(g, 3.0)
nn.init.constant_(d, 5.0)
for _ in range(2):
    fake = net_g(z)
    opt_d.zero_grad()
    on_fake = net_d(fake.detach()).mean()
    on_real = net_d(real).mean()
    loss_d = on_fake - on_real
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = -net_d(fake).mean()
    loss_g.backward()
    opt_g.step()
print(f"{g.item() = }, {d.item() = }")
assert [g.item(), d.item()] == [-21, -19]

# %%
# What goes wrong in other loops?
# -------------------------------
# The first row is the right loop. Each other row names its changes. The columns show
# ``g`` and ``d`` after two iterations, or the error.


def train(case):
    nn.init.constant_(g, 3.0)
    nn.init.constant_(d, 5.0)
    opt_g.zero_grad()
    opt_d.zero_grad()
    for _ in range(2):
        fake = net_g(z)
        early_score = net_d(fake).mean()
        if case != "D doesn't zero":
            opt_d.zero_grad()
        if "G zeroes first" in case:
            opt_g.zero_grad()
        data = fake
        if "no detach" not in case:
            data = fake.detach()
        loss_d = net_d(data).mean() - net_d(real).mean()
        loss_d.backward()
        opt_d.step()
        if "G zeroes first" not in case:
            opt_g.zero_grad()
        if "new fake" in case:
            fake = net_g(z)
        if case == "detach for G":
            fake = fake.detach()
        loss_g = -net_d(fake).mean()
        if case == "early score for G":
            loss_g = -early_score
        loss_g.backward()
        opt_g.step()


cases = ["right", "D doesn't zero", "detach for G"]
cases += ["no detach", "no detach, new fake"]
cases += ["no detach, new fake, G zeroes first"]
cases += ["early score for G"]
print("case | g | d | error")
ends = {}
for case in cases:
    try:
        train(case)
        ends[case] = g.item(), d.item()
        cells = f"{g.item()} | {d.item()} | none"
    except RuntimeError as error:
        said = str(error).split(":")[0].split(" (")[0]
        cells = f"– | – | {said}"
    print(f"{case} | {cells}")
numbers = [(-21, -19), (-5, -11), (3, 9)]
numbers += [(-21, -19), (-5, 1)]
assert list(ends.values()) == numbers  # two raise
# sphinx_gallery_folded = "The code that changes the loop"

# %%
# - If D doesn't zero its gradients, ``backward()`` adds the new ones to the old ones.
# - With ``detach()`` in G's step, no gradient reaches G, which stays at 3.
# - Without ``detach()``, D's backward pass frees what G's graph saved, so G's backward
#   pass raises (:ref:`backward-twice`). With a new fake for G, D's backward pass
#   through G only takes time. If G zeroes its gradients before D's pass, the result is
#   wrong.
# - The early score, ``net_d(fake)`` before D's step, saved D's weight. D's step changes
#   the weight in place, so G's backward pass raises (:ref:`saved-value-changed`).
#
# Remember
# --------
# - D's step uses ``net_d(fake.detach())``. G's next step uses ``net_d(fake)``.
# - Zero each network's gradients at the start of its own step.
# - Real data that doesn't require grad needs no ``detach()``.
