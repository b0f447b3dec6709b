# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Use a tensor made in ``inference_mode``
=======================================

Outside ``inference_mode`` you can read an inference tensor, but an in-place operation
on it raises, and so does one that saves it for ``backward()``. A clone that you make
outside is a normal tensor.
"""

# sphinx_gallery_setup = True
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# What is an inference tensor?
# ----------------------------
# It is a tensor allocated in an ``inference_mode`` block, such as ``t``. Its clone
# ``new``, made after the block, is a normal tensor. The product ``w * t`` has to save
# ``t`` for the gradient of ``w``, so it raises.

w = torch.tensor([3.0, 4.0], device=device)
w.requires_grad_()
with torch.inference_mode():
    t = w * 2
new = t.clone()
loss = (w * new).sum()
loss.backward()
try:
    w * t
except RuntimeError as error:
    message = str(error).split(".")[0]
print(f"{t.is_inference() = }, {new.is_inference() = }")
print("RuntimeError:", message)
assert t.is_inference()
assert not new.is_inference()
assert w.grad.tolist() == [6, 8]
assert "cannot be saved" in message
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "t, new, t copied to new, w * t raises RuntimeError"

# %%
# A clone made *in* the block is also an inference tensor. Tensors allocated after the
# block are normal. ``t``, its views and ``t.detach()`` stay inference tensors. In the
# block, a view of a normal tensor is normal but without graph (as in ``no_grad``). A
# tensor made under :class:`torch.no_grad` is also normal, so ``w * u`` doesn't raise.

with torch.inference_mode():
    inside = t.clone()
    view = w[:1]
with torch.no_grad():
    u = w * 2
loss = (w * u).sum()
print(f"{inside.is_inference() = }")
print(f"{u.is_inference() = }")
print(f"{view.is_inference() = }")
print(f"{t.detach().is_inference() = }")
assert loss.requires_grad
assert u._version == 0
assert t[:1].is_inference()
assert view.requires_grad
assert view.grad_fn is None

# %%
# A version counter counts the in-place changes of a tensor. ``u`` has one, ``t`` has
# none. So autograd couldn't notice a change of a saved ``t``, and doesn't save it.
#
# What runs and what raises
# -------------------------
# After the block, an operation raises if it saves ``t`` (:doc:`what operations need
# <in_place_and_backward>`) or modifies ``t`` or its slice in place. ``w + t`` does
# neither, and with grad mode off no operation saves a tensor. ``t.requires_grad_()``
# also raises. With a clone of ``t``, all these operations run.

calls = {
    "w + t": lambda t: w + t,
    "w * t": lambda t: w * t,
    "w * t in no_grad": lambda t: w * t,
    "t.add_(1) in no_grad": lambda t: t.add_(1),
    "t[:1].add_(1)": lambda t: t[:1].add_(1),
    "t.add_(1) in a block": lambda t: t.add_(1),
    "t.detach().add_(1)": lambda t: t.detach().add_(1),
    "t.data.add_(1)": lambda t: t.data.add_(1),
    "t.data[:1].add_(1)": lambda t: t.data[:1].add_(1),
    "t.requires_grad_()": lambda t: t.requires_grad_(),
    "t._version": lambda t: t._version,
}
modes = dict.fromkeys(calls, torch.enable_grad())
modes["w * t in no_grad"] = torch.no_grad()
modes["t.add_(1) in no_grad"] = torch.no_grad()
modes["t.add_(1) in a block"] = torch.inference_mode()
print("after the block | result | t changes")
found = {}
for name, call in calls.items():
    with torch.inference_mode():
        x = torch.ones(2, device=device)
    cloned = x.clone()
    said = "runs"
    with modes[name]:
        call(cloned)  # with a clone all run
        try:
            call(x)
        except RuntimeError:
            said = "raises"
    changes = "no" if x.tolist() == [1, 1] else "yes"
    print(f"{name} | {said} | {changes}")
    found[name] = f"{said}, {changes}"
with torch.inference_mode():
    on_cpu = torch.ones(2)
on_cpu.numpy().fill(7)
assert on_cpu.tolist() == [7, 7]
assert found["w + t"] == "runs, no"
assert found["w * t"] == "raises, no"
assert found["w * t in no_grad"] == "runs, no"
assert found["t.add_(1) in no_grad"] == "raises, yes"
assert found["t[:1].add_(1)"] == "raises, yes"
assert found["t.add_(1) in a block"] == "runs, yes"
assert found["t.detach().add_(1)"] == "runs, yes"
assert found["t.data.add_(1)"] == "runs, yes"
assert found["t.data[:1].add_(1)"] == "raises, yes"
assert found["t.requires_grad_()"] == "raises, no"
assert found["t._version"] == "raises, no"
# sphinx_gallery_folded = "The code that tried them"

# %%
# An in-place operation on ``t`` or its slice raises, but only after it has changed the
# values. In another ``inference_mode`` block it runs. It also runs on ``t.detach()`` or
# ``t.data``, but not on a slice of these. On the CPU, ``t.numpy()`` can be modified.
# The messages and their fixes: :ref:`inference-saved`, :ref:`inference-in-place`.
#
# What happens to a gradient from the block?
# ------------------------------------------
# ``backward()`` also runs in the block and stores a gradient in ``w``. Now we run a
# second backward pass, outside the block.

w.grad = None
mode = torch.inference_mode()
first = w.sum()
with mode:
    first.backward()
try:
    w.sum().backward()
    print(f"{w.grad = }")
except RuntimeError as error:
    message = str(error).split(".")[0]
    print("RuntimeError:", message)
assert "Inplace update" in message
assert w.grad.is_inference()

# %%
# .. predict:: What does the second backward pass do?
#
#     - ``RuntimeError: Inplace update to inference tensor outside InferenceMode is not
#       allowed``
#     - ``w.grad = tensor([2., 2.])`` with ``mode = torch.no_grad()``
#     - ``w.grad = tensor([1., 1.])`` with ``first.backward(); w.grad = None`` in the
#       place of ``first.backward()``
#
# The gradient is an inference tensor, so ``backward()`` can't add to it after the
# block. Set ``w.grad = None``, or don't call ``backward()`` in ``inference_mode``.
#
# Remember
# --------
# - To use a result of ``inference_mode`` in training, call ``clone`` after the block.
# - If training needs the result, ``no_grad`` is simpler. Its results are normal.
