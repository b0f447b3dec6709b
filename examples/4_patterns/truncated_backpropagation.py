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

w = torch.ones((), device=device, requires_grad=True)
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
# We count the nodes of the graph after each step. ``w`` has one node. Each step adds
# two: a product, which saves its factors for the backward pass, and a sum.


def nodes_behind(results):
    todo = [result.grad_fn for result in results]
    seen = set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            for next_node, _ in node.next_functions:
                todo.append(next_node)
    return len(seen)


counts = {"not detached": [], "detached": []}
for label, nodes in counts.items():
    state = torch.zeros((), device=device)
    for step in range(16):
        if label == "detached" and step % 4 == 0:
            state = state.detach()
        state = w * state + 1
        nodes.append(nodes_behind([state]))
    plt.plot(range(1, 17), nodes, label=label)
plt.legend()
plt.xticks([4, 8, 12, 16])
plt.title("With detach, the graph stops growing")
plt.xlabel("Step")
plt.ylabel("Nodes of the graph")
plt.show()
# Without detach the graph grows at each step.
whole = counts["not detached"]
assert whole == list(range(3, 34, 2))
assert counts["detached"] == whole[:4] * 4
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True

# %%
# Usually you call ``backward()`` after each window. Without ``detach``, the second call
# goes back into the first window's graph, whose saved tensors the first call has freed.
# So PyTorch raises (:ref:`backward-twice`). ``retain_graph=True``, which the message
# suggests, keeps the graphs of all windows in memory. If an optimizer has changed a
# weight that a graph has saved, PyTorch raises anyway. With a ``fused=True`` optimizer
# it doesn't raise, but the gradient is wrong (:doc:`../1_basics/two_losses`).
#
# Detach both states of an LSTM
# -----------------------------
# The state of an LSTM is the pair ``h, c``, and both have a graph. We split a sequence
# of six inputs into windows of two. After the optimizer's step we detach both states.

lstm = torch.nn.LSTMCell(1, 1)  # on the CPU
optimizer = torch.optim.SGD(lstm.parameters(), lr=0.5)
sequence = torch.ones(6, 1, 1)  # step, batch, feature
state = None
for window in sequence.split(2):
    for x in window:
        state = lstm(x, state)
    h, c = state
    loss = (h - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = tuple(s.detach() for s in state)
print([s.grad_fn for s in state])
assert [s.grad_fn for s in state] == [None, None]

# %%
# If you detach only one, the graph still grows. Here are its numbers of nodes.

print("detached | window 1 | window 2 | window 3")
grows = {}
for detached in "none", "h", "c", "h and c":
    state = None
    nodes = []
    for window in sequence.split(2):
        for x in window:
            state = lstm(x, state)
        nodes.append(nodes_behind(state))
        h, c = state
        if "h" in detached:
            h = h.detach()
        if "c" in detached:
            c = c.detach()
        state = h, c
    first, second, third = nodes
    print(f"{detached} | {first} | {second} | {third}")
    grows[detached] = third > second
assert list(grows.values()) == [True, True, True, False]
# sphinx_gallery_folded = "The code that counts"

# %%
# A short window doesn't reach early inputs
# -----------------------------------------
# The state is the sum of four inputs times ``u``, and only the first input isn't 0. We
# call ``backward()`` on the last state. With windows of ``length`` 2 or 1, the graph
# of that state doesn't reach the first input, so the gradient of ``u`` is 0.

gradients = []
for length in 4, 2, 1:
    u = torch.ones((), device=device)
    u.requires_grad_()
    state = torch.zeros((), device=device)
    for step, value in enumerate([1, 0, 0, 0]):
        if step % length == 0:
            state = state.detach()
        state = state + u * value
    state.backward()
    print(f"{length = }, {u.grad.item() = }")
    gradients.append(u.grad.item())
assert gradients == [1, 0, 0]

# %%
# Remember
# --------
# - Detach the state between two windows. Its values carry over, its graph doesn't.
# - Detach both states of an LSTM with ``tuple(s.detach() for s in state)``.
# - The gradient of a window doesn't reach inputs before its first step.
