# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Split a long sequence: truncated backpropagation
================================================

Split the sequence into windows of a few steps. After each window, call ``backward()``
and ``state = state.detach()``, which keeps the values but not the graph.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.detach()"
import matplotlib.pyplot as plt
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The value carries over, the gradient doesn't
# --------------------------------------------
# Each step multiplies the state by ``w``, which is 1, and adds 1, so the state counts
# the steps. Without ``detach``, the gradient of ``w`` is the sum of the states that the
# steps multiplied by ``w``, 0 + 1 + ... + 7 = 28. Here a window has four steps, and we
# detach the state at the beginning of each window.

w = torch.ones((), device=device).requires_grad_()
state = torch.zeros((), device=device)
for step in range(8):
    if step % 4 == 0:
        state = state.detach()
    state = w * state + 1
state.backward()
print(f"{state.item() = }, {w.grad.item() = }")
assert state.item() == 8
assert w.grad.item() == 4 + 5 + 6 + 7

# %%
# .. predict:: What is the gradient of ``w``?
#
#     - ``state.item() = 8.0, w.grad.item() = 22.0``
#     - ``state.item() = 8.0, w.grad.item() = 7.0`` with ``if step % 1 == 0:`` in the
#       place of ``if step % 4 == 0:``
#     - ``state.item() = 8.0, w.grad.item() = 28.0`` with ``if step % 8 == 0:`` in the
#       place of ``if step % 4 == 0:``
#
# The state is correct. The gradient only has the part of the second window. The part of
# the first window, 0 + 1 + 2 + 3, is missing.
#
# The graph stops growing
# -----------------------
# We count the nodes of the graph after each step. Each step adds two nodes: a product,
# which saves its factors for the backward pass, and a sum.


def nodes_behind(*results):
    nodes = [result.grad_fn for result in results]
    for node in nodes:  # the list grows meanwhile
        for before, _ in node.next_functions:
            if before and before not in nodes:
                nodes.append(before)
    return len(nodes)


def count(steps, window):
    state, counts = torch.zeros_like(w), []
    for step in range(steps):
        if step % window == 0:
            state = state.detach()
        state = w * state + 1
        counts.append(nodes_behind(state))
    return counts


steps = 16
whole, split = count(steps, steps), count(steps, 4)
axes = plt.subplots()[1]
x = range(1, steps + 1)
axes.plot(x, whole, label="not detached")
axes.plot(x, split, label="detached")
axes.legend()
axes.set_xticks(range(4, steps + 1, 4))
axes.set_title("With detach, the graph stops growing")
axes.set_xlabel("Step")
axes.set_ylabel("Nodes of the graph")
plt.show()
assert whole == sorted(set(whole))
assert split == whole[:4] * 4
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True

# %%
# Usually you call ``backward()`` after each window. Without ``detach``, the second call
# goes back into the first window's graph. The first call has freed the tensors that
# this graph had saved, so PyTorch raises (:ref:`backward-twice`).
# ``retain_graph=True``, which the message suggests, keeps the graphs of all windows in
# memory. If an optimizer has changed a weight that a graph has saved, PyTorch raises
# anyway. With a ``fused=True`` optimizer it doesn't raise, but the gradient is wrong
# (:doc:`../1_basics/two_losses`).
#
# Detach both states of an LSTM
# -----------------------------
# The state of an LSTM is the pair ``h, c``, and both have a graph. If you detach only
# one, the graph still grows.

lstm = torch.nn.LSTMCell(1, 1)
cuts = {
    "nothing": lambda h, c: (h, c),
    "h": lambda h, c: (h.detach(), c),
    "h and c": lambda h, c: (h.detach(), c.detach()),
}

# %%
# The number of nodes after each window of two steps, on the CPU (on other devices the
# numbers differ):

rows, x = [], torch.ones(1, 1)
for name, cut in cuts.items():
    state, row = None, {"detached": name}
    for window in 1, 2, 3:
        for _ in range(2):
            state = lstm(x, state)
        row[f"window {window}"] = nodes_behind(*state)
        state = cut(*state)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
grows = [r["window 3"] > r["window 2"] for r in rows]
assert grows == [True, True, False]
# sphinx_gallery_folded = "The code that counts"

# %%
# A short window doesn't reach early inputs
# -----------------------------------------
# The state is the sum of four inputs times ``u``, and only the first input isn't 0. We
# call ``backward()`` on the last state. If a window has fewer than four steps, the
# graph of that state doesn't reach the first input, so the gradient of ``u`` is 0.

gradients = {}
for window in 4, 2, 1:
    u = torch.ones((), device=device).requires_grad_()
    state = torch.zeros((), device=device)
    for step, value in enumerate((1, 0, 0, 0)):
        if step % window == 0:
            state = state.detach()
        state = state + u * value
    state.backward()
    gradients[f"window of {window}"] = u.grad.item()
print(f"{gradients = }")
assert list(gradients.values()) == [1, 0, 0]

# %%
# Remember
# --------
# - Detach the state between two windows. Its values carry over, its graph doesn't.
# - Detach both states of an LSTM with ``tuple(s.detach() for s in state)``.
# - The gradient of a window doesn't reach inputs before its first step.
