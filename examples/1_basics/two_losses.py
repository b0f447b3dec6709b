# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Train with two losses and two optimizers
========================================

Run both backward passes, each with ``inputs=`` of its own weights, before either
optimizer steps, or recompute the second loss after the first step.
``retain_graph=True`` alone doesn't help if the step changes a weight that the graph
saved.
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
# Call both backward passes first, then both steps
# ------------------------------------------------
# Network A has the weight 2, network B the weight 3, and together they compute the
# score 6. ``loss_1`` trains B, which wants a high score. ``loss_2`` trains A, which
# wants 0. Both backward passes need the tensors that the node of ``score`` saved, so
# ``retain_graph=True`` keeps them for the second pass. Both steps come last.

a, b, opt_a, opt_b, score = start()
loss_1, loss_2 = -score, score.square()
loss_1.backward(inputs=[b], retain_graph=True)
loss_2.backward(inputs=[a])
opt_b.step()
opt_a.step()
assert score.item() == 6 and loss_2.item() == 36
assert b.grad.item() == -2 and a.grad.item() == 36
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "a, b, loss_1, loss_2"

# %%
# Does ``retain_graph=True`` allow a step in between?
# ---------------------------------------------------
# Without ``retain_graph=True``, the first backward pass frees what the node saved, and
# the second one raises (:ref:`backward-twice`). Here it is set, but B takes its step
# between the two passes. Now ``b`` is 4, in the memory that the node saved.

a, b, opt_a, opt_b, score = start()
(-score).backward(retain_graph=True)
opt_b.step()
opt_a.zero_grad()
try:
    score.square().backward()
    said = f"{a.grad.item() = }"
except RuntimeError as error:
    said = "RuntimeError: " + str(error).split(":")[0]
print(said)
assert b.item() == 4
assert "modified by an inplace operation" in said

# %%
# .. predict:: What does the second backward pass do?
#
#     - ``RuntimeError: one of the variables needed for gradient computation has been
#       modified by an inplace operation``
#     - ``a.grad.item() = 48.0`` with ``a, b, opt_a, opt_b, score = start(fused=True)``
#     - ``a.grad.item() = 36.0`` without ``opt_b.step()``
#
# It raises, because the gradient of ``a`` would mix the old score with the new ``b``.
# With ``fused=True`` autograd doesn't notice (:ref:`silent-fused`).
#
# Which gradients do five other orders compute?
# ---------------------------------------------
# The table shows the gradients that the two optimizers use. Without any step, the
# gradients of ``loss_1`` are -3 for A and -2 for B. The gradients of ``loss_2`` are 2 *
# 6 * 3 = 36 for A and 2 * 6 * 2 = 24 for B.

a, b, opt_a, opt_b, score = start(fused=True)
(-score).backward(retain_graph=True)
opt_b.step()
opt_a.zero_grad()
of_b = b.grad.item()
score.square().backward()
found = {"step between, fused": (of_b, a.grad.item())}

a, b, opt_a, opt_b, _ = start()
score = a + b  # saves no weight
(-score).backward(retain_graph=True)
opt_b.step()
opt_a.zero_grad()
of_b = b.grad.item()
score.square().backward()
found["the same, score = a + b"] = of_b, a.grad.item()

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
found["detached, then recomputed"] = of_b, a.grad.item()
rows = []
for order, (of_b, of_a) in found.items():
    row = {"order": order, "gradient of B": of_b}
    rows.append(row | {"gradient of A": of_a})
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
fused, plus, *others = found.values()
assert fused == (-2, 48) and plus == (-1, 10)
assert others == [(22, 33), (-2, 36), (-2, 64)]
# sphinx_gallery_folded = "The code of the five orders"

# %%
# - *Fused*: 48 is wrong. It is twice the old score, 12, times the new ``b``, 4.
# - ``score = a + b`` saves neither weight, so ``retain_graph=True`` is enough. A's
#   gradient is 2 * 5, twice the score before the step.
# - *The sum* trains both networks with both losses in one pass: -2 + 24 and -3 + 36.
# - ``inputs=`` gives each weight only the gradient of its own loss. ``retain_graph``
#   is right here, because there is no step between the two backward passes.
# - *Recomputed*: with the new ``b`` the score is 8, and the gradient is ``2 * 8 * 4``.
#   You can train two competing networks this way. Because of ``detach``, the backward
#   pass of the first loss doesn't go through A, whose gradient it doesn't need. The
#   second loss also adds to B's gradient, so zero it before B's next backward pass.
#
# Remember
# --------
# - Step after both backward passes, each with ``inputs=``, or recompute the second loss
#   after the first step.
# - ``step()`` modifies weights that a later backward pass may need.
# - With ``retain_graph=True``, don't update a saved weight between the two passes.
