# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy"]
# ///
"""
Why does a copy cost what it costs?
===================================

A small copy costs the operators that it runs, a large one the bytes that it moves.

You will see how many operators five copies run, what autograd adds, and how the
size and the order of the elements change the time of a large copy.
"""

# sphinx_gallery_setup = True
import warnings

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.benchmark import Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Small tensors: count the operators
# ----------------------------------
# :class:`torch.profiler.profile` lists the operators that a call runs, the same in each
# run. Another device may add some, but on every device two calls run more than the
# other three: those that warn. (On a CPU with valgrind, ``collect_callgrind`` of
# :class:`torch.utils.benchmark.Timer` counts the instructions too.)

calls = [
    "x.detach().clone()",
    "x.clone().detach()",
    "torch.empty_like(x).copy_(x)",
    "x.new_tensor(x)",
    "torch.tensor(x)",
]
warnings.simplefilter("ignore")  # two calls warn
x = torch.ones(2, device=device)
ON_CPU = [ProfilerActivity.CPU]
rows = []
for call in calls:
    with profile(activities=ON_CPU) as seen:
        eval(call)
    names = [e.name for e in seen.events()]
    found = [n[6:] for n in names if "aten" in n]
    row = {"call": call, "operators": len(found)}
    row["which they are"] = ", ".join(found)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
numbers = [row["operators"] for row in rows]
assert max(numbers[:3]) < min(numbers[3:])
# sphinx_gallery_table = "rows"

# %%
# If ``x`` requires grad
# ----------------------
# ``x.clone()`` adds a node to the graph, as the picture at the top shows. Detach ``x``
# first, and none is made; detach the result, and the node was made for nothing.

x.requires_grad_()
y, z = x.clone(), x.detach().clone()
print(f"{y.requires_grad = }, {z.requires_grad = }")
assert y.grad_fn and not z.grad_fn
# sphinx_gallery_lead = True
# sphinx_gallery_tensor_map = "x, y, z"

# %%
# Large tensors: fewer bytes, or another order
# --------------------------------------------
# A number takes four bytes in ``float32``, and two in ``bfloat16``. ``clone`` keeps
# the layout of a transposed tensor, so it copies the memory from end to end.
# ``contiguous`` puts the numbers in order row by row: it has to jump between them.

side = 1024 if device == "cpu" else 4096
wide = torch.randn(side, side, device=device)
half, turned = wide.bfloat16(), wide.t()
print(f"{wide.nbytes = }, {half.nbytes = }")
assert half.nbytes * 2 == wide.nbytes
assert turned.clone().stride() == turned.stride()
assert turned.contiguous().stride() == (side, 1)

# %%
# What they cost
# --------------
# The calls of a group take turns, as in :doc:`the lesson before <measure_a_copy>`.
# Each time is divided by that of the group's first call in the same round, which is
# 1×. "The same" means that the middle half of these ratios is not more than a fifth
# away from 1. On CUDA a large tensor has 16 million numbers: with fewer you would
# time the start of the copy.

cases = [
    ("x.detach().clone()", "requires grad", x),
    ("x.clone().detach()", "requires grad", x),
    ("x.clone()", "large", wide),
    ("x.clone()", "large, transposed", turned),
    ("x.contiguous()", "large, transposed", turned),
    ("x.clone()", "large, bfloat16", half),
]


def compare(group):
    timers = []
    for call, _, x in group:
        timers.append(Timer(call, globals={"x": x}))
    once = max(t.timeit(2).mean for t in timers)
    n = 1 + int(0.002 / once)
    rounds = int(np.clip(2 / once, 9, 99))
    times = np.empty((rounds, len(timers)))
    for row in times:
        row[:] = [t.timeit(n).mean for t in timers]
    ratios = times / times[:, :1]
    return np.percentile(ratios, [25, 50, 75], axis=0).T


# Once 16 MiB have been freed, Linux's C library keeps
# smaller blocks: all copies get memory the same way.
freed = torch.ones(2**22)
del freed
quarters_of = *compare(cases[:2]), *compare(cases[2:])
rows = []
for case, (low, mid, high) in zip(cases, quarters_of):
    row = {"call": case[0], "tensor": case[1]}
    row["time"] = f"{mid:.1f}×"
    if low <= 6 / 5 and high >= 5 / 6:
        row["time"] = "the same"
    rows.append(row)
rows[0]["time"] = rows[2]["time"] = "1×"
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that times"
# sphinx_gallery_table = "rows"

# %%
# Remember
# --------
# - A small copy costs roughly its operators: choose it by what it returns.
# - A large copy costs its bytes. What a new order of them adds, read in the table:
#   it depends on the machine.
