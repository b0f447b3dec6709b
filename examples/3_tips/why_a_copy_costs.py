# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6", "numpy", "matplotlib"]
# ///
"""
What makes a copy slow?
=======================

Small copies spend their time running operators, large ones moving bytes. On a CPU, the
largest also take time for page faults, often most of it.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_short_title = "What makes a copy slow"
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.benchmark import Timer

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# The size matters only for large tensors
# ---------------------------------------
# The chart shows the time of two copies, with one CPU thread. The title names the last
# size that takes under twice the shortest time. Up to there, the call that runs more
# operators takes longer. Where the lines rise, moving bytes takes most of the time. On
# a CPU, the step up to 64 MiB is often due to :doc:`page faults <pages_of_a_copy>`.

warnings.simplefilter("ignore")  # one warns
torch.set_num_threads(1)
nbytes = [4**k for k in range(1, 14)]
ways = "x.detach().clone()", "torch.tensor(x)"
times = {way: [] for way in ways}
for size in nbytes:
    about = {"x": torch.ones(size // 4, device=device)}
    for way in ways:
        timer = Timer(way, globals=about)
        time = timer.blocked_autorange
        runs = [time(0, 0.02).median for _ in "123"]
        times[way] += [1e6 * min(runs)]  # in µs
base, other = times.values()
limit = 2 * min(base)
pairs = zip(nbytes, base)
flat = max(b for b, us in pairs if us < limit) >> 10
for way in ways:
    plt.loglog(nbytes, times[way], label=way)
labels = ["4 B", "16 KiB", "64 MiB"]
plt.xticks([4, 2**14, 2**26], labels)
plt.yticks([1, 1e3, 1e5], ["1 µs", "1 ms", "100 ms"])
plt.title(f"Up to {flat} KiB the size hardly matters")
plt.xlabel("Size of x")
plt.ylabel("Time")
plt.legend()
plt.show()
assert min(other) > min(base)
assert base[-1] > 2 * base[0]
# sphinx_gallery_folded = "The code that times and draws"
# sphinx_gallery_lead = True

# %%
# Small tensors: count the operators
# ----------------------------------
# :class:`torch.profiler.profile` lists the operators that a call runs. They are the
# same in every run. Another device may add some. The last two calls run more operators
# than the other three. If valgrind is installed, ``Timer.collect_callgrind`` also
# counts instructions on the CPU.

copies = {
    "x.detach().clone()": lambda x: (  # node-free
        x.detach().clone()
    ),
    "x.clone().detach()": lambda x: (  # in the graph
        x.clone().detach()
    ),
    "torch.empty_like(x).copy_(x)": (  # two steps
        lambda x: torch.empty_like(x).copy_(x)
    ),
    "x.new_tensor(x)": lambda x: x.new_tensor(x),
    "torch.tensor(x)": lambda x: torch.tensor(x),
}
x = torch.ones(2, device=device)
ON_CPU = [ProfilerActivity.CPU]
rows = []
for call, copy in copies.items():
    with profile(activities=ON_CPU) as seen:
        copy(x)
    names = [one.name for one in seen.events()]
    found = [n[6:] for n in names if "aten" in n]
    row = {"call": call, "operators": len(found)}
    row["which they are"] = ", ".join(found)
    rows.append(row)
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
numbers = [row["operators"] for row in rows]
assert max(numbers[:3]) < min(numbers[3:])
# sphinx_gallery_folded = "The code that counts"
# sphinx_gallery_table = "rows"

# %%
# If ``x`` requires grad, ``x.clone()`` also makes a node of the graph. If you detach
# ``x`` first, autograd doesn't make a node (:doc:`../1_basics/clone_detach`).
#
# Large tensors: fewer bytes, or another order
# --------------------------------------------
# A number takes four bytes in ``float32``, and two in ``bfloat16``. ``clone`` keeps the
# strides of a transposed tensor, so it copies the memory from start to end.
# ``contiguous`` writes the numbers row by row, so it has to read from places that
# aren't neighbours. For a copy to or from a GPU see :doc:`copy_between_devices`.

side = 1024 if device == "cpu" else 4096
wide = torch.randn(side, side, device=device)
half, turned = wide.bfloat16(), wide.t()
print(f"{wide.nbytes = }, {half.nbytes = }")
assert half.nbytes * 2 == wide.nbytes
assert turned.clone().stride() == turned.stride()
assert turned.contiguous().stride() == (side, 1)

# %%
# How long do the large copies take?
# ----------------------------------
# The calls take turns, as in :doc:`measure_a_copy`, with one CPU thread. Each time is
# divided by the time of the first call. "The same" means that the middle half of these
# ratios overlaps with 5/6 to 6/5. On CUDA the tensors are larger. Otherwise the times
# would mostly show the cost of the calls.

cases = [
    ("x.clone()", "as made", wide),
    ("x.clone()", "transposed", turned),
    ("x.contiguous()", "transposed", turned),
    ("x.clone()", "bfloat16", half),
]
timers = []
for call, _, x in cases:
    known = {"x": x}
    timers.append(Timer(call, globals=known))
# Once 16 MiB have been freed, Linux's C library
# keeps smaller blocks: all get memory the same way.
freed = torch.ones(2**22)
del freed
once = max(t.timeit(2).mean for t in timers)
n = 1 + int(0.002 / once)
rounds = int(np.clip(2 / once, 9, 99))
times = np.empty((rounds, len(timers)))
for r in range(rounds):
    for c in np.roll(range(len(timers)), r):
        times[r, c] = timers[c].timeit(n).mean
ratios = times / times[:, :1]
parts = [0.25, 0.5, 0.75]
low, mid, high = np.quantile(ratios, parts, 0)
rows = []
for c, (call, tensor, _) in enumerate(cases):
    row = {"call": call, "tensor": tensor}
    row["time"] = f"{mid[c]:.1f}×"
    if high[c] < 5 / 6:
        row["time"] = f"{1 / mid[c]:.1f}× faster"
    if c and low[c] <= 6 / 5 and high[c] >= 5 / 6:
        row["time"] = "the same"
    rows.append(row)
rows[0]["time"] = "1×"
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
# sphinx_gallery_folded = "The code that times"
# sphinx_gallery_table = "rows"

# %%
# Remember
# --------
# - In a small copy, the number of operators matters, not the number of bytes.
# - A large copy takes time for each byte. Another order of the elements can take more
#   time, depending on the machine.
