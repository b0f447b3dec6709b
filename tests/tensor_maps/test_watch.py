"""Watching: it changes nothing, and is told all that happens."""

import asyncio
import contextlib
import gc
import inspect
import io
import json
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from running import python, ran, told
from tensor_maps import Steps, steps, tensor_map
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Iterator[None]:
    running, before = asyncio._get_running_loop(), sys.gettrace()
    asyncio._set_running_loop(None)  # one that a browser's tests left in this worker
    yield
    asyncio._set_running_loop(running)
    assert sys.gettrace() is before and "write" not in vars(sys.stdout)


# What runs is a step ------------------------------------------------------------------


def rows(seen: Steps) -> list[str]:
    """Return of each step the first line of its code, what it gave, and the turns."""
    assert not seen.failed, seen.failed
    found = []
    for one in seen:
        code, turns = one.code.strip().split("\n")[0], one.turn or ""
        found.append(" ".join(f"{code} {one.printed}{one.raised} {turns}".split()))
    return found


def test_each_statement_that_runs_is_a_step() -> None:
    with steps() as seen:
        a = 1
        for k in range(6):
            a += k
            if a > 3:
                a -= 1
        else:
            b = a
        c = [
            a, b
        ]  # fmt: skip
        try:
            raise KeyError
        except KeyError:
            d = 5
        finally:
            d = 6
        while a < 40:
            a += 10
        match len(c):
            case 2:
                e = 2
        with contextlib.suppress(ValueError):
            f = [k for k in range(d)][e]
            raise ValueError
        del f
    assert rows(seen) == [
        *("a = 1", "a += k ((1, 6),)", "a += k ((2, 6),)", "a += k ((3, 6),)"),
        *("a -= 1 ((3, 6),)", "for k in range(6): ((6, 6),)", "b = a", "c = ["),
        *("raise KeyError KeyError", "d = 5", "d = 6"),
        *(f"a += 10 (({turn}, 3),)" for turn in (1, 2, 3)),
        *("e = 2", "f = [k for k in range(d)][e]", "raise ValueError ValueError"),
        "del f",
    ]


def test_generators_are_watched_while_they_run() -> None:
    def generate() -> Iterator[Steps]:
        with steps() as seen:
            a = 1
            yield seen
            print("in", a)

    one, other = generate(), generate()
    seen, second = next(one), next(other)
    print("outside")
    assert list(one) == list(other) == [] and seen is not second
    assert rows(seen) == rows(second) == ["a = 1", "yield seen", 'print("in", a) in 1']
    dropped = generate()
    seen = next(dropped)
    del dropped
    assert rows(seen)[0] == "a = 1"


def test_threads_have_their_own_steps() -> None:
    found, together = {}, threading.Barrier(3)

    def work(number: int) -> None:
        with steps() as seen:
            for _ in range(2):
                together.wait()
                print("from", number)
        found[number] = rows(seen)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    for number, those in found.items():
        heard = [one.partition(") ")[2] for one in those if "print" in one]
        assert heard == [f"from {number} (({turn}, 2),)" for turn in (1, 2)]


def test_another_trace_function_is_told_the_same() -> None:
    def called(x: int) -> int:
        return x + 1

    def block(watch: Any) -> int:
        with watch:
            a = called(1)
            a = called(a)
        return a

    def events(watch: Any) -> list[tuple]:
        found, ours = [], (called.__code__, block.__code__)

        def trace(frame: Any, event: str, arg: object) -> Any:
            if frame.f_code in ours:
                found.append((frame.f_code.co_name, event, frame.f_lineno))
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            block(watch)
            assert sys.gettrace() is trace
        finally:
            sys.settrace(before)
        return found

    seen = steps()
    assert events(contextlib.nullcontext()) == events(seen) != []
    assert len(rows(seen)) == 2


def test_functions_are_followed_where_that_is_asked() -> None:
    def double(x: int) -> int:
        y = x * 2
        return y

    def count(n: int) -> Iterator[int]:
        for k in range(n):
            yield k + 0
        print("counted")

    with steps(follow=[double, count]) as seen:
        a = double(3)
        b = sum(count(5))
        held = count(2)
        c = next(held)
    assert (a, b, c) == (6, 10, 0)
    assert rows(seen) == [
        *("y = x * 2", "return y", "a = double(3)"),
        *(f"yield k + 0 (({turn}, 5),)" for turn in (1, 2, 3)),
        *("for k in range(n): ((5, 5),)", 'print("counted") counted'),
        *("b = sum(count(5))", "held = count(2)", "c = next(held)"),
    ]


