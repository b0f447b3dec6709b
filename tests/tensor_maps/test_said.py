"""What steps say: each sentence, event and changed name of programs, as they stand."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from running import ran, told
from tensor_maps import Steps, steps
from torch import nn

# Below a statement stand the event of its step, the names that changed and what it
# says; of several turns between bars. Where nothing stands, one name alone is new.
PROGRAMS = {
    "memory and gradient": """
w = torch.tensor([1.0, 2.0], requires_grad=True)
z = w.detach()
#: cut z: z shares w's memory. No gradient flows back through z.
z[0] = 5.0
#: written w z: w and z now hold [5, 2]: they share memory.
v = w.clone()
#: appears v: v is a copy of w, with its own memory; a gradient flows back to w.
loss = (w * w).sum()
#: appears loss: loss comes from w: a gradient flows back to w.
loss.backward()
#: gradient w: w.grad is now [10, 4].
same = z
#: shares same: same is the same tensor as z.
b = torch.ones(2)
b.requires_grad_()
#: changes b: b now requires grad.
z = z.clone()
#: appears z: z is now a different tensor, with its own memory.
del v
#: changes: v no longer exists.
print("done")
#: None: It prints 1 line. Nothing that has a name here changes.
k = 1
#: nothing
assert k
#: None: The assertion holds.
import math, os.path as path
#: None: math and path are imported.
""",
    "copies and cuts": """
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0])
c = x.clone()
#: appears c: c is a copy of x, with its own memory.
d = x.double().float()
#: appears d: d is a copy of x, with its own memory.
e = x.float() * 2
f = w.detach().clone()
#: cut f: f is a copy of w, with its own memory. No gradient flows back through f.
g = w.detach() * x
h = w.detach() * 2
#: cut h: h is new, with its own memory. No gradient flows back through h.
m = x[:1]
#: shares m: m shares x's memory.
n = x.numpy()
#: shares n: n shares memory with x and m.
p = torch.from_numpy(n)[1:]
#: shares p: p shares memory with n, x and m.
q = [w, x[1:]]
#: shares q[0] q[1]: q[0] is the same tensor as w. q[1] shares memory with x, m and 2
#: more.
y, u = w[0], x[0]
#: shares y u: y shares memory with w and q[0], and a gradient flows back to w. u
#: shares memory with x, m and 3 more.
""",
    "writes": """
a, b = torch.ones(2), torch.ones(2)
#: appears a b: a and b are new, with their own memory.
torch._foreach_add_([a, b], 1)
#: written a b: a and b now hold [2, 2].
torch._foreach_mul_([a, b], [2.0, 3.0])
#: written a b: a now holds [4, 4] and b now holds [6, 6].
v = a[1:]
#: shares v: v shares a's memory.
v.data += 1
#: written a v: a now holds [4, 5] and v now holds [5]: they share memory.
s = a
#: shares s: s is the same tensor as a.
s.zero_()
#: written a v s: a now holds [0, 0], v now holds [0] and s now holds [0, 0]: they
#: share memory.
n = b.numpy()
#: shares n: n shares b's memory.
n[1] = 8
#: written b n: b and n now hold [6, 8]: they share memory.
f = torch.zeros(2)
f += 3.14159265
#: written f: f now holds [3.142, 3.142].
i = torch.tensor([50256, 50257])
i[0] = 50258
#: written i: i now holds [50258, 50257].
big = torch.zeros(300)
big.data[7] = 1
#: written big: big now holds other values.
w = torch.ones(2, requires_grad=True)
w.detach().add_(0)
#: changes w: w's version counter is now 1.
""",
    "gradients": """
