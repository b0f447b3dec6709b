"""A map says nothing false: one test for each thing that it once got wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensor_maps.compare import only
from tensor_maps.graph import MOST_WALKED
from tensor_maps.maps import tensor_map
from tensor_maps.observe import observe
from tensor_maps.words import describe
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


def entry(observed: dict, name: str) -> dict:
    return next(seen for seen in observed["tensors"] if name in seen["names"])


def window_of(observed: dict, name: str) -> dict:
    seen = entry(observed, name)
    number = observed["tensors"].index(seen)
    storage = observed["storages"][seen["storage"]]
    return next(w for w in storage["windows"] if w["tensor"] == number)


def reached_from(observed: dict, name: str) -> set[str]:
    leaves = (observed["tensors"][at] for at in entry(observed, name)["reaches"])
    return {one for leaf in leaves for one in leaf["names"]}


# A3: the leaves that a gradient reaches ---------------------------------------------


def test_leaves_are_found_beside_many_constants() -> None:
    x, w = torch.ones(1), torch.ones(1, requires_grad=True)
    others = {f"c{number}": torch.ones(1) for number in range(40)}
    y = (x * w + 1).sum()
    observed = observe({**others, "x": x, "w": w, "y": y}, limit=2)
    assert reached_from(observed, "y") == {"w"}
    assert "gradients flow to w." in describe(observed)
    part = only(observed, ["y"], 1)
    assert reached_from(part, "y") == {"w"}
    assert "gradients flow to w." in describe(part)


def test_a_deep_net_names_all_parameters() -> None:
    net = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(30)])
    loss = net(torch.ones(1, 2)).sum()
    observed = observe({**dict(net.named_parameters()), "loss": loss}, limit=16)
    assert reached_from(observed, "loss") == set(dict(net.named_parameters()))
    operations = [n for n in observed["nodes"] if n["kind"] == "operation"]
    assert len(operations) == 16
    alone = observe({"loss": loss}, limit=4)
    seen = entry(alone, "loss")
    assert len(seen["reaches"]) + seen["reaches_unnamed"] == 60
    assert "gradients flow to 60 unnamed leaves." in describe(alone)


def test_a_frozen_leaf_of_an_old_graph_is_reached() -> None:
    w = torch.ones(1, requires_grad=True)
    y = w * 2
    w.requires_grad_(False)
    observed = observe({"w": w, "y": y})
    assert reached_from(observed, "y") == {"w"}
    assert entry(observed, "w")["reaches"] == []


# A4: the gradient of what requires none ---------------------------------------------


def test_the_gradient_of_a_frozen_leaf_is_read() -> None:
    f, plain = torch.ones(2), torch.ones(2)
    f.grad = torch.zeros(2)
    observed = observe({"f": f, "plain": plain})
    assert entry(observed, "f")["gradient"] == "[0, 0]"
    assert entry(observed, "plain")["gradient"] is None
    assert "its grad is [0, 0]" in describe(observed)


# A6: integers -----------------------------------------------------------------------


def test_integers_are_exact() -> None:
    ids = torch.tensor([15496, 995, 50256])
    top = torch.tensor([2**64 - 1], dtype=torch.uint64)
    observed = observe({"ids": ids, "top": top, "a": np.array([100001, 100002])})
    assert entry(observed, "ids")["values"] == "[15496, 995, 50256]"
    assert entry(observed, "top")["values"] == "[18446744073709551615]"
    assert entry(observed, "a")["values"] == "[100001, 100002]"
    assert observed["storages"][0]["cells"] == ["15496", "995", "50256"]
    assert observe({"x": torch.tensor(3.14159)})["tensors"][0]["values"] == "3.142"


# A7: what does not divide -----------------------------------------------------------


def test_a_packed_field_is_told_in_bytes() -> None:
    s = np.zeros(3, dtype=[("k", "i1"), ("v", "<f4")])
    observed = observe({"s": s, "v": s["v"], "k": s["k"]})
    window = window_of(observed, "v")
    assert (window["offset"], window["strides"]) == (None, None)
    assert (window["offset_bytes"], window["stride_bytes"]) == (1, [5])
    assert window["runs"] == [[1, 5], [6, 10], [11, 15]]
    assert window_of(observed, "k")["runs"] == [[0, 1], [5, 6], [10, 11]]
    assert "offset 1 byte, shape (3,), stride 5 bytes" in describe(observed)


def test_an_unaligned_view_is_told_in_bytes() -> None:
    by = np.arange(8, dtype=np.uint8)
    observed = observe({"by": by, "od": by[1:5].view(np.int32)})
    window = window_of(observed, "od")
    assert window["runs"] == [[1, 5]]
    assert (window["offset"], window["offset_bytes"]) == (None, 1)
    assert "offset 1 byte" in describe(observed)


# A8: mapped twice -------------------------------------------------------------------

ON_LINUX = pytest.mark.skipif(
    not Path("/proc/self/maps").exists(), reason="the system does not tell"
)


@ON_LINUX
def test_a_file_that_is_mapped_twice_is_one_memory(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    a = np.memmap(path, dtype=np.float32, mode="r+")
    tail = np.memmap(path, dtype=np.float32, mode="r+", offset=4)
    t = torch.from_file(str(path), shared=True, size=4)
    copied = np.memmap(path, dtype=np.float32, mode="c")
    observed = observe({"a": a, "tail": tail, "t": t, "copied": copied})
    a[1] = 9
    assert (tail[0], t[1].item()) == (9, 9)
    assert len(observed["storages"]) == 2
    assert observed["storages"][0]["mapped"] == 3
    assert window_of(observed, "tail")["runs"] == [[4, 16]]
    assert "a (array), tail (array) and t share memory:" in describe(observed)
    assert "mapped 3 times" in describe(observed)
    assert entry(observed, "copied")["storage"] == 1


@ON_LINUX
def test_a_shared_memory_that_is_mapped_twice_is_one() -> None:
    from multiprocessing import shared_memory

    one = shared_memory.SharedMemory(create=True, size=16)
    two = shared_memory.SharedMemory(name=one.name)
    try:
        x = np.ndarray(4, dtype=np.float32, buffer=one.buf)
        y = np.ndarray(4, dtype=np.float32, buffer=two.buf)
        assert len(observe({"x": x, "y": y})["storages"]) == 1
        del x, y
    finally:
        two.close()
        one.close()
        one.unlink()


# A9: words --------------------------------------------------------------------------


def test_what_stands_for_a_tensor_names_what_it_is_inside() -> None:
    said = []

    def look(x: torch.Tensor) -> torch.Tensor:
        said.append(describe(observe({"x": x})))
        return x.sum()

    torch.func.vmap(look)(torch.ones(2, 2))
    torch.func.grad(look)(torch.ones(2))
    assert "inside vmap" in said[0]
    assert "inside a transform of torch.func" in said[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a prototype
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    assert "a nested tensor" in describe(observe({"nested": nested}))


def test_a_new_parameter_has_no_version_to_speak_of() -> None:
    net = torch.nn.Linear(2, 2)
    assert net.weight._version == 1
    assert "version" not in describe(observe({"weight": net.weight}))
    x = torch.ones(2)
    x.add_(1)
    assert "version 1" in describe(observe({"x": x}))


def test_leaves_alone_are_no_graph() -> None:
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    shown = tensor_map(w=w)._repr_html_()
    assert "No gradient flows" not in shown


def test_an_empty_view_shares_whatever_it_is_of() -> None:
    a, t = np.ones(3), torch.ones(3)
    observed = observe({"a": a, "none": a[1:1], "t": t, "nil": t[1:1]})
    assert len(observed["storages"]) == 2
    assert window_of(observed, "none")["runs"] == []
    assert window_of(observed, "nil")["runs"] == []
    assert entry(observe({"e": np.ones(0)}), "e")["memory"] == "empty, no memory"


# B1: deep graphs --------------------------------------------------------------------

DEEP = """
import resource, torch
from tensor_maps import tensor_map
w = y = torch.ones(2, requires_grad=True)
for _ in range(50_000):
    y = y * 1.0
