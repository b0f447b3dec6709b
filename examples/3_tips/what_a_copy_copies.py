# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
What does a copy copy?
======================

``clone`` copies the elements and stays in the graph, ``deepcopy`` copies a leaf
with its gradient and its whole storage, and ``copy.copy`` copies no memory.

You will see what each of them keeps of history, gradient, hooks and type, and
which copies of two views are still one memory.
"""

# sphinx_gallery_setup = True
import copy
import io
import pickle
from warnings import catch_warnings, simplefilter

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Three copies of one leaf
# ------------------------
# After the copies ``w`` is written to. The clone hangs on ``w`` in the graph, the deep
# copy is a leaf of its own, and ``copy.copy`` made a new object on the memory of ``w``.

w = torch.ones(2, device=device, requires_grad=True)
cloned = w.clone()
deep = copy.deepcopy(w)
shallow = copy.copy(w)
with torch.no_grad():
    w.fill_(7.0)
print(cloned.tolist(), deep.tolist(), shallow.tolist())
assert cloned[0] == deep[0] == 1 and shallow[0] == 7
assert deep.is_leaf and not cloned.is_leaf
# sphinx_gallery_tensor_map_lead = "w, cloned, deep, shallow"

# %%
# What is kept
# ------------
# Each way is tried with a tensor that has what the row names. The last way is
# :func:`torch.save`, then :func:`torch.load`. (``state_dict()`` copies nothing:
# :doc:`../4_patterns/keep_the_best_weights`.)


def save_load(t):
    file = io.BytesIO()
    torch.save(t, file)
    file.seek(0)
    return torch.load(file)


def hook(t):
    (gradient,) = torch.autograd.grad(t.sum(), t)
    return gradient[0] == 10


def has_grad(t):
    return t.is_leaf and t.grad is not None


p = torch.nn.Parameter(torch.ones(2, device=device))
(w * p).sum().backward()
w.tag = "mine"
hooked = w.detach().requires_grad_()
hooked.register_hook(lambda gradient: 10 * gradient)
assert hook(hooked)
probes = {
    "history": (w * 2, lambda t: t.grad_fn),
    "requires_grad": (w, lambda t: t.requires_grad),
    "hook": (hooked, hook),
    "attribute": (w, lambda t: hasattr(t, "tag")),
    ".grad": (w, has_grad),
    ".grad of a Parameter": (p, has_grad),
    "type Parameter": (p, lambda t: type(t) is type(p)),
}
ways = {
    "clone()": torch.clone,
    "deepcopy": copy.deepcopy,
    "copy.copy": copy.copy,
    "save, load": save_load,
}
rows = []
for name, (t, look) in probes.items():
    row = {"what": name}
    for way, call in ways.items():
        with catch_warnings(record=True) as seen:
            simplefilter("always")
            try:
                kept = look(call(t))
                row[way] = "kept" if kept else "dropped"
            except RuntimeError:
                row[way] = "RuntimeError"
        row[way] += ", warns" if seen else ""
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
found = {r["what"]: " ".join(r.values()) for r in rows}
assert "kept RuntimeError dropped" in found["history"]
assert found[".grad"].count("kept") == 1
for name in "hook", ".grad of a Parameter":
    assert "kept" not in found[name]
# sphinx_gallery_folded = "The code that probes"
# sphinx_gallery_table = "rows"

# %%
# The gradient goes with the deep copy of a tensor, but not with that of a parameter:
# a deep-copied module has none. No hook is copied; ``deepcopy`` does not say so. A
# result has a history, and ``deepcopy`` refuses it (:doc:`why <../../errors>`).
#
# Two views, copied together
# --------------------------
# One view ends with the element that begins the other. The copy of that gets a 7.

base = torch.zeros(3, device=device)
views = [base[:2], base[1:]]
read = []
for name, copies in {
    "clone": [t.clone() for t in views],
    "deepcopy": copy.deepcopy(views),
    "save, load": save_load(views),
    "pickle": pickle.loads(pickle.dumps(views)),
}.items():
    copies[0][1] = 7.0
    read.append(copies[1][0].item())
    print(f"{name}: {read[-1]}")
assert read == [0, 7, 7, 0]
# sphinx_gallery_predict = "Which copies of the two are still one memory?"
# sphinx_gallery_predict_instead = "copy.deepcopy(views)-> [*map(copy.deepcopy, views)]"
# sphinx_gallery_predict_instead_2 = "save_load(views) -> [*map(save_load, views)]"

# %%
# ``deepcopy`` of a list copies the storage once, and ``torch.save`` writes it once;
# ``pickle`` alone takes each tensor for itself.
#
# Remember
# --------
# - The elements: ``t.detach().clone()``. A module, or a list: ``deepcopy``.
# - ``copy.copy`` and ``state_dict()`` share the memory.
# - A deep copy or a saved file of a view has the whole storage behind it.
