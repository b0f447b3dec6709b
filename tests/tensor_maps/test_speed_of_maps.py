"""What watching costs, as ratios in small sizes and with room: no time is judged."""

from __future__ import annotations

import measure_speed as measure


def test_a_watched_loop_is_not_many_times_slower() -> None:
    found = measure.of_loop(20_000)
    assert found.value < 4 * found.limit, found


def test_an_unwatched_function_is_nearly_as_fast() -> None:
    found = measure.of_calls(300_000, times=5)
    assert found.value < 2 * found.limit, found


def test_a_map_of_many_elements_is_as_cheap() -> None:
    for found in measure.of_maps(10**7):
        assert found.value < 2 * found.limit, found
