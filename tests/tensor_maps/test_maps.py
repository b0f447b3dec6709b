"""Where tensors are found, what is observed of them, and the names they get."""

import doctest
import re

import numpy as np
import pytest
import torch
from programs import TEXT
from running import leaf
from tensor_maps import tensor_map
from tensor_maps.observe import observe


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


@pytest.mark.filterwarnings("ignore")  # of prototypes
def test_what_is_found_how_it_is_named_and_what_is_said_of_no_memory() -> None:
    exec(TEXT["begin"], globs := {"leaf": leaf})
    assert doctest.testfile("named.txt", globs=globs).failed == 0
