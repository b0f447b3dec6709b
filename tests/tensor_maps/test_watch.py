"""Watching: it changes nothing, in any order, and is told all that happens."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import io
import json
import linecache
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from independent import truths_of
from running import leaf, python, ran, told
from tensor_maps import Steps, steps, tensor_map
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
)


@pytest.fixture(autouse=True)
def no_running_loop() -> Iterator[None]:
    """Hide the loop that a browser's tests have left running in this worker."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)


HAS_MONITORING = False


def is_as_before() -> bool:
    """Whether no tool, no trace function and no stream of ours is left."""
    tools = HAS_MONITORING and any(map(sys.monitoring.get_tool, (3, 4)))
    mine = "tensor_maps" in getattr(sys.gettrace(), "__module__", "")
    return not (tools or mine or "hear" in repr(vars(sys.stdout).get("write")))


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Iterator[None]:
    before = sys.gettrace()
    yield
    assert is_as_before() and sys.gettrace() is before


# Names, sources and objects are as without us -----------------------------------------


def test_the_names_of_class_bodies_and_of_exec_stay() -> None:
    class Held:
        with steps() as seen:
            rate = 0.1
            w = torch.ones(2)
        k = w + 1

    assert Held.rate == 0.1 and Held.k[0] == 2
    assert told(Held.seen)[1] == "w is new, with its own memory."
    source = "w = torch.ones(2)\nwith steps() as seen:\n    v = w * 2\nu = v + 1\n"
    linecache.cache["<exec>"] = (len(source), None, source.splitlines(True), "<exec>")
    local: dict[str, Any] = {}
    exec(compile(source, "<exec>", "exec"), {"torch": torch, "steps": steps}, local)
    assert set(local) == {"w", "v", "u", "seen"}
    saved = locals()
    with steps():
        b = Held.w * 2
    assert "Held" in saved and b[0] == 2


def test_each_run_is_a_file_of_its_own() -> None:
    namespace: dict[str, Any] = {"torch": torch, "__name__": "mine"}
    Steps().run("def first(x):\n    return x + 1 / 0\n", namespace)
    Steps().run("def second(x):\n    return x * 100\n", namespace)
    assert inspect.getsource(namespace["first"]).endswith("return x + 1 / 0\n")
    assert inspect.getsource(namespace["second"]).endswith("return x * 100\n")
    with pytest.raises(ZeroDivisionError) as error:
        namespace["first"](1)
    assert "return x + 1 / 0" in "".join(traceback.format_tb(error.tb))


def test_nothing_is_kept_alive() -> None:
    def fails() -> None:
        kept.append(weakref.ref(big := torch.ones(5)))
        raise ValueError(len(big))

    kept: list[Any] = []
    gc.disable()
    try:
        seen = ran(
            """
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
            """,
            {"kept": kept, "ref": weakref.ref, "fails": fails},
        )
    finally:
        gc.enable()
    assert seen[-1].printed == f"{[True] * 6}\n"
    with steps():
        x = torch.ones(3)
        kept.append(weakref.ref(x))
        del x
        there = kept[-1]()
        last = torch.ones(2)
    kept.append(weakref.ref(last))
    del last
    assert there is None and kept[-1]() is None


def test_tensors_may_be_swapped_and_lazy_copies_stay_lazy() -> None:
    seen = ran("""
        a, b = torch.ones(2), torch.zeros(2)
        torch.utils.swap_tensors(a, b)
        torch.__future__.set_swap_module_params_on_conversion(True)
        net = nn.Linear(2, 2).double()
        net.float()
        torch.__future__.set_swap_module_params_on_conversion(False)
        x = torch.arange(4.0)
        y = x._lazy_clone()
        k = 1
        print([torch._C._is_cow_tensor(one) for one in (x, y)])
    """)
    assert told(seen)[1] == "a and b now use different memory."
    assert set(seen.data()["steps"][4]["changed"]) == {"net.weight", "net.bias"}
    assert seen[-1].printed == "[True, True]\n"


