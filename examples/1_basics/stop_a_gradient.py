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


def layer(weight):
    one = nn.Linear(1, 1, bias=False, device=device)
    nn.init.constant_(one.weight, weight)
    return one


# %%
# Three ways to compute ``h``
# ---------------------------
# A layer A has the weight 3, its input ``x`` is 2. Without ``detach`` and ``no_grad``
# there is a graph behind ``h``. Later a layer B with the weight 5 takes it.

a = layer(3.0)
x = torch.tensor([[2.0]], device=device)
x.requires_grad_()
weight, h = a.weight, a(x)
cut = a(x).detach()
with torch.no_grad():
    inside = a(x)
print(f"{h.item() = }, {h.requires_grad = }")
print(f"{cut.item() = }, {cut.requires_grad = }")
assert h == cut == inside == 6 and h.requires_grad
assert not (cut.requires_grad or inside.requires_grad)
# sphinx_gallery_tensor_map_lead = "x, weight, h, cut, inside"

# %%
# Eight ways in one table
# -----------------------
# Each way is applied to A. Then B runs, the backward pass, and a step of SGD with
# ``lr=0.5``. Where nothing stops them, the gradients of ``x``, A and B are ``3 * 5``,
# ``2 * 5`` and 6. *Saved* counts the tensors that A keeps for its backward pass.

quiet = torch.no_grad()
fast = torch.inference_mode()
ways = {
    "nothing": lambda a, x: a(x),
    "h.detach()": lambda a, x: a(x).detach(),
    "h.data": lambda a, x: a(x).data,
    "no_grad": lambda a, x: quiet(a.forward)(x),
    "inference_mode": lambda a, x: fast(a.forward)(x),
    "a.requires_grad_(False)": (  # stays off
        lambda a, x: a.requires_grad_(False)(x)
    ),
    "a.eval()": lambda a, x: a.eval()(x),
    "SGD without A": lambda a, x: a(x),
}


rows = []
for way, forward in ways.items():
    a, b = layer(3.0), layer(5.0)
    x.grad, saved = None, []
    with saved_tensors_hooks(saved.append, lambda t: t):
        forward(a, x)
    h = forward(a, x)
    row = {"way": way, "saved": len(saved)}
    row["recorded"] = "yes" if h.grad_fn else "no"
    row["B trains"] = "yes"
    try:
        b(h).backward()
    except RuntimeError:
        row["B trains"] = "an error"
    trained = [b.weight]
    if way != "SGD without A":
        trained.append(a.weight)
    torch.optim.SGD(trained, lr=0.5).step()
    assert b.weight == (5 if h.is_inference() else 2)
    for name, t in ("x", x), ("A", a.weight):
        row[f"{name}.grad"] = t.grad and t.grad.item()
    row["A afterwards"] = a.weight.item()
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
seen = [tuple(row.values())[1:] for row in rows]
assert seen[0] == (2, "yes", "yes", 15, 10, -2)
cuts = (2, "no", "yes", None, None, 3)
assert seen[1] == seen[2] == cuts
assert seen[3] == (0, "no", "yes", None, None, 3)
assert seen[4] == (0, "no", "an error", None, None, 3)
assert seen[5] == (1, "yes", "yes", 15, None, 3)
assert seen[6] == seen[0]  # eval stops nothing
assert seen[7] == (2, "yes", "yes", 15, 10, 3)
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

a, b = layer(3.0), layer(5.0)
sgd = torch.optim.SGD(b.parameters(), lr=0.5)
for _ in range(2):
    sgd.zero_grad()
    b(a(x)).backward()
    sgd.step()
print(f"{a.weight.grad = }")
assert a.weight == 3 and a.weight.grad == 2 * 5 + 2 * 2
# sphinx_gallery_predict = "What is the gradient of A?"
# sphinx_gallery_predict_instead = "sgd.zero_grad() -> a.zero_grad()"
# sphinx_gallery_predict_instead_2 = "sgd.step() -> pass"

# %%
# Those of both turns are in it. Freeze A before the first turn, and there is none.
#
# Remember
# --------
# - To evaluate: ``eval``, and ``no_grad`` or ``inference_mode``. To cut: ``detach``.
# - To freeze weights: ``requires_grad_(False)``, before the forward pass.
# - ``eval`` stops no gradient; a weight that no optimizer holds still collects one.
