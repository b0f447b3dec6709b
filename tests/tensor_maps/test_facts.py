"""What steps compare: every name, every write, and no more than they know."""

from __future__ import annotations

import ast
import gc
import sys
import weakref
from collections import defaultdict, deque
from dataclasses import dataclass
from textwrap import dedent
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from tensor_maps import Steps, steps
from tensor_maps.steps.facts import Look, differences, look
from tensor_maps.steps.names import bound_in, find, names_in
from tensor_maps.steps.syntax import Unit, units_of
from torch import nn

np = pytest.importorskip("numpy")
FACTS = look.__module__


def ran(program: str, **names: Any) -> Steps:
    seen = Steps()
    seen.run(dedent(program), {"torch": torch, "np": np, "nn": nn, **names})
    assert not seen.failed
    return seen


def changed(seen: Steps) -> list[set[str]]:
    return [set(step.differ) for step in seen._steps]


def unit_of(statement: str) -> Unit:
    return next(iter(units_of(ast.parse(dedent(statement)).body, ())))


def after(statement: str, namespace: dict[str, Any], was: Look, **options: Any) -> Look:
    """Run a statement, and look."""
    unit = unit_of(statement)
    exec(compile(dedent(statement), "<statement>", "exec"), namespace)
    return look(namespace, was, None, unit, **options)


# Names -------------------------------------------------------------------------------


def test_what_a_statement_names_and_binds() -> None:
    for statement, names, bound in (
        ("out = net(x)", {"out", "net", "x"}, {"out"}),
        ("self.w.data -= lr", {"self", "lr"}, set()),
        ("import torch.nn as n, os.path", {"n", "os"}, {"n", "os"}),
        ("del q[0], w", {"q", "w"}, {"w"}),
        ("def f(a): return g", {"f", "g"}, {"f"}),
        ("for k in ks:\n    w = k", {"k", "ks"}, {"k"}),
    ):
        unit = unit_of(statement)
        assert names_in(unit) == names and bound_in(unit) == bound, statement


def test_tensors_are_found_by_path() -> None:
    class Pair(NamedTuple):
        a: Any
        b: Any

    @dataclass
    class Data:
        w: Any

    @dataclass(slots=True)
    class Slots:
        w: Any

    class Model:
        def __init__(self) -> None:
            self.w, self._m, self.me = x, x, self

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin, self.hidden = nn.Linear(1, 1), x

    x = torch.arange(6.0).reshape(2, 3)
    loud = defaultdict(list, k=[x])
    namespace = {
        "p": Pair(x, x), "m": x.max(0), "q": deque([x, 1]), "d": loud,
        "nested": {"a": {"b": x}}, "pair": (1, (2, x)), "ns": SimpleNamespace(w=x),
        "data": Data(x), "slots": Slots(x), "model": Model(), "net": Net(),
        "many": [x] * 7, "ds": torch.utils.data.TensorDataset(x), "_x": x, "_1": x,
    }  # fmt: skip
    assert set(find(namespace).values) == {
        *("p.a", "p.b", "m.values", "m.indices", "q[0]", "d['k'][0]", "_x"),
        *("nested['a']['b']", "pair[1][1]", "ns.w", "data.w", "slots.w"),
        *("model.w", "model._m", "net.lin.weight", "net.lin.bias", "net.hidden"),
        *(f"many[{n}]" for n in range(7)),
        "ds.tensors[0]",
    }


def test_a_long_list_is_looked_at_from_both_ends_and_the_rest_is_counted() -> None:
    found = find({"xs": [torch.ones(1) for _ in range(500)], "ks": list(range(9999))})
    assert "xs[0]" in found.values and "xs[499]" in found.values
    assert len(found.values) == 100 and found.more == 400


