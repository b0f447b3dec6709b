"""Random programs that have what readers' programs have, as source text.

A statement is tried before it is kept: a program goes on, and where a statement raises
it stands in a ``try``, or at the end.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from independent import is_readable

BEGIN = """\
import copy
import numpy as np
import torch
from torch import nn
torch.manual_seed(0)
class Box:
    pass
class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)
    def __init__(self, x):
        self.inner = x
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        args = [x.inner if isinstance(x, Wrapper) else x for x in args]
        return function(*args, **(kwargs or {}))
def shifted(x):
    y = x * 2
    y += 1
    return y.view(-1)
def filled(x):
    x.fill_(3)
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = torch.arange(6.0).reshape(2, 3)
"""
NAMES = ("a", "b", "c", "d", "e", "h", "k", "m")
# Of each kind how often it is taken, and its statements: {t} and {u} are tensors that
# are there, {r} an array, {q} a list, {o} a dict; {n} and {v} are names to bind.
KINDS = (
    (2, """\
{n} = torch.tensor([{i}.5, 2.0, -1.0], requires_grad=True)
{n} = torch.arange(6.0).reshape(2, 3) + {i}
{n} = torch.tensor([50256, {i}, 7])
{n} = torch.tensor([{i} + 2j, 3 - 1j])
{n} = torch.tensor([[{i} - 1j, 2j]], requires_grad=True)
{n} = torch.zeros(3)
{n} = torch.ones(2, 3, dtype=torch.float64)
{n} = torch.full((40, 40), {i}.0)
{n} = torch.full((50, 40), {i}.0, requires_grad=True)
{n} = np.full(1200, {i}.0)
{n} = np.arange(6.0) * {i}
{n} = np.zeros(3, dtype=[('x', '<f4'), ('y', '<f4')])['y']"""),
    (3, """\
{n} = {t} * 2
{n} = {t} + {u}
{n} = ({t} * {u}).sum()
{n} = {t}.exp().mean()
{n} = {t}.abs()
{n} = shifted({t})
{n} = torch.cat([{t}.reshape(-1), {u}.reshape(-1)])
{n} = torch.stack([{t}, {t}])
with torch.no_grad():\v{n} = {t} * 3"""),
    (3, """\
{n} = {t}.clone()
{n} = {t}.detach().clone()
{n} = {t}.t().contiguous()
{n} = {t}.contiguous()
{n} = copy.deepcopy({t})
{n} = torch.tensor({t}.tolist())
{n}, {v} = {t}.clone(), {u}.clone()
{n} = dict(k={t}.clone(), m={u}.clone())
{n} = [x.clone() for x in {q}]
{n} = {t}.half()
{n} = {t}.int()
{n} = {t}.double()
{n} = {t}.to(torch.bfloat16)
{n} = {r}.copy()
{n} = {r}.astype('f4')"""),
    (5, """\
{n} = {t}[1:]
{n} = {t}[::2]
{n} = {t}.view(-1)
{n} = {t}.t()
{n} = {t}[0]
{n} = {t}.unsqueeze(0)
{n} = {t}.reshape(-1)[1:]
{n} = {t}.unsqueeze(0).expand(2, *{t}.shape)
{n}, {v} = {t}[0], {t}[1]
{n} = {t}.unbind()
{n} = {t}.conj()
{n} = {t}.real
{n} = {t}.imag
{n} = torch.view_as_real({t})
{n} = {r}[1:]
{n} = {r}[::-1]
{n} = torch.from_numpy({r})
{n} = torch.from_numpy({r}[1:])
{n} = torch.as_tensor({r})"""),
    (2, """\
{n} = {t}.detach()
{n} = {t}.data
{n} = {t}.detach()[1:]
{n} = {t}.detach().numpy()
{n} = {t}.data.numpy()[1:]"""),
    (6, """\
{t} += 1
{t}.mul_(2)
{t}[0] = 7.0
{t}.data.add_(1)
{t}.data[-1] = {i}.0
{t}.data.view(-1)[-2:] -= 0.5
{t}.detach().numpy()[0] = {i}.0
{t}.detach().numpy().reshape(-1)[-1] += 3
{t}.detach().view(-1)[-1] = 11.0
{t}.copy_({u})
torch.add({t}, 1, out={u})
filled({t})
with torch.no_grad():\v{t}.add_({i})
{t} -= {t}[:, :1]
{t} += {t}[0]
{t}[1:] += {t}[:-1]
{t}.data[:1] *= {t}.data[1:]
{r} += 1
{r}[-1] = {i}.0
{r}[1:] *= 2
np.add({r}, 1, out={r})"""),
    (2, """\
{t}.t_()
{t}.unsqueeze_(0)
{t}.resize_({t}.numel() // 2)
{t}.set_({u})
{t}.data = {u}.data
{t}.data = {t}.data.double()
{t}.data = {t}.data[:1]"""),
    (5, """\
{t}.sum().backward()
({t} * {u}).sum().backward()
({t} * {t}).mean().backward()
{t}.backward()
{t}.grad.mul_(0.5)
{t}.grad.data.add_(1)
{t}.grad = None
{t}.grad.zero_()
{t}.grad = torch.ones_like({t})
{t}.requires_grad_(False)
{t}.requires_grad_()
{t}.retain_grad()
{t}.data -= 0.1 * {t}.grad
{n} = {t}.grad"""),
    (6, """\
{n} = [{t}, {u}.detach()]
{n} = [{t}[k:] for k in range(2)]
{n} = {{'k': {t}, 'm': {u}}}
{n} = ({t}, {u})
{q}[0] += 1
{q}[0] = {t}
{q}[1].data.mul_(2)
{q}.append({t})
{o}['k'].data.mul_(2)
{o}['m'] = {t}.clone()
box = Box()
box.w = {t}
box.w = {t}[1:]
box.w.data.add_(1)"""),
    (1, """\
{n} = torch.ones(2, 3, device='meta')
{n} = {t}.to('meta')
{n} = torch.eye(3).to_sparse()
{n} = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
{n} = {t}.values()
{n} = Wrapper({t})"""),
    (3, """\
del {t}
del {r}
{n} = {t}
{t}, {u} = {u}, {t}
print({t}.sum().item())
print('some text')
assert {t} is not None
{t} @ torch.ones(7)
{t}.view(17)
{n} = 5"""),
)  # fmt: skip
# What is done with a module, once there is one.
NET = (
    8,
    """\
net = nn.Linear(3, 2)
net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
net(torch.arange(6.0).reshape(2, 3)).sum().backward()
{n} = net(torch.ones(2, 3))
opt.step()
opt.zero_grad()
next(net.parameters()).data.mul_(0.5)
nn.utils.clip_grad_norm_(net.parameters(), 0.1)
net.requires_grad_(False)
net.double()
net.half()
net.float()
state = net.state_dict()
best = {{k: x.clone() for k, x in net.state_dict().items()}}
net.load_state_dict(best)
twin = copy.deepcopy(net)""",
)
BEGUN = """\
net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)"""
KIND_OF = {"t": torch.Tensor, "u": torch.Tensor, "r": np.ndarray, "q": list, "o": dict}
MADE = {"best", "box", "net", "opt"}
MANY = "globals().update({f'x{k}': torch.full((2,), float(k)) for k in range(45)})"
SURE = "try:\n{}\nexcept Exception as wrong:\n    print(type(wrong).__name__)"


def _filled(chance: random.Random, namespace: dict[str, Any]) -> str:
    """Return a statement that names what is there, or nothing."""
    kinds = (*KINDS, NET) if "net" in namespace else KINDS
    ((_, texts),) = chance.choices(kinds, [weight for weight, _ in kinds])
    text = chance.choice(texts.split("\n")).replace("\v", "\n    ")
    if any(re.search(rf"\b{one}\b(?! =)", text) for one in MADE - namespace.keys()):
        return ""
    fills = dict(zip("nv", chance.sample(NAMES, 2), strict=True))
    for letter, kind in KIND_OF.items():
        found = [n for n in NAMES if isinstance(namespace.get(n), kind)]
        if not found and f"{{{letter}" in text:
            return ""
        fills[letter] = chance.choice(found or [""])
    return text.format(i=chance.randint(2, 9), **fills)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def random_program(seed: int) -> str:
    """Return a program of 5 to 15 statements; of one number, always the same."""
    chance = random.Random(seed)
    namespace: dict[str, Any] = {}
    begin = BEGIN + (BEGUN if chance.random() < 0.2 else "")
    exec(begin, namespace)
    lines = [begin.rstrip("\n")]
    wanted, many = chance.randint(5, 15), chance.random() < 0.1
    at_the_end = chance.random() < 0.1

    def raises(text: str) -> bool:
        with quiet():
            try:
                exec(text, namespace)
            except Exception:
                return True
        return False

    while len(lines) <= wanted:
        if many and len(lines) == wanted // 2:
            raises(MANY)
            lines.append(MANY)
        text = _filled(chance, namespace)
        if not text:
            continue
        if chance.random() < 0.12:
            body = [text, *filter(None, [_filled(chance, namespace)])]
            head = f"for turn in range({chance.choice((2, 3, 5))}):\n"
            # A statement may hold in the first turn only.
            text = head + "\n".join(_indented(SURE.format(_indented(t))) for t in body)
        last = len(lines) == wanted
        if not raises(text) or (last and at_the_end):
            lines.append(text)
        elif chance.random() < 0.2:
            lines.append(SURE.format(_indented(text)))
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Yield what is printed; what PyTorch warns of is not at issue."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as text:
        warnings.simplefilter("ignore")
        yield text


def named_by(seed: int) -> dict[str, Any]:
    """Return what can be read of the plain names that a program ends with."""
    namespace: dict[str, Any] = {}
    with quiet(), contextlib.suppress(Exception):
        exec(random_program(seed), namespace)
    return {n: v for n, v in namespace.items() if n in NAMES and is_readable(v)}
