"""Watching: it changes nothing, in any order, and is told all that happens."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import linecache
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
from tensor_maps import Steps, steps

SOURCE = Path(inspect.getfile(Steps)).parents[2]
HAS_MONITORING = sys.version_info >= (3, 12)


def told(seen: Steps) -> list[str]:
    assert not seen.failed, seen.failed
    return [step.said for step in seen]


def nothing_is_left() -> bool:
    """Whether Python is as it is without us."""
    tools = []
    if HAS_MONITORING:
        tools = [number for number in (3, 4) if sys.monitoring.get_tool(number)]
    mine = "tensor_maps" in getattr(sys.gettrace(), "__module__", "")
    return not (tools or mine or "hear" in repr(vars(sys.stdout).get("write")))


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Any:
    before = sys.gettrace()
    yield
    assert nothing_is_left()
    assert sys.gettrace() is before


def run_python(tmp_path: Path, code: str, *options: str) -> subprocess.CompletedProcess:
    (tmp_path / "program.py").write_text(dedent(code))
    return subprocess.run(
        [sys.executable, *options, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


# Names stay --------------------------------------------------------------------------


def test_the_names_of_a_class_body_stay() -> None:
    class Held:
        with steps() as seen:
            rate = 0.1
            w = torch.ones(2)
        k = w + 1

    assert Held.rate == 0.1 and Held.k[0] == 2
    assert told(Held.seen)[1] == "w is new, with its own memory."


def test_the_names_of_exec_with_locals_stay() -> None:
    source = "w = torch.ones(2)\nwith steps() as seen:\n    v = w * 2\nu = v + 1\n"
    linecache.cache["<exec>"] = (len(source), None, source.splitlines(True), "<exec>")
    local: dict[str, Any] = {}
    exec(compile(source, "<exec>", "exec"), {"torch": torch, "steps": steps}, local)
    assert set(local) == {"w", "v", "u", "seen"}


def test_locals_that_were_taken_stay() -> None:
    a = torch.ones(2)
    saved = locals()
    with steps():
        b = a * 2
    assert "a" in saved and b[0] == 2


# Each run is a file of its own -------------------------------------------------------


def test_functions_of_two_runs_keep_their_source() -> None:
    namespace: dict[str, Any] = {"torch": torch, "__name__": "mine"}
    Steps().run("def first(x):\n    return x + 1\n", namespace)
    Steps().run("def second(x):\n    return x * 100\n", namespace)
    assert inspect.getsource(namespace["first"]).endswith("return x + 1\n")
    assert inspect.getsource(namespace["second"]).endswith("return x * 100\n")


def test_a_traceback_names_the_line_of_its_run() -> None:
    namespace: dict[str, Any] = {}
    Steps().run("def fails():\n    return 1 / 0\n", namespace)
    Steps().run("other = 1\nother = 2\n", namespace)
    with pytest.raises(ZeroDivisionError) as error:
        namespace["fails"]()
    assert "return 1 / 0" in "".join(traceback.format_tb(error.tb))


# Debuggers and coverage tools --------------------------------------------------------


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
    import torch
    from tensor_maps import steps

    def g(x):
        return x + 1

    def f(watch):
        with watch as s:
            a = 1
            a = g(a)
            for _ in range(9):
                a = g(a)
        b = 2
        return b

    def helper():
        x = 1
        return x

    f(steps() if "steps" in sys.argv else nullcontext())
    x = 1
    with (steps() if "steps" in sys.argv else nullcontext()):
        y = g(x)
        y = helper()
    z = g(y)
    def h():
        y = 2
        return y
    h()
"""


