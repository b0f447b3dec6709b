"""What watching costs, as ratios of two times of the processor, taken together."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable

import torch
from tensor_maps import steps, tensor_map


def seconds(run: Callable[[], object]) -> float:
    """Return how long something computes, without a collection in between.

    A busy machine interrupts what is long, and not what is short.
    """
    gc.collect()
    gc.disable()
    try:
        begin = time.process_time()
        run()
        return time.process_time() - begin
    finally:
        gc.enable()


def ratio(one: Callable[[], object], other: Callable[[], object], of: int = 4) -> float:
    """Return the least ratio of a few."""
    one(), other()
    return min(seconds(one) / seconds(other) for _ in range(of))


def called(x: int) -> int:
    return x + 1


def calls() -> int:
    a = 0
    for _ in range(50_000):
        a = called(a)
    return a


def looped(watch: bool, calls: Callable[[], int] | None = None) -> int:
    a = 0
    with steps() if watch else contextlib.nullcontext():
        a = calls() if calls else 0
        for i in range(1 if calls else 5_000):
            a += i
            a -= 1
    return a


def test_watching_and_looking_are_not_many_times_slower() -> None:
    assert ratio(lambda: looped(True), lambda: looped(False)) < 60
    assert ratio(lambda: looped(True, calls), lambda: looped(False, calls)) < 20
    large, small, w = torch.zeros(10**7), torch.zeros(10), torch.ones(1)

    def drawn(x: torch.Tensor) -> Callable[[], object]:
        return lambda: tensor_map(x=x, v=x[::3], w=w)._repr_html_()

    assert ratio(drawn(large), drawn(small)) < 4
