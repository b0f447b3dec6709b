# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
Log a loss: running sums, lists, the best so far
================================================

Log ``loss.detach()`` and read the numbers once at the end: the loss itself keeps
its graph, and ``item`` in each step waits for a GPU.

You will see what each way of logging keeps alive, and a running sum that changes
the first loss.
"""

# sphinx_gallery_setup = True
from weakref import ref

import matplotlib.pyplot as plt
import torch
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# What stays alive
# ----------------
# Eight steps, logged in four ways, in training and in a validation without
# ``no_grad``. At the end the nodes behind the log are counted, and the tensors that
# these nodes still save for a backward pass.


def pack(tensor):
    own = tensor.detach()  # an object of its own
    saved.append(ref(own))
    return own


def nodes_behind(log):
    found, waiting = set(), [r.grad_fn for r in log]
    while waiting:
        node = waiting.pop()
        if node and node not in found:
            found.add(node)
            inputs = node.next_functions
            waiting += [n for n, _ in inputs]
    return len(found)


w = torch.ones(2, device=device).requires_grad_()
ways = {
    "log.append(loss)": lambda log, new: [*log, new],
    "total = total + loss": (  # a running sum
        lambda log, new: [sum(log) + new]
    ),
    "best = min(best, loss)": (  # the best so far
        lambda log, new: [min([*log, new])]
    ),
    "log.append(loss.detach())": (  # a constant
        lambda log, new: [*log, new.detach()]
    ),
}
rows = []
for call, way in ways.items():
    row = {"log": call}
    for name in "training", "validation":
        log, saved = [], []
        with saved_tensors_hooks(pack, lambda own: own):
            for _ in range(8):
                loss = (w * w).sum()
                log = way(log, loss)
                if name == "training":
                    loss.backward()
        del loss
        alive = [r for r in saved if r() is not None]
        row[f"{name}: nodes"] = nodes_behind(log)
        row[f"{name}: saved"] = len(alive)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
assert not any(r["training: saved"] for r in rows)
assert rows[0]["validation: saved"] == 16
assert not any(list(rows[3].values())[1:])

nodes = [row["training: nodes"] for row in rows]
plt.bar_label(plt.barh(list(ways), nodes))
plt.gca().invert_yaxis()
plt.title(f"Up to {max(nodes)} nodes; detached, none")
plt.xlabel("Nodes kept after 8 steps of training")
plt.show()
# sphinx_gallery_folded = "The code that counts and draws"
# sphinx_gallery_lead = True
# sphinx_gallery_table = "rows"

# %%
# In training, ``backward`` has freed what the graphs had saved, and their nodes stay:
# the leak is small and slow. In a validation nothing frees it: run that under
# :class:`torch.no_grad`. A running sum hangs each loss on the last, and the best so
# far keeps one whole graph. (:ref:`silent-loss-list` has the list alone.)
#
# A running sum needs memory of its own
# -------------------------------------
# A sum that is added to in place must not begin as the first loss: ``detach`` is an
# alias, and the first entry of the log becomes the sum.

losses = torch.tensor([4.0, 2.0, 1.0], device=device)
log = [loss.detach() for loss in losses.clone()]
total = log[0]
for loss in log[1:]:
    total += loss
print([entry.item() for entry in log])
assert [entry.item() for entry in log] == [7, 2, 1]
# sphinx_gallery_predict = "What does the log hold?"
# sphinx_gallery_predict_instead = "log[1:] -> log"
# sphinx_gallery_predict_instead_2 = "total += loss -> total = total + loss"

# %%
# Begin with a zero on the device, and log a clone of the sum: one tensor kept three
# times :doc:`is one number <../3_tips/expanded_tensors>`. :func:`torch.minimum` keeps
# the best on the device.

total = torch.zeros((), device=device)
best = losses[0].clone()
sums = []
for loss in losses:
    total += loss.detach()
    best = torch.minimum(best, loss.detach())
    sums.append(total.clone())
print(torch.stack(sums).tolist(), best.item())
assert torch.stack(sums).tolist() == [4, 6, 7]
assert best.item() == 1

# %%
# What waits
# ----------
# ``item`` hands a number to Python: on a GPU it waits until all work before it is
# done, and so does ``if loss < best``. ``tolist`` of a stacked log waits once for all
# numbers. :doc:`../3_tips/what_waits` has the proof.
#
# Remember
# --------
# - Log ``loss.detach()``. Turn the log into numbers once, at the end.
# - Begin a running sum with zeros, and ``clone`` what you keep of it.
# - Validate under ``no_grad``: there no backward pass frees the graph.