@pytest.mark.parametrize("core", ["ctrace", "pytrace", "sysmon"])
def test_coverage_is_the_same(core: str, tmp_path: Path) -> None:
    pytest.importorskip("coverage")
    if core == "sysmon" and not HAS_MONITORING:
        pytest.skip("of Python 3.12")
    (tmp_path / "program.py").write_text(dedent(COVERED))
    reports = []
    for watch in ("plain", "steps"):
        for command in (
            ["run", "--include=program.py", "program.py", watch],
            ["report", "-m"],
        ):
            done = subprocess.run(
                [sys.executable, "-m", "coverage", *command],
                cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
                env={**os.environ, "PYTHONPATH": str(SOURCE), "COVERAGE_CORE": core},
            )  # fmt: skip
            assert done.returncode == 0, done.stderr + done.stdout
        reports.append(done.stdout)
    assert reports[0] == reports[1]
    assert "100%" in reports[0]


DEBUGGED = """
    import torch
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
    print([step.said for step in seen], seen.failed)
    import sys
    print("tracer", sys.gettrace())
"""


def debug(tmp_path: Path, commands: str, **places: str) -> str:
    program = DEBUGGED.format(**places)
    (tmp_path / "program.py").write_text(dedent(program))
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path, input=commands, capture_output=True, text=True, check=False,
        timeout=120, env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    return done.stdout + done.stderr


def test_breakpoint_in_the_block_leaves_it_watched(tmp_path: Path) -> None:
    heard = debug(tmp_path, "n\nn\np a\nc\n", here="breakpoint()", inner="pass")
    assert "-> a += 2" in heard
    assert "a now holds [4, 4]" in heard
    # Before 3.12 the debugger takes over, and the rest of the block is one step.
    assert ("a now holds [2, 2]" in heard) == HAS_MONITORING
    assert "tracer None" in heard


def test_a_debugger_steps_on_after_the_block(tmp_path: Path) -> None:
    heard = debug(tmp_path, "n\n" * 5 + "c\n", here="breakpoint()", inner="pass")
    assert "-> b = a * 2" in heard and "-> c = b + 1" in heard


def test_a_second_breakpoint_in_the_block_is_watched_too(tmp_path: Path) -> None:
    here = "breakpoint()\n            a += 5\n            breakpoint()"
    heard = debug(tmp_path, "n\nc\nn\nc\n", here=here, inner="pass")
    for values in ("[6, 6]", "[7, 7]", "[9, 9]")[0 if HAS_MONITORING else 2 :]:
        assert f"a now holds {values}" in heard
    assert "tracer None" in heard


def test_a_debugger_that_a_function_begins_says_what_was_not_seen(
    tmp_path: Path,
) -> None:
    heard = debug(tmp_path, "c\n", here="helper()", inner="breakpoint()")
    assert "a is new" in heard and "[4, 4]" in heard
    assert "tracer None" in heard


# Any order ---------------------------------------------------------------------------


def test_coroutines_that_end_in_their_order(capsys: Any) -> None:
    found: dict[int, Steps] = {}

    async def one(k: int) -> None:
        with steps(f"c{k}") as seen:
            a = torch.full((1,), float(k))
            print("begins", k)
            await asyncio.sleep(0.02 * (k + 1))
            a += 1
            print("ends", k)
        found[k] = seen

    async def main() -> None:
        await asyncio.gather(one(0), one(1), one(2))
        print("outside")

    asyncio.run(main())
    assert nothing_is_left()
    for k, seen in found.items():
        assert told(seen)[0] == "a is new, with its own memory."
        assert f"a now holds [{k + 1}]." in told(seen)
        printed = [step.printed for step in seen if step.printed]
        assert printed == [f"begins {k}\n", f"ends {k}\n"]


def test_threads_hear_themselves_alone(capsys: Any) -> None:
    found: dict[int, Steps] = {}
    together = threading.Barrier(3, timeout=15)

    def work(k: int) -> None:
        together.wait()
        with steps(f"t{k}") as seen:
            a = torch.full((1,), float(k))
            for _ in range(3):
                a += 1
                together.wait()
                print("from", k)
        found[k] = seen

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert nothing_is_left() and len(found) == 3
    for k, seen in found.items():
        assert "".join(step.printed for step in seen) == f"from {k}\n" * 3


