"""Programs with which steps and maps once went wrong: each finding is a test."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import tensor_maps
import torch
from conftest import PATIENCE, ROOT, client_of, plain
from tensor_maps import Steps, tensor_map

SOURCES = ROOT / "conf" / "tensor_maps" / "src"
HERE = Path(__file__).parent
FLATLY = re.compile(r"\bno tensor changes\b", re.IGNORECASE)
BEGIN = "import numpy as np\nimport torch\nfrom torch import nn\ntorch.manual_seed(0)\n"


def ran(program: str, **names: Any) -> dict[str, dict]:
    """Watch a program; return the last step of each line by the text of the line."""
    seen, namespace = Steps(), {"torch": torch, "np": np, "nn": torch.nn, **names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen.run(dedent(program), namespace)
    assert not seen.failed, seen.failed
    data = seen.data()
    return {
        " ".join(data["code"][step["first"] - 1].split()): step
        for step in data["steps"]
    }


def shares(step: dict, name: str) -> bool:
    """Whether it is said that memory is shared with that of a name."""
    said = rf"shares? (the memory of|memory with) .*\b{name}\b|shares? {name}'s memory"
    return bool(re.search(said, step["said"]))


def words(step: dict) -> str:
    return f"{step['said']} {step.get('note', '')}"


def python(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python of its own that finds the package, from any folder."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
        **options,
    )


# A. It never says what it did not see -------------------------------------------------


def test_a1_names_beyond_forty() -> None:
    """What a net of 50 parameters hides is what the reader has just written."""
    net = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(25)])
    told = ran(
        """\
        x = torch.randn(4, 8)
        z = x[1:]
        z += 1
        out = net(x)
        loss = out.square().mean()
        loss.backward()
        """,
        net=net,
    )
    assert not [said for step in told.values() if FLATLY.search(said := words(step))]
    assert told["x = torch.randn(4, 8)"]["changed"] == ["x"]
    assert shares(told["z = x[1:]"], "x")
    assert set(told["z += 1"]["changed"]) == {"x", "z"}
    assert told["out = net(x)"]["changed"] == ["out"]
    assert "gradient" in told["loss = out.square().mean()"]["said"]


def test_a1_a_parameter_that_a_statement_names() -> None:
    """One of the first 1,000 is looked at; how many are left out is said."""
    net = torch.nn.Sequential(*[torch.nn.Linear(1, 1) for _ in range(1500)])
    told = ran("net[49].bias.data.fill_(3)\na = 1\n", net=net)
    assert "net.49.bias" in told["net[49].bias.data.fill_(3)"]["changed"]
    quiet = words(told["a = 1"])
    left_out = r"\b[\d,]{4,} .*not looked|looked at .*[\d,]{4,}|not look.*[\d,]{4,}"
    assert re.search(left_out, quiet), f"not said how many are left out: {quiet}"
    assert not FLATLY.search(quiet)


def test_a1_forty_one_tensors_of_earlier_lines() -> None:
    lines = [f"a{number} = torch.ones(1)" for number in range(41)]
    told = ran(
        "\n".join([*lines, "w = torch.ones(2)", "v = w[:1]", "v += 1", "a0 += 1"])
    )
    assert told["w = torch.ones(2)"]["changed"] == ["w"]
    assert shares(told["v = w[:1]"], "w")
    assert set(told["v += 1"]["changed"]) == {"v", "w"}
    assert told["a0 += 1"]["changed"] == ["a0"]
    for step in told.values():
        # What comes into sight because another is left out is not new.
        assert len(step["changed"]) <= 2, step


LARGE = {
    "a += 1": "a",
    "a[3] = 7": "a",
    "a[-1] = 2": "a",
    "w.data.add_(1)": "w",
    "w.data -= 0.1 * w.data": "w",
    "w.numpy()[5] = 3": "w",
    "w.data[1999] = 4": "w",
    "torch._foreach_add_([w], 1)": "w",
    "w.detach().add_(1)": "w",
    "v.data[0] = 7": "w",
    "lin.weight.data.mul_(0.5)": "lin.weight",
    "t[0, 1] = 8": "t",
    "g.data[700] = 5": "g",
    "h[3] = 1": "h",
    "big[7] = 4": "big",
    "bigger.data[12345] = 4": "bigger",
}


@pytest.mark.parametrize("statement", LARGE)
def test_a2_writes_above_four_kib(statement: str) -> None:
    """A write that moves no version is told, or that the tensor was not read."""
    w, base = torch.ones(2000), torch.zeros(40, 60)
    named = {
        "a": np.zeros(600),
        "w": w,
        "v": w[:3],
        "lin": torch.nn.Linear(64, 64),
        "t": base.t(),
        "g": torch.ones(2000, requires_grad=True),
        "h": np.zeros(3000)[::-2],
        "big": np.zeros(2 * 10**6),
        "bigger": torch.zeros(4 * 10**6),
    }
    ((_, step),) = ran(statement, **named).items()
    name = LARGE[statement]
    not_read = rf"\b{name}\b.*\([\d.]+ [KM]iB\).*(not read|in samples)"
    assert name in step["changed"] or re.search(not_read, words(step)), words(step)
    if named["w"].nbytes and name not in ("big", "bigger"):
        assert not FLATLY.search(step["said"])
    ((_, step),) = ran("unrelated = 5", **named).items()
    assert step["changed"] == []


def test_a2_a_gradient_above_four_kib() -> None:
    told = ran(
        """\
        W = torch.ones(2000, requires_grad=True)
        (W * 2).sum().backward()
        W.grad.data[1234] = 0
        """
    )
    assert told["(W * 2).sum().backward()"]["event"] == "gradient"
    step = told["W.grad.data[1234] = 0"]
    assert step["changed"] == ["W"] or "not read" in words(step)


def test_a3_leaves_beside_many_tensors() -> None:
    lines = [f"c{number} = torch.ones(1)" for number in range(20)]
    told = ran(
        "\n".join(
            [
                *lines,
                "w = torch.ones(2, requires_grad=True)",
                "x = torch.ones(2)",
                "y = (x * w + 1).sum()",
            ]
        )
    )
    said = told["y = (x * w + 1).sum()"]["said"]
    assert re.search(r"gradients? \w+ (back )?(to )?w\b", said), said
    assert "not drawn" not in said


def test_a3_leaves_of_a_plain_net() -> None:
    layers = [(2, 3), (3, 3), (3, 1)]
    net = torch.nn.Sequential(
        *[torch.nn.Linear(*one) for one in layers], torch.nn.BatchNorm1d(1)
    )
    x, y = torch.randn(4, 2), torch.randn(4, 1)
    told = ran("loss = (net(x) - y).square().mean()", net=net, x=x, y=y)
    ((_, step),) = told.items()
    assert "not drawn" not in words(step)
    assert "net.0.weight" in step["said"]
    observed = tensor_map(
        loss=(net(x) - y).square().mean(), **dict(net.named_parameters())
    ).to_dict()
    (loss,) = [one for one in observed["tensors"] if one["names"] == ["loss"]]
    reached = {observed["tensors"][at]["names"][0] for at in loss["reaches"]}
    assert reached == {name for name, _ in net.named_parameters()}


def test_a3_leaves_are_named_where_few_nodes_are_drawn() -> None:
    """Of a graph of 300 nodes all leaves are told, of one without an end "at least"."""
    w = y = torch.ones(2, requires_grad=True)
    for _ in range(300):
        y = y * 2
    observed = tensor_map(w=w, y=y, max_nodes=4).to_dict()
    assert [one["reaches"] for one in observed["tensors"]][1] == [0]
    assert "w" in str(tensor_map(w=w, y=y, max_nodes=4)).split("gradient", 1)[1]
    for _ in range(3000):
        y = y * 2
    observed = tensor_map(w=w, y=y).to_dict()
    assert observed["walk_ended"]
    assert observed["tensors"][1]["reaches_more"]
    assert "at least" in str(tensor_map(w=w, y=y))


def test_a4_gradients_of_what_requires_none() -> None:
    told = ran(
        """\
        w = torch.ones(2, requires_grad=True)
        f = torch.ones(2)
        (w * 2).sum().backward()
        w.requires_grad_(False)
        w.grad.add_(1)
        f.grad = torch.zeros(2)
        f.grad += 1
        """
    )
    assert "grad is new" not in told["w.requires_grad_(False)"]["said"]
    assert told["w.requires_grad_(False)"]["changed"] == ["w"]
    assert "[3, 3]" in told["w.grad.add_(1)"]["said"]
    assert told["f.grad = torch.zeros(2)"]["changed"] == ["f"]
    assert "[1, 1]" in told["f.grad += 1"]["said"]
    frozen = torch.ones(2)
    frozen.grad = torch.full((2,), 5.0)
    assert "[5, 5]" in str(tensor_map(frozen=frozen))


HIDDEN = {
    "an attribute": ("class A: pass\no = A()\no.w = x.clone()", "o.w.data.mul_(2)"),
    "a namespace": (
        "from types import SimpleNamespace\no = SimpleNamespace(w=x.clone())",
        "o.w.mul_(2)",
    ),
    "a data class": (
        "from dataclasses import make_dataclass\n"
        "o = make_dataclass('D', ['w'])(x.clone())",
        "o.w[0] = 5",
    ),
    "a named tuple": (
        "from collections import namedtuple\n"
        "o = namedtuple('P', 'a b')(x.clone(), x.clone())",
        "o.b[0] = 5",
    ),
    "a torch.return_types": ("o = x.max(0)", "o.values.add_(1)"),
    "a deque": (
        "from collections import deque\no = deque([x.clone()])",
        "o[0].add_(1)",
    ),
    "a defaultdict": (
        "from collections import defaultdict\n"
        "o = defaultdict(list)\no['k'] = x.clone()",
        "o['k'].add_(1)",
    ),
    "nested dicts": ("o = {'a': {'b': x.clone()}}", "o['a']['b'].add_(1)"),
    "nested tuples": ("o = (x, (x.clone(), x))", "o[1][0].add_(1)"),
    "the sixth item": ("o = [x.clone() for _ in range(6)]", "o[5].add_(1)"),
    "the last of many items": ("o = [x.clone() for _ in range(60)]", "o[-1].add_(1)"),
    "a data set": (
        "from torch.utils.data import TensorDataset\no = TensorDataset(x.clone())",
        "o.tensors[0].add_(1)",
    ),
    "the state of an optimizer": (
        "p = nn.Parameter(torch.ones(2))\n"
        "o = torch.optim.SGD([p], lr=.1, momentum=.9)\n"
        "p.sum().backward()\no.step()",
        "o.state[p]['momentum_buffer'].add_(1)",
    ),
}


@pytest.mark.parametrize("where", HIDDEN)
def test_a5_what_has_no_plain_name(where: str) -> None:
    """It is told, or the words are of what has a name, not of all tensors."""
    before, write = HIDDEN[where]
    told = ran(f"x = torch.arange(6.0).reshape(2, 3)\n{before}\n{write}")
    step = list(told.values())[-1]
    is_told = any(name.startswith("o") for name in step["changed"])
    assert is_told or not FLATLY.search(words(step)), words(step)


def test_a5_a_gradient_arrives_at_an_attribute() -> None:
    told = ran(
        """\
        class Model: pass
        self = Model()
        self.w = torch.ones(2, requires_grad=True)
        y = (self.w * torch.ones(2)).sum()
        y.backward()
        """
    )
    step = told["y.backward()"]
    assert not FLATLY.search(step["said"])
    assert step["event"] == "gradient" or "self.w" not in str(step["changed"])


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor([15496, 995, 50256]),
        torch.tensor(1234567),
        torch.tensor([-128, 127], dtype=torch.int8),
        torch.tensor([65535], dtype=torch.uint16),
        torch.tensor([2**64 - 1], dtype=torch.uint64),
        torch.tensor([2**53 + 1]),
        np.array([100001, 100002]),
        torch.tensor([True, False]),
    ],
    ids=str,
)
def test_a6_integers_are_exact(value: Any) -> None:
    shown = str(value.tolist())
    drawn = tensor_map(ids=value)
    (seen,) = drawn.to_dict()["tensors"]
    assert seen["values"] == shown, seen
    assert shown in str(drawn) or isinstance(value, np.ndarray), str(drawn)
    assert not re.search(r"\de\+", str(drawn) + json.dumps(drawn.to_dict()))


def test_a6_integers_are_exact_in_steps() -> None:
    told = ran("i = torch.tensor([50256, 50257])\ni[0] = 50258\n")
    assert "[50258, 50257]" in told["i[0] = 50258"]["said"]
    floats = ran("f = torch.zeros(2)\nf += 3.14159265\n")["f += 3.14159265"]["said"]
    assert "3.142" in floats


def test_a7_packed_and_unaligned_arrays() -> None:
    packed = np.zeros(3, dtype=[("k", "i1"), ("v", "<f4")])
    ones = np.arange(8, dtype=np.uint8)
    shifted = ones[1:5].view(np.int32)
    observed = tensor_map(s=packed, v=packed["v"], ones=ones, o=shifted).to_dict()
    windows = {
        observed["tensors"][window["tensor"]]["names"][0]: window
        for storage in observed["storages"]
        for window in storage["windows"]
    }
    v = windows["v"]
    assert (v["offset_bytes"], v["stride_bytes"]) == (1, [5])
    assert (v["offset"], v["strides"]) == (None, None)
    assert v["runs"] == [[1, 5], [6, 10], [11, 15]]
    assert (windows["o"]["offset_bytes"], windows["o"]["offset"]) == (1, None)
    assert windows["o"]["runs"] == [[1, 5]]
    said = str(tensor_map(s=packed, v=packed["v"]))
    assert "5 bytes" in said and "offset 0" not in said, said


def test_a8_memory_that_is_mapped_twice(tmp_path: Path) -> None:
    """A write through one is seen in the other: neither has a memory of its own."""
    path = tmp_path / "mapped.bin"
    np.arange(4, dtype=np.float32).tofile(path)
    a = np.memmap(path, dtype=np.float32, mode="r+")
    b = np.memmap(path, dtype=np.float32, mode="r+")
    t = torch.from_file(str(path), shared=True, size=4)
    a[0] = 9
    assert b[0] == t[0] == 9
    for pair in ({"a": a, "b": b}, {"a": a, "t": t}):
        said = str(tensor_map(**pair))
        is_one = any(
            len(s["windows"]) > 1 for s in tensor_map(**pair).to_dict()["storages"]
        )
        assert is_one or "mapped" in said or "file" in said, said
        assert is_one or "of its own" not in said, said
        assert tensor_maps.sharing(*pair.values()) or "mapped" in str(
            tensor_maps.sharing(*pair.values())
        )


def test_a9_a_gradient_that_is_scaled_is_not_new() -> None:
    net = torch.nn.Sequential(*[torch.nn.Linear(30, 60) for _ in range(1)])
    net.append(torch.nn.Linear(60, 50))
    net(torch.randn(4, 30)).square().sum().backward()
    told = ran("nn.utils.clip_grad_norm_(net.parameters(), 0.01)", net=net)
    ((_, step),) = told.items()
    assert not re.search(r"\bnew\b", step["said"]), step["said"]
    assert re.search(r"in place|other values", step["said"]), step["said"]


def test_a9_items_that_move_up_are_not_others() -> None:
    told = ran("q = [torch.full((1,), float(j)) for j in range(3)]\ndel q[0]\n")
    said = told["del q[0]"]["said"]
    assert not re.search(r"\bothers?\b|\banother\b", said), said
    assert "moved" in said, said


def test_a9_wrappers_are_named() -> None:
    seen = []

    def f(x: torch.Tensor) -> torch.Tensor:
        seen.append(str(tensor_map(x=x)))
        return x.sum()

    torch.func.vmap(f)(torch.ones(2, 3))
    torch.func.grad(f)(torch.ones(3))
    for said in seen:
        assert re.search(r"torch\.func|vmap|grad transform", said), said
        assert "layout strided" not in said, said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    assert "nested" in str(tensor_map(nested=nested)).partition("nested")[2]


def test_a9_empty_views_of_tensors_and_arrays_are_told_alike() -> None:
    t, a = torch.ones(3), np.ones(3)
    said = [str(tensor_map(x=one, e=one[3:])) for one in (t, a)]
    assert ["share" in one for one in said] in ([True, True], [False, False]), said


def test_steps_of_a_large_array_copy_nothing() -> None:
    """It is as cheap as now: not a second array of 40 MB."""
    import tracemalloc

    x = torch.zeros(10**7)
    tracemalloc.start()
    try:
        told = ran("n = x.numpy()\nn[7] = 4\n", x=x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    step = told["n[7] = 4"]
    assert {"n", "x"} <= set(step["changed"]) or "not read" in words(step)
    assert peak < 20e6


# B. It changes nothing, C. It does not refuse -----------------------------------------

DEEP = """
import sys, threading, torch
from tensor_maps import steps, tensor_map
def deep(n):
    w = y = torch.ones(2, requires_grad=True)
    for _ in range(n):
        y = y * 1.0
    return w, y
