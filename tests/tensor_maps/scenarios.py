"""Programs that a package that watches could change, run in a process of their own.

``python scenarios.py`` prints, as JSON, what each found; test_programs.py judges it.
Nothing here judges: a scenario returns what it saw, or what it raised is noted.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import linecache
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from tensor_maps import Steps, steps, tensor_map
from torch import nn


def told(seen: Steps) -> list[str]:
    assert not seen.failed, seen.failed
    return [step["said"] for step in seen.data()["steps"]]


def left() -> list[str]:
    """Return what is still patched in this process."""
    found = []
    if sys.gettrace() is not None:
        found.append(f"trace function {sys.gettrace()}")
    if "write" in vars(sys.stdout):
        found.append("the standard output")
    monitoring = getattr(sys, "monitoring", None)
    tools = map(monitoring.get_tool, range(6)) if monitoring else ()
    return found + [f"tool {tool}" for tool in tools if tool]


# It changes nothing -------------------------------------------------------------------


def b2_class_body() -> Any:
    class Watched:
        earlier = torch.ones(2)
        with steps() as seen:
            rate = 0.1
            weight = torch.ones(2)
        after = weight + 1

    return sorted(name for name in vars(Watched) if not name.startswith("_"))


def b2_exec_with_locals() -> Any:
    source = "w = torch.ones(2)\nwith steps() as s:\n    v = w * 2\nv = v + 1\n"
    file = "<exec with locals>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, Any] = {}
    exec(compile(source, file, "exec"), {"torch": torch, "steps": steps}, names)
    return [sorted(names), told(names["s"])]


def b2_locals_taken_before() -> Any:
    first = torch.ones(2)
    saved = locals()
    with steps() as seen:
        second = first * 2
    return [sorted(saved), told(seen), second.tolist()]


def b3_source_of_functions() -> Any:
    import inspect

    names = {"torch": torch, "__name__": "__main__"}
    Steps().run("def h1(x):\n    return x + 1\n", names)
    Steps().run("def h2(x):\n    return x * 100\n", names)
    return [inspect.getsource(names[one]) for one in ("h1", "h2")]


def b3_script_of_functions() -> Any:
    names = {"torch": torch, "__name__": "__main__"}
    Steps().run("def h1(x):\n    return x + 1\n", names)
    Steps().run("def h2(x):\n    return x * 100\n", names)
    return torch.jit.script(names["h1"])(torch.ones(1)).tolist()


def b3_traceback_of_functions() -> Any:
    names = {"torch": torch, "__name__": "__main__"}
    Steps().run("def h1(x):\n    return x @ torch.ones(7)\n", names)
    Steps().run("def h2(x):\n    return x * 100\n", names)
    try:
        names["h1"](torch.ones(2))
    except RuntimeError:
        return traceback.format_exc()


def b4_swap_tensors() -> Any:
    a, b = torch.ones(2), torch.zeros(2)
    with steps() as seen:
        c = a + 1
        torch.utils.swap_tensors(a, b)
    return [a.tolist(), b.tolist(), c.tolist(), told(seen)]


def b4_swap_parameters() -> Any:
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        net = nn.Linear(2, 2).double()
        with steps() as seen:
            net.float()
        return [str(net.weight.dtype), told(seen)]
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def b4_resize_in_a_function() -> Any:
    with steps() as seen:
        b = np.zeros(3)
        b.resize(5)
    return [b.shape, told(seen)]


def b4_resize_of_a_module() -> Any:
    seen, names = Steps(), {"np": np}
    seen.run("b = np.zeros(3)\nb.resize(5)\n", names)
    return [names["b"].shape, told(seen)]


def b4_kept_alive() -> Any:
    import weakref

    w = torch.ones(2)
    at_once, reference = [], weakref.ref(w)
    with steps() as seen:
        del w
        at_once.append(reference() is None)
        big = torch.zeros(1000, 1000)
        reference = weakref.ref(big)
        big = big + 1
        at_once.append(reference() is None)
    return [at_once, len(told(seen))]


def b5_earlier_tracer() -> Any:
    """Have a tracer of one's own, as coverage and debuggers do, see each line."""

    def traced(watch: bool) -> list[list]:
        lines: list[list] = []

        def trace(frame: Any, event: str, arg: Any) -> Any:
            name = frame.f_code.co_name
            if name in ("body", "called") and event != "call":
                lines.append([name, frame.f_lineno - frame.f_code.co_firstlineno])
            return trace

        def called(x: int) -> int:
            y = x + 1
            return y

        def body() -> int:
            with steps() if watch else contextlib.nullcontext():
                a = 1
                a = called(a)
                for _ in range(5):
                    a += 1
            b = called(a)
            c = b + 1
            return c

        sys.settrace(trace)
        try:
            body()
            body()
            put_back = sys.gettrace() is trace
        finally:
            sys.settrace(None)
        return [lines, put_back]

    return [traced(False), traced(True)]


