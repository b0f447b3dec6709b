# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Stop-gradient targets: ``detach`` in SimSiam and VQ
===================================================

If a network computes its own target, detach the target. Otherwise training also moves
it toward the prediction, which can end with the same output for every input.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach()"
import matplotlib.pyplot as plt
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# SimSiam compares two views of each sample
# -----------------------------------------
# SimSiam trains an encoder without labels. The encoder gets two noisy versions of each
# sample, called views (not views of a tensor). A predictor takes the encoder's output
# for the first view and predicts the one for the second view, the *target*. Here
# encoder and predictor have one weight each, which starts at 1.

x = torch.tensor([-2.0, -1.0, 1.0, 2.0], device=device)
noise = torch.tensor([0.5, -0.5, -0.5, 0.5])
noise = noise.to(device)
first = (x + noise).unsqueeze(1)
second = (x - noise).unsqueeze(1)


def train(detach, predict=True):
    encoder = nn.Linear(1, 1, bias=False)
    predictor = nn.Linear(1, 1, bias=False)
    model = nn.Sequential(encoder, predictor).to(device)
    weights = list(model.parameters())
    for weight in weights:
        nn.init.ones_(weight)
    optimizer = torch.optim.SGD(weights, lr=1 / 8)
    # The weight is 1, so the encoder returns second.
    spreads = [second.std().item()]
    for _ in range(30):
        guess = encoder(first)
        if predict:
            guess = predictor(guess)
        target = encoder(second)
        if detach:
            target = target.detach()
        loss = (guess - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            output = encoder(second)
        spreads.append(output.std().item())
    return loss.item(), spreads


plain_loss, plain_spreads = train(detach=False)
detach_loss, detach_spreads = train(detach=True)
_, no_predictor = train(detach=True, predict=False)
print(f"loss without detach: {plain_loss:.2f}")
print(f"loss with detach: {detach_loss:.2f}")
assert plain_loss < detach_loss
assert plain_spreads[-1] < plain_spreads[0] / 100
assert detach_spreads[-1] > detach_spreads[0] / 2
assert no_predictor[-1] < no_predictor[0] / 10

# %%
# Without ``detach`` the outputs collapse
# ---------------------------------------
# Without ``detach`` the loss is lower, but all outputs are nearly the same, which is
# called a *collapse*. Here the loss is the encoder's weight squared, times a positive
# number, so without ``detach`` its gradient makes the weight smaller. With ``detach``,
# no gradient moves the target toward the prediction. ``detach`` alone isn't enough:
# without the predictor, the outputs collapse too.

plt.plot(plain_spreads, marker="", label="no detach")
plt.plot(detach_spreads, marker="", label="detach()")
plt.title("Without detach all outputs become the same")
plt.xlabel("step")
plt.ylabel("spread")
plt.legend()
plt.show()
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that draws"

# %%
# So watch the spread of the outputs (here the standard deviation), not only the loss.
# The real SimSiam compares directions by cosine similarity, and adds the same loss with
# the two views swapped.
#
# A codebook: two losses, two ``detach`` calls
# --------------------------------------------
# Vector quantization (VQ) replaces an encoder's output ``z`` by the nearest ``code`` of
# a codebook, a list of vectors that are also trained. The codebook loss moves the code
# toward ``z``. The commitment loss, here times 1/4, keeps ``z`` near its code. Without
# the factor, both losses have the same value. ``detach`` decides whether a loss moves
# the code or ``z``.

z = torch.tensor([3.0], device=device)
code = torch.tensor([1.0], device=device)
z.requires_grad_()
code.requires_grad_()
codebook_loss = (z.detach() - code).square().mean()
commitment_loss = (z - code.detach()).square().mean()
loss = codebook_loss + commitment_loss / 4
loss.backward()
print(f"{z.grad = }, {code.grad = }")
assert codebook_loss.item() == 4
assert commitment_loss.item() == 4
assert z.grad.item() == 1
assert code.grad.item() == -4

# %%
# .. predict:: What are ``z.grad`` and ``code.grad``?
#
#     - ``z.grad = tensor([1.]), code.grad = tensor([-4.])``
#     - ``z.grad = tensor([5.]), code.grad = tensor([-4.])`` with
#       ``codebook_loss = (z - code).square().mean()``
#     - ``z.grad = tensor([1.]), code.grad = tensor([-5.])`` with
#       ``commitment_loss = (z - code).square().mean()``
#
# Without the two ``detach`` calls, each loss would move both ``z`` and the code. Their
# gradients would be 5 and -5.
#
# Compute the losses from the code itself
# ---------------------------------------
# The decoder gets ``z + (code - z).detach()``. Up to rounding, this sum has the code's
# value, and its gradient goes to ``z`` (:doc:`straight_through`). If the codebook loss
# uses this sum instead of the code, the gradient goes to ``z``, not to the code.

z.grad = None
code.grad = None
quantized = z + (code - z).detach()
loss = (z.detach() - quantized).square().mean()
loss.backward()
print(f"{z.grad = }, {code.grad = }")
assert code.grad is None
assert z.grad.item() == -4

# %%
# Remember
# --------
# - In each step, detach the target that a network computes for itself. SimSiam also
#   needs the predictor.
# - A collapse makes the loss lower, so measure the spread of the outputs as well.
# - In VQ, the loss with ``z.detach()`` moves the code, and the one with
#   ``code.detach()`` moves ``z``.
