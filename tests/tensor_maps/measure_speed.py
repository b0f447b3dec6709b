"""Measure what watching and looking cost, as ratios within one run.

``python tests/tensor_maps/measure_speed.py [--turns N]``, with the package on Python's
path, prints a table. Each ratio is the least of a few, each of two times taken one
after the other: a busy machine makes both longer.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch
from tensor_maps import steps, tensor_map
from torch import nn

TURNS, CALLS, PARAMETERS, ELEMENTS = 100_000, 300_000, 600, 10**8


class Measure(NamedTuple):
    """A ratio or a time, and what it must not be above."""

    what: str
    value: float
    unit: str
    limit: float | None


def seconds(run: Callable[[], object]) -> float:
    """Return how long something takes, without a collection in between."""
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin
    finally:
        gc.enable()


def ratio(watched: Callable[[], object], bare: Callable[[], object], of: int) -> float:
    """Return the least ratio of two times, each pair taken together."""
    watched(), bare()
    return min(seconds(watched) / seconds(bare) for _ in range(of))


# What is measured ---------------------------------------------------------------------


def bare_loop(turns: int) -> int:
    a = 0
    for i in range(turns):
        a += i
        a -= 1
    return a


def watched_loop(turns: int) -> int:
    with steps():
        a = 0
        for i in range(turns):
            a += i
            a -= 1
    return a


def called(x: int) -> int:
    return x + 1


def calls(number: int) -> int:
    a = 0
    for _ in range(number):
        a = called(a)
    return a


def watched_calls(number: int) -> int:
    with steps():
        a = calls(number)
    return a


def statements(net: nn.Module | None) -> float:
    """Return the seconds of one small statement, beside a net or beside nothing."""
    with steps() as seen:
        a = 1
        begin = time.perf_counter()
        a = 2
        a = 3
        a = 4
        a = 5
        a = 6
        a = 7
        a = 8
        a = 9
        a = 10
        a = 11
        end = time.perf_counter()
        del net, a
    assert not seen.failed, seen.failed
    return (end - begin) / 10


def deep_net() -> nn.Module:
    layers = [nn.Linear(8, 8) for _ in range(PARAMETERS // 2)]
    return nn.Sequential(*layers)


def of_loop(turns: int, times: int = 3) -> Measure:
    """Measure a watched loop."""
    found = ratio(lambda: watched_loop(turns), lambda: bare_loop(turns), times)
    return Measure(
        f"a watched loop of {turns:,} turns, to the bare one", found, "×", 15
    )


def of_calls(number: int, times: int = 3) -> Measure:
    """Measure calls of a function that is not watched."""
    found = ratio(lambda: watched_calls(number), lambda: calls(number), times)
    what = f"an unwatched function called {number:,} times from a watched block"
    return Measure(what, found, "×", 2)


def of_statements(times: int = 5) -> list[Measure]:
    """Measure a statement beside a net."""
    net = deep_net()
    statements(net), statements(None)
    beside = [statements(net) for _ in range(times)]
    plain = [statements(None) for _ in range(times)]
    what = f"a statement beside a net of {PARAMETERS} parameters"
    return [
        Measure(what, min(beside) * 1000, "ms", 3),
        Measure(f"{what}, to one beside nothing", min(beside) / min(plain), "×", None),
    ]


def of_maps(elements: int, times: int = 5) -> list[Measure]:
    """Measure a map of many elements against one of few, made and drawn."""
    large, small = torch.zeros(elements), torch.zeros(10)

    def drawn(x: torch.Tensor) -> Callable[[], object]:
        w = torch.ones(1, requires_grad=True)
        return lambda: tensor_map(x=x, v=x[::3], w=w)._repr_svg_()

    def looked(x: torch.Tensor) -> Callable[[], object]:
        return lambda: tensor_map(x=x, v=x[::3])

    return [
        Measure(
            f"a map of {elements:,} elements, to one of 10: {what}",
            ratio(run(large), run(small), times),
            "×",
            2,
        )
        for what, run in (("looked at", looked), ("drawn", drawn))
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What watching and looking cost.")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--elements", type=int, default=ELEMENTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    measures = [
        of_loop(options.turns),
        of_calls(options.calls),
        *of_statements(),
        *of_maps(options.elements),
    ]
    for one in measures:
        limit = "" if one.limit is None else f"at most {one.limit:g}"
        mark = "  ABOVE" if one.limit is not None and one.value > one.limit else ""
        print(f"{one.value:8.2f} {one.unit:2} {limit:11} {one.what}{mark}")


if __name__ == "__main__":
    main()
