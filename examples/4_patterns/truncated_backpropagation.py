# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Cut a long sequence: truncated backpropagation
==============================================

``state = state.detach()`` carries the values of a recurrent state into the next
window and leaves the graph behind, so the graph is as long as a window.

You will see what the cut costs in gradient, what it saves, how half a cut of an
LSTM saves nothing, and what too short a window cannot learn.
"""

# sphinx_gallery_setup = True
import matplotlib.pyplot as plt
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The value is carried on, the gradient is cut
# --------------------------------------------
# In each step the state is multiplied by ``w``, which is 1, and 1 is added: it counts
# the steps. A step adds to the gradient of ``w`` the state that it found: 0, 1 ... 7.
# That makes 28. Here the state is cut every four steps.

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
# sphinx_gallery_predict = "What is the gradient of ``w``?"
# sphinx_gallery_predict_instead = "step % 4 -> step % 8"
# sphinx_gallery_predict_instead_2 = "step % 4 -> step % 1"

# %%
# The state is right, and the gradient lacks what the first window gave, 6.
#
# What the cut bounds
# -------------------
# Count the nodes behind the last state. Each step has two: a product, which saves its
# factors for the backward pass, and a sum. ``w`` has one more.


def nodes_behind(*results):
    nodes = [result.grad_fn for result in results]
    for node in nodes:  # the list grows meanwhile
        for before, _ in node.next_functions:
            if before and before not in nodes:
                nodes.append(before)
    return len(nodes)


rows = []
for steps, window in (8, 8), (8, 4), (32, 32), (32, 4):
    w.grad, state = None, torch.zeros_like(w)
    for step in range(steps):
        if step % window == 0:
            state = state.detach()
        state = w * state + 1
    row = {"steps": steps, "window": window}
    row["nodes"] = nodes_behind(state)
    state.backward()
    row["gradient of w"] = w.grad.item()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
nodes = [row["nodes"] for row in rows]
assert nodes[1] == nodes[3] < nodes[0] < nodes[2]
assert rows[0]["gradient of w"] == 28

names = "8, not cut", "8, cut", "32, not cut", "32, cut"
fig, axes = plt.subplots()
axes.bar_label(axes.barh(names, nodes))
axes.invert_yaxis()
axes.set_title("A graph that is cut does not grow.")
axes.set_xlabel("Nodes behind the last state, by steps")
plt.show()
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True
# sphinx_gallery_table = "rows"

# %%
# Without the cut, a second window would go back into the first one's graph, which its
# backward pass has freed: an error (:ref:`backward-twice`). The ``retain_graph=True``
# that the message suggests keeps all windows in memory.
#
# An LSTM has two states
# ----------------------
# ``h`` and ``c`` each hold the graph. Cut one of them, and it grows through the
# other. The table counts the nodes after each window of two steps, on the CPU: how
# many nodes a step has depends on the device.

lstm = torch.nn.LSTMCell(1, 1)
x = torch.ones(1, 1)
cuts = {
    "nothing": lambda h, c: (h, c),
    "h": lambda h, c: (h.detach(), c),
    "h and c": lambda h, c: (h.detach(), c.detach()),
}
rows = []
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
for row, grows in zip(rows, (True, True, False)):
    assert (row["window 3"] > row["window 2"]) == grows
# sphinx_gallery_table = "rows"

# %%
# Cut too often
# -------------
# The state has to remember the first of four inputs, times ``u``. A window of fewer
# than four steps does not reach back to it: the gradient of ``u`` is 0.

for window in 4, 2, 1:
    u = torch.ones((), device=device).requires_grad_()
    state = torch.zeros((), device=device)
    for step, value in enumerate((1, 0, 0, 0)):
        if step % window == 0:
            state = state.detach()
        state = state + u * value
    state.backward()
    print(f"{window = }, {u.grad.item() = }")
    assert u.grad.item() == (window == 4)

# %%
# Remember
# --------
# - Detach the state between two windows: the values go on, the graph does not.
# - Detach all of it: ``tuple(s.detach() for s in state)``.
# - What lies further back than a window is not learned.
