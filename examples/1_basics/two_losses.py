# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train with two losses and two optimizers
========================================

Run both backward passes before either optimizer steps, or compute the second loss
anew after the first step: ``retain_graph=True`` does not allow a step in between.

You will see six orders of backward and step in one table: which raise an error,
which give a wrong gradient in silence, and what the others compute.
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
    score = a * b
    return a, b, opt_a, opt_b, -score, score.square()


# %%
# One score, two losses
# ---------------------
# Network A has the weight 2, network B the weight 3, and together they make the
# score 6. ``loss_1`` trains B, which wants a high score, and ``loss_2`` trains A,
# which wants 0. The gradients are easy to check: those of ``loss_1`` are -3 for A and
# -2 for B, those of ``loss_2`` are 36 for A and 24 for B.

a, b, opt_a, opt_b, *_ = start()
score = a * b  # saves a and b
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
assert "second time" in message
assert "retain_graph=True" in message

# %%
# The wrong cure
# --------------
# The message goes on to name ``retain_graph=True``, which keeps what was saved. But B
# has taken its step: ``b`` is 4 now, in the memory that the node has saved.

a, b, opt_a, opt_b, loss_1, loss_2 = start()
loss_1.backward(retain_graph=True)
opt_b.step()
opt_a.zero_grad()
print(f"{b.item() = }")
assert b.item() == 4
try:
    loss_2.backward()
    print(f"{a.grad.item() = }")
except RuntimeError as error:
    message = str(error).split(":")[0]
    print("RuntimeError:", message)
assert "modified by an inplace operation" in message
# sphinx_gallery_predict = "And the second backward pass?"
# sphinx_gallery_predict_instead = "start() -> start(fused=True)"
# sphinx_gallery_predict_instead_2 = "opt_b.step() -> pass"

# %%
# Autograd refuses, because ``a`` would get a gradient made of the old score and the
# new ``b``. With ``fused=True`` nobody notices: :ref:`silent-fused`.
#
# Six orders
# ----------
# *In turn* is backward, step, backward, step. The numbers are the gradients with
# which the two optimizers step.


def in_turn(retain, fused=False):
    a, b, opt_a, opt_b, loss_1, loss_2 = start(fused)
    loss_1.backward(retain_graph=retain)
    of_b = b.grad.item()
    opt_b.step()
    opt_a.zero_grad()
    loss_2.backward()
    return of_b, a.grad.item()


def both(separate):
    a, b, opt_a, opt_b, loss_1, loss_2 = start()
    if separate:  # each loss to its own weight
        loss_1.backward(inputs=[b], retain_graph=True)
        loss_2.backward(inputs=[a])
    else:
        (loss_1 + loss_2).backward()
    opt_b.step()
    opt_a.step()
    return b.grad.item(), a.grad.item()


def anew():
    a, b, _, opt_b, *_ = start()
    (-a.detach() * b).backward()  # loss_1
    assert a.grad is None
    of_b = b.grad.item()
    opt_b.step()
    (a * b).square().backward()  # loss_2, with b = 4
    return of_b, a.grad.item()


orders = {
    "in turn": lambda: in_turn(False),
    "in turn, retain_graph": lambda: in_turn(True),
    "the same, fused": lambda: in_turn(True, True),
    "backward of the sum": lambda: both(False),
    "both, with inputs=": lambda: both(True),
    "detached, then anew": anew,
}
columns = "order", "gradient of B", "gradient of A"
rows = []
for name, order in orders.items():
    try:
        seen = order()
    except RuntimeError:
        seen = "an error", "an error"
    rows.append(dict(zip(columns, (name, *seen))))
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen[:2] == [("an error", "an error")] * 2
assert seen[2] == (-2, 48)  # wrong: see below
assert seen[3] == (-2 + 24, -3 + 36)
assert seen[4] == (-2, 36)
assert seen[5] == (-2, 64)
# sphinx_gallery_folded = "The code of the six orders"
# sphinx_gallery_table = "rows"

# %%
# - 48 is wrong: twice the old score, 12, times the new ``b``, 4.
# - *The sum* trains both networks with both losses, in one walk through the graph.
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
