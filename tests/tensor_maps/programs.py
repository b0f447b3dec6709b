"""Random programs that have what readers' programs have, as source text.

A statement is tried before it is kept: a program goes on, and where a statement raises
it stands in a ``try``, or at the end.
"""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

BEGIN = """\
import numpy as np
import torch
torch.manual_seed(0)
class Box:
    pass
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
# Each takes the names of tensors, of arrays, and one to bind.
NEW = (
    "{n} = torch.tensor([{i}.5, 2.0, -1.0], requires_grad=True)",
    "{n} = torch.arange(6.0).reshape(2, 3) + {i}",
    "{n} = torch.tensor([50256, {i}, 7])",
    "{n} = torch.full((40, 40), {i}.0)",
    "{n} = torch.full((50, 40), {i}.0, requires_grad=True)",
    "{n} = np.full(1200, {i}.0)",
    "{n} = np.arange(6.0) * {i}",
    "{n} = np.zeros(3, dtype=[('x', '<f4'), ('y', '<f4')])['y']",
)
MADE = (
    "{n} = {t} * 2",
    "{n} = {t} + {u}",
    "{n} = ({t} * {u}).sum()",
    "{n} = {t}.exp().mean()",
    "{n} = {t}.clone()",
    "{n} = {t}.detach().clone()",
    "{n} = shifted({t})",
    "{n} = torch.cat([{t}.reshape(-1), {u}.reshape(-1)])",
    "{n} = torch.stack([{t}, {t}])",
    "with torch.no_grad():\n    {n} = {t} * 3",
)
VIEWS = (
    "{n} = {t}[1:]",
    "{n} = {t}[::2]",
    "{n} = {t}.view(-1)",
    "{n} = {t}.t()",
    "{n} = {t}[0]",
    "{n} = {t}.unsqueeze(0)",
    "{n} = {t}.reshape(-1)[1:]",
    "{n} = {t}.unsqueeze(0).expand(2, *{t}.shape)",
    "{n}, {v} = {t}[0], {t}[1]",
    "{n} = {r}[1:]",
    "{n} = {r}[::-1]",
    "{n} = torch.from_numpy({r})",
    "{n} = torch.from_numpy({r}[1:])",
    "{n} = torch.as_tensor({r})",
)
CUTS = (
    "{n} = {t}.detach()",
    "{n} = {t}.data",
    "{n} = {t}.detach()[1:]",
    "{n} = {t}.detach().numpy()",
    "{n} = {t}.data.numpy()[1:]",
    "{n} = {r}.copy()",
)
WRITES = (
    "{t} += 1",
    "{t}.mul_(2)",
    "{t}[0] = 7.0",
    "{t}.data.add_(1)",
    "{t}.data[-1] = {i}.0",
    "{t}.data.view(-1)[-2:] -= 0.5",
    "{t}.detach().numpy()[0] = {i}.0",
    "{t}.detach().numpy().reshape(-1)[-1] += 3",
    "{t}.detach().view(-1)[-1] = 11.0",
    "{t}.copy_({u})",
    "torch.add({t}, 1, out={u})",
    "filled({t})",
    "with torch.no_grad():\n    {t}.add_({i})",
    "{r} += 1",
    "{r}[-1] = {i}.0",
    "{r}[1:] *= 2",
    "np.add({r}, 1, out={r})",
)
GRADIENTS = (
    "{t}.sum().backward()",
    "({t} * {u}).sum().backward()",
    "({t} * {t}).mean().backward()",
    "{t}.backward()",
    "{t}.grad.mul_(0.5)",
    "{t}.grad.data.add_(1)",
    "{t}.grad = None",
    "{t}.grad.zero_()",
    "{t}.grad = torch.ones_like({t})",
    "{t}.requires_grad_(False)",
    "{t}.requires_grad_()",
    "{t}.retain_grad()",
    "{t}.data -= 0.1 * {t}.grad",
    "{n} = {t}.grad",
)
HELD = (
    "{n} = [{t}, {u}.detach()]",
    "{n} = [{t}[k:] for k in range(2)]",
    "{n} = {{'k': {t}, 'm': {u}}}",
    "{n} = ({t}, {u})",
    "{q}[0] += 1",
    "{q}[0] = {t}",
    "{q}[1].data.mul_(2)",
    "{q}.append({t})",
    "{o}['k'].data.mul_(2)",
    "{o}['m'] = {t}.clone()",
    "box = Box()",
    "box.w = {t}",
    "box.w = {t}[1:]",
    "box.w.data.add_(1)",
)
NETS = (
    "net = torch.nn.Linear(3, 2)",
    "opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)",
    "net(torch.ones(2, 3)).sum().backward()",
    "{n} = net(torch.ones(1, 3))",
    "opt.step()",
    "opt.zero_grad()",
    "net.weight.data.mul_(0.5)",
    "torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)",
    "net.bias.requires_grad_(False)",
)
OTHERS = (
    "del {t}",
    "del {r}",
    "{n} = {t}",
    "{t}, {u} = {u}, {t}",
    "print({t}.sum().item())",
    "print('some text')",
    "assert {t} is not None",
    "{t} @ torch.ones(7)",
    "{t}.view(17)",
    "{n} = 5",
)
KINDS = (
    (NEW, 2),
    (MADE, 3),
    (VIEWS, 4),
    (CUTS, 3),
    (WRITES, 6),
    (GRADIENTS, 5),
    (HELD, 7),
    (NETS, 2),
    (OTHERS, 3),
)
MANY = "globals().update({f'x{k}': torch.full((2,), float(k)) for k in range(45)})"
SURE = "try:\n{}\nexcept Exception as wrong:\n    print(type(wrong).__name__)"


def _of(namespace: dict[str, Any], wanted: Callable[[Any], bool]) -> list[str]:
    return [n for n, v in namespace.items() if n in NAMES and wanted(v)]


def _filled(chance: random.Random, namespace: dict[str, Any]) -> str:
    """Return a statement that names what is there, or nothing."""
    ((texts, _),) = chance.choices(KINDS, [weight for _, weight in KINDS])
    kinds = {
        "t": lambda v: isinstance(v, torch.Tensor),
        "r": lambda v: isinstance(v, np.ndarray),
        "q": lambda v: isinstance(v, list),
        "o": lambda v: isinstance(v, dict),
    }
    found = {letter: _of(namespace, kind) for letter, kind in kinds.items()}
    text = chance.choice(texts)
    if any("{" + k in text and not names for k, names in found.items()):
        return ""
    names = {k: chance.choice(names) for k, names in found.items() if names}
    names |= {"u": chance.choice(found["t"])} if found["t"] else {}
    bound = dict(zip("nv", chance.sample(NAMES, 2), strict=True))
    try:
        return text.format(i=chance.randint(2, 9), **names, **bound)
    except KeyError:
        return ""


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def random_program(seed: int) -> str:
    """Return a program of 5 to 15 statements; of one number, always the same."""
    chance = random.Random(seed)
    namespace: dict[str, Any] = {}
    exec(BEGIN, namespace)
    lines = [BEGIN.rstrip("\n")]
    wanted, many = chance.randint(5, 15), chance.random() < 0.12
    at_the_end = chance.random() < 0.1

    def raises(text: str) -> bool:
        with contextlib.redirect_stdout(io.StringIO()):
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
        elif chance.random() < 0.3:
            lines.append(SURE.format(_indented(text)))
    return "\n".join(lines) + "\n"


def named_by(seed: int) -> dict[str, Any]:
    """Return the small tensors and arrays of plain names that a program ends with."""
    namespace: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        exec(random_program(seed), namespace)
    kinds = (torch.Tensor, np.ndarray)
    return {n: v for n, v in namespace.items() if n in NAMES and isinstance(v, kinds)}