w = torch.ones(2, requires_grad=True)
f = torch.ones(2)
(w * 2).sum().backward()
#: gradient w: w.grad is now [2, 2].
w.requires_grad_(False)
#: changes w: w no longer requires grad.
w.grad.add_(1)
#: gradient w: w.grad is now [3, 3].
f.grad = torch.zeros(2)
#: gradient f: f.grad is now [0, 0].
f.grad += 1
#: gradient f: f.grad is now [1, 1].
f.grad = f.grad.clone()
#: nothing
f.grad = None
#: changes f: f.grad is now None.
v = torch.ones(9000, requires_grad=True)
(v * 2).sum().backward()
#: gradient v: v now has a gradient.
v.grad.mul_(0.5)
#: gradient v: v.grad now holds other values.
nn.utils.clip_grad_norm_([v], 1.0)
#: gradient v: v.grad now holds other values.
v.grad.data.zero_()
#: gradient v: v.grad now holds other values.
g = v.grad
g.data[8999] = 1
#: written v g: v.grad now holds other values. g now holds other values.
h = v[:2] * 3
#: appears h: h comes from v: a gradient flows back to v.
h.retain_grad()
#: changes h: h will keep its gradient.
h.sum().backward()
#: gradient v g h: h now has a gradient. v.grad now holds other values. g now holds
#: other values.
v = h = g = None
#: changes: v, g and h no longer exist.
""",
    "leaves": """
w1, w2, w3, w4 = (torch.ones(1, requires_grad=True) for _ in range(4))
#: appears w1 w2 w3 w4: w1, w2 and 2 more are new, with their own memory.
y = w1 * 2
#: appears y: y comes from w1: a gradient flows back to w1.
y = w1 * w2
#: appears y: y comes from w1 and w2: gradients flow back to both.
y = w1 * w2 * w3
#: appears y: y comes from w1, w2 and w3: gradients flow back to all of them.
y = w1 * w2 * w3 * w4
#: appears y: y comes from w1, w2 and 2 more: gradients flow back to all of them.
y = w1 + torch.ones(1, requires_grad=True)
#: appears y: y comes from w1 and a leaf without a name: gradients flow back to both.
y = nn.Linear(2, 1)(torch.ones(2))
#: appears y: y comes from 2 leaves without a name: gradients flow back to both.
net = nn.Linear(2, 1)
#: appears net.weight net.bias: net.weight and net.bias are new, with their own
#: memory.
out = net(torch.ones(2))
#: appears out: out comes from net.weight and net.bias: gradients flow back to both.
for _ in range(2100): out = out + 1
#: appears out: out comes from a graph too deep to follow: no leaf was reached.
z = out * 2
#: appears z: z comes from a graph too deep to follow: no leaf was reached.
""",
    "form": """
t = torch.arange(6.0).reshape(2, 3)
t.t_()
#: changes t: t now has shape (3, 2).
t.data = torch.ones(4)
#: changes t: t now uses different memory, with shape (4,).
t.requires_grad_()
#: changes t: t now requires grad.
u = t * 2
#: appears u: u comes from t: a gradient flows back to t.
u.retain_grad()
#: changes u: u will keep its gradient.
u.add_(1)
#: written u: u now holds [3, 3, 3, 3].
t.requires_grad_(False)
#: changes t: t no longer requires grad.
e = torch.ones(0)
#: appears e: e is new: empty, no memory.
m = torch.ones(2, device="meta")
#: appears m: m is new on meta, with its own memory.
s = torch.eye(2).to_sparse()
#: appears s: s is new: no storage of its own (layout sparse_coo, Tensor).
net = nn.Linear(2, 2)
#: appears net.weight net.bias: net.weight and net.bias are new on cpu, with their
#: own memory.
net.double()
#: changes net.weight net.bias: net.weight and net.bias now use different memory,
#: with dtype float64.
t = t.detach()
#: appears t: t is now a different tensor on cpu, with its own memory.
a = np.ones(2)
#: appears a: a is new on cpu, with its own memory.
a = a * 1
#: appears a: a is now a different array on cpu, with its own memory.
r = np.zeros(3, dtype=[("x", "<f4"), ("y", "<f4")])["y"]
#: appears r: r is new on cpu, with its own memory.
r[1] = 2
#: written r: r now holds [0, 2, 0].
""",
    "items": """
