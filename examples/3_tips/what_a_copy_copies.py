# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
``clone``, ``deepcopy``, ``copy.copy``: what is copied?
=======================================================

``clone`` copies the elements and stays in the graph, and ``copy.copy`` shares the
memory. ``deepcopy`` copies a leaf with its gradient and its whole storage, but only the
elements of a ``Parameter``.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_try = "x.clone()"
import copy
import io
import pickle
from warnings import catch_warnings, simplefilter

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# ``copy.copy`` shares memory, ``clone`` and ``deepcopy`` don't
# -------------------------------------------------------------
# We write to ``w`` after copying it. ``cloned`` is connected to ``w`` in the graph, and
# ``deep`` is a new leaf. ``shallow`` shares the memory of ``w`` but has its own version
# counter, so autograd doesn't notice a write to ``w`` through ``shallow``.

w = torch.ones(2, device=device, requires_grad=True)
cloned = w.clone()
deep = copy.deepcopy(w)
shallow = copy.copy(w)
version = shallow._version
with torch.no_grad():
    w.fill_(7.0)
print(f"{cloned = }")
print(f"{deep = }")
print(f"{shallow = }")
assert cloned[0] == deep[0] == 1 and shallow[0] == 7
assert deep.is_leaf and not cloned.is_leaf
assert shallow._version == version
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, shallow, cloned, deep, w copied to deep"

# %%
# What does each copy keep?
# -------------------------
# Each call gets a tensor that has the property of the row. Does the result keep it? The
# last column is :func:`torch.save`, then :func:`torch.load`. (``state_dict()`` doesn't
# copy, see :doc:`../4_patterns/keep_the_best_weights`.)


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


def whole(t):
    return t.untyped_storage().nbytes() == 16


p = torch.nn.Parameter(torch.ones(2, device=device))
(w * p).sum().backward()
w.tag = "mine"
hooked = w.detach().requires_grad_()
hooked.register_hook(lambda gradient: 10 * gradient)
column = torch.ones(2, 2, device=device)[:, 0]
param = torch.nn.Parameter(column)
probes = {
    "history": (w * 2, lambda t: t.grad_fn),
    "requires_grad": (w, lambda t: t.requires_grad),
    "hook": (hooked, hook),
    "attribute": (w, lambda t: hasattr(t, "tag")),
    ".grad": (w, has_grad),
    ".grad of a Parameter": (p, has_grad),
    "type Parameter": (p, lambda t: type(t) is type(p)),
    "storage of a slice": (column, whole),
    "the same, a Parameter": (param, whole),
}
ways = {
    "clone()": torch.clone,
    "deepcopy()": copy.deepcopy,
    "copy.copy()": copy.copy,
    "save, load": save_load,
}
rows = []
for name, (t, look) in probes.items():
    row = {"kept?": name}
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
kept = "kRdd kkkk dddd dkkk dkdd dddd dkkk dkkk ddkk"
for row, letters in zip(rows, kept.split()):
    found = "".join(row[way][0] for way in ways)
    assert found == letters, row["kept?"]
assert rows[2]["deepcopy()"] == "dropped"  # no warning
# sphinx_gallery_folded = "The code that tests them"

# %%
# ``deepcopy`` clones a ``Parameter``, so a deep-copied module has no gradients, and its
# Parameters lose attributes that you set. No call copies a tensor's hooks, and
# ``deepcopy`` and ``clone`` don't warn about that.
# ``deepcopy`` raises for the result of a recorded operation
# (:ref:`why <deepcopy-non-leaf>`).
#
# Do two views still share memory after a copy?
# ---------------------------------------------
# Two views share one element. We copy both views and write 7 to that element through
# the first copy. If the second copy changes, the copies share memory.

base = torch.zeros(3, device=device)
views = [base[:2], base[1:]]
params = [torch.nn.Parameter(t, False) for t in views]
copies = {
    "clone": [t.clone() for t in views],
    "deepcopy": copy.deepcopy(views),
    "deepcopy of Parameters": copy.deepcopy(params),
    "save, load": save_load(views),
    "pickle": pickle.loads(pickle.dumps(views)),
}
for first, _ in copies.values():
    first[1] = 7.0
shared = [k for k, t in copies.items() if t[1][0] == 7]
print(shared)
assert shared == ["deepcopy", "save, load"]

# %%
# .. predict:: Which copies still share memory?
#
#     - ``['deepcopy', 'save, load']``
#     - ``['deepcopy']`` with ``"save, load": [*map(save_load, views)]`` in the place of
#       ``"save, load": save_load(views)``
#     - ``['save, load']`` with ``"deepcopy": [*map(copy.deepcopy, views)]`` in the
#       place of ``"deepcopy": copy.deepcopy(views)``
#
# ``deepcopy`` of a list copies the storage once, and ``torch.save`` writes it once.
# ``pickle`` copies each tensor separately, and ``deepcopy`` clones each Parameter. (One
# Parameter used twice stays one: :doc:`../4_patterns/tied_weights`.)
#
# Remember
# --------
# - To copy the elements, use ``t.detach().clone()``. For a module or a list, use
#   ``deepcopy``.
# - ``copy.copy`` and ``state_dict()`` share the memory.
# - A slice that you save or deep-copy keeps its whole storage, unless you deep-copy a
#   Parameter.
