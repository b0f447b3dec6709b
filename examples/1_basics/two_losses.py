# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train with two losses and two optimizers
========================================

Run both backward passes before either optimizer steps, or compute the second loss
anew after the first step: ``retain_graph=True`` does not allow a step in between.

You will see two orders of backward and step that raise an error, one that gives a
wrong gradient in silence, and what three others compute.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def start(fused=False):
    """Return weights, their optimizers, two losses."""
    a = torch.tensor([2.0], device=device)
    b = torch.tensor([3.0], device=device)
    for weight in a, b:
        weight.requires_grad_()
    opt_a = torch.optim.SGD([a], lr=0.5, fused=fused)
    opt_b = torch.optim.SGD([b], lr=0.5, fused=fused)
    score = a * b  # saves a and b
    return a, b, opt_a, opt_b, score


# %%
# One score, two losses
# ---------------------
# Network A has the weight 2, network B the weight 3, and together they make the
# score 6. ``loss_1`` trains B, which wants a high score, and ``loss_2`` trains A,
# which wants 0. The gradients of ``loss_1`` are -3 for A and -2 for B, those of
# ``loss_2`` are 2 * 6 * 3 = 36 for A and 2 * 6 * 2 = 24 for B.

a, b, opt_a, opt_b, score = start()
loss_1, loss_2 = -score, score.square()
print(f"{loss_1.item() = }, {loss_2.item() = }")
assert loss_1.item() == -6 and loss_2.item() == 36
# sphinx_gallery_tensor_map_lead = "a, b, score, loss_1, loss_2"

# %%
# The first try
# -------------
# Each loss in turn: backward, step. Both go through the node of ``score``, and the
# first backward pass frees what that node has saved.

loss_1.backward()
opt_b.step()
try:
    loss_2.backward()
except RuntimeError as error:
    message = str(error)
    print("RuntimeError:", message.split(" (")[0])
assert "Specify retain_graph=True" in message

# %%
# The wrong cure
# --------------
# The message goes on to name ``retain_graph=True``, which keeps what was saved. But B
# has taken its step: ``b`` is 4 now, in the memory that the node has saved.

a, b, opt_a, opt_b, score = start()
(-score).backward(retain_graph=True)
opt_b.step()
opt_a.zero_grad()
print(f"{b.item() = }")
assert b.item() == 4
try:
    score.square().backward()
    print(f"{a.grad.item() = }")
except RuntimeError as error:
    message = str(error).split(":")[0]
    print("RuntimeError:", message)
assert "modified by an inplace operation" in message
# sphinx_gallery_predict = "And the second backward pass?"
# sphinx_gallery_predict_instead = "start() -> start(fused=True)"
# sphinx_gallery_predict_instead_2 = "opt_b.step() ->"

# %%
# Autograd refuses, because ``a`` would get a gradient made of the old score and the
# new ``b``. With ``fused=True`` nobody notices: :ref:`silent-fused`.
#
# Four orders that run
# --------------------
# The first is the one that was refused. The numbers are the gradients with which the
# two optimizers step.

a, b, opt_a, opt_b, score = start(fused=True)
(-score).backward(retain_graph=True)
opt_b.step()
opt_a.zero_grad()
of_b = b.grad.item()
score.square().backward()
found = {"in turn, fused": (of_b, a.grad.item())}

a, b, *_, score = start()
(-score + score.square()).backward()
grads = b.grad.item(), a.grad.item()
found["backward of the sum"] = grads

a, b, *_, score = start()
(-score).backward(inputs=[b], retain_graph=True)
score.square().backward(inputs=[a])
found["with inputs="] = b.grad.item(), a.grad.item()

a, b, _, opt_b, _ = start()
(-a.detach() * b).backward()  # loss_1
opt_b.step()
of_b = b.grad.item()
(a * b).square().backward()  # loss_2, with b = 4
found["detached, then anew"] = of_b, a.grad.item()

columns = "order", "gradient of B", "gradient of A"
rows = []
for order, grads in found.items():
    rows.append(dict(zip(columns, (order, *grads))))
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = list(found.values())
assert seen == [(-2, 48), (22, 33), (-2, 36), (-2, 64)]
# sphinx_gallery_folded = "The code of the four orders"
# sphinx_gallery_table = "rows"

# %%
# - *In turn*, 48 is wrong: twice the old score, 12, times the new ``b``, 4.
# - *The sum* trains both networks with both losses, in one walk through the graph:
#   -2 + 24 and -3 + 36.
# - ``inputs=`` leaves each loss to its own weight. Here ``retain_graph`` is right:
#   two backward passes, and no step in between.
# - *Anew*: the score is computed again with the new ``b``, so it is 8, and the
#   gradient is ``2 * 8 * 4``. Two networks that play against each other do this.
#   ``detach`` spares the first loss the way back through A, where nobody wants it.
#
# Remember
# --------
# - ``step`` writes into weights that a pending backward pass may need.
# - Step after both, or compute the second loss after the first step.
# - ``retain_graph=True`` is for two backward passes with no step in between.
