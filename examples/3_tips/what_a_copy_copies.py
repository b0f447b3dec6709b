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
# ``separate`` isn't. ``deep`` is a new leaf. ``shallow`` shares memory with ``w``, but
# autograd doesn't notice that the write changes it. So its gradient is 14 instead of 2.

w = torch.ones(2, device=device, requires_grad=True)
cloned = w.clone()
separate = w.detach().clone()
deep = copy.deepcopy(w)
shallow = copy.copy(w)
loss = (shallow * shallow).sum()
with torch.no_grad():
    w.fill_(7.0)
loss.backward()
print(f"{cloned = }")
print(f"{separate = }, {deep = }")
print(f"{shallow = }")
print(f"{shallow.grad = }")
assert shallow.grad.tolist() == [14, 14]
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "w, shallow, cloned, deep, w copied to deep"

# %%
# What does each copy keep?
# -------------------------
# Each call gets a tensor that has the property of the row. Does the result keep it?
# ``save_load`` calls :func:`torch.save` and :func:`torch.load`. (``state_dict()``
# doesn't copy, see :doc:`../4_patterns/keep_the_best_weights`.)


def save_load(t):
    file = io.BytesIO()
    torch.save(t, file)
    file.seek(0)
    return torch.load(file)


def has_hook(t):
    gradients = torch.autograd.grad(t.sum(), t)
    return gradients[0][0].item() == 10


def has_grad(t):
    return t.is_leaf and t.grad is not None


def is_whole(t):
    return t.untyped_storage().nbytes() == 16


column = torch.ones(2, 2, device=device)[:, 0]
p = torch.nn.Parameter(column)
(w * p).sum().backward()
w.tag, p.tag = "mine", "mine"
hooked = w.detach().requires_grad_()
hooked.register_hook(lambda gradient: 10 * gradient)
properties = {
    "history": (w * 2, lambda t: t.grad_fn is not None),
    "requires_grad": (w, lambda t: t.requires_grad),
    "hook": (hooked, has_hook),
    "attribute": (w, lambda t: hasattr(t, "tag")),
    ".grad": (w, has_grad),
    ".grad of a Parameter": (p, has_grad),
    "type Parameter": (p, lambda t: type(t) is type(p)),
    "storage of a slice": (column, is_whole),
    "the same, a Parameter": (p, is_whole),
}
ways = {
    "clone()": torch.clone,
    "deepcopy()": copy.deepcopy,
    "copy.copy()": copy.copy,
    "save, load": save_load,
}
kept = {way: [] for way in ways}
print("kept? | " + " | ".join(ways))
for name, (t, has_it) in properties.items():
    row = [name]
    for way, call in ways.items():
        with catch_warnings(record=True) as seen:
            simplefilter("always")
            try:
                is_kept = has_it(call(t))
                word = "kept" if is_kept else "dropped"
            except RuntimeError:
                word = "RuntimeError"
        if word == "kept":
            kept[way].append(name)
        row.append(word + ", warns" if seen else word)
    print(" | ".join(row))
assert kept["clone()"] == ["history", "requires_grad"]
assert ".grad" in kept["deepcopy()"]
assert ".grad of a Parameter" not in kept["deepcopy()"]
assert "the same, a Parameter" not in kept["deepcopy()"]
assert not hasattr(copy.deepcopy(p), "tag")
# sphinx_gallery_folded = "The code that tests them"

# %%
# ``deepcopy`` clones a ``Parameter``, so a deep-copied module has no gradients, and its
# Parameters lose attributes that you set. No call copies a tensor's hooks, and
# ``deepcopy`` and ``clone`` don't warn about it. ``deepcopy`` raises for the result of
# a recorded operation (:ref:`why <deepcopy-non-leaf>`).
#
# Do two views still share memory after a copy?
# ---------------------------------------------
# Two views share one element. We copy both views and write 7 to that element through
# the first copy. If the second copy changes, the copies share memory.

base = torch.zeros(3, device=device)
views = [base[:2], base[1:]]
params = [torch.nn.Parameter(t) for t in views]
copies = {
    "clone": [t.clone() for t in views],
    "deepcopy": copy.deepcopy(views),
    "deepcopy of Parameters": copy.deepcopy(params),
    "save, load": save_load(views),
    "pickle": pickle.loads(pickle.dumps(views)),
}
shared = []
for name, (first, second) in copies.items():
    with torch.no_grad():
        first[1] = 7.0
    if second[0].item() == 7:
        shared.append(name)
print(f"{shared = }")
assert shared == ["deepcopy", "save, load"]

# %%
# .. predict:: Which copies still share memory?
#
#     - ``shared = ['deepcopy', 'save, load']``
#     - ``shared = ['deepcopy']`` with ``"save, load": [save_load(t) for t in views]``
#       in the place of ``"save, load": save_load(views)``
#     - ``shared = ['save, load']`` with ``"deepcopy": [copy.deepcopy(t) for t in
#       views]`` in the place of ``"deepcopy": copy.deepcopy(views)``
#
# ``deepcopy`` of a list copies the storage once, and ``torch.save`` writes it once.
# ``pickle`` copies each tensor separately, and ``deepcopy`` clones each Parameter. (One
# Parameter used twice stays one: :doc:`../4_patterns/tied_weights`.)
#
# Remember
# --------
# - ``t.detach().clone()`` copies a tensor, ``copy.copy`` shares its memory.
# - One ``deepcopy`` of detached views makes copies that share memory with each other.
# - Saved slices keep their whole storage. Deep-copied ones do too, except Parameters.