def test_no_code_of_an_object_is_run() -> None:
    class Loud(list):
        def __iter__(self) -> Any:
            raise AssertionError

        __len__ = __getitem__ = __getattribute__ = __iter__

    class Property:
        @property
        def w(self) -> Any:
            raise AssertionError

    x = torch.ones(1)
    found = find({"a": Loud([x]), "b": Property(), "c": {"k": Loud([x])}})
    assert set(found.values) == {"a[0]", "c['k'][0]"}


def test_state_of_an_optimizer_is_found_by_its_parameter() -> None:
    seen = ran("""
        p = nn.Parameter(torch.ones(2))
        opt = torch.optim.SGD([p], lr=0.1, momentum=0.9)
        p.sum().backward()
        opt.step()
        opt.step()
        frozen = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    """)
    state = "opt.state[p]['momentum_buffer']"
    assert changed(seen)[3:] == [
        {"p", state},
        {"p"},  # the gradient is as before, and 0.9 + 1 is in the buffer
        {"frozen.param_groups[0]['params'][0]"},
    ] or changed(seen)[4] == {"p", state}


def test_what_the_statement_names_is_looked_at_however_many_names_there_are() -> None:
    namespace: dict[str, Any] = {f"a{n}": torch.ones(1) for n in range(131)}
    first = look(namespace, most=40)
    assert len(first.facts) == 40 and first.names == 131 and len(first.left) == 91
    now = after("a0 += 1", namespace, first, most=40)
    assert "a0" in now.facts and len(now.facts) >= 40
    # It was not looked at before: what is not known is not said.
    assert differences(first, now) == {}
    then = after("a0 += 1", namespace, now, most=40)
    assert set(differences(now, then)) == {"a0"}
    last = after("new = a3 * 2", namespace, then, most=40)
    assert differences(then, last) == {"new": {"new"}}


def test_beside_a_net_of_many_parameters_all_is_seen() -> None:
    net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(25)])
    seen = ran(
        """
        x = torch.randn(4, 8)
        z = x[1:]
        z += 1
        out = net(x)
        loss = out.square().mean()
        loss.backward()
        with torch.no_grad():
            net[24].bias.zero_()
        """,
        net=net,
    )
    many = {f"net.{n}.{part}" for n in range(25) for part in ("weight", "bias")}
    assert changed(seen)[:5] == [{"x"}, {"z"}, {"x", "z"}, {"out"}, {"loss"}]
    assert changed(seen)[5] >= many and changed(seen)[6] == {"net.24.bias"}


def test_names_and_exclude() -> None:
    namespace = {"a": torch.ones(1), "b": torch.ones(1), "net": nn.Linear(1, 1)}
    assert set(look(namespace, names=["a", "net"]).facts) == {
        *("a", "net.weight", "net.bias"),
    }
    assert set(look(namespace, exclude=["net"]).facts) == {"a", "b"}


# Values ------------------------------------------------------------------------------


def test_writes_that_move_no_version_are_seen() -> None:
    seen = ran("""
        w = torch.zeros(2000); a = np.zeros(600); lin = nn.Linear(64, 64)
        big = torch.zeros(2000, 2000)
        view = big[::2, ::2]
        w.data.add_(1)
        a += 1
        a[3] = 7
        w.numpy()[5] = 3
        lin.weight.data.mul_(0.5)
        torch._foreach_add_([w], 1)
        big.data += 1
        view.t().data += 1
        fortran = np.asfortranarray(np.ones((90, 90)))
        fortran[::3, 7] = 2
        steps = np.zeros((50, 50))[::2, ::5]
        steps[3, 3] = 1
        wide = torch.zeros(1).expand(10**12)
        wide.data[:1] = 1
        ids = np.array(["a", "b"])
        ids[1] = "c"
    """)
    both = {"big", "view"}
    assert changed(seen)[3:] == [
        *({"w"}, {"a"}, {"a"}, {"w"}, {"lin.weight"}, {"w"}, both, both),
        *({"fortran"}, {"fortran"}, {"steps"}, {"steps"}),
        *({"wide"}, {"wide"}, {"ids"}, {"ids"}),
    ]