# Names, sources and objects are as without us -----------------------------------------


def test_nothing_is_kept_alive() -> None:
    def fails() -> None:
        kept.append(weakref.ref(big := torch.ones(5)))
        raise ValueError(len(big))

    kept: list[Any] = []
    program = """
        x = torch.ones(3)
        net = nn.Linear(2, 2)
        many = [x * 2]
        y = x.detach().requires_grad_()
        loss = (y * y).sum()
        kept += [ref(one) for one in (x, net.weight, many[0], y, loss)]
        del x, many, net, loss, y
        try:
            fails()
        except ValueError:
            pass
        print([one() is None for one in kept])
    """
    gc.disable()
    try:
        seen = ran(program, {"kept": kept, "ref": weakref.ref, "fails": fails})
        with steps():
            x = torch.ones(3)
            kept.append(weakref.ref(x))
            del x
            there = kept[-1]()
            last = torch.ones(2)
        kept.append(weakref.ref(last))
        del last
    finally:
        gc.enable()
    assert seen[-1].printed == f"{[True] * 6}\n"
    assert there is None and kept[-1]() is None


HEARD: list[str] = []


class Calls(TorchDispatchMode):
    """Notes what is dispatched."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Note it."""
        HEARD.append(str(function))
        return function(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    """Notes what is called."""

    __torch_function__ = Calls.__torch_dispatch__


def test_modes_transforms_and_compilers_see_the_programs_own_calls() -> None:
    x, words = torch.ones(3), []
    HEARD.clear()
    with Calls(), Functions():
        str(tensor_map(x=x))
        assert HEARD == []
        with steps() as seen:
            y = x + 1
            y += 1
    aten = [one for one in HEARD if "aten" in one]
    assert aten == ["aten.add.Tensor", "aten.add_.Tensor"] and len(HEARD) == 4
    assert told(seen)[1] == "y now holds [3, 3, 3]."

    def watched(x: torch.Tensor) -> torch.Tensor:
        with steps() as seen:
            y = x * 2
            z = y.sum()
        words.extend(told(seen))
        return z

    result = torch.func.vmap(torch.func.grad(watched))(torch.ones(2, 3))
    assert result.tolist() == [[2, 2, 2]] * 2
    assert words and all("inside a transform of torch.func" in one for one in words)
    w = torch.ones(3, 2, requires_grad=True)
    compiled = torch.compile(lambda x, w: torch.relu(x @ w).sum(), backend="eager")
    with steps() as seen:
        y = compiled(torch.ones(2, 3), w)
    assert told(seen)[0] == "y is computed from w. A gradient flows back to w."
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


PROGRAM = """
import torch
import torch.autograd.forward_ad as fwad
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader
torch.manual_seed(0)
first = [*DataLoader(torch.arange(20), batch_size=5, shuffle=True)]
x = torch.tensor([1., 2.], requires_grad=True)
g, = torch.autograd.grad((x * x).sum(), x, create_graph=True)
gg, = torch.autograd.grad(g.sum(), x)
checkpoint(lambda a: (a * 2).sin(), x, use_reentrant=False).sum().backward()
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
    (x ** 2).sum().backward()
with fwad.dual_level():
    p = fwad.unpack_dual(fwad.make_dual(g.detach(), gg)).tangent
with torch.inference_mode():
    j = torch.ones(2)[1:]
with FakeTensorMode():
    b = torch.ones(2) + 1
    b += 1
gone = torch.ones(3)
gone.resize_(0).resize_(5).fill_(2)
gone.untyped_storage().resize_(0)
q, r = torch.ones(2), torch.zeros(2)
torch.utils.swap_tensors(q, r)
lazy = x.detach()._lazy_clone()
is_lazy = torch._C._is_cow_tensor(lazy)
def old():
    warnings.warn("old", UserWarning, stacklevel=1)
for _ in range(3):
    old()
ends = [first, x, x.grad, g, gg, p, j, q, r, is_lazy, torch.rand(2)]
"""


def test_a_program_does_the_same_when_watched() -> None:
    ends, seen = [], Steps()
    for run in (exec, seen.run):
        names: dict[str, Any] = {"__name__": str(run), "warnings": warnings}
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("default")
            run(PROGRAM, names)
        ends.append(str(names["ends"]))
        assert [str(one.message) for one in shown].count("old") == 1
    assert ends[0] == ends[1]
    assert "q and r now use different memory." in told(seen)
    json.dumps(seen.data())
    with torch.no_grad(), steps():
        k = torch.is_grad_enabled()
    assert not k and torch.is_grad_enabled()


# What is printed, and forms of with ---------------------------------------------------


def test_what_is_printed_is_heard_once_and_has_a_limit() -> None:
    def inner() -> None:
        print("inner")

    stream, heard = io.TextIOWrapper(io.BytesIO()), []
    stream.write = heard.append  # a function that it has already stays there
    with contextlib.redirect_stdout(stream):
        with steps(follow=(inner,)) as seen:
            print("outer", end="")
            inner()
        long = Steps().run("for k in range(15):\n    print('x' * 30_000)\n")
    assert [step.printed for step in seen] == ["outer", "inner\n", ""]
    assert "".join(heard) == "outerinner\n" + f"{'x' * 30_000}\n" * 15
    data = long.data()["steps"]
    assert len(data[0]["printed"]) == 20_000
    assert "10,001 more characters were printed" in data[0]["note"]
    (after,) = Steps().run("print('x' * 30_000)\nprint('y')").data()["steps"][1:]
    assert "note" not in after


def test_forms_of_with() -> None:
    # fmt: off
    with (
        steps() as first,
        torch.no_grad(),
    ):
        a = torch.ones(1)
        a += 1
    with torch.no_grad(), \
         steps() as second:
        a += 1
    with steps() as third: a += 1  # noqa: E701
    # fmt: on
    assert [len(first), *map(told, (second, third))] == [
        2,
        ["a now holds [3]."],
        ["a now holds [4]."],
    ]  # fmt: skip


def test_without_source_the_way_out_is_named() -> None:
    program = "from tensor_maps import steps\nwith steps():\n    a = 1\n"
    assert "Steps().run(source, globals())" in python("-", input=program).stderr
    with pytest.raises(RuntimeError, match="write `with steps"):
        steps().__enter__()
    with pytest.raises(TypeError, match="with steps\\(follow="):

        @steps
        def function() -> None: ...


def test_steps_are_kept_when_the_code_raises() -> None:
    again = Steps()
    with pytest.raises(ZeroDivisionError):
        again.run("\n\nimport torch\na = torch.ones(1)\n1 / 0\nb = 1", {})
    with pytest.raises(ZeroDivisionError), steps() as seen:
        a = torch.ones(1)
        a / (1 // 0)
    for one in (again, seen):
        raised = ["a is new, with its own memory.", "It raises ZeroDivisionError."]
        assert told(one)[-2:] == raised
        assert one[-1].raised.startswith("ZeroDivisionError: ")
    assert again.data()["code"][0] == "import torch" and again[3].code == "1 / 0"
    with pytest.raises(SyntaxError):
        Steps().run("x = 1 +", {})


def test_a_cell_runs_as_without_the_magic(capsys: Any, monkeypatch: Any) -> None:
    testing = pytest.importorskip("IPython.core.interactiveshell")
    shell = testing.InteractiveShell()
    show = "IPython.display.display"
    monkeypatch.setattr(show, lambda seen: print(f"{seen}\ntitle {seen.title}"))

    def shown(cell: str, result: object = None) -> str:
        assert shell.run_cell(cell).result == result
        heard = capsys.readouterr()
        assert gc.isenabled()
        return heard.out + heard.err

    shown("%load_ext tensor_maps\n%reload_ext tensor_maps\nimport torch, asyncio, sys")
    heard = shown("%%steps a title of mine\nw = torch.ones(2)\nz = w[:1]\n7 * 6", 42)
    assert heard.count("2  z = w[:1]           z shares w's memory") == 1
    assert heard.endswith("\ntitle a title of mine\n")
    heard = shown("%%steps\nawait asyncio.sleep(0)\na = torch.ones(3)\na += 1")
    assert "a now holds [2, 2, 2]" in heard
    shown("%%steps\ndef one(x):\n    return x + 1 / 0\n")
    shown("%%steps\ndef other(x):\n    return x\n")  # each run is a file of its own
    assert "return x + 1 / 0" in inspect.getsource(shell.user_ns["one"])
    heard = shown("%%steps\nbad = torch.ones(2)\n1 / 0")
    assert "It raises ZeroDivisionError" in heard and "bad is new" in heard
    assert "SyntaxError" in shown("%%steps\nx = 1 +")
    heard = shown("%%steps\n!echo hello\n%timeit -n1 -r1 1+1\nprint('p')")
    assert "hello" in heard and "p\n" in heard
