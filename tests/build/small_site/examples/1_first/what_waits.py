# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6"]
# ///
"""
What waits
==========

A lesson whose picture is a diagram. It stands in the list of what goes
deeper, with ``item()``. A third sentence is not in that list, because with it there
would be more than a hundred and sixty letters. Nor is this.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_lead = "what_waits.html"
import torch
from matplotlib import pyplot as plt

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Only this
# ---------
# See ``x | y``:
#
# - a list, with *two*
# - lines.

net = torch.nn.LayerNorm(1)
a = torch.ones(2)
rows = [a.clone(), a[:1]]
rows[1] += 1
print(a)
print(f"{rows = }, {a.sum() = }")
print(torch.ones(2, 1))
print("x = tensor([1.], device='cuda:0', requires_grad=True)")
# sphinx_gallery_tensor_map = "a, a copied to rows[0], rows[1], net.weight, c raises E"

# %%
# .. predict:: What is printed, and
#     what is ``a``?
#
#     - ``tensor([2., 1.])`` ``tensor([[1.], [1.]])`` ``rows = [tensor([1., 1.]),…``
#       ``x = tensor([1.], requires_grad=True)``
#     - ``tensor([[1.]])`` with ``a = 1`` in the place of ``a[:1]``
#     - ``tensor([2., 1.`` without ``rows[1] += 1``
#     - ``tensor([2., 1.])`` ``a`` with ``a = 2``
#
# .. note:: A view shares.
#
# More of it
# ^^^^^^^^^^

assert rows[1] == 2
assert a[0] == 2

# %%
# .. predict:: How long does it take?
#
# Some time.
#
# Tables
# ------

print("what | share | times")
for what in "x.exp()", "x + 1", "a[::-1]", "w", "rows += 7", "if x.sum() > 1:", "x=y":
    print(what, "| 50% | 2×")
for what in "read-only", "yes", "3 MiB", "(4, 1)", "save, load", "grad in A", "-2.0":
    print(what, "| – | 1,000 ms")
print("a line | that is alone\nand text\nname | says\nb | <i> 1\nc | 2")

# %%
# Charts
# ------
# More. `From a page <https://pytorch.org>`_

for at in range(5):
    plt.plot([1, 10], [1 + at, 100 - at], label=f"line {at}")
plt.yscale("log")
plt.title("Five take <b> & c.")
plt.ylabel("ms")
plt.legend()
plt.figure()
for name in "a name that is very long", "short":
    plt.plot([1, 2], [1, 2], label=name)
plt.legend()
plt.title("No room")
plt.ylabel("ms")
plt.figure()
plt.barh(["one", "<two>"], [1, 2])
plt.xlabel("MiB")
plt.text(1, 0, "0.5")
plt.text(2, 1, "2 ms")
plt.title("Bars of torch.ones(2)")
plt.show()
# sphinx_gallery_folded = "``plt`` draws"

# %%
# Remember
# --------
# - A view shares.
