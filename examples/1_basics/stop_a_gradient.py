# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Stop a gradient: what does, and what does not
=============================================

``detach``, ``no_grad`` and ``inference_mode`` cut off all that came before,
``requires_grad_(False)`` spares one layer, ``eval`` stops nothing, and a weight
left out of an optimizer gets its gradient all the same.

You will see eight ways in one table: what each of them records and saves, which
gradients arrive, and where A is after the step that follows.
"""

# sphinx_gallery_setup = True
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)


def layers():
    """Return two layers, of the weights 3 and 5."""
    a = nn.Linear(1, 1, bias=False, device=device)
    b = nn.Linear(1, 1, bias=False, device=device)
    nn.init.constant_(a.weight, 3.0)
    nn.init.constant_(b.weight, 5.0)
    return a, b


# %%
# Three ways to compute ``h``
# ---------------------------
# A layer A has the weight 3, its input ``x`` is 2. Without ``detach`` and
# ``no_grad`` the result has a graph behind it: the picture at the top shows it.
# Later a layer B with the weight 5 takes ``h``.

a, b = layers()
x = torch.tensor([[2.0]], device=device)
x.requires_grad_()
weight, h = a.weight, a(x)
cut = a(x).detach()
with torch.no_grad():
    unrecorded = a(x)
print(f"{h.item() = }, {h.requires_grad = }")
print(f"{cut.item() = }, {cut.requires_grad = }")
assert h == cut == unrecorded == 6 and h.requires_grad
assert not cut.requires_grad
assert not unrecorded.requires_grad
# sphinx_gallery_tensor_map_lead = "x, weight, h, cut, unrecorded"

# %%
# Eight ways in one table
# -----------------------
# Each way is applied to A. Then B runs, the backward pass, and a step of SGD
# with ``lr=0.5``. Where nothing stops them, the gradients of ``x``, A and B are
# ``3 * 5``, ``2 * 5`` and 6. *Saved* counts what A keeps for its backward pass, as
# :class:`torch.autograd.graph.saved_tensors_hooks` sees it.


def under(mode):
    def forward(a, x):
        with mode():
            return a(x)

    return forward


ways = {
    "nothing": lambda a, x: a(x),
    "h.detach()": lambda a, x: a(x).detach(),
    "h.data": lambda a, x: a(x).data,
    "torch.no_grad()": under(torch.no_grad),
    "torch.inference_mode()": under(
        torch.inference_mode,
    ),
    "a.requires_grad_(False)": (  # stays off
        lambda a, x: a.requires_grad_(False)(x)
    ),
    "a.eval()": lambda a, x: a.eval()(x),
    "SGD without A": lambda a, x: a(x),
}


def note(t):
    saved.append(t.shape)
    return t


rows = []
for way, forward in ways.items():
    a, b = layers()
    x.grad, saved = None, []
    with saved_tensors_hooks(note, lambda t: t):
        h = forward(a, x)
    row = {
        "way": way,
        "h recorded": "yes" if h.grad_fn else "no",
        "saved": len(saved),
    }
    trained = [b.weight]
    if way != "SGD without A":
        trained.append(a.weight)
    row["B trains"] = "yes"
    try:
        b(h).backward()
    except RuntimeError:
        row["B trains"] = "no: an error"
    torch.optim.SGD(trained, lr=0.5).step()
    assert b.weight == (5 if h.is_inference() else 2)
    for name, t in ("x", x), ("A", a.weight):
        found = t.grad and t.grad.item()
        row[f"gradient of {name}"] = found
    row["A afterwards"] = a.weight.item()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen[0] == ("yes", 2, "yes", 15, 10, -2)
cuts = ("no", 2, "yes", None, None, 3)
assert seen[1] == seen[2] == cuts
assert seen[3] == ("no", 0, "yes", None, None, 3)
assert seen[4][1:] == (0, "no: an error", None, None, 3)
assert seen[5] == ("yes", 1, "yes", 15, None, 3)
assert seen[6] == seen[0]  # eval stops nothing
assert seen[7] == ("yes", 2, "yes", 15, 10, 3)
# sphinx_gallery_folded = "The code that ran them"
# sphinx_gallery_table = "rows"

# %%
# How to read it
# --------------
# - ``detach`` and ``.data`` come when A has saved its tensors already; those are freed
#   with the graph. Keep off ``.data``: :ref:`silent-data`.
# - Under :class:`torch.no_grad` and ``inference_mode`` A saves nothing. B has to save
#   what ``inference_mode`` made, and cannot: :doc:`inference_tensors`.
# - ``requires_grad_(False)`` freezes A alone: the gradient goes through to ``x``.
#   An old gradient can still move A: :ref:`silent-momentum`.
# - ``eval`` changes dropout and :ref:`batch norm <silent-batch-norm>`, stops nothing.
#
# Left out of the optimizer
# -------------------------
# The last row does not move A, but pays for A's gradient. And ``zero_grad`` of an
# optimizer clears only what that optimizer holds. B is 5 in the first turn, then 2.

a, b = layers()
optimizer = torch.optim.SGD(b.parameters(), lr=0.5)
for _ in range(2):
    optimizer.zero_grad()
    b(a(x)).backward()
    optimizer.step()
print(f"{a.weight.item() = }")
print(f"{a.weight.grad = }")
assert a.weight == 3
assert a.weight.grad == 2 * 5 + 2 * 2
# sphinx_gallery_predict = "What is the gradient of A?"
# sphinx_gallery_predict_instead = "optimizer.zero_grad() -> a.zero_grad()"
# sphinx_gallery_predict_instead_2 = "optimizer.step() ->"

# %%
# Those of both turns are in it. Freeze A before the first turn, and there is none.
#
# Remember
# --------
# - To evaluate: ``eval``, and ``no_grad`` or ``inference_mode``. To cut: ``detach``.
# - To freeze weights: ``requires_grad_(False)``, before the forward pass.
# - ``eval`` stops no gradient; a weight that no optimizer holds still collects one.