@pytest.mark.skipif(
    not HAS_MONITORING,
    reason="until Python 3.12 any trace function adds a reference to a method's object",
)
def test_an_array_may_be_resized() -> None:
    assert "(5,)" in told(ran("b = np.zeros(3)\nb.resize(5)\n"))[-1]


class Calls(TorchDispatchMode):
    """Notes what is dispatched."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self.heard = heard

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Note it."""
        self.heard.append(str(function))
        return function(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    """Notes what is called."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self.heard = heard

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Note it."""
        self.heard.append(function.__name__)
        return function(*args, **(kwargs or {}))


def test_modes_transforms_and_compilers_see_the_programs_own_calls() -> None:
    x, heard = torch.ones(3), []
    with Calls(heard), Functions(heard):
        str(tensor_map(x=x))
        assert heard == []
        with steps() as seen:
            y = x + 1
            y += 1
    assert [one for one in heard if "aten" in one] == [
        "aten.add.Tensor",
        "aten.add_.Tensor",
    ]
    assert len(heard) == 4 and told(seen)[1] == "y now holds [3, 3, 3]."


def test_a_mode_that_only_pytorch_holds_stays() -> None:
    heard: list[str] = []
    Calls(heard).__enter__()
    try:
        x = torch.ones(3)
        for _ in range(3):
            str(tensor_map(x=x))
            with steps():
                y = x + 1
    finally:
        _get_current_dispatch_mode_stack()[-1].__exit__(None, None, None)
    assert y.sum() == 6 and heard.count("aten.add.Tensor") == 3

    def traced(x: torch.Tensor) -> torch.Tensor:
        tensor_map(x=x)
        return x + 1

    assert len(make_fx(traced)(torch.ones(2)).graph.nodes) == 3
    words: list[str] = []

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
        y.backward()
    assert told(seen)[0] == "y is computed from w. A gradient flows back to w."
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_state_and_warnings_are_as_without_us() -> None:
    w = leaf(1.0, 2.0)
    before, write = truths_of({"w": w}), sys.stdout.write
    state = torch.get_rng_state()
    with torch.no_grad(), steps():
        k = torch.is_grad_enabled()
    assert not k and torch.is_grad_enabled() and sys.stdout.write == write
    assert str(truths_of({"w": w})) == str(before)
    assert torch.equal(torch.get_rng_state(), state)
    program = dedent("""
        def old():
            warnings.warn("old", UserWarning, stacklevel=1)
        for _ in range(3):
            old()
            x = torch.ones(1, requires_grad=True) * 2
    """)
    counts = []
    for run in (exec, Steps().run):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("default")
            run(program, {"torch": torch, "warnings": warnings, "__name__": str(run)})
        counts.append(len(shown))
    assert counts == [1, 1]


# Programs as readers write them do the same when watched ------------------------------

BEGIN = "import numpy as np\nimport torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
RIGHT = {
    "CNN, BatchNorm, DataLoader, Adam, clip, autocast": """
        from torch.utils.data import DataLoader, TensorDataset
        ds = TensorDataset(torch.randn(20, 1, 8, 8), torch.randint(0, 2, (20,)))
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.MaxPool2d(2),
                            nn.Flatten(), nn.Linear(36, 3))
        opt = torch.optim.Adam(net.parameters(), lr=.1)
        for xb, yb in DataLoader(ds, batch_size=10, shuffle=True):
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(net(xb).float(), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.)
            opt.step()
        """,
    "custom function, double backward, hooks, checkpoint": """
        from torch.utils.checkpoint import checkpoint
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
        y = checkpoint(lambda a: (a*2).sin(), x, use_reentrant=False)
        y.sum().backward()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            q = (torch.ones(2, requires_grad=True) ** 2).sum()
        q.backward()
        """,
    "forward AD, inference, fake": """
        import torch.autograd.forward_ad as fwad
        from torch._subclasses.fake_tensor import FakeTensorMode
        with fwad.dual_level():
            d = fwad.make_dual(torch.ones(2), torch.full((2,), 3.))
            p = fwad.unpack_dual(d).tangent
        with torch.inference_mode():
            i = torch.ones(2)
            j = i[1:]
        with FakeTensorMode():
            b = torch.ones(2) + 1
            b += 1
        x = torch.ones(3)
        x.resize_(0)
        x.resize_(5).fill_(2)
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
        r = (z
             + z)
        @torch.no_grad()
        def fn(a):
            a += 1
            return a
        r = fn(fn(r))
        try:
            r.view(7)
        except RuntimeError as wrong:
            d = {"a": r}
        else:
            d = {}
        finally:
            d["a"] += 1
        """,
}


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
def test_a_program_does_the_same_when_watched(program: str) -> None:
    source, ends = BEGIN + dedent(program), []
    for watch in (False, True):
        names: dict[str, Any] = {"__name__": "program"}
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen = Steps()
            (seen.run if watch else exec)(source, names)
        tensors = {n: v for n, v in names.items() if torch.is_tensor(v)}
        tensors.pop("x", None)  # of one its storage is gone: it must not be read
        ends.append({name: str(tensor) for name, tensor in tensors.items()})
        if "net" in names:
            ends[-1] |= {n: str(p.grad) for n, p in names["net"].named_parameters()}
    assert ends[0] == ends[1] and not seen.failed
    json.dumps(seen.data())
    lines = source.split("\n")
    shown = {lines[step.lines[0] - 1].strip() for step in seen}
    if "finally:" in source:
        assert {'d["a"] += 1', 'd = {"a": r}', "z = k", "k = m[0]"} <= shown


# Debuggers and coverage tools ---------------------------------------------------------


def test_another_trace_function_is_told_all_that_it_was_told_before() -> None:
    def called(x: int) -> int:
        return x + 1

    def block(watch: Any) -> None:
        with watch:
            a = called(1)
            for _ in range(8):
                a += 1
            a = called(a)
        a += 1

    def lines(watch: Any) -> list[tuple[str, str, int]]:
        found = []

        def tracer(frame: Any, event: str, arg: object) -> Any:
            if frame.f_code in (called.__code__, block.__code__):
                first = frame.f_code.co_firstlineno
                found.append((frame.f_code.co_name, event, frame.f_lineno - first))
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            block(watch)
        finally:
            now = sys.gettrace()
            sys.settrace(before)
        assert now is tracer
        return found

    assert lines(contextlib.nullcontext()) == lines(seen := steps())
    assert len(seen) == 6 and not seen.failed


COVERED = """
    import sys
    from contextlib import nullcontext
    from tensor_maps import steps
    def g(x):
        return x + 1
    def f(watch):
        with watch as s:
            a = 1
            for _ in range(9):
                a = g(a)
        b = 2
        return b
    f(steps() if "steps" in sys.argv else nullcontext())
    with (steps() if "steps" in sys.argv else nullcontext()):
        y = g(1)
    z = g(y)
    def h():
        y = 2
        return y
    h()
"""


@pytest.mark.parametrize("core", ["ctrace", "pytrace", "sysmon"])
def test_coverage_loses_no_line(core: str, tmp_path: Path) -> None:
    pytest.importorskip("coverage")
    if core == "sysmon" and not HAS_MONITORING:
        pytest.skip("of Python 3.12")
    (tmp_path / "program.py").write_text(dedent(COVERED))
    options = {"cwd": tmp_path, "env": {"COVERAGE_CORE": core}}
    run = ("-m", "coverage", "run", "--include=program.py", "program.py", "steps")
    assert python(*run, **options).returncode == 0
    assert "100%" in python("-m", "coverage", "report", "-m", **options).stdout


DEBUGGED = """
    import sys, torch
    from tensor_maps import steps
    def helper():
        {inner}
        return 1
    def f():
        with steps() as seen:
            a = torch.ones(2)
            {here}
            a += 1
            a += 2
        b = a * 2
        c = b + 1
        return seen
    seen = f()
    print([step.said for step in seen], seen.failed, "tracer", sys.gettrace())
"""


@pytest.mark.parametrize(
    ("here", "inner", "commands", "heard"),
    [
        # Before 3.12 the debugger takes over, and the rest of the block is one step.
        ("breakpoint()", "pass", "n\n" * 5 + "c\n", ["-> b = a * 2", "-> c = b + 1"]),
        (
            "helper(); breakpoint(); a += 5; breakpoint()", "breakpoint()",
            "c\nn\nc\nn\nc\n",
            ["a is new", *["[6, 6]", "[7, 7]", "[9, 9]"][0 if HAS_MONITORING else 2 :]],
        ),
    ],
    ids=["steps on", "in a function, and twice"],
)  # fmt: skip
def test_a_debugger_keeps_its_frame(
    here: str, inner: str, commands: str, heard: list[str], tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(dedent(DEBUGGED).format(here=here, inner=inner))
    done = python(program, input=commands, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not [one for one in heard if one not in done.stdout], done.stdout
    assert "tracer None" in done.stdout


# Any order ----------------------------------------------------------------------------


def test_coroutines_that_end_in_any_order(capsys: Any) -> None:
    found: dict[int, Steps] = {}
    turns = [asyncio.Event() for _ in range(3)]

    async def one(number: int, after: int | None) -> None:
        with steps(f"c{number}") as seen:
            a = torch.full((1,), float(number))
            print("begins", number)
            await (turns[after].wait() if after is not None else asyncio.sleep(0))
            a += 1
            print("ends", number)
        found[number] = seen
        turns[number].set()

    async def main() -> None:
        await asyncio.gather(one(0, 2), one(1, None), one(2, 1))
        print("outside")

    asyncio.run(main())
    assert is_as_before() and list(found) == [1, 2, 0]
    for number, seen in found.items():
        assert f"a now holds [{number + 1}]." in told(seen)
        printed = [step.printed for step in seen if step.printed]
        assert printed == [f"begins {number}\n", f"ends {number}\n"]


def test_threads_hear_themselves_alone(capsys: Any) -> None:
    found: dict[int, Steps] = {}
    together, count = threading.Barrier(3), [0]

    def work(number: int) -> None:
        together.wait()
        with steps(f"t{number}") as seen:
            a = torch.full((1,), float(number))
            for _ in range(3):
                a += 1
                together.wait()
                print("from", number)
        found[number] = seen

    def bump() -> None:
        for _ in range(20_000):
            count[0] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    threads.append(threading.Thread(target=bump))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert is_as_before() and len(found) == 3 and count == [20_000]
    for number, seen in found.items():
        assert "".join(step.printed for step in seen) == f"from {number}\n" * 3


def test_generators_are_suspended_and_dropped_in_their_block(capsys: Any) -> None:
    def generate() -> Any:
        with steps() as seen:
            a = torch.ones(1)
            yield seen
            a += 1
            yield seen
            print("inside")

    one, other = generate(), generate()
    first, second = next(one), next(other)
    print("outside")
    assert next(one) is first
    list(one)
    print("outside")
    list(other)
    for seen in first, second:
        assert "a now holds [2]." in told(seen)
        assert [step.printed for step in seen if step.printed] == ["inside\n"]
    dropped = generate()
    seen = next(dropped)
    assert not is_as_before()
    del dropped
    assert told(seen)[0] == "a is new, with its own memory."


def test_blocks_within_blocks_and_recursion() -> None:
    def down(n: int) -> Any:
        if n:
            return down(n - 1)
        with steps() as outer:
            a = torch.ones(1)
            with steps() as inner:
                a += 1
            down(0) if a.item() > 2 else None
            a += 2
        return outer, inner

    outer, inner = down(3)
    assert told(inner) == ["a now holds [2]."]
    assert told(outer)[-1] == "a now holds [4]."


# What is printed ----------------------------------------------------------------------


def test_what_is_printed_is_heard_once_and_has_a_limit() -> None:
    def inner() -> None:
        print("inner")

    with contextlib.redirect_stdout(io.StringIO()) as heard:
        with steps(follow=(inner,)) as seen:
            print("outer")
            inner()
        long = Steps().run("for k in range(15):\n    print('x' * 30_000)\n")
    assert [step.printed for step in seen] == ["outer\n", "inner\n", ""]
    assert len(heard.getvalue()) == len("outer\ninner\n") + 15 * 30_001
    data = long.data()["steps"]
    assert len(data[0]["printed"]) == 20_000
    assert "10,001 more characters were printed" in data[0]["note"]
    assert sum(len(step["printed"]) for step in data) <= 200_000


def test_a_function_that_a_stream_has_stays_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream, heard = io.TextIOWrapper(io.BytesIO()), []
    stream.write = heard.append
    monkeypatch.setattr(sys, "stdout", stream)
    with steps() as seen:
        print("here", end="")
    print("there", end="")
    assert "".join(heard) == "herethere" and seen[1].printed == "here"


# Forms of with, and what is refused ---------------------------------------------------


@contextlib.contextmanager
def helper(title: str) -> Any:
    with steps(title) as seen:
        yield seen


def test_forms_of_with() -> None:
    # fmt: off
    with (
        steps() as first,
        torch.no_grad(),
    ):
        a = torch.ones(1)
        a += 1
    with \
        steps() as second:
        a += 1
    with torch.no_grad(), \
         steps() as third:
        a += 1
    with steps() as fourth: a += 1  # noqa: E701
    # fmt: on
    with helper("mine") as fifth:
        a += 1
        a += 1
    found = [told(seen)[-1] for seen in (first, second, third, fourth, fifth)]
    assert found == [f"a now holds [{k}]." for k in (2, 3, 4, 5, 7)]
    assert list(map(len, (first, second, third, fourth, fifth))) == [2, 1, 1, 1, 2]
    assert fifth.title == "mine"


@pytest.mark.parametrize("how", ["-c", "-"])
def test_without_source_the_way_out_is_named(how: str) -> None:
    code = "from tensor_maps import steps\nwith steps():\n    a = 1\n"
    done = python(how, *([code] if how == "-c" else []), input=code)
    assert done.returncode == 1
    assert "Steps().run(source, globals())" in done.stderr
    with pytest.raises(RuntimeError, match="write `with steps"):
        steps().__enter__()


def test_steps_are_kept_when_the_code_raises() -> None:
    again = Steps()
    with pytest.raises(ZeroDivisionError):
        again.run("import torch\na = torch.ones(1)\n1 / 0\nb = 1", {})
    with pytest.raises(ZeroDivisionError), steps() as seen:
        torch.ones(1)
        a = torch.ones(1)
        a / (1 // 0)
    for one in (again, seen):
        assert told(one)[1:] == [
            "a is new, with its own memory.",
            "It raises ZeroDivisionError.",
        ]
        assert one.data()["steps"][-1]["raised"].startswith("ZeroDivisionError: ")
    with pytest.raises(SyntaxError):
        Steps().run("x = 1 +", {})


# Decorators ---------------------------------------------------------------------------


def test_functions_that_are_followed_and_methods() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y += 1
        return y

    with steps(follow=(inner,)) as seen:
        a = torch.ones(1)
        b = inner(a)
    assert [step.code.strip() for step in seen] == [
        *("a = torch.ones(1)", "y = x * 2", "y += 1", "return y", "b = inner(a)")
    ]
    assert "y now holds [3]." in told(seen) and b.item() == 3

    def method(self: Any) -> Steps:
        with steps() as seen:
            self.w.data -= 0.1
            self.m.data += 1
        return seen

    seen = method(SimpleNamespace(w=leaf(1.0), m=torch.zeros(3000)))
    assert [step["changed"] for step in seen.data()["steps"]] == [
        ["self.w"],
        ["self.m"],
    ]


# Much is watched ----------------------------------------------------------------------


def test_turns_of_long_loops_are_counted() -> None:
    seen = Steps()
    with pytest.raises(ZeroDivisionError):
        seen.run(
            dedent("""
            import torch
            a = torch.zeros(1)
            def fails():
                1 / 0
            for i in range(500):
                try:
                    if i % 7 == 3:
                        raise ValueError
                    for j in range(3):
                        a += 0
                except ValueError:
                    continue
            k = 0
            while True:
                k += 1
                if k == 123:
                    break
            for p in range(3):
                for q in range(20):
                    a += 0
            try:
                fails()
            except ZeroDivisionError:
                a += 1
            fails()
            """)
        )
    turns = {tuple(map(tuple, step["turn"])) for step in seen.data()["steps"]}
    assert {((500, 500),), ((123, 123),)} <= turns
    assert {((p, 3), (20, 20)) for p in (1, 2, 3)} <= turns
    said = told(seen)
    assert "a now holds [1]." in said
    assert said[-1] == "It raises ZeroDivisionError."


DEEP = """
import threading, torch
from tensor_maps import steps, tensor_map
def looked(n):
    for look in (lambda w, y: str(tensor_map(w=w, y=y)), None):
        w = y = torch.ones(2, requires_grad=True)
        for _ in range(n):
            y = y * 1.0
        if look is None:
            with steps() as seen:
                a = torch.ones(1)
                a += 1
            assert not seen.failed, seen.failed
            y.sum().backward()
        else:
            assert "flow further, beyond the 2,000" in look(w, y), look(w, y)
        del y
    print("fine", n, flush=True)
looked(20_000)
threading.stack_size(2**20)
thread = threading.Thread(target=looked, args=(10_000,))
thread.start()
thread.join()
"""


def test_a_deep_graph_does_not_end_the_process(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text(DEEP)
    done = python(tmp_path / "deep.py")
    assert done.stdout == "fine 20000\nfine 10000\n", (done.returncode, done.stderr)


# Cells of a notebook ------------------------------------------------------------------


def test_a_cell_runs_as_without_the_magic(capsys: Any) -> None:
    testing = pytest.importorskip("IPython.core.interactiveshell")
    shell = testing.InteractiveShell()

    def shown(cell: str) -> str:
        shell.run_cell(cell)
        heard = capsys.readouterr()
        return heard.out + heard.err

    shown("%load_ext tensor_maps\nimport torch, asyncio, sys")
    done = shell.run_cell("%%steps mine\nw = torch.ones(2)\nz = w[:1]\n7 * 6")
    assert done.result == 42
    assert "z shares w's memory" in capsys.readouterr().out
    awaited = "%%steps\nawait asyncio.sleep(0)\na = torch.ones(3)\na += 1"
    assert "a now holds [2, 2, 2]" in shown(awaited)
    shown("%%steps\ndef one(x):\n    return x + 1\n")
    shown("%%steps\ndef two(x):\n    return x * 100\n")
    assert "return x + 1" in inspect.getsource(shell.user_ns["one"])
    heard = shown("%%steps\nbad = torch.ones(2)\n1 / 0")
    assert "It raises ZeroDivisionError" in heard and "bad is new" in heard
    assert "SyntaxError" in shown("%%steps\nx = 1 +")
    heard = shown("%%steps\n!echo hello\n%timeit -n1 -r1 1+1\nprint('p')")
    assert "hello" in heard and "p\n" in heard
    assert "None" in shown("print(sys.gettrace())") or sys.gettrace()