def b6_coroutines_in_order_of_start() -> Any:
    found = {}

    async def one(number: int) -> None:
        with steps(f"c{number}") as seen:
            a = torch.full((1,), float(number))
            await asyncio.sleep(0.02 * (number + 1))
            print(f"from {number}")
            a += 1
        found[number] = [told(seen), [s["printed"] for s in seen.data()["steps"]]]

    async def main() -> None:
        await asyncio.gather(one(0), one(1), one(2))

    asyncio.run(main())
    return [found, left()]


def b6_coroutines_in_any_order() -> Any:
    found = {}

    async def one(number: int) -> None:
        with steps(f"c{number}") as seen:
            a = torch.full((1,), float(number))
            await asyncio.sleep(0.01 * (2 - number) if number else 0.05)
            a += 1
            await asyncio.sleep(0)
            a += 1
        found[number] = told(seen)

    async def main() -> None:
        await asyncio.gather(one(0), one(1), one(2))

    asyncio.run(main())
    return [found, left()]


def b6_async_with() -> Any:
    async def main() -> Any:
        async with steps("async") as seen:
            a = torch.ones(1)
            await asyncio.sleep(0)
            a += 1
        return seen

    return [told(asyncio.run(main())), left()]


def b6_threads() -> Any:
    found = {}

    def work(number: int) -> None:
        with steps(f"t{number}") as seen:
            a = torch.full((1,), float(number))
            for _ in range(3):
                a += 1
                time.sleep(0.005)
                print(f"from {number}")
        found[number] = [told(seen), [s["printed"] for s in seen.data()["steps"]]]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found, left()]


def b6_generator() -> Any:
    found = []

    def values() -> Iterator[torch.Tensor]:
        with steps("gen") as seen:
            a = torch.ones(2)
            yield a
            a += 1
            yield a
        found.append(seen)

    it = values()
    next(it)
    suspended = left()
    print("of the caller")
    next(it)
    next(it, None)
    it = values()
    next(it)
    it.close()
    printed = [step["printed"] for step in found[0].data()["steps"]]
    return [told(found[0]), suspended, printed, left()]


def b6_modes() -> Any:
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Calls(TorchDispatchMode):
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    class Functions(TorchFunctionMode):
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(getattr(function, "__name__", str(function)))
            return function(*args, **(kwargs or {}))

    x, found = torch.ones(3), []
    for mode in (Calls, Functions):
        for watch in ("map", "steps"):
            seen: list[str] = []
            with mode():
                if watch == "map":
                    str(tensor_map(x=x))
                else:
                    with steps():
                        y = x + 1
                        y += 1
            found.append(seen)
    return found