def looked(n):
    w, y = deep(n)
    print(tensor_map(w=w, y=y), flush=True)
    del y
    w, y = deep(n)
    with steps() as seen:
        a = torch.ones(1)
        a += 1
    assert not seen.failed, seen.failed
    y.sum().backward()
    del y
    total, net = 0, torch.nn.Linear(1, 1)
    for i in range(n):
        total = total + net(torch.ones(1, 1)).sum()
    tensor_map(total=total)._repr_html_()
    del total
    print("fine", n, flush=True)
looked(50_000)
threading.stack_size(2**20)
thread = threading.Thread(target=looked, args=(10_000,))
thread.start()
thread.join()
"""


def test_b1_a_deep_graph_does_not_end_the_process(tmp_path: Path) -> None:
    program = tmp_path / "deep.py"
    program.write_text(DEEP)
    done = python(program)
    assert done.returncode == 0, (done.returncode, done.stderr[-800:])
    assert "fine 50000" in done.stdout and "fine 10000" in done.stdout
    assert "at least" in done.stdout


@pytest.fixture(scope="session")
def scenarios() -> dict[str, Any]:
    """Run all scenarios in one process, which may spoil it."""
    done = python(HERE / "scenarios.py")
    assert done.returncode == 0, (done.returncode, done.stderr[-800:])
    return json.loads(done.stdout.splitlines()[-1])


def found(scenarios: dict[str, Any], name: str) -> Any:
    outcome = scenarios[name]
    assert "raised" not in outcome, outcome["where"]
    return outcome["found"]


CHECKS: dict[str, Callable[[Any], object]] = {
    "b2_class_body": lambda f: {"earlier", "rate", "weight", "seen", "after"} == set(f),
    "b2_exec_with_locals": lambda f: f[0] == ["s", "v", "w"] and "v" in f[1][0],
    "b2_locals_taken_before": lambda f: f[0] != [] and f[2] == [2, 2],
    "b3_source_of_functions": lambda f: ["+ 1" in f[0], "* 100" in f[1]] == [True] * 2,
    "b3_script_of_functions": lambda f: f == [2.0],
    "b3_traceback_of_functions": lambda f: "return x @ torch.ones(7)" in f,
    "b4_swap_tensors": lambda f: f[:3] == [[0, 0], [1, 1], [2, 2]],
    "b4_swap_parameters": lambda f: f[0] == "torch.float32" and f[1],
    "b4_resize_in_a_function": lambda f: f[0] == [5] and f[1],
    "b4_resize_of_a_module": lambda f: f[0] == [5] and "(5,)" in f[1][-1],
    "b4_kept_alive": lambda f: f[0] == [True, True] and f[1] == 6,
    "b6_async_with": lambda f: len(f[0]) >= 2 and f[1] == [],
    "b6_make_fx": lambda f: not [n for n in f if "empty" in n or "set_" in n],
    "b6_copy_on_write": lambda f: f[0] == f[1] == [True, True],
    "b6_code_of_objects": lambda f: f == [[], True],
    "b6_wrapper_subclass": lambda f: f == [[], ["aten.add.Tensor"]],
    "b6_warnings": lambda f: f == [],
    "closure_of_a_thread": lambda f: f == 20000,
    "compiled": lambda f: f[1] == 1 and f[2] == [[2, 2]] * 3 and "w" in f[0][0],
}


@pytest.mark.parametrize("name", CHECKS)
def test_scenario(scenarios: dict[str, Any], name: str) -> None:
    if name.startswith("b4_resize") and sys.version_info < (3, 12):
        pytest.skip("until Python 3.12 any trace function adds such a reference")
    outcome = found(scenarios, name)
    assert CHECKS[name](outcome), outcome


def test_b5_an_earlier_tracer_sees_each_line(scenarios: dict[str, Any]) -> None:
    """Coverage and debuggers keep their lines, in the block and after it."""
    (alone, _), (watched, put_back) = found(scenarios, "b5_earlier_tracer")
    assert put_back
    # The `with` itself is another object's: only how often its line is told may differ.
    head = ["body", 1]
    assert [one for one in watched if one != head] == [o for o in alone if o != head]


@pytest.mark.parametrize("order", ["order_of_start", "any_order"])
def test_b6_coroutines_leave_nothing_patched(
    scenarios: dict[str, Any], order: str
) -> None:
    told, left = found(scenarios, f"b6_coroutines_in_{order}")
    assert left == []
    for number in "012":
        one = told[number][0] if order == "order_of_start" else told[number]
        assert f"a now holds [{int(number) + 1}]." in one, one
    if order == "order_of_start":
        assert ["".join(told[n][1]) for n in "012"] == [f"from {n}\n" for n in "012"]


def test_b6_threads_leave_nothing_patched(scenarios: dict[str, Any]) -> None:
    told, left = found(scenarios, "b6_threads")
    assert left == []
    heard = ["".join(told[number][1]) for number in "012"]
    assert heard == [f"from {number}\n" * 3 for number in "012"]


def test_b6_a_generator_leaves_nothing_patched(scenarios: dict[str, Any]) -> None:
    told, _, printed, left = found(scenarios, "b6_generator")
    assert left == [] and any("[2, 2]" in one for one in told)
    assert "".join(printed) == "", "what the caller prints is not of its statements"


def test_b6_modes_see_their_own_calls_only(scenarios: dict[str, Any]) -> None:
    map_calls, calls, map_functions, functions = found(scenarios, "b6_modes")
    assert map_calls == map_functions == []
    assert calls == ["aten.add.Tensor", "aten.add_.Tensor"]
    assert not set(functions) - {"add", "add_", "__add__", "__iadd__"}, functions


def test_c1_forms_of_with(scenarios: dict[str, Any]) -> None:
    outcome = found(scenarios, "c1_forms_of_with")
    assert len(outcome) == 7
    first, second, third, fourth, fifth, one_line, nested = outcome
    for told in (first, third, fourth):
        assert told == ["a is new, with a memory of its own."] or len(told) == 1
    assert any("a now holds [2]" in one for one in second)
    assert len(fifth) == 2 and any(re.match(r"y now|y ", one) for one in fifth)
    assert len(one_line) == 1
    assert nested[0] and len(nested[1]) == 1


def test_c6_a_helper_says_what_to_do(scenarios: dict[str, Any]) -> None:
    """It refuses, or watches the block that is meant: never the ``yield`` alone."""
    for name in ("c6_a_helper", "c6_exit_stack"):
        outcome = scenarios[name]
        if "raised" in outcome:
            assert re.match(r"(RuntimeError|TypeError): ", outcome["raised"]), outcome
        else:
            assert any("[2, 2]" in one for one in outcome["found"]), outcome


def test_exceptions_returns_and_recursion(scenarios: dict[str, Any]) -> None:
    (raised, error, returned), values, left = found(scenarios, "exceptions_and_returns")
    assert raised.count(True) == 1 and error.startswith("RuntimeError: ")
    assert values == [2, 2] and left == [] and returned
    again, left = found(scenarios, "recursion")
    assert left == []
    for depth in "012":
        assert f"v now holds [{int(depth) + 1}]." in again[depth]


def test_functorch_gives_the_right_result(scenarios: dict[str, Any]) -> None:
    said, result = found(scenarios, "functorch")
    assert result == [[2, 2, 2], [2, 2, 2]]
    assert not [one for one in said if "layout strided" in one]


def test_every_scenario_is_judged(scenarios: dict[str, Any]) -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in scenarios if text.count(name) == 0
            and not name.startswith("b6_coroutines_in_")
            and name != "b5_earlier_tracer"] == []  # fmt: skip


def test_b5_a_debugger_keeps_its_frame(tmp_path: Path) -> None:
    program = tmp_path / "stops.py"
    program.write_text(
        dedent("""\
        import torch
        from tensor_maps import steps
        def f():
            with steps() as s:
                a = torch.ones(2)
                breakpoint()
                a += 1
                a += 2
            b = a * 2
            c = b + 1
            return s
        s = f()
        told = s.data()["steps"]
        print([x["first"] for x in told], told[-1]["changed"], not s.failed)
        import sys; print("trace", sys.gettrace())
        """)
    )
    done = python(program, input="n\nn\nn\nn\nn\np c\nc\n", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-800:]
    shown = plain(done.stdout)
    assert "-> b = a * 2" in shown and "-> c = b + 1" in shown, shown
    # Python 3.11 tells a debugger that begins in the block all that comes then.
    assert re.search(r"\[1, 2(, 3, 4)?\] \['a'\] True", shown), shown
    assert "trace None" in shown


def test_b5_coverage_loses_no_line(tmp_path: Path) -> None:
    pytest.importorskip("coverage")
    program = tmp_path / "covered.py"
    program.write_text(
        dedent("""\
        from tensor_maps import steps
        def g(x):
            return x + 1
        def f():
            with steps() as s:
                a = 1
            b = 2
            return b
        f()
        with steps() as s:
            a = 1
        b = g(a)
        c = b + 1
        """)
    )
    run = ["-m", "coverage", "run", "--include=covered.py", program]
    assert python(*run, cwd=tmp_path).returncode == 0
    done = python("-m", "coverage", "report", "-m", cwd=tmp_path)
    assert "100%" in done.stdout, done.stdout


def test_c6_where_there_is_no_source_it_names_the_way_out() -> None:
    source = "from tensor_maps import steps\nwith steps() as s:\n    a = 1\n"
    for done in (python("-c", source), python("-", input=source)):
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1]
            assert re.search(r"\.run\(", last), last


def test_c2_the_oldest_python_is_named() -> None:
    import tomllib

    text = (ROOT / "conf" / "tensor_maps" / "pyproject.toml").read_text()
    assert tomllib.loads(text)["project"]["requires-python"] == ">=3.11"


def test_c5_positional_tensors_modules_and_all_globals() -> None:
    w, z = torch.ones(2), torch.zeros(2)
    net = torch.nn.Linear(2, 1)
    assert [t["names"] for t in tensor_map(w, z).to_dict()["tensors"]] == [["w"], ["z"]]
    drawn = tensor_map(net=net).to_dict()
    assert [t["names"] for t in drawn["tensors"]] == [["net.weight"], ["net.bias"]]
    drawn = tensor_map(ls=[w, z]).to_dict()
    assert [t["names"] for t in drawn["tensors"]] == [["ls[0]"], ["ls[1]"]]
    notes = tensor_map(**{f"n{k}": k for k in range(100)}, w=w).to_dict()["notes"]
    assert len(notes) <= 3, notes


def test_optimized_python_and_pytest_and_doctest(tmp_path: Path) -> None:
    program = tmp_path / "opt.py"
    program.write_text(
        dedent("""\
        import torch
        from tensor_maps import steps
        def f():
            "doc"
            with steps() as s:
                "a string"
                a = torch.ones(2)
                assert a.sum() == 5
                a += 1
            return s
        print([x["said"] for x in f().data()["steps"] if "a" in x["changed"]])
        """)
    )
    done = python("-OO", program)
    assert done.returncode == 0, done.stderr[-800:]
    assert "a now holds [2, 2]." in done.stdout and "is new" in done.stdout
    test = tmp_path / "test_x.py"
    test.write_text(
        dedent('''\
        import torch, pytest
        from tensor_maps import steps, tensor_map
        def test_a(capsys):
            w = torch.ones(2)
            with steps() as s:
                v = w * 2
                assert v.sum() == 4
                print("hi")
            assert len(s) == len(s.data()["steps"]) == 3
            assert capsys.readouterr().out == "hi\\n"
        def test_b():
            with pytest.raises(RuntimeError):
                with steps() as s:
                    torch.ones(2) @ torch.ones(3)
            assert s.data()["steps"][-1]["raised"]
        @pytest.mark.parametrize("n", [1, 2])
        def test_c(n, tmp_path):
            with steps("p") as s:
                a = torch.ones(n)
            s.save(tmp_path / "x.html")
        def test_d():
            """
            >>> import torch
            >>> from tensor_maps import steps
            >>> with steps() as s:
            ...     a = torch.ones(2)
            ...     a += 1
            >>> [x["said"] for x in s.data()["steps"]][1]
            'a now holds [2, 2].'
            """
        ''')
    )
    done = python("-m", "pytest", "-q", "--doctest-modules", test, cwd=tmp_path)
    assert "6 passed" in done.stdout, done.stdout[-1500:]


# Programs of the table that are right -------------------------------------------------

RIGHT = {
    "LSTM, truncated": """
        net, head = nn.LSTM(2, 3), nn.Linear(3, 1)
        x, h = torch.randn(12, 1, 2), None
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=.1)
        for k in range(0, 12, 3):
            out, h = net(x[k:k+3], h)
            loss = head(out).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            h = tuple(v.detach() for v in h)
        """,
    "MLP, BatchNorm, DataLoader, Adam, clip": """
        from torch.utils.data import DataLoader, TensorDataset
        ds = TensorDataset(torch.randn(20, 4), torch.randint(0, 2, (20,)))
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
        opt = torch.optim.Adam(net.parameters(), lr=.1)
        for xb, yb in DataLoader(ds, batch_size=5, shuffle=True):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.)
            opt.step()
        net.eval()
        """,
    "CNN": """
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.Flatten(),
                            nn.Linear(36, 3))
        loss = net(torch.randn(2, 1, 8, 8)).square().mean()
        loss.backward()
        """,
    "autocast and GradScaler": """
        net, x = nn.Linear(3, 2), torch.randn(4, 3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = net(x)
            loss = y.float().square().mean()
        scaler = torch.amp.GradScaler("cpu")
        scaler.scale(loss).backward()
        """,
    "custom function, double backward": """
        class Sq(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return 2 * x * g
        x = torch.tensor([1., 2.], requires_grad=True)
        y = Sq.apply(x)
        g, = torch.autograd.grad(y.sum(), x, create_graph=True)
        gg, = torch.autograd.grad(g.sum(), x)
        """,
    "checkpoint, hooks of saved tensors": """
        from torch.utils.checkpoint import checkpoint
        w = torch.ones(2, requires_grad=True)
        y = checkpoint(lambda a: (a*2).sin(), w, use_reentrant=False)
        y.sum().backward()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            q = (torch.ones(2, requires_grad=True) ** 2).sum()
        q.backward()
        """,
    "forward AD, inference, meta, fake": """
        import torch.autograd.forward_ad as fwad
        from torch._subclasses.fake_tensor import FakeTensorMode
        with fwad.dual_level():
            d = fwad.make_dual(torch.ones(2), torch.full((2,), 3.))
            p = fwad.unpack_dual(d).tangent
        with torch.inference_mode():
            i = torch.ones(2)
            j = i[1:]
        m = torch.ones(2, device="meta")
        with FakeTensorMode():
            b = torch.ones(2) + 1
            b += 1
        """,
    "sparse, quantised, half, complex, empty": """
        sp = torch.eye(3).to_sparse()
        csr = torch.eye(3).to_sparse_csr()
        f8 = torch.tensor([1.5]).to(torch.float8_e4m3fn)
        bf = torch.tensor([1.5, 3.1416], dtype=torch.bfloat16)
        c = torch.tensor([1+2j, 3-1j])
        im = c.conj().imag
        e = torch.empty(0)
        v = c[2:]
        """,
    "odd arrays": """
        bc = np.broadcast_to(np.arange(3.), (4, 3))
        big = np.broadcast_to(np.float64(1), (10**6, 10**5))
        sw = np.lib.stride_tricks.sliding_window_view(np.arange(5.), 3)
        m = np.ma.masked_array([1., 2., 3.], [0, 1, 0])
        st = np.array(["ab", "c"])
        dt = np.array(['2026-01-01'], dtype='M8[D]')
        e = np.empty((0, 3))
        f = np.frombuffer(bytearray(16), dtype=np.float32)
        """,
    "rebinding, resize, .data =": """
        w = torch.zeros(3)
        w = w
        w = w.clone()
        x, w = w, torch.ones(3)
        w2 = w; w2 += 1
        w[torch.tensor([0, 2])] = 5
        w.resize_(0)
        w.resize_(5).fill_(2)
        w.data = torch.ones(2, 2)
        x.untyped_storage().resize_(0)
        """,
    "syntax": """
        if (n := torch.ones(2)).sum() > 1: m = n * 2
        match m.shape:
            case (2,):
                k = m[0]
        while (i := int(k)) < 5:
            k += 1
        else:
            z = k
        q = [torch.full((1,), float(j)) for j in range(3)]
        r = (q[0]
             + q[1]
             + q[2])
        @torch.no_grad()
        def fn(a):
            a += 1
            return a
        r = fn(fn(r))
        d = {"a": r, 1: r.clone(), (1, 2): r}
        d["a"] += 1
        """,
    "tied weights, deepcopy, lazy": """
        import copy
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.e = nn.Embedding(3, 2)
                self.o = nn.Linear(2, 3, bias=False)
                self.o.weight = self.e.weight
            def forward(self, i):
                return self.o(self.e(i))
        net = Net()
        sd = net.state_dict()
        net(torch.tensor([0, 1])).sum().backward()
        net2 = copy.deepcopy(net)
        net2.load_state_dict(sd)
        lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyLinear(1))
        lazy(torch.ones(2, 4)).sum().backward()
        """,
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_program_of_the_table_does_the_same_when_watched(name: str) -> None:
    source = BEGIN + dedent(RIGHT[name])
    ends = []
    for watch in (False, True):
        names: dict[str, Any] = {"__name__": "program"}
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if watch:
                seen = Steps()
                seen.run(source, names)
            else:
                exec(compile(source, "<alone>", "exec"), names)
        tensors = {n: v for n, v in names.items() if torch.is_tensor(v)}
        tensors.pop("x", None)  # of one its storage is gone: it must not be read
        ends.append({name: str(tensor) for name, tensor in tensors.items()})
        if "net" in names:
            ends[-1] |= {n: str(p.grad) for n, p in names["net"].named_parameters()}
    assert ends[0] == ends[1]
    assert not seen.failed, seen.failed
    data = seen.data()
    json.dumps(data)
    assert not [s for s in data["steps"] if "nodes that are not drawn" in s["said"]]
    seen._repr_html_()


def test_shared_memory_of_layers_is_told_as_before() -> None:
    told = ran(RIGHT["tied weights, deepcopy, lazy"])
    assert re.search("same tensor|another name", told["net = Net()"]["said"])
    assert re.search("same tensor|share", told["sd = net.state_dict()"]["said"])


def test_long_programs_and_long_prints() -> None:
    lines = ["w = torch.ones(2, requires_grad=True)"]
    lines += [f"a{number} = w * {number}" for number in range(400)]
    seen = Steps("400 statements")
    seen.run("\n".join(lines), {"torch": torch})
    data = seen.data()
    left_out = 401 - len(data["steps"])
    assert left_out == 0 or str(left_out) in data["steps"][-1]["note"]


# Notebooks ----------------------------------------------------------------------------

CELLS = [
    "%load_ext tensor_maps\nimport torch\nfrom tensor_maps import tensor_map, steps",
    "%%steps My <b>cell</b>\nw = torch.ones(2, requires_grad=True)\nz = w.detach()\nz",
    "%%steps\ndef h1(x):\n    return x + 1\n\nk = torch.ones(1)",
    "%%steps\ndef h2(x):\n    return x * 100\n\nk = torch.ones(1)",
    "import inspect\nprint(inspect.getsource(h1), torch.jit.script(h1)(torch.ones(1)))",
    "%%steps\nimport asyncio\nawait asyncio.sleep(0)\na = torch.full((1,), 7.0)",
    "print(a)",
    "%%steps\nbad = torch.ones(2) @ torch.ones(3)",
    "with steps('ctx') as s:\n    b = torch.ones(3)\n    !true\n    b += 1\ns",
    "print(len(s), s[1].said if len(s) == 2 else s[2].said)",
    "tensor_map(w, z)",
    "%%steps\nx = 1 +",
    "import sys; print(sys.gettrace())",
    "%%steps\n'the last value'",
    "%%steps\n!echo hello\n%timeit -n1 -r1 1+1\nprint('p')",
]


@pytest.fixture(scope="session")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    """Run all cells in one kernel; return the outputs of each."""
    import nbformat

    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    client = client_of(book, tmp_path_factory.mktemp("notebook"))
    client.allow_errors = True
    variables = {"PYTHONPATH": str(SOURCES), "JUPYTER_PREFER_ENV_PATH": "1"}
    variables["PYTHONWARNINGS"] = "ignore"
    earlier = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        client.execute()
    finally:
        for name, value in earlier.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return [cell.outputs for cell in book.cells]


def shown_in(outputs: list[Any]) -> str:
    """Return all that a cell shows as text."""
    texts = []
    for output in outputs:
        texts.append(output.get("text", ""))
        texts.append(output.get("data", {}).get("text/plain", ""))
        texts.append(" ".join([output.get("ename", ""), output.get("evalue", "")]))
    return "\n".join(texts)


def html_of(outputs: list[Any]) -> str:
    return "\n".join(one.get("data", {}).get("text/html", "") for one in outputs)


def cell(outputs: list[list[Any]], start: str) -> list[Any]:
    (at,) = [at for at, text in enumerate(CELLS) if text.startswith(start)]
    return outputs[at]


@pytest.mark.slow
def test_b3_each_cell_is_a_file_of_its_own(notebook: list[list[Any]]) -> None:
    shown = shown_in(cell(notebook, "import inspect"))
    assert "return x + 1" in shown and "tensor([2.])" in shown, shown


@pytest.mark.slow
def test_c3_a_cell_may_await(notebook: list[list[Any]]) -> None:
    assert "SyntaxError" not in shown_in(cell(notebook, "%%steps\nimport asyncio"))
    assert "7." in shown_in(cell(notebook, "print(a)"))


@pytest.mark.slow
def test_c4_the_last_value_is_shown(notebook: list[list[Any]]) -> None:
    shown = shown_in(cell(notebook, "%%steps My"))
    assert "tensor([1., 1.])" in shown, shown
    assert "the last value" in shown_in(cell(notebook, "%%steps\n'the last value'"))
    assert "<b>cell" not in html_of(cell(notebook, "%%steps My"))


@pytest.mark.slow
def test_a_notebook_shows_steps_maps_and_errors(notebook: list[list[Any]]) -> None:
    raised = cell(notebook, "%%steps\nbad")
    assert "RuntimeError" in shown_in(raised) and html_of(raised)
    assert "SyntaxError" in shown_in(cell(notebook, "%%steps\nx = 1 +"))
    assert "[2, 2, 2]" in shown_in(cell(notebook, "print(len(s)"))
    assert "w" in html_of(cell(notebook, "tensor_map(w, z)"))
    assert "None" in shown_in(cell(notebook, "import sys; print"))
    # The text that stays where a page strips frames has the sentences.
    assert shares({"said": shown_in(cell(notebook, "%%steps My"))}, "w")
    assert "hello" in shown_in(cell(notebook, "%%steps\n!echo"))
