"""How code is known that takes times.

Nothing runs beside such code, nobody watches its statements, and what it prints is not
compared with what it printed elsewhere.
"""

from __future__ import annotations

import re

LIBRARY = "perfplot"
CLOCKS = (
    *("perf_counter", "perf_counter_ns", "process_time", "process_time_ns"),
    *("monotonic", "monotonic_ns", "time_ns", "elapsed_time"),
    *("timeit", "Timer", "blocked_autorange", "adaptive_autorange", "timings_s"),
    "BENCHMARK_QUALITY",  # how long a lesson takes times
)
# The library's name alone stands also where its version is looked up.
USE = re.compile(rf"\b(?:{'|'.join(CLOCKS)}|{LIBRARY}\.\w+)\b")


def takes_times(code: str) -> bool:
    """Whether code uses a clock, or what a clock has shown."""
    return USE.search(code) is not None