def test_a_neighbour_in_memory_is_no_change() -> None:
    seen = ran("""
        x = torch.zeros(100, 100)
        column = x.t()[3]
        x.data[:, 4] = 1
        x.data[7, 3] = 1
    """)
    assert changed(seen)[2:] == [{"x"}, {"x", "column"}]


def test_a_function_that_names_nothing_may_write() -> None:
    seen = ran(
        """
        w = torch.zeros(3000)
        def update():
            w.data.add_(1)
        update()
        k = 1
        k = max(k, 2)
        """
    )
    assert changed(seen) == [{"w"}, set(), {"w"}, set(), set()]


def test_statements_on_one_line_are_one_step() -> None:
    seen = ran("w = torch.zeros(3000)\nk = 1; w.data += 1; v = w[:2]\n")
    assert changed(seen) == [{"w"}, {"w", "v"}]


def test_what_was_not_read_is_counted_and_told_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = sys.modules[FACTS]
    monkeypatch.setattr(facts, "MOST_OTHER_BYTES", 1000)
    namespace: dict[str, Any] = {"w": torch.zeros(3000), "small": torch.zeros(3)}
    exec("def update(): w.data.add_(1); small.data.add_(1)", namespace)
    first = look(namespace)
    now = after("update()", namespace, first)
    assert differences(first, now) == {"small": {"values"}}
    assert now.unread == {"w": 12_000}
    then = after("k = 1", namespace, now)
    assert not then.unread and then.late == {"w": 1}
    last = after("w", namespace, then)
    assert differences(then, last) == {"w": {"values", "late"}}
    assert not last.late
    assert differences(last, after("update()", namespace, last)).keys() == {"small"}


def test_a_large_one_is_read_in_samples_and_that_is_noted() -> None:
    namespace: dict[str, Any] = {"w": torch.zeros(2**21), "k": torch.zeros(3)}
    first = look(namespace)
    assert first.sampled == {"w": 2**23}
    now = after("w.data[2**20 + 17] = 1", namespace, first)
    assert now.sampled == {"w": 2**23}  # and it may not have been seen
    assert differences(now, after("w.data.add_(1)", namespace, now)).keys() == {"w"}
    assert not after("new = 1", namespace, now).sampled
    everything = look(namespace, read_bytes=2**24)
    assert not everything.sampled
    assert look(namespace, read_bytes=0).facts["k"].values is None


@pytest.mark.parametrize(
    "tensor",
    [
        torch.eye(3).to_sparse(),
        torch.ones(2, device="meta"),
        torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
        torch.ones(0),
        torch.tensor(True),
        torch.ones(2, dtype=torch.complex64).conj(),
    ],
)
def test_any_tensor_has_a_fact(tensor: torch.Tensor) -> None:
    first = look({"t": tensor})
    assert set(first.facts) == {"t"}
    assert differences(first, look({"t": tensor}, first)) == {}


# Gradients ---------------------------------------------------------------------------


def test_the_gradient_of_any_leaf_is_compared() -> None:
    seen = ran("""
        w = torch.ones(2, requires_grad=True)
        (w * 2).sum().backward()
        f = torch.ones(2); f.grad = torch.zeros(2)
        w.requires_grad_(False)
        w.grad.add_(1)
        f.grad += 1
        f.grad = f.grad.clone()
        f.grad = None
    """)
    kinds = [
        {name: set(kinds) for name, kinds in step.differ.items()}
        for step in seen._steps[3:]
    ]
    assert kinds == [
        {"w": {"requires_grad"}}, {"w": {"gradient"}}, {"f": {"gradient"}},
        {}, {"f": {"gradient"}},
    ]  # fmt: skip