def b6_make_fx() -> Any:
    from torch.fx.experimental.proxy_tensor import make_fx

    def looked(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        tensor_map(x=x, y=y)
        return y + 1

    nodes = make_fx(looked)(torch.ones(2)).graph.nodes
    return [str(node.target) for node in nodes]


def b6_copy_on_write() -> Any:
    x = torch.arange(4.0)
    y = x._lazy_clone()
    before = [torch._C._is_cow_tensor(one) for one in (x, y)]
    tensor_map(x=x, y=y)
    return [before, [torch._C._is_cow_tensor(one) for one in (x, y)]]


def b6_code_of_objects() -> Any:
    ran = []

    class Loud:
        def __str__(self) -> str:
            ran.append("str")
            return "L"

        __repr__ = __str__

    objects = np.array([Loud()], dtype=object)
    str(tensor_map(objects=objects))
    with steps():
        other = objects
    return [ran, other is objects]


def b6_wrapper_subclass() -> Any:
    calls = []

    class Wrapped(torch.Tensor):
        @staticmethod
        def __new__(cls: type, inner: torch.Tensor) -> Wrapped:
            return torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype
            )

        def __init__(self, inner: torch.Tensor) -> None:
            self.inner = inner

        @classmethod
        def __torch_dispatch__(
            cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append(str(function))
            args = [a.inner if isinstance(a, Wrapped) else a for a in args]
            return Wrapped(function(*args, **(kwargs or {})))

    w = Wrapped(torch.ones(2))
    calls.clear()
    str(tensor_map(w=w))
    of_map = list(calls)
    calls.clear()
    with steps():
        w + 1
    return [of_map, calls]


def b6_warnings() -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        with steps():
            z = y.sum()
            z.backward()
        str(tensor_map(w=w, y=y, z=z))
    return [str(one.message)[:80] for one in caught]


# It does not refuse -------------------------------------------------------------------


# fmt: off
def c1_forms_of_with() -> Any:
    found = []
    with (
        steps("p1") as s,
    ):
        a = torch.ones(1)
    found.append(told(s))
    with (
        steps("p2") as s,
        torch.no_grad(),
    ):
        a = torch.ones(1)
        a += 1
    found.append(told(s))
    with \
        steps() as s:
        a = torch.ones(1)
    found.append(told(s))
    with torch.no_grad(), \
         steps() as s:
        a = torch.ones(1)
    found.append(told(s))
    with (
        torch.no_grad(),
        steps("four") as s,
    ):
        y = torch.ones(2, requires_grad=True) * 2
        y += 1
    found.append(told(s))
    with steps("one line") as s: a = torch.ones(1); a += 1  # noqa: E701, E702
    found.append(told(s))
    with steps("outer") as s:
        with steps("inner") as inner:
            a = torch.zeros(1)
        a = torch.ones(1)
    found.append([len(told(s)) > 0, told(inner)])
    return found
# fmt: on


def c6_a_helper() -> Any:
    @contextlib.contextmanager
    def watched() -> Iterator[Steps]:
        with steps() as seen:
            yield seen

    with watched() as seen:
        a = torch.ones(2)
        a += 1
    return told(seen)


def c6_exit_stack() -> Any:
    with contextlib.ExitStack() as stack:
        return told(stack.enter_context(steps()))


# Programs of the table that are right: they stay so ----------------------------------


def exceptions_and_returns() -> Any:
    found = []
    with steps() as seen:
        a = torch.ones(2, requires_grad=True)
        try:
            a += 1
        except RuntimeError:
            b = a * 2
        finally:
            c = b.detach()
    found.append([bool(s.get("raised")) for s in seen.data()["steps"]])
    try:
        with steps() as kept:
            x = torch.ones(2)
            x @ torch.ones(3)
    except RuntimeError:
        found.append(kept.data()["steps"][-1]["raised"])

    def returning() -> Steps:
        for turn in range(3):
            with steps() as inside:
                v = torch.ones(turn)
                if turn == 1:
                    return inside
        return v

    found.append(told(returning()))
    return [found, c.tolist(), left()]


def recursion() -> Any:
    found = {}

    def again(depth: int) -> None:
        with steps(f"r{depth}") as seen:
            v = torch.full((1,), float(depth))
            if depth:
                again(depth - 1)
            v += 1
        found[depth] = told(seen)

    again(2)
    return [found, left()]


def closure_of_a_thread() -> Any:
    count = 0

    def bump() -> None:
        nonlocal count
        for _ in range(20000):
            count += 1

    thread = threading.Thread(target=bump)
    with steps():
        a = torch.zeros(2)
        thread.start()
        for _ in range(300):
            a += 1
        thread.join()
    return count


def functorch() -> Any:
    words = []

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x.sin().sum()
        words.append(str(tensor_map(x=x, y=y)))
        return y

    def h(x: torch.Tensor) -> torch.Tensor:
        with steps() as seen:
            y = x * 2
            z = y.sum()
        words.extend(told(seen))
        return z

    torch.func.grad(f)(torch.ones(3))
    torch.func.vmap(f)(torch.ones(2, 3))
    result = torch.func.vmap(torch.func.grad(h))(torch.ones(2, 3))
    return [words, result.tolist()]


def compiled() -> Any:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ w).sum()

    x, w = torch.ones(2, 3), torch.ones(3, 2, requires_grad=True)
    compiled_f = torch.compile(f, backend="eager")
    with steps() as seen:
        y = compiled_f(x, w)
        y.backward()
    frames = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    return [told(seen), frames, w.grad.tolist()]


def main() -> None:
    """Print what each scenario found."""
    found: dict[str, Any] = {}
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:]
    for name, scenario in list(globals().items()):
        is_ours = getattr(scenario, "__module__", "") == __name__
        if not is_ours or name in ("main", "told", "left", "Any"):
            continue
        if wanted and name not in wanted:
            continue
        output = sys.stdout
        # A stream that can be patched, as that of a terminal can.
        sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        try:
            found[name] = {"found": scenario()}
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
            found[name] = {"raised": text, "where": traceback.format_exc()[-1500:]}
        finally:
            sys.settrace(None)
            sys.stdout = output
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