text = str(tensor_map(y=y))
assert "at least" in text and "flow on, beyond the 2,000" in text, text
del y
print("fine")
"""


@pytest.mark.parametrize("stack", [1024, 8192], ids="{} KiB".format)
def test_a_deep_graph_can_be_freed_after_a_look(stack: int) -> None:
    command = f'ulimit -s {stack}; ulimit -c 0; exec "{sys.executable}" -W ignore -'
    done = subprocess.run(
        ["bash", "-c", command],
        input=DEEP,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == "fine\n", (done.returncode, done.stderr)


def test_a_walk_that_ended_says_so() -> None:
    w = y = torch.ones(1, requires_grad=True)
    for _ in range(MOST_WALKED + 500):
        y = y + 1
    z = w * 2
    observed = observe({"y": y, "z": z, "w": w})
    assert observed["walk_ended"]
    assert entry(observed, "y")["reaches_more"]
    assert not entry(observed, "z")["reaches_more"]
    assert reached_from(observed, "z") == {"w"}
    assert re.search(r"at least 19\d\d more nodes", describe(observed))
    assert not observe({"z": z})["walk_ended"]


# B6: nothing is noticed -------------------------------------------------------------


def test_modes_do_not_see_a_map() -> None:
    heard: list[Any] = []

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            heard.append(func)
            return func(*args, **(kwargs or {}))

    class Called(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            heard.append(func)
            return func(*args, **(kwargs or {}))

    w = torch.ones(2, requires_grad=True)
    y = w * 2
    with Dispatched(), Called():
        text = str(tensor_map(w=w, y=y))
    assert heard == []
    assert "gradients flow to w" in text


def test_a_traced_graph_has_nothing_of_a_map() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        tensor_map(x=x)
        return x + 1

    nodes = make_fx(program)(torch.ones(2)).graph.nodes
    kinds = Counter(node.op for node in nodes)
    assert kinds == {"placeholder": 1, "call_function": 1, "output": 1}


def test_a_lazy_copy_stays_one() -> None:
    a = torch.arange(4.0)
    b = a._lazy_clone()
    observed = observe({"a": a, "b": b, "tail": b[2:]})
    assert torch._C._is_cow_tensor(a) and torch._C._is_cow_tensor(b)
    assert entry(observed, "b")["values"] == "[0, 1, 2, 3]"
    assert entry(observed, "b")["storage"] == entry(observed, "tail")["storage"] == 1
    assert entry(observed, "a")["storage"] == 0
    assert "copied when it is first written to" in describe(observed)


def test_no_code_of_items_is_run() -> None:
    class Loud:
        def __str__(self) -> str:
            raise AssertionError

        __repr__ = __str__

    observed = observe({"o": np.array([Loud(), 1, "a", None], dtype=object)})
    assert entry(observed, "o")["values"] == "[<Loud>, 1, a, None]"