q = [torch.full((1,), float(k)) for k in range(4)]
#: appears q[0] q[1] q[2] q[3]: q[0], q[1] and 2 more are new, with their own memory.
del q[0]
#: changes q[0] q[1] q[2]: 3 items of q moved up: q[0] was q[1]. q[3] no longer
#: exists.
q[0], q[1] = q[1], q[0]
#: changes q[0] q[1]: 2 items of q moved within it: q[0] was q[1].
q.insert(0, q.pop())
#: changes q[0] q[1] q[2]: 3 items of q moved within it: q[0] was q[2].
q.append(q[0][:])
#: shares q[3]: q[3] shares q[0]'s memory.
d = {"a": q[0], 1: torch.ones(1), (1, 2): torch.zeros(1)}
#: shares d['a'] d[1] d[(1, 2)]: d['a'] is the same tensor as q[0]. d[1] and d[(1,
#: 2)] are new, with their own memory.
d["a"] += 1
#: written q[0] q[3] d['a']: q[0], q[3] and d['a'] now hold [4]: they share memory.
""",
    "what else may write": """
from types import SimpleNamespace
#: None: SimpleNamespace is imported.
w, ks = torch.zeros(3000), [1, 2]
v, low = torch.zeros(4), np.zeros((90, 90))
#: appears v low: v and low are new, with their own memory.
def update(): w.data.add_(1)
#: None: update is defined.
def updates():
    v.data.add_(1)
    yield 1
#: None: updates is defined.
update()
#: written w: w now holds other values.
for k in updates(): pass
#: written v: v now holds [1, 1, 1, 1].
k = max(k, 2)
#: nothing
k = [k for _ in updates()]
#: written v: v now holds [2, 2, 2, 2].
k = 1; w.data += 1; u = w[:2]
#: written w u: w now holds other values. u shares w's memory.
low[::3, 7] = 2
#: written low: low now holds other values.
part = low[::-5, ::-2]
#: shares part: part shares low's memory.
part[0, 1] = 5
#: written low part: low and part now hold other values: they share memory.
tail = w[2500:]
#: shares tail: tail shares memory with w and u.
head = w[:10]
#: shares head: head shares memory with w, u and tail.
tail.data[3] = 7
#: written w tail: w and tail now hold other values: they share memory.
box = SimpleNamespace(w=head, deep=[{"k": v}])
#: shares box.w box.deep[0]['k']: box.w and box.deep[0]['k'] are the same tensors as
#: head and v.
box.deep[0]["k"].data[1] = 9
#: written v box.deep[0]['k']: v and box.deep[0]['k'] now hold [2, 9, 2, 2]: they are
#: the same tensor.
x = torch.zeros(100, 100)
column = x.t()[3]
#: shares column: column shares x's memory.
x.data[:, 4] = 1
#: written x: x now holds other values.
x.data[7, 3] = 1
#: written x column: x and column now hold other values: they share memory.
far = torch.zeros(2000, 2000)
view = far[::2, ::2]
#: shares view: view shares far's memory.
view.t().data += 1
#: written far view: far and view now hold other values: they share memory.
wide = torch.zeros(1).expand(10**12)
wide.data[:1] = 1
#: written wide: wide now holds other values.
words = np.array(["a", "b"])
words[1] = "c"
#: written words: words now holds [a, c].
""",
    "modules and optimizers": """
net = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
#: appears net.0.weight net.0.bias net.1.weight net.1.bias net.1.running_mean
#: net.1.running_var net.1.num_batches_tracked: net.0.weight, net.0.bias and 5 more
#: are new, with their own memory.
for p in net.parameters(): p.data.fill_(0.5)
#: written net.0.weight net.0.bias net.1.weight net.1.bias p: net.0.weight,
#: net.0.bias and 2 more now hold other values. p is the same tensor as net.1.bias.
opt = torch.optim.SGD(net[:1].parameters(), lr=0.1, momentum=0.9)
#: nothing
heard = []
#: nothing
hook = net.register_forward_hook(lambda m, i, o: heard.append(o))
#: nothing
loss = net(torch.tensor([[1.0], [3.0]])).square().sum()
#: written net.1.running_mean net.1.running_var net.1.num_batches_tracked heard[0]
#: loss: net.1.running_mean now holds [0.15], net.1.running_var now holds [0.95] and
#: net.1.num_batches_tracked now holds 1. heard[0] and loss come from net.0.weight,
#: net.0.bias and 2 more: gradients flow back to all of them.
loss.backward()
#: gradient net.0.weight net.0.bias net.1.weight net.1.bias p: net.0.weight,
#: net.0.bias and 3 more now have a gradient.
opt.step()
#: written net.0.weight net.0.bias opt.state[net.0.weight]['momentum_buffer']
#: opt.state[net.0.bias]['momentum_buffer']: net.0.weight now holds [[0.5]].
#: opt.state[net.0.weight]['momentum_buffer'] and
#: opt.state[net.0.bias]['momentum_buffer'] are new, with their own memory.
#: net.0.bias's version counter is now 2.
opt.state[net[0].weight]["momentum_buffer"].zero_()
#: written opt.state[net.0.weight]['momentum_buffer']:
#: opt.state[net.0.weight]['momentum_buffer'] now holds [[0]].
opt.zero_grad()
#: changes net.0.weight net.0.bias: net.0.weight.grad is now None and net.0.bias.grad
#: is now None.
table = {"out": heard[0].detach()}
#: cut table['out']: table['out'] shares heard[0]'s memory. No gradient flows back
#: through table['out'].
state = net.state_dict()
#: cut state['0.weight'] state['0.bias'] state['1.weight'] state['1.bias']
#: state['1.running_mean'] state['1.running_var'] state['1.num_batches_tracked']:
#: state['0.weight'], state['0.bias'] and 2 more share memory with net.0.weight,
#: net.0.bias and 3 more. No gradient flows back through them.
#: state['1.running_mean'], state['1.running_var'] and state['1.num_batches_tracked']
#: share memory with net.1.running_mean, net.1.running_var and
#: net.1.num_batches_tracked.
net[1].running_mean.zero_()
#: written net.1.running_mean state['1.running_mean']: net.1.running_mean and
#: state['1.running_mean'] now hold [0]: they share memory.
best = torch.ones(2, 2).max(0)
#: appears best.values best.indices: best.values and best.indices are new, with their
#: own memory.
best.values.add_(1)
#: written best.values: best.values now holds [2, 2].
net.float()
#: nothing
""",
    "loops": """
x = torch.zeros(1)
for i in range(2):
    for j in range(3):
        x += 1
#: written x: x now holds [1]. | written x: x now holds [2]. | written x: Iteration
#: 3: x now holds [3]. | written x: x now holds [4]. | written x: x now holds [5]. |
#: written x: Iteration 3: x now holds [6].
for k in range(6):
    if k == 9:
        break
    print(k)
#: 3 times None: It prints 1 line. Nothing that has a name here changes.
    try:
        x.view(7)
#: 3 times raises: It raises RuntimeError.
    except RuntimeError:
        pass
#: 3 times nothing
    finally:
        y = x + k
#: appears y: y is new, with its own memory. | appears y: y is now a different
#: tensor, with its own memory. | appears y: y is now a different tensor, with its
#: own memory. | raises y: Iterations 4–6: It raises RuntimeError. y is now a
#: different tensor, with its own memory.
while x < 8:
    x.add_(
        1,
    )
#: written x: x now holds [7]. | written x: x now holds [8].
else:
    z = x
#: shares z: z is the same tensor as x.
for k in [1]: x += 1
#: written x z: x and z now hold [9]: they are the same tensor.
with torch.no_grad():
    t = [v.clone() for v in (x, y)]
#: appears t[0] t[1]: t[0] is a copy of x, with its own memory. t[1] is a copy of y,
#: with its own memory.
""",
    "many": """
