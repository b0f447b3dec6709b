"""Where tensors are found, what is observed of them, and the names they get."""

from __future__ import annotations

import doctest
import re
from collections import deque, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from programs import TEXT
from running import leaf
from tensor_maps import tensor_map
from tensor_maps.find import find
from tensor_maps.observe import observe
from torch import nn


@dataclass(slots=True)
class Batch:
    """One that has no dictionary."""

    rows: torch.Tensor


def entry(observed: dict, name: str) -> dict:
    return next(seen for seen in observed["tensors"] if name in seen["names"])


def test_data_are_a_copy_and_documented() -> None:
    w = leaf(1.0, 2.0)
    shown = tensor_map(w=w, y=(w * 2).sum(), a=np.zeros(3))
    data = shown.to_dict()
    parts = [data, *data["tensors"], *data["storages"]]
    parts += [window for one in data["storages"] for window in one["windows"]]
    keys = {key for part in parts for key in part}
    assert not [k for k in keys if not re.search(rf"\b{k}\b", observe.__doc__)]
    data["tensors"].clear()
    with torch.no_grad():
        w.fill_(9)
    assert len(shown.to_dict()["tensors"]) == 3 and "9" not in str(shown)


def test_ways_through_what_has_no_name_to_copies_and_to_where_a_walk_ended() -> None:
    w = leaf(1.0, 2.0)
    view, copy = w[1:], w.unsqueeze(0).clone()[0]
    observed = observe({"w": w, "view": view, "copy": copy, "other": copy.exp()})
    made = [seen["made_of"] for seen in observed["tensors"]]
    assert made == [[], [[0, False]], [[0, True]], []]
    first, second = (w * 2).unbind()
    observed = observe({"w": w, "a": first, "b": second, "c": first * second * w})
    assert [seen["flows"] for seen in observed["tensors"]][3] == [1, 2, 0]
    assert [seen["operation"] for seen in observed["tensors"]][1] == "UnbindBackward0"
    w = y = leaf(1.0)
    for _ in range(40):
        y = y * y  # of which there are 2**40 ways to w
    assert entry(observe({"y": y, "w": w}), "y")["flows"] == [1]
    for _ in range(2500):
        y = y + 1
    observed = observe({"y": y, "z": w * leaf(2.0), "w": w})
    assert entry(observed, "y")["reaches_more"]
    z = entry(observed, "z")
    assert (z["reaches"], z["reaches_unnamed"], z["reaches_more"]) == ([2], 1, False)


def test_tensors_are_found_in_containers_objects_modules_and_optimizers() -> None:
    x, net = torch.ones(2), nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    net.append(net[0])
    net.cache = [x]
    optimizer = torch.optim.SGD(net[:1].parameters(), lr=0.1, momentum=0.9)
    net[0](torch.ones(1, 1)).sum().backward()
    optimizer.step()
    pair = namedtuple("Pair", "first second")(x, [x])
    namespace = {
        "optimizer": optimizer, "x": x, "net": net, "q": deque([1, x]), "pair": pair,
        "d": {"a": {0: (x,)}, (1, "b"): x, x: x}, "best": torch.ones(2, 2).max(0),
        "run": SimpleNamespace(net=net, optimizer=optimizer, x=x, step=1), "_": x,
        "In": [x], "long": [1.0] * 10**6, "many": [x] * 250,
    }  # fmt: skip
    namespace["batch"] = Batch(x)
    namespace["loop"] = [namespace["d"]]
    namespace["loop"].append(namespace["loop"])
    found = find(namespace, {"optimizer"})
    tensors = {f"net.{name}" for name in net.state_dict(keep_vars=True)}
    state = {
        f"optimizer.state[net.0.{n}]['momentum_buffer']" for n in ("weight", "bias")
    }
    inside = {"['a'][0][0]", "[(1, 'b')]", "[x]"}
    many = {f"many[{n}]" for n in (*range(50), *range(200, 250))}
    assert {*found.values} == tensors | state | many | {
        *("x", "q[1]", "pair.first", "pair.second[0]", "best.values", "best.indices"),
        *("net.cache[0]", "run.x", "batch.rows"),
        *(f"{name}{path}" for name in ("d", "loop[0]") for path in inside),
    }
    assert found.asked == state
    assert found.more == 150
    ranks = [found.ranks[name] for name in ("x", "q[1]", "net.0.bias", "run.x")]
    assert ranks == [1, 2, 3, 4]
    alone = torch.optim.SGD([x.requires_grad_()], lr=0.1, momentum=0.9)
    alone.state[x]["momentum_buffer"] = torch.zeros(2)
    assert list(find({"alone": alone}).values) == [
        *("alone.param_groups[0]['params'][0]", "alone.state[0]['momentum_buffer']")
    ]


@pytest.mark.filterwarnings("ignore")  # of prototypes
def test_names_what_is_left_out_and_what_has_no_memory_of_its_own() -> None:
    exec(TEXT["begin"], globs := {"leaf": leaf})
    assert doctest.testfile("named.txt", globs=globs).failed == 0
