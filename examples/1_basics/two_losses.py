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

# %%
# Call both backward passes first, then both steps
# ------------------------------------------------
# Network A has the weight 2, network B the weight 3, and together they compute the
# score 6. ``loss_1`` trains B, which wants a high score. ``loss_2`` trains A, which
# wants 0. ``inputs=`` gives each weight only the gradient of its own loss. Both
# backward passes need the tensors that the product ``a * b`` saved, so
# ``retain_graph=True`` keeps them for the second pass. Both steps come last.

a = torch.tensor([2.0], device=device)
b = torch.tensor([3.0], device=device)
a.requires_grad_()
b.requires_grad_()
opt_a = torch.optim.SGD([a], lr=0.5)
opt_b = torch.optim.SGD([b], lr=0.5)

score = a * b  # saves a and b
loss_1 = -score
loss_2 = score.square()
opt_a.zero_grad()
opt_b.zero_grad()
loss_1.backward(inputs=[b], retain_graph=True)
loss_2.backward(inputs=[a])
opt_b.step()
opt_a.step()
print(f"{b.grad = }, {a.grad = }")
assert b.grad.item() == -2
assert a.grad.item() == 36
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "a, b, loss_1, loss_2"

# %%
# Does ``retain_graph=True`` allow a step in between?
# ---------------------------------------------------
# Without ``retain_graph=True``, the first backward pass frees what the product saved,
# and the second one raises (:ref:`backward-twice`). Here it is set, but B steps between
# the two passes. The step sets ``b``, which the product saved, to 4 in place.


def reset():
    with torch.no_grad():
        a.fill_(2.0)
        b.fill_(3.0)
    opt_a.zero_grad()
    opt_b.zero_grad()


reset()  # the weights are 2 and 3 again
score = a * b
loss_1 = -score
loss_2 = score.square()
loss_1.backward(retain_graph=True)
opt_b.step()
opt_a.zero_grad()
try:
    loss_2.backward()
    print(f"{a.grad = }")
except RuntimeError as error:
    message = str(error).split(":")[0]
    print("RuntimeError:", message)
assert "modified by an inplace operation" in message

# %%
# .. predict:: What does the second backward pass do after B's step?
#
#     - ``RuntimeError: one of the variables needed for gradient computation has been
#       modified by an inplace operation``
#     - ``a.grad = tensor([48.])`` with ``opt_b = torch.optim.SGD([b], lr=0.5,
#       fused=True)``
#     - ``a.grad = tensor([36.])`` without ``opt_b.step()``
#
# It raises, because the gradient of ``a`` would mix the old score with the new ``b``.
# With ``fused=True`` autograd doesn't notice, and 48 is wrong (:ref:`silent-fused`).
#
# Or recompute the second loss after the first step
# -------------------------------------------------
# You can train two competing networks this way. The second forward pass computes the
# score 8 with the new ``b``, and A's gradient is 2 * 8 * 4. Because of ``detach``, the
# backward pass of the first loss doesn't go through A, whose gradient it doesn't need.
# The second loss also adds to B's gradient, so zero it before B's next backward pass.

reset()
loss_1 = -(a.detach() * b)
loss_1.backward()
print(f"{b.grad = }")
opt_b.step()

loss_2 = (a * b).square()
loss_2.backward()
print(f"{a.grad = }")
opt_a.step()
opt_a.zero_grad()
opt_b.zero_grad()
assert loss_2.item() == 8**2
assert a.item() == 2 - 0.5 * 64

# %%
# Which gradients do three other orders compute?
# ----------------------------------------------
# The table shows the gradients that the two optimizers use. Without any step, the
# gradients of ``loss_1`` are -3 for A and -2 for B. The gradients of ``loss_2`` are 2 *
# 6 * 3 = 36 for A and 2 * 6 * 2 = 24 for B.


def step_between(score, optimizer):
    """Return the gradients that B and A use."""
    loss_1 = -score
    loss_2 = score.square()
    loss_1.backward(retain_graph=True)
    of_b = b.grad.item()
    optimizer.step()
    opt_a.zero_grad()
    loss_2.backward()
    return of_b, a.grad.item()


found = {}
reset()
fused = torch.optim.SGD([b], lr=0.5, fused=True)
grads = step_between(a * b, fused)
found["step between, fused"] = grads
reset()
grads = step_between(a + b, opt_b)  # saves no weight
found["step between, score = a + b"] = grads
reset()
score = a * b
loss = -score + score.square()
loss.backward()
grads = b.grad.item(), a.grad.item()
found["backward of the sum"] = grads
print("order | gradient of B | gradient of A")
for order, (of_b, of_a) in found.items():
    print(f"{order} | {of_b} | {of_a}")
assert found["step between, fused"] == (-2, 48)
assert found["step between, score = a + b"] == (-1, 10)
assert found["backward of the sum"] == (22, 33)
# sphinx_gallery_folded = "The code of the three orders"

# %%
# - *Fused*: 48 is wrong. It is twice the old score, 12, times the new ``b``, 4.
# - ``score = a + b`` saves neither weight, so the step changes no value that the second
#   pass needs. A's gradient is 2 * 5, twice the score before the step.
# - *The sum* trains both networks with both losses in one pass: -2 + 24 and -3 + 36.
#
# Remember
# --------
# - Step after both backward passes, each with ``inputs=``, or recompute the second loss
#   after the first step.
# - ``step()`` modifies weights that a later backward pass may need.
# - With ``retain_graph=True``, don't update a saved weight between the two passes.