def test_a_generator_that_is_suspended_in_its_block(capsys: Any) -> None:
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


def test_a_generator_that_is_dropped_in_its_block() -> None:
    def generate() -> Any:
        with steps() as seen:
            a = torch.ones(1)
            yield seen
            a += 1

    one = generate()
    seen = next(one)
    assert not nothing_is_left()
    del one
    assert told(seen)[0] == "a is new, with its own memory."


def test_a_block_within_a_block() -> None:
    with steps() as outer:
        a = torch.ones(1)
        with steps() as inner:
            a += 1
        a += 2
    assert told(inner) == ["a now holds [2]."]
    assert "a now holds [4]." in told(outer)


def test_recursion_is_watched_where_it_began() -> None:
    def down(n: int) -> Any:
        if n:
            return down(n - 1)
        with steps() as seen:
            a = torch.ones(1)
            down(0) if a.item() > 1 else None
            a += 1
        return seen

    assert told(down(3))[-1] == "a now holds [2]."


# Forms of with -----------------------------------------------------------------------


def test_a_with_in_parentheses_and_with_a_backslash() -> None:
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
    assert told(first)[-1] == "a now holds [2]." and len(first) == 2
    assert told(second) == ["a now holds [3]."]
    assert told(third) == ["a now holds [4]."]
    assert told(fourth) == ["a now holds [5]."]


@contextlib.contextmanager
def helper(title: str) -> Any:
    with steps(title) as seen:
        yield seen


def test_a_helper_with_contextmanager_watches_the_block_of_its_caller() -> None:
    with helper("mine") as seen:
        a = torch.ones(1)
        a += 1
    assert seen.title == "mine"
    assert told(seen) == ["a is new, with its own memory.", "a now holds [2]."]


def test_async_with() -> None:
    async def main() -> Steps:
        async with steps() as seen:
            a = torch.ones(1)
            await asyncio.sleep(0)
            a += 1
        return seen

    seen = asyncio.run(main())
    assert [one for one in told(seen) if "a " in one][-1] == "a now holds [2]."


@pytest.mark.parametrize("how", ["-c", "-"])
def test_without_source_the_way_out_is_named(how: str) -> None:
    code = "from tensor_maps import steps\nwith steps():\n    a = 1\n"
    done = subprocess.run(
        [sys.executable, how, *([code] if how == "-c" else [])],
        input=code if how == "-" else "",
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "Steps().run(source, globals())" in done.stderr


# Decorators, options, what is returned -----------------------------------------------


@steps
def plain(x: torch.Tensor) -> torch.Tensor:
    """Add, and multiply."""
    y = x + 1
    return y * 2


@steps("named", turns=1)
def looping(x: torch.Tensor) -> torch.Tensor:
    for _ in range(4):
        x = x + 1
    return x


def test_a_decorated_function_is_watched_at_each_call() -> None:
    assert plain.__doc__ == "Add, and multiply." and plain.steps is None
    assert plain(torch.ones(2))[0] == 4
    first = plain.steps
    assert told(first)[0] == "y is new, with its own memory."
    assert first[0].code == "y = x + 1"
    plain(torch.ones(3))
    assert plain.steps is not first and plain.steps.title == "steps"
    assert looping(torch.zeros(1)).item() == 4
    assert looping.steps.title == "named"
    assert (
        told(looping.steps)[1]
        == "Iterations 2–4: x is now a different tensor, with its own memory."
    )


def test_a_decorated_function_that_raises_keeps_its_steps() -> None:
    @steps
    def fails(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return y.no_such_thing

    with pytest.raises(AttributeError):
        fails(torch.ones(1))
    assert told(fails.steps)[0].startswith("y is new")
    assert fails.steps[-1].raised.startswith("AttributeError")


def test_decorated_coroutines_and_generators() -> None:
    @steps
    async def wait() -> int:
        a = torch.ones(1)
        await asyncio.sleep(0)
        a += 1
        return 3

    @steps
    def count() -> Any:
        a = torch.ones(1)
        yield 1
        a += 1
        yield 2

    assert inspect.iscoroutinefunction(wait) and asyncio.run(wait()) == 3
    assert "a now holds [2]." in told(wait.steps)
    assert list(count()) == [1, 2]
    assert "a now holds [2]." in told(count.steps)


def test_a_decorated_function_that_calls_itself() -> None:
    @steps
    def down(n: int) -> torch.Tensor:
        a = torch.ones(1) * n
        return down(n - 1) if n else a

    down(2)
    assert len(down.steps) == 2


def test_functions_that_are_followed() -> None:
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


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": 3},
        {"names": "w"},
        {"exclude": [3]},
        {"turns": 0},
        {"turns": "x"},
        {"read_bytes": -1},
        {"follow": (len,)},
    ],
)
def test_wrong_options_are_refused_in_a_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r", not |written in Python"):
        Steps(**wrong)


