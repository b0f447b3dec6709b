"""Watching and drawing take at most a few times as long as the code alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import process_time
from timeit import timeit

import torch
from tensor_maps import steps, tensor_map


def ratio(one: Callable[[], object], other: Callable[[], object]) -> float:
    """Return the least ratio of a few: a busy machine interrupts what is long."""

    def seconds(run: Callable[[], object]) -> float:
        return timeit(run, timer=process_time, number=1)

    one(), other()
    return min(seconds(one) / seconds(other) for _ in range(4))


def turns(watch: Callable[[], AbstractContextManager]) -> Callable[[], None]:
    def run() -> None:
        w = torch.ones(2, requires_grad=True)
        with watch():
            for _ in range(2_000):
                loss = (w * w).sum()
                loss.backward()

    return run


def test_watching_and_looking_are_not_many_times_slower() -> None:
    assert ratio(turns(steps), turns(nullcontext)) < 6
    large, small, w = torch.zeros(10**7), torch.zeros(10), torch.ones(1)

    def drawn(x: torch.Tensor) -> Callable[[], object]:
        return lambda: tensor_map(x=x, v=x[::3], w=w)._repr_html_()

    assert ratio(drawn(large), drawn(small)) < 4
