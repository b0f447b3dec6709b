# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Keep the target still: ``detach`` in SimSiam and VQ
===================================================

A network that computes its own target takes it through ``detach``: otherwise the
target follows the loss, and equal outputs for all inputs are the cheapest way out.

You will see outputs collapse without ``detach`` while the loss looks better, and
which of two ``detach`` calls trains a codebook.
"""

# sphinx_gallery_setup = True
import matplotlib.pyplot as plt
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Two views of each sample
# ------------------------
# SimSiam trains an encoder without labels. The encoder sees two noisy views of a
# sample, and a predictor guesses its output for the second view from that for the
# first. Here both networks are one weight each.

x = torch.tensor([-2.0, -1.0, 1.0, 2.0], device=device)
noise = torch.tensor([0.5, -0.5, -0.5, 0.5])
noise = noise.to(device)
first = (x + noise).unsqueeze(1)
second = (x - noise).unsqueeze(1)
print("first view:", *first.flatten().tolist())
print("second view:", *second.flatten().tolist())


def train(take):
    encoder = nn.Linear(1, 1, bias=False)
    predictor = nn.Linear(1, 1, bias=False)
    model = nn.Sequential(encoder, predictor)
    for weight in model.to(device).parameters():
        nn.init.ones_(weight)
    sgd = torch.optim.SGD(model.parameters(), lr=1 / 8)
    for _ in range(30):
        guess = predictor(encoder(first))
        target = take(encoder(second))
        loss = (guess - target).square().mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    outputs = encoder(x.unsqueeze(1)).detach()
    return loss.item(), outputs.std().item()


# %%
# With and without ``detach``
# ---------------------------
# One network is trained with the target as it is, one with a detached target. Both
# start with the weight 1, so at first the outputs spread as the inputs do.

takes = {
    "target": lambda target: target,
    "target.detach()": lambda target: target.detach(),
}
rows, losses, spreads = [], [], [x.std().item()]
for call, take in takes.items():
    loss, spread = train(take)
    losses.append(loss)
    spreads.append(spread)
    row = {"target": call, "loss": f"{loss:.2f}"}
    row["spread of the outputs"] = f"{spread:.2f}"
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
start, lost, kept = spreads
assert lost < start / 20 and kept > start / 2
assert losses[0] < losses[1]
# sphinx_gallery_table = "rows"

# %%
# The collapsed network has the better loss. Without ``detach`` the loss is the
# square of the encoder's weight times something positive, so every step makes that
# weight smaller. With ``detach`` the encoder cannot make the target smaller by way
# of the loss. Watch the spread, not the loss. (SimSiam compares directions, by
# cosine similarity, and adds the same loss with the views exchanged.)

fig, axes = plt.subplots()
bars = axes.barh(["before", *takes], spreads)
axes.bar_label(bars, [f"{s:.2f}" for s in spreads])
axes.invert_yaxis()
fig.set_size_inches(10, 2)
left = f"{lost / start:.0%} of the spread is left"
axes.set_title(f"Without detach {left}.")
axes.set_xlabel("Spread of the outputs, 30 steps")
plt.show()
# sphinx_gallery_lead = True
# sphinx_gallery_folded = "The code that draws"

# %%
# A codebook: two losses, two ``detach`` calls
# --------------------------------------------
# Vector quantization (VQ) replaces the output ``z`` of an encoder by the nearest
# ``code``. One loss moves the code to ``z``, the other, with a weight of 1/4, holds
# ``z`` near its code. Their values are equal. ``detach`` says who moves.

z = torch.tensor([3.0], device=device)
code = torch.tensor([1.0], device=device)
z.requires_grad_(), code.requires_grad_()
codebook = (z.detach() - code).square()
commitment = (z - code.detach()).square()
assert codebook.item() == commitment.item() == 4
(codebook + commitment / 4).backward()
print(f"{z.grad = }")
print(f"{code.grad = }")
assert z.grad.item() == 1 and code.grad.item() == -4
# sphinx_gallery_predict = "What are ``z.grad`` and ``code.grad``?"
# sphinx_gallery_predict_instead = "z - code.detach() -> z - code"
# sphinx_gallery_predict_instead_2 = "z.detach() - code -> z - code"

# %%
# Without the two calls, each loss would move both: 5 and -5.
#
# The wrong order
# ---------------
# ``z + (code - z).detach()`` has the value of the code and the gradient of ``z``
# (:doc:`straight_through`). It is for the decoder. Used in the codebook's loss, it
# leaves the code without a gradient.

z.grad = code.grad = None
quantized = z + (code - z).detach()
(z.detach() - quantized).square().backward()
print(f"{z.grad = }")
print(f"{code.grad = }")
assert code.grad is None and z.grad.item() == -4

# %%
# Remember
# --------
# - Detach the target that a network computes for itself, in each step.
# - A collapse makes the loss better. Measure the spread of the outputs.
# - Codebook: ``z.detach()`` moves the code, ``code.detach()`` moves ``z``.