many = [torch.ones(1) for _ in range(150)]
#: appears 100 names: many[0], many[1] and 38 more are new, with their own memory.
#: many[40], many[41] and 58 more are new.
many[-1] += 1
#: written many[149]: many[149] now holds [2].
k = 1
#: None: Nothing that has a name here changes. 50 more items of long lists, dicts or
#: objects were not looked at.
few = {k: torch.ones(1) for k in range(150)}
#: appears 100 names: few[0], few[1] and 38 more are new, with their own memory.
#: few[40], few[41] and 58 more are new.
few[149] += 1
#: written few[149]: few[149] now holds [2].
few[100] += 1
#: written few[100]: few[100] now holds [2].
""",
    "late": """
a, b, c = (torch.zeros(2**20) for _ in range(3))
#: appears a b c: a, b and c are new, with their own memory.
def update(): a.data.add_(1), b.data.add_(1), c.data.add_(1)
#: None: update is defined.
update()
#: written a b: a and b now hold other values.
k = 1
#: nothing
c.sum()
#: written c: c holds other values; it was last read 2 statements before.
s = torch.zeros(2**21)
s.data.add_(1)
#: written s: s now holds other values.
s.data[2**20 + 17] = 5
#: None: Nothing that has a name here changes. s (8 MiB) was read in samples only.
""",
}


NOTHING = "None: Nothing that has a name here changes."


def written_of(step: dict) -> str:
    names = step["changed"]
    few = " ".join(names) if len(names) <= 8 else f"{len(names)} names"
    begin = f"{step['event']} {few}".strip()
    text = f"{begin}: {step['said']}"
    return "nothing" if text == NOTHING else text


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_is_told(program: str) -> None:
    wanted: dict[int, str] = {}
    at = 0
    for number, line in enumerate(program.split("\n"), 1):
        at = at if line.startswith("#: ") else number
        wanted[at] = f"{wanted.get(at, '')} {line[3:] if at < number else ''}".strip()
    steps_at: dict[int, list[str]] = {}
    data = ran(program).data()
    for step in data["steps"]:
        steps_at.setdefault(step["last"], []).append(written_of(step))
    for at, here in steps_at.items():
        said = " | ".join(here)
        if len(here) > 1 == len({*here}):
            said = f"{len(here)} times {here[0]}"
        new = re.fullmatch(r"appears (\S+): \1 is new, with its own memory\.", said)
        there = wanted.pop(at)
        assert said == there or (not there and new), (data["code"][at - 1], said)
        assert there or data["code"][at - 1].startswith(new[1])
    assert "".join(wanted.values()) == "", "of these there are no steps"


def test_the_turns_that_are_told() -> None:
    data = ran(PROGRAMS["loops"]).data()
    found = [(data["code"][s["first"] - 1].strip(), s["turn"]) for s in data["steps"]]
    inner = [turn for code, turn in found if code == "x += 1"]
    assert inner == [
        [[1, 2], [1, 3]],
        [[1, 2], [2, 3]],
        [[2, 2], [1, 3]],
        [[2, 2], [2, 3]],
    ]
    rest = [turn for code, turn in found if code == "for j in range(3):"]
    assert rest == [[[k, 2], [3, 3]] for k in (1, 2)]
    collapsed = next(step for step in data["steps"] if step["turn"] == [[6, 6]])
    assert collapsed["note"].startswith("iterations 4–6 in one step")
    assert collapsed["printed"] == "3\n4\n5\n"
    assert [turn for code, turn in found if code == "x.add_("] == [[[1, 2]], [[2, 2]]]


def changed(seen: Steps) -> list[set[str]]:
    return [set(step["changed"]) for step in seen.data()["steps"]]


def test_options_of_steps() -> None:
    source = """
        w, z = torch.ones(2), torch.ones(2)
        for i in range(6):
            w += 1
        big = torch.zeros(5000)
        big.data[17] = 1
    """
    assert set().union(*changed(ran(source, names=["w"]))) == {"w"}
    assert set().union(*changed(ran(source, exclude=["w"]))) == {"z", "big"}
    for turns in (1, 3, 5):
        assert changed(ran(source, turns=turns)).count({"w"}) == turns + 1
    last = ran(source, read_bytes=0)[-1]
    assert last.said.endswith("big (19.53 KiB) was checked by version only, not read.")


def test_what_is_left_out_is_said() -> None:
    net = nn.Sequential(*[nn.Linear(1, 1) for _ in range(1500)])
    seen = ran("net[49].bias.data.fill_(3)\na = 1\nb = torch.ones(1)", {"net": net})
    assert changed(seen) == [{"net.49.bias"}, set(), {"b"}]
    assert told(seen)[1] == (
        "No tensor among the 1000 of 3000 names that were looked at changes."
    )
    long = ran("\n".join(f"a{n} = {n}" for n in range(400)))
    assert "100 more steps are not shown" in long.data()["steps"][-1]["note"]
    assert repr(long).endswith("\n100 more steps not shown")


def test_beside_many_names_what_a_statement_names_is_drawn_and_told() -> None:
    many = {f"c{number}": torch.ones(1) for number in range(60)}
    net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(25)])
    seen = ran(
        """
        z = c0.view(1)
        c0 += 1
        x = torch.ones(4, 8)
        out = net(x).sum()
        out.backward()
        """,
        {**many, "net": net},
    )
    parameters = {f"net.{name}" for name, _ in net.named_parameters()}
    assert changed(seen) == [{"z"}, {"c0", "z"}, {"x"}, {"out"}, parameters]
    assert told(seen)[:2] == ["z shares c0's memory.", "c0 and z now hold [2]: "
                              "they share memory."]  # fmt: skip
    assert told(seen)[3].startswith("out comes from net.0.weight, net.0.bias and 48 ")
    for step, names in zip(seen.data()["steps"], seen.names_drawn(), strict=True):
        assert set(step["changed"]) <= set(names) or len(step["changed"]) > 5
    # What shares with what is written is in the picture too.
    assert {"z", "c0"} <= set(seen.names_drawn()[1])


def test_a_picture_shows_who_shares_and_marks_what_was_there() -> None:
    seen = ran("""
        w = torch.ones(2, requires_grad=True)
        other = w.detach()
        third = torch.ones(3)
        third = third[1:]
        other.mul_(2)
        w = torch.zeros(2)
    """)
    data = seen.data()
    drawn = seen.names_drawn(2)
    assert set(drawn[4]) == {"w", "other"} and set(drawn[1]) == {"w", "other"}
    pictures = [data["drawings"][step["drawing"]] for step in data["steps"]]
    assert ["tm-cell changed" in one for one in pictures] == [0, 0, 0, 0, 1, 0]
    captions = [data["captions"][step["drawing"]] for step in data["steps"]]
    assert captions[1] == (
        "w and other share one memory. No gradient flows back through other."
    )
    same = ran("a = torch.ones(1)\nb = a").data()
    assert same["captions"][-1] == "a and b are one object."


# What there is to look at -------------------------------------------------------------


class Pair(NamedTuple):
    """A named tuple."""

    a: Any
    b: Any


@dataclass(slots=True)
class Slots:
    """A data class without a dict."""

    w: Any


class Model:
    """Refers to itself, and holds what has no public name."""

    def __init__(self, x: torch.Tensor) -> None:
        self.w, self._m, self.me = x, x, self


class Net(nn.Module):
    """Holds a tensor that is neither a parameter nor a buffer."""

    def __init__(self, x: torch.Tensor) -> None:
        super().__init__()
        self.norm, self.hidden = nn.BatchNorm1d(1, affine=False), x


def test_tensors_are_found_by_their_path_and_no_code_is_run() -> None:
    class Loud(list):
        def __iter__(self) -> Any:
            raise AssertionError

        __len__ = __getitem__ = __getattribute__ = __str__ = __repr__ = __iter__

    class Property:
        @property
        def w(self) -> Any:
            raise AssertionError

    x = torch.arange(6.0).reshape(2, 3)
    namespace = {
        "p": Pair(x, x), "m": x.max(0), "pair": (1, (2, x)), "slots": Slots(x),
        "nested": {"a": {"b": x}}, "model": Model(x), "net": Net(x), "many": [x] * 7,
        "ds": torch.utils.data.TensorDataset(x), "_x": x, "_1": x, "loud": Loud([x]),
        "prop": Property(), "objects": np.empty(1, dtype=object),
    }  # fmt: skip
    namespace["objects"][0] = Loud()
    seen = ran("k = x * 2\nmodel.w.data += 1", {"x": x, **namespace})
    assert changed(seen)[1] == {
        *("x", "p.a", "p.b", "_x", "nested['a']['b']", "pair[1][1]", "slots.w"),
        *("model.w", "model._m", "net.hidden", "ds.tensors[0]", "loud[0]"),
        *(f"many[{n}]" for n in range(7)),
    }
    namespace["net"].norm.running_mean.add_(1)
    with steps() as within:
        namespace["net"].norm.running_var.add_(1)
    assert changed(within) == [{"namespace['net'].norm.running_var"}]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.eye(3).to_sparse(),
        torch.ones(2, device="meta"),
        torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
        torch.ones(2, dtype=torch.complex64).conj(),
        torch.ones(2).to(torch.float8_e4m3fn),
        np.ma.masked_array([1.0, 2.0], [0, 1]),
        np.array(["2026-01-01"], dtype="M8[D]"),
        np.broadcast_to(np.float64(1), (10**6, 10**5)),
        np.lib.stride_tricks.sliding_window_view(np.arange(5.0), 3),
    ],
    ids=repr,
)
def test_any_tensor_is_new_once_and_then_as_before(tensor: Any) -> None:
    seen = ran("a = t\nk = 1\nlen('abc')", {"t": tensor})
    assert changed(seen) == [{"a"}, set(), set()]
    json.dumps(seen.data())


def test_steps_are_a_sequence_that_is_read_as_text() -> None:
    with steps("a title") as seen:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        z = w.detach()
        print("hello")
    assert len(seen) == 3 and told(seen) == [s["said"] for s in seen.data()["steps"]]
    assert seen[1].code == "z = w.detach()" and seen[1].lines == (2, 2)
    assert seen[-1].printed == "hello\n" and seen[0:2][1] == seen[1]
    rows = repr(seen).split("\n")
    assert rows[1].startswith("1  z = w.detach() ") and str(seen) == repr(seen)
    assert rows[1].endswith("z shares w's memory. No gradient flows back through z")
    with pytest.raises(IndexError, match="there is no step 3"):
        seen[3]
    assert z[0] == 1
    data = seen.data()
    assert (data["format"], data["title"]) == (2, "a title")
    assert data == json.loads(json.dumps(data))


def test_same_program_same_data() -> None:
    one, other = (ran(PROGRAMS["copies and cuts"]).data() for _ in range(2))
    assert json.dumps(one) == json.dumps(other)
    assert not re.search(r"0x|\d{12,}", json.dumps(one))


def test_code_of_a_block_is_shown_as_it_stands() -> None:
    with steps("mine") as seen:
        x = torch.ones(2)

        y = x[
            :1
        ]  # fmt: skip
    data = seen.data()
    assert data["code"][:2] == ["x = torch.ones(2)", ""]
    assert [(s["first"], s["last"]) for s in data["steps"]] == [(1, 1), (3, 5)]
    assert y.item() == 1


def test_what_was_there_before_a_cell_is_left_out() -> None:
    namespace = {"torch": torch, "old": torch.ones(2), "kept": torch.ones(2)}
    source = "new = torch.zeros(2)\nkept = torch.zeros(2)\n"
    seen = Steps()
    seen.follow(source, namespace=namespace)
    exec(compile(source, "any name", "exec"), namespace)
    seen.stop()
    assert told(seen) == [
        "new is new, with its own memory.",
        "kept is now a different tensor, with its own memory.",
    ]
    drawn = set(itertools.chain(*seen.names_drawn()))
    assert drawn == {"new", "kept"}