def test_large_gradients_are_compared() -> None:
    seen = ran("""
        w = torch.ones(9000, requires_grad=True)
        (w * 2).sum().backward()
        w.grad.mul_(0.5)
        nn.utils.clip_grad_norm_([w], 1.0)
        w.grad.data.zero_()
        g = w.grad
        g.data[8999] = 1
    """)
    kinds = [step.differ.get("w", set()) for step in seen._steps]
    gradient = {"gradient"}
    assert kinds == [
        {"new"}, {"gradient", "arrived"}, gradient, gradient, gradient, set(), gradient
    ]  # fmt: skip
    assert seen._steps[-1].differ["g"] == {"values"}


# One object, and the program as it is without us --------------------------------------


def test_one_object_is_told_from_another() -> None:
    seen = ran("""
        w = torch.ones(2, requires_grad=True)
        w.data = torch.zeros(2)
        w = w.detach()
        w = w.view(2)
        net = nn.Linear(2, 2)
        net.double()
        a = np.ones(2); a = a * 1
        a = a + 0
        del w; w = torch.ones(2)
        q = [torch.ones(1), torch.ones(1), torch.ones(1)]
        del q[0]
        q[0], q[1] = q[1], q[0]
    """)
    kinds = [step.differ for step in seen._steps]
    assert "other" not in kinds[1]["w"] and "storage" in kinds[1]["w"]
    assert "other" in kinds[2]["w"] and "other" in kinds[3]["w"]
    assert "other" not in kinds[5]["net.weight"]
    assert {"storage", "form"} <= kinds[5]["net.weight"]
    assert "other" in kinds[7]["a"] and "other" in kinds[8]["w"]
    assert kinds[10] == {"q[0]": {"moved"}, "q[1]": {"moved"}, "q[2]": {"gone"}}
    assert kinds[11] == {"q[0]": {"moved"}, "q[1]": {"moved"}}


def test_tensors_may_be_swapped() -> None:
    seen = ran("""
        a, b = torch.ones(2), torch.zeros(2)
        torch.utils.swap_tensors(a, b)
        torch.__future__.set_swap_module_params_on_conversion(True)
        net = nn.Linear(2, 2).double()
        net.float()
        torch.__future__.set_swap_module_params_on_conversion(False)
    """)
    assert changed(seen)[1] == {"a", "b"}
    assert changed(seen)[4] == {"net.weight", "net.bias"}


@pytest.mark.skipif(
    sys.version_info < (3, 12),
    reason="until Python 3.12 any trace function adds a reference to a method's object",
)
def test_an_array_may_be_resized() -> None:
    seen = ran("b = np.zeros(3)\nb.resize(5)\n")
    assert changed(seen) == [{"b"}, {"b"}]


def test_a_look_refers_to_no_tensor_and_no_array() -> None:
    tensor, array = torch.ones(3, requires_grad=True), np.ones(3)
    tensor.grad = torch.ones(3)
    counts = sys.getrefcount(tensor), sys.getrefcount(array)
    seen = look({"t": tensor, "a": array, "ts": [tensor]})
    assert (sys.getrefcount(tensor), sys.getrefcount(array)) == counts
    assert not weakref.getweakrefs(tensor) and not weakref.getweakrefs(array)
    storage = weakref.ref(tensor.untyped_storage())
    del tensor
    gc.collect()
    assert storage() is None and seen.facts


def test_a_lazy_copy_stays_lazy() -> None:
    x = torch.ones(4)
    y = x._lazy_clone()
    first = look({"x": x})
    look({"x": x, "y": y}, first)
    assert torch._C._is_cow_tensor(x) or torch._C._is_cow_tensor(y)


def test_a_block_is_watched_as_a_program_is() -> None:
    def step(self: Any, x: torch.Tensor) -> Steps:
        with steps() as seen:
            y = (self.w * x).sum()
            y.backward()
            self.w.data -= 0.1
            self.m.data += 1
        return seen

    w = torch.ones(2, requires_grad=True)
    seen = step(SimpleNamespace(w=w, m=torch.zeros(3000)), torch.ones(2))
    assert changed(seen) == [{"y"}, {"self.w"}, {"self.w"}, {"self.m"}]