def test_steps_are_a_sequence_of_what_is_told() -> None:
    with steps() as seen:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        z = w.detach()
        print("hello")
    assert len(seen) == 3 and [one.said for one in seen] == told(seen)
    assert seen[1].code == "z = w.detach()" and seen[1].lines == (2, 2)
    assert seen[-1].printed == "hello\n" and seen[0:2][1] == seen[1]
    rows = repr(seen).split("\n")
    assert rows[1].startswith("1  z = w.detach() ")
    assert rows[1].endswith("z shares w's memory. No gradient flows back through z")
    with pytest.raises(IndexError, match="there is no step 3"):
        seen[3]
    assert z[0] == 1


def test_steps_are_kept_when_the_code_raises() -> None:
    with pytest.raises(ZeroDivisionError), steps() as seen:
        a = torch.ones(1)
        a / (1 // 0)
    assert told(seen) == [
        "a is new, with its own memory.",
        "It raises ZeroDivisionError.",
    ]
    again = Steps()
    with pytest.raises(ZeroDivisionError):
        again.run("import torch\na = torch.ones(1)\n1 / 0\n")
    assert told(again)[-1] == "It raises ZeroDivisionError."


def test_what_is_printed_has_a_limit() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as heard:
        seen = Steps().run("for k in range(15):\n    print('x' * 30_000)\n")
    assert len(heard.getvalue()) == 15 * 30_001
    data = seen.data()["steps"]
    assert len(data[0]["printed"]) == 20_000
    assert "10,001 more characters were printed" in data[0]["note"]
    assert sum(len(step["printed"]) for step in data) <= 200_000


# Turns and speed ---------------------------------------------------------------------


def test_turns_of_a_long_loop_are_counted() -> None:
    seen = Steps().run(
        dedent("""
        import torch
        a = torch.zeros(1)
        for i in range(500):
            try:
                if i % 7 == 3:
                    raise ValueError
                for j in range(3):
                    a += 1
            except ValueError:
                continue
            finally:
                i
        k = 0
        while True:
            k += 1
            if k == 123:
                break
            while False:
                pass
        for p in range(3):
            for q in range(20):
                a += 1
        b = a
    """)
    )
    data = seen.data()["steps"]
    turns = {tuple(map(tuple, step["turn"])) for step in data}
    assert ((500, 500),) in turns and ((123, 123),) in turns
    assert {((p, 3), (20, 20)) for p in (1, 2, 3)} <= turns
    assert data[-1]["said"] == "b is the same tensor as a."


def test_a_function_called_by_a_statement_is_not_slowed() -> None:
    # Behaviour, not time: a rest of tracing loses no line and no exception.
    seen = Steps()
    with pytest.raises(ZeroDivisionError):
        seen.run(
            dedent("""
            import torch
            def f(x):
                return x
            def body(n):
                for i in range(n):
                    f(i)
                return n
            def fails():
                body(30_000)
                1 / 0
            a = torch.zeros(1)
            n = body(30_000)
            a += 1
            n = [f(i) for i in range(30_000)]
            a += 1
            try:
                n = body(30_000)
                fails()
            except ZeroDivisionError:
                a += 1
            a += 1
            fails()
            """)
        )
    said = told(seen)
    assert [f"a now holds [{k}]." in said for k in (1, 2, 3, 4)] == [True] * 4
    assert said[-1] == "It raises ZeroDivisionError."


# The command -------------------------------------------------------------------------

SCRIPT = """
    import sys
    import torch
    print(sys.argv, sys.path[0], __name__)
    a = torch.ones(2)
    b = a[1:]
    if "fails" in sys.argv:
        1 / 0
    if "exits" in sys.argv:
        sys.exit(3)
"""


def command(tmp_path: Path, *words: str) -> subprocess.CompletedProcess:
    (tmp_path / "program.py").write_text(dedent(SCRIPT))
    return subprocess.run(
        [sys.executable, "-m", "tensor_maps", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip


@pytest.mark.parametrize(("word", "status"), [("x", 0), ("fails", 1), ("exits", 3)])
def test_a_script_is_run_as_python_runs_it(
    word: str, status: int, tmp_path: Path
) -> None:
    done = command(tmp_path, "program.py", word, "--lr", "3", "-o", "page.html")
    assert done.returncode == status, done.stderr
    argv = ["program.py", word, "--lr", "3"]
    assert done.stdout == f"{argv} {tmp_path.resolve()} __main__\n"
    assert "b shares a's memory" in (tmp_path / "page.html").read_text()
    assert "tensor_maps" not in done.stderr
    assert ("ZeroDivisionError" in done.stderr) == (word == "fails")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.py", "-o", "a.html"], "there is no script none.py"),
        (["program.py", "-o", "a.txt"], "like steps.html, not a.txt"),
        (["program.py", "-o", "none/a.html"], "there is no folder none"),
        (["program.py"], "no page was given"),
        ([], "no script was given"),
    ],
)
def test_a_command_that_is_wrong_says_so(
    words: list[str], said: str, tmp_path: Path
) -> None:
    done = command(tmp_path, *words)
    assert done.returncode == 2 and said in done.stderr
    assert len(done.stderr.splitlines()) == 1


# Cells of a notebook -----------------------------------------------------------------


def test_a_cell_runs_as_without_the_magic(capsys: Any) -> None:
    testing = pytest.importorskip("IPython.core.interactiveshell")
    shell = testing.InteractiveShell()
    shell.run_cell("%load_ext tensor_maps\nimport torch, asyncio")
    done = shell.run_cell("%%steps --turns 1 mine\nw = torch.ones(2)\nz = w[:1]\n7 * 6")
    assert done.result == 42
    heard = capsys.readouterr().out
    assert "z shares w's memory" in heard
    shell.run_cell("%%steps\nawait asyncio.sleep(0)\na = torch.ones(3)\na += 1")
    assert "a now holds [2, 2, 2]" in capsys.readouterr().out
    shell.run_cell("%%steps\ndef one(x):\n    return x + 1\n")
    shell.run_cell("%%steps\ndef two(x):\n    return x * 100\n")
    assert "return x + 1" in inspect.getsource(shell.user_ns["one"])
    shell.run_cell("%%steps\nbad = torch.ones(2)\n1 / 0")
    heard = capsys.readouterr().out
    assert "It raises ZeroDivisionError" in heard and "bad is new" in heard
    shell.run_cell("%%steps --turns no\nx = 1")
    assert "is taken" in capsys.readouterr().err
    shell.run_cell("%unload_ext tensor_maps")
