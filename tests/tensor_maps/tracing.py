"""Watch code in six ways without PyTorch; each Python at hand runs this file."""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

# What looks at tensors, and tells of them, sees numbers here.
parts = ("reading", "steps.pictures", "steps.viewer")
sys.modules |= {f"tensor_maps.{part}": MagicMock() for part in parts}
sys.modules["tensor_maps.steps.look"] = SimpleNamespace(
    Look=dict,
    look=lambda held, *_, **__: {k: v for k, v in dict(held).items() if type(v) is int},
    differences=lambda was, now, *_: {k for k, v in now.items() if was.get(k) != v},
)
sys.modules["tensor_maps.steps.tell"] = SimpleNamespace(
    step_words=lambda step: (" ".join(sorted(step.differ)), []),
    event_of=lambda step: (None, []),
)

from tensor_maps import steps  # noqa: E402


def told(seen: Any) -> list[str]:
    """Return of each step its code, what changed, what was printed, and the turns."""
    assert not seen.failed, seen.failed
    rows = []
    for one in seen:
        code, turns = one.code.strip().split("\n")[0], one.turn or ""
        rows.append(f"{code} -> {one.said} {one.printed}{one.raised} {turns}".split())
    return [" ".join(row) for row in rows]


def statements() -> None:
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
    assert told(seen) == [
        *("a = 1 -> a", "for k in range(6): -> k", "a += k -> ((1, 6),)"),
        *("for k in range(6): -> k", "a += k -> a ((2, 6),)"),
        *("for k in range(6): -> k", "a += k -> a ((3, 6),)", "a -= 1 -> a ((3, 6),)"),
        *("for k in range(6): -> a k ((6, 6),)", "b = a -> b", "c = [ ->"),
        *("raise KeyError -> KeyError", "d = 5 -> d", "d = 6 -> d"),
        *(f"a += 10 -> a (({turn}, 3),)" for turn in (1, 2, 3)),
        *("e = 2 -> e", "f = [k for k in range(d)][e] -> f"),
        *("raise ValueError -> ValueError", "del f ->"),
    ], told(seen)


def generators() -> None:
    def generate() -> Any:
        with steps() as seen:
            a = 1
            yield seen
            a += 1
            yield seen
            print("in", a)

    one, other = generate(), generate()
    seen, second = next(one), next(other)
    print("outside")
    assert list(one) == [seen] and list(other) == [second] and seen is not second
    rows = ["a = 1 -> a", "yield seen ->", "a += 1 -> a", "yield seen ->"]
    assert told(seen) == told(second) == [*rows, 'print("in", a) -> in 2']
    dropped = generate()
    seen = next(dropped)
    del dropped
    assert told(seen)[0] == rows[0]


def coroutines() -> None:
    found = {}

    async def one(number: int, turns: list, after: int | None) -> None:
        with steps() as seen:
            a = number
            print("begins", number)
            await (turns[after].wait() if after is not None else asyncio.sleep(0))
            a += 1
            print("ends", number)
        found[number] = told(seen)
        turns[number].set()

    async def main() -> None:
        turns = [asyncio.Event() for _ in range(3)]
        await asyncio.gather(*(one(k, turns, [2, None, 1][k]) for k in range(3)))

    asyncio.run(main())
    assert list(found) == [1, 2, 0]  # the order in which they ended
    for number, rows in found.items():
        assert rows[1].endswith(f" begins {number}") and rows[3] == "a += 1 -> a"
        assert rows[4].endswith(f" ends {number}") and len(rows) == 5


def threads() -> None:
    found, together = {}, threading.Barrier(3)

    def work(number: int) -> None:
        with steps() as seen:
            for _ in range(2):
                together.wait()
                print("from", number)
        found[number] = told(seen)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    for number, rows in found.items():
        heard = [row.split("-> ")[1] for row in rows if "-> from" in row]
        assert heard == [f"from {number} (({turn}, 2),)" for turn in (1, 2)], rows


def another_trace_function() -> None:
    def called(x: int) -> int:
        return x + 1

    def block(watch: Any) -> int:
        with watch:
            a = called(1)
            for _ in range(8):
                a += 1
            a = called(a)
        return a

    def events(watch: Any) -> list[tuple]:
        found, ours = [], (called.__code__, block.__code__)

        def trace(frame: Any, event: str, arg: object) -> Any:
            if frame.f_code in ours:
                found.append((frame.f_code.co_name, event, frame.f_lineno))
            return trace

        sys.settrace(trace)
        try:
            block(watch)
            assert sys.gettrace() is trace
        finally:
            sys.settrace(None)
        return found

    seen = steps()
    assert events(contextlib.nullcontext()) == events(seen) != []
    assert len(told(seen)) == 9, told(seen)


def followed_functions() -> None:
    def double(x: int) -> int:
        y = x * 2
        return y

    def count(n: int) -> Any:
        for k in range(n):
            yield k + 0
        print("counted")

    with steps(follow=[double, count]) as seen:
        a = double(3)
        b = sum(count(5))
        c = next(count(1))
        held = count(2)
        d = next(held)
    assert (a, b, c, d) == (6, 10, 0, 0)
    turns = [f"yield k + 0 -> (({turn}, 5),)" for turn in (1, 2, 3)]
    rows = [row for row in told(seen) if not row.startswith("for ")]
    assert rows[:6] == ["y = x * 2 -> y", "return y ->", "a = double(3) -> a", *turns]
    assert rows[6:8] == ['print("counted") -> counted', "b = sum(count(5)) -> b"], rows
    assert rows[-1] == "d = next(held) -> d" and rows[-2] == "held = count(2) ->", rows


SCENARIOS = (
    *(statements, generators, coroutines, threads),
    *(another_trace_function, followed_functions),
)
if __name__ == "__main__":
    for scenario in SCENARIOS:
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            scenario()
        assert sys.gettrace() is None, scenario
        assert "write" not in vars(stream), scenario
    print(f"{len(SCENARIOS)} are fine on Python {sys.version.split()[0]}")
